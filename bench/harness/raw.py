"""The document of a run as text: one line for each window, so that two runs can be compared by eye."""

import json

DIGITS = 7


def rounded(value):
    """Numbers with as many digits as can mean anything."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: rounded(member) for name, member in value.items()}
    if isinstance(value, list):
        return [rounded(member) for member in value]
    return value


def is_flat(value):
    members = value.values() if isinstance(value, dict) else value
    return not any(isinstance(member, dict | list) for member in members)


def render(value, indent):
    if not isinstance(value, dict | list) or is_flat(value):
        return json.dumps(value, ensure_ascii=False)
    inner = indent + " "
    if isinstance(value, dict):
        members = [f"{inner}{json.dumps(name)}: {render(member, inner)}" for name, member in value.items()]
        return "{\n" + ",\n".join(members) + f"\n{indent}}}"
    members = [inner + render(member, inner) for member in value]
    return "[\n" + ",\n".join(members) + f"\n{indent}]"


def dump(document):
    return render(rounded(document), "") + "\n"


def load(text):
    return json.loads(text)
