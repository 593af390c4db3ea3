#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Attaches to each image of an OCI layout its SBOM: attach_sbom.py LAYOUT ROOTS, where ROOTS/ARCH is the root file system of that architecture's image.

As specified in the image specification 1.1: a manifest with the artifactType application/spdx+json and the image as its subject; registries list it as a
referrer. It is in index.json next to the image's index (https://github.com/opencontainers/image-spec/blob/main/image-layout.md). Neither
buildah 1.28 nor skopeo 1.9 can write one.
"""
import hashlib
import json
import pathlib
import sys

SPDX = "application/spdx+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
EMPTY = "application/vnd.oci.empty.v1+json"
DEBIAN_NAMES = {"ppc64le": "ppc64el"}  # where Debian's name of an architecture differs from Go's


def add(layout, media_type, content):
    """Adds a blob to the layout and returns its descriptor."""
    digest = hashlib.sha256(content).hexdigest()
    (layout / "blobs/sha256" / digest).write_bytes(content)
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}


def read(layout, descriptor):
    return json.loads((layout / "blobs" / descriptor["digest"].replace(":", "/")).read_bytes())


def attach(layout, roots):
    top = json.loads((layout / "index.json").read_text(encoding="utf-8"))
    (index,) = top["manifests"]
    for image in read(layout, index)["manifests"]:
        architecture = image["platform"]["architecture"]
        sbom = roots / DEBIAN_NAMES.get(architecture, architecture) / "usr/share/doc/trainstep/trainstep.spdx.json"
        artifact = {
            "schemaVersion": 2, "mediaType": MANIFEST, "artifactType": SPDX,
            "config": add(layout, EMPTY, b"{}"),
            "layers": [{**add(layout, SPDX, sbom.read_bytes()), "annotations": {"org.opencontainers.image.title": f"trainstep-{architecture}.spdx.json"}}],
            "subject": {key: image[key] for key in ("mediaType", "digest", "size")},
        }
        top["manifests"].append({**add(layout, MANIFEST, json.dumps(artifact).encode()), "artifactType": SPDX})
    (layout / "index.json").write_text(json.dumps(top), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    attach(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
