"""Makes schemas for kubeconform of what Kubernetes says of its API: `schemas.py SWAGGER.json FOLDER`.

`api/openapi-spec/swagger.json` is part of the Go module `k8s.io/kubernetes`. The result is one file with all
definitions, in which nothing undeclared is allowed, and one small file for each kind that refers to it:
`KUBERNETES_SCHEMAS='FOLDER/{{.ResourceKind}}{{.KindSuffix}}.json' scripts/check-packages`.
"""

import json
import pathlib
import sys

# Types that are written in more than one way.
FREE = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": ["string", "integer"]},
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": ["string", "number"]},
}


def close(definition: dict) -> dict:
    """The same without undeclared members, for what declares any."""
    if "properties" in definition:
        definition.setdefault("additionalProperties", False)
    return definition


def main() -> None:
    swagger, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    definitions = json.loads(swagger.read_text())["definitions"]
    definitions = {name: FREE.get(name) or close(definition) for name, definition in definitions.items()}
    common = folder / "definitions.json"
    common.write_text(json.dumps({"definitions": definitions}))
    for name, definition in definitions.items():
        for kind in definition.get("x-kubernetes-group-version-kind", []):
            schema = {"$ref": f"file://{common.resolve()}#/definitions/{name}"}
            group = kind["group"].split(".")[0]
            parts = [kind["kind"], group, kind["version"]] if group else [kind["kind"], kind["version"]]
            target = folder / f"{'-'.join(parts)}.json".lower()
            target.write_text(json.dumps(schema))


if __name__ == "__main__":
    main()
