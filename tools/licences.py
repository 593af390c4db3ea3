#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Copies the licence texts of an image's contents: licences.py SPDX ARCH ROOT [SYSROOT].

SPDX is the document of tools/sbom.py. Each package in it gets ROOT/usr/share/doc/PACKAGE/copyright, as in a Debian image, where scanners look for it: from
this machine, from SYSROOT for another architecture, or from the folder of a library that was built from source (tools/from_source.sh). The texts that these
files refer to go to ROOT/usr/share/common-licenses.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

COMMON = pathlib.Path("/usr/share/common-licenses")
TOOLS = pathlib.Path(__file__).resolve().parent


def text_of(name, info, arch, sysroot):
    """Returns the file with the licence text of a package."""
    build = TOOLS / f"build_{name}.sh"
    if "arch=source" in info and build.is_file():
        where = subprocess.run([build, "--where", arch], check=True, capture_output=True, text=True).stdout.strip()
        return pathlib.Path(where) / "copyright"
    return sysroot / "usr/share/doc" / name / "copyright"


def copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def main(document, own, root, sysroot):
    arch = own if sysroot != pathlib.Path("/") else ""
    for package in json.loads(document.read_text(encoding="utf-8"))["packages"]:
        name = package["name"]
        if name == "trainstep":
            continue
        info = " ".join(reference["referenceLocator"] for reference in package["externalRefs"])
        here = pathlib.Path("/") if "arch=all" in info else sysroot
        source = text_of(name, info, arch, here)
        if not source.is_file():
            sys.exit(f"licences: {name}: no such file: {source}")
        copy(source, root / "usr/share/doc" / name / "copyright")
        for licence in re.findall(r"/usr/share/common-licenses/(\w[\w.-]*\w)", source.read_text(encoding="utf-8", errors="replace")):
            copy(COMMON / licence, root / "usr/share/common-licenses" / licence)


if __name__ == "__main__":
    if not 4 <= len(sys.argv) <= 5:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4] if len(sys.argv) > 4 else "/"))
