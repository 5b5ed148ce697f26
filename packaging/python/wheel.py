"""Makes a wheel of an executable that has been built: `wheel.py EXECUTABLE VERSION TAG FOLDER`.

Builders of wheels compile what they pack. This one is to hold the very executable of the other packages, so it packs
by itself; a wheel is a zip with a list of its files.
"""

import base64
import hashlib
import pathlib
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent

# The same content gives the same bytes.
TIME = (1980, 1, 1, 0, 0, 0)


def main() -> None:
    executable, version, tag, folder = sys.argv[1:]
    info = f"qlio-{version}.dist-info"
    metadata = (
        "Metadata-Version: 2.1\nName: qlio\n"
        f"Version: {version}\n"
        "Summary: Many HTTP APIs as one call: the executable\n"
        "License: Apache-2.0\nRequires-Python: >=3.9\n"
        "Description-Content-Type: text/markdown\n\n" + (HERE / "README.md").read_text()
    )
    wheel = f"Wheel-Version: 1.0\nGenerator: qlio\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n"
    files = [(f"qlio/{path.name}", path.read_bytes(), 0o644) for path in sorted((HERE / "qlio").glob("*.py"))]
    files += [
        (f"qlio-{version}.data/scripts/qlio", pathlib.Path(executable).read_bytes(), 0o755),
        (f"{info}/METADATA", metadata.encode(), 0o644),
        (f"{info}/WHEEL", wheel.encode(), 0o644),
        (f"{info}/licenses/LICENSE", (HERE.parents[1] / "LICENSE").read_bytes(), 0o644),
    ]
    lines = []
    for name, content, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}")
    lines.append(f"{info}/RECORD,,")
    files.append((f"{info}/RECORD", ("\n".join(lines) + "\n").encode(), 0o644))
    target = pathlib.Path(folder) / f"qlio-{version}-py3-none-{tag}.whl"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content, mode in files:
            entry = zipfile.ZipInfo(name, TIME)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    print(target)


if __name__ == "__main__":
    main()
