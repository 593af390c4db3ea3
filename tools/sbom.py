#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The SBOM of a release file of trainstep: sbom.py BUILD ARCH [SYSROOT] prints an SPDX 2.3 document in JSON on standard output.

BUILD is the folder of a release preset, ARCH Debian's name of the architecture, SYSROOT the folder that tools/sysroot.sh has created for it. The linker's
map lists the linked libraries, ninja's dependencies the libraries whose headers are compiled in; dpkg knows the packages of these files (those of another
architecture have the same names here), the sysroot's list their versions. libcurl and RE2 come from Debian's source packages; their folders contain the
versions (tools/from_source.sh). The image's certificates are Debian's package. Packages that are older than this machine's are listed on standard error.
The document's date is SOURCE_DATE_EPOCH, or else the program's.
"""
import datetime
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse

CERTIFICATES = "ca-certificates"
# The kernel's and the C library's: declarations only, different for each architecture. The C library itself is found by its static library.
DECLARATIONS = re.compile(r"/include/(\w+-linux-gnu/)?(asm|asm-generic|bits|gnu|linux|sys)/")
C_LIBRARY = re.compile(r"libc6-dev\b")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else sys.exit(f"sbom: {command[0]} {command[1]}: {done.stderr}")


def linked_files(build):
    """The static libraries whose members were linked, and the start files."""
    text = (build / "trainstep.map").read_text(encoding="utf-8", errors="replace")
    return {pathlib.Path(os.path.realpath(path)) for path in re.findall(r"^(/\S+\.a)\(", text, re.M) + re.findall(r"^LOAD (/\S+/crt\w*\.o)$", text, re.M)}


def included_files(build):
    """The third-party headers that were compiled: they may contain code."""
    text = run("ninja", "-C", str(build), "-t", "deps")
    paths = {os.path.realpath(build / path) for path in set(re.findall(r"^    (\S+)$", text, re.M))}  # ccache makes paths in the repository relative
    return {pathlib.Path(path) for path in paths if "/usr/" in path and not DECLARATIONS.search(path)}


class Debian:
    """The packages of files, here or in a sysroot. A package is (name, version, source, source's version, architecture)."""

    def __init__(self, arch, sysroot):
        self.arch, self.sysroot = arch, sysroot and pathlib.Path(sysroot).resolve()
        rows = (self.sysroot / "packages").read_text(encoding="utf-8").splitlines() if sysroot else []
        self.listed = {row.split("\t")[0]: row.split("\t") for row in rows}
        self.multiarch = run("gcc", "-print-multiarch").strip()

    def of(self, files):
        owned, sources = set(), set()
        for file in files:
            if built := re.search(r"/(curl|re2)-([^/]+?)-[0-9a-f]{12}(-\w+)?/", str(file)):
                sources.add((built[1], built[2], built[1], built[2], "source"))
            elif self.sysroot and file.is_relative_to(self.sysroot):
                here = re.sub(r"/\w+-linux-gnu/", f"/{self.multiarch}/", "/" + str(file.relative_to(self.sysroot)))
                owned.add((here, True))
            else:
                owned.add((str(file), False))
        return sources | {self.package(name, foreign) for name, foreign in self.owners(owned)}

    @staticmethod
    def owners(files):
        """(package, foreign) of each (path, foreign). dpkg fails for a path that belongs to no package: nothing may be left out."""
        lines = run("dpkg", "-S", *sorted({path for path, _ in files})).splitlines()
        packages = {path: owner.partition(":")[0] for owner, path in (line.split(": ", 1) for line in lines)}
        return {(packages[path], foreign) for path, foreign in files}

    @functools.lru_cache(maxsize=None)
    def package(self, name, foreign=False):
        here = run("dpkg-query", "-W", "-f", "${Package}\t${Version}\t${source:Package}\t${source:Version}\t${Architecture}\n", name).splitlines()[0].split("\t")
        if not foreign:
            return tuple(here)
        if self.listed[name][1] != here[1]:
            print(f"sbom: {name} for {self.arch} is {self.listed[name][1]}, but this machine has {here[1]}", file=sys.stderr)
        return (*self.listed[name], here[4] if here[4] == "all" else self.arch)


def purl(package):
    name, version, source, _, arch = package
    return f"pkg:deb/debian/{name}@{urllib.parse.quote(version, safe='.~-')}?arch={arch}&distro=debian-12" + (f"&upstream={source}" if source != name else "")


def spdx_package(package):
    name, version, source, source_version, arch = package
    return {
        "SPDXID": f"SPDXRef-{re.sub('[^A-Za-z0-9.-]', '-', name)}", "name": name, "versionInfo": version, "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "sourceInfo": f"built from Debian's source package {source} {source_version}",
        "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl(package)}],
    }


def relation(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def document(build, arch, sysroot):
    debian = Debian(arch, sysroot)
    linked = debian.of(linked_files(build))
    included = {package for package in debian.of(included_files(build)) if not C_LIBRARY.match(package[0])} - linked
    program = build / "trainstep"
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    version = re.search(r"project\(trainstep VERSION ([0-9.]+)", (pathlib.Path(__file__).parents[1] / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
    created = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH") or program.stat().st_mtime), datetime.timezone.utc)
    own = {
        "SPDXID": "SPDXRef-trainstep", "name": "trainstep", "versionInfo": version, "primaryPackagePurpose": "APPLICATION", "supplier": "NOASSERTION",
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
        "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION",
    }
    certificates = debian.package(CERTIFICATES)
    packages = sorted(linked) + sorted(included) + [certificates]
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-trainstep")]
    for kind, of_kind in (("STATIC_LINK", linked), ("CONTAINS", included), ("DEPENDS_ON", {certificates})):
        relations += [relation("SPDXRef-trainstep", kind, spdx_package(package)["SPDXID"]) for package in sorted(of_kind)]
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"trainstep-{version}-{arch}",
        "documentNamespace": f"https://spdx.org/spdxdocs/trainstep-{version}-{arch}-{digest}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": [f"Tool: trainstep-sbom-{version}"]},
        "packages": [own, *map(spdx_package, packages)], "relationships": relations,
    }


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    json.dump(document(pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None), sys.stdout, indent=1)
    print()
