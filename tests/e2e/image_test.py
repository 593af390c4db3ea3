# SPDX-License-Identifier: Apache-2.0
"""The image that ./dev image has built: small, with the right contents, starts for any user with a read-only root. Needs root, for runc."""
import hashlib
import io
import json
import pathlib
import re
import subprocess
import tarfile
import uuid

import pytest
import spdx
from conftest import ROOT

LIMIT = 12_000_000  # bytes, unpacked
SBOM = "usr/share/doc/trainstep/trainstep.spdx.json"
LICENCES = re.compile(r"usr/share/doc/[^/]+/copyright|usr/share/common-licenses/[^/]+")
FILES = {"usr/local/bin/trainstep", "etc/ssl/certs/ca-certificates.crt", "etc/passwd", "usr/share/doc/trainstep/LICENSE", SBOM}
PROGRAM = "/usr/local/bin/trainstep"


@pytest.fixture(scope="module")
def archive():
    path = ROOT / "build/image/trainstep.tar"
    assert path.is_file(), f"{path} does not exist: ./dev image makes it"
    with tarfile.open(path) as tar:
        yield tar


def member(archive, name):
    return archive.extractfile(name).read()


@pytest.fixture(scope="module")
def layers(archive):
    (manifest,) = json.loads(member(archive, "manifest.json"))
    return [tarfile.open(fileobj=io.BytesIO(member(archive, layer))) for layer in manifest["Layers"]]


@pytest.fixture(scope="module")
def config(archive):
    (manifest,) = json.loads(member(archive, "manifest.json"))
    return json.loads(member(archive, manifest["Config"]))


@pytest.fixture(scope="module")
def root(layers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("image") / "root"
    for layer in layers:
        layer.extractall(folder)
    folder.chmod(0o755)
    return folder


def test_image_is_small_and_holds_nothing_else(layers):
    entries = [entry for layer in layers for entry in layer.getmembers()]
    names = {entry.name.removeprefix("./").strip("/") for entry in entries if entry.isfile()}
    assert {name for name in names if not LICENCES.fullmatch(name)} == FILES
    assert sum(entry.size for entry in entries) <= LIMIT
    (tmp,) = [entry for entry in entries if entry.name.strip("./") == "tmp"]
    assert tmp.isdir() and tmp.mode & 0o7777 == 0o1777


def test_image_holds_the_release(root, program):
    assert (root / PROGRAM[1:]).read_bytes() == program.read_bytes()


def test_image_is_labelled_and_runs_as_nobody(config, program):
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    labels = {name.removeprefix("org.opencontainers.image."): text for name, text in config["config"]["Labels"].items()}
    assert labels["version"] == version and labels["title"] == "trainstep" and labels["licenses"] == "Apache-2.0"
    assert labels["description"] and re.fullmatch("[0-9a-f]{40}(-dirty)?", labels["revision"])
    assert config["config"]["User"] == "65532:65532" and config["config"]["Entrypoint"] == [PROGRAM]
    assert "PATH=/usr/local/bin" in config["config"]["Env"]


def test_sbom_in_the_image_and_next_to_it_lists_every_library_of_the_program(root, program):
    """What the program says of itself, dpkg of this machine and the dependencies that the project names (ADR 2) are asked, not how the document was made."""
    beside = ROOT / "build/image/trainstep.spdx.json"
    assert (root / SBOM).read_bytes() == beside.read_bytes()
    assert spdx.problems(beside) == []
    document = json.loads(beside.read_bytes())
    assert spdx.checksum_of_the_program(document) == hashlib.sha256(program.read_bytes()).hexdigest()
    assert spdx.sources(document) == spdx.SOURCES
    for package in document["packages"][1:]:
        if package["name"] not in spdx.BUILT_HERE:
            installed = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\n", package["name"]], capture_output=True, text=True, check=True).stdout
            assert package["versionInfo"] == installed.splitlines()[0]
    assert spdx.sources_with_versions(document)["openssl"].partition("-")[0] == spdx.openssl_in(program)


def check_licences(root):
    """Everything that the document lists has its licence there, with the texts that it refers to."""
    assert (root / "usr/share/doc/trainstep/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    for package in json.loads((root / SBOM).read_bytes())["packages"][1:]:
        text = (root / "usr/share/doc" / package["name"] / "copyright").read_text(encoding="utf-8", errors="replace")
        assert "icense" in text
        for path in re.findall(r"(/usr/share/common-licenses/\w[\w.-]*\w)", text):
            assert (root / path[1:]).stat().st_size > 500, path


def test_image_has_the_licence_of_everything_in_it(root):
    check_licences(root)


def test_image_trusts_public_certificate_authorities_and_not_this_machines(root):
    text = (root / "etc/ssl/certs/ca-certificates.crt").read_text(encoding="ascii")
    public = sum(1 for _ in pathlib.Path("/usr/share/ca-certificates/mozilla").glob("*.crt"))
    assert text.count("-----BEGIN CERTIFICATE-----") == public > 100


@pytest.fixture
def run(root, config, tmp_path):
    """run("--version"): the entry point in a container, as uid 12345, without any right, with a read-only root and a /tmp of its own."""

    def call(*words):
        bundle = tmp_path / "bundle"
        bundle.mkdir(exist_ok=True)
        (bundle / "config.json").unlink(missing_ok=True)
        subprocess.run(["runc", "spec"], cwd=bundle, check=True)
        spec = json.loads((bundle / "config.json").read_text())
        spec["root"] = {"path": str(root), "readonly": True}
        spec["process"] |= {
            "terminal": False, "user": {"uid": 12345, "gid": 12345}, "args": [*config["config"]["Entrypoint"], *words], "env": config["config"]["Env"],
            "cwd": "/", "capabilities": {}, "noNewPrivileges": True,
        }
        spec["mounts"] = [mount for mount in spec["mounts"] if mount["type"] != "cgroup"]
        spec["mounts"].append({"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=1777", "size=16m"]})
        (bundle / "config.json").write_text(json.dumps(spec))
        name = f"trainstep-{uuid.uuid4().hex[:8]}"
        command = ["runc", "--root", tmp_path / "runc", "run", "--bundle", bundle, name]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)

    return call


def test_any_user_starts_it_with_a_read_only_root(run):
    done = run("--version")
    assert done.returncode == 0 and done.stdout.startswith("trainstep "), done.stdout + done.stderr


def test_step_writes_what_it_has_to_below_tmp(run):
    """The only program that the image has trains here."""
    specification = json.dumps({"image": "none", "command": [PROGRAM, "--version"]})
    words = ("--cluster", "local", "--run-dir", "/tmp/run", "--report", "/tmp/report.html", "--model-dir", "/tmp/outputs/model_dir")
    done = run("run", "--train-specification", specification, *words)
    assert done.returncode == 0 and "[main] trainstep " in done.stdout, done.stdout + done.stderr


def test_step_in_a_pod_without_a_service_account_reports_it(run):
    done = run("run", "--cluster", "kubernetes", "--train-specification", '{"image": "a", "command": ["b"]}')
    assert done.returncode == 2 and "no kubeconfig" in done.stderr, done.stdout + done.stderr
