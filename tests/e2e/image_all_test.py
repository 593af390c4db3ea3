# SPDX-License-Identifier: Apache-2.0
"""The images for all architectures that ./dev image --all has built: one OCI archive; each image starts on its architecture and has its SBOM."""
import hashlib
import io
import json
import subprocess
import tarfile

import pytest
import spdx
from conftest import ROOT
from image_test import FILES, LICENCES, LIMIT, PROGRAM, SBOM, check_licences

# Go's name of an architecture → ELF's machine (elf.h), and what runs its programs here
ARCHITECTURES = {"amd64": (62, []), "arm64": (183, ["qemu-aarch64"]), "ppc64le": (21, ["qemu-ppc64le"])}


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    path = ROOT / "build/image_all/trainstep.oci.tar"
    assert path.is_file(), f"{path} does not exist: ./dev image --all makes it"
    folder = tmp_path_factory.mktemp("layout")
    with tarfile.open(path) as tar:
        tar.extractall(folder)
    return folder


def blob(layout, descriptor):
    algorithm, _, digest = descriptor["digest"].partition(":")
    content = (layout / "blobs" / algorithm / digest).read_bytes()
    assert hashlib.new(algorithm, content).hexdigest() == digest and len(content) == descriptor["size"]
    return content


@pytest.fixture(scope="module")
def top(layout):
    return json.loads((layout / "index.json").read_text(encoding="utf-8"))["manifests"]


@pytest.fixture(scope="module")
def images(layout, top):
    """{architecture: descriptor}"""
    (index,) = [entry for entry in top if entry["mediaType"] == "application/vnd.oci.image.index.v1+json"]
    return {entry["platform"]["architecture"]: entry for entry in json.loads(blob(layout, index))["manifests"]}


def test_there_is_an_image_for_each_architecture(images):
    assert set(images) == set(ARCHITECTURES)


@pytest.fixture(params=ARCHITECTURES)
def architecture(request):
    return request.param


@pytest.fixture
def root(layout, images, architecture, tmp_path):
    manifest = json.loads(blob(layout, images[architecture]))
    for layer in manifest["layers"]:
        with tarfile.open(fileobj=io.BytesIO(blob(layout, layer))) as tar:
            tar.extractall(tmp_path / "root")
    return tmp_path / "root"


def test_each_image_is_small_and_correctly_labelled(layout, images, architecture, root):
    files = {str(path.relative_to(root)): path.stat().st_size for path in root.rglob("*") if path.is_file()}
    assert {name for name in files if not LICENCES.fullmatch(name)} == FILES and sum(files.values()) <= LIMIT
    check_licences(root)
    config = json.loads(blob(layout, json.loads(blob(layout, images[architecture]))["config"]))
    assert config["architecture"] == architecture and config["config"]["User"] == "65532:65532" and config["config"]["Entrypoint"] == [PROGRAM]
    assert config["config"]["Labels"]["org.opencontainers.image.title"] == "trainstep"


def test_each_program_runs_on_its_processor(architecture, root, tmp_path, program):
    """It says its version and trains: with a gang of this machine, under qemu."""
    machine, emulator = ARCHITECTURES[architecture]
    own = root / PROGRAM[1:]
    assert int.from_bytes(own.read_bytes()[18:20], "little") == machine
    said = [subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout for command in ([*emulator, own], [program])]
    assert said[0] == said[1]
    words = ["render", "--train-specification", '{"image": "a", "command": ["b"]}', "--model-name", "digits", "--run-id", "r1"]
    rendered = [subprocess.run([*command, *words], capture_output=True, text=True, check=True).stdout for command in ([*emulator, own], [program])]
    assert rendered[0] == rendered[1] and "kind: Job" in rendered[0]


def test_each_image_has_its_document_attached(layout, top, images, architecture, root, tmp_path):
    """As a referrer: a manifest with the image as its subject (the image specification 1.1)."""
    manifests = [json.loads(blob(layout, entry)) for entry in top if entry.get("artifactType") == "application/spdx+json"]
    assert len(manifests) == len(ARCHITECTURES)
    (attached,) = [one for one in manifests if one["subject"]["digest"] == images[architecture]["digest"]]
    content = blob(layout, attached["layers"][0])
    assert attached["artifactType"] == attached["layers"][0]["mediaType"] == "application/spdx+json" and content == (root / SBOM).read_bytes()
    path = tmp_path / "trainstep.spdx.json"
    path.write_bytes(content)
    document = json.loads(content)
    assert spdx.problems(path) == []
    assert spdx.checksum_of_the_program(document) == hashlib.sha256((root / PROGRAM[1:]).read_bytes()).hexdigest()
    assert {source.removesuffix("-cross") for source in spdx.sources(document)} == spdx.SOURCES
    assert spdx.sources_with_versions(document)["openssl"].partition("-")[0] == spdx.openssl_in(root / PROGRAM[1:])
