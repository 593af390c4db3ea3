# SPDX-License-Identifier: Apache-2.0
"""The wheel as a user gets it: its contents, installed by pip into a new environment, the guide's examples; its types."""
import filecmp
import os
import platform
import re
import subprocess
import zipfile

import pytest
from conftest import ROOT
from sdk_scripts import environment, script, start  # noqa: F401


@pytest.fixture(scope="module")
def wheel():
    found = list((ROOT / "build/wheel").glob(f"trainstep-*{platform.machine()}.whl"))
    assert len(found) == 1, "no wheel in build/wheel: ./dev wheel makes it"
    return found[0]


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A new environment with nothing but the wheel, installed as the guide says: its folder of programs."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run(["/usr/bin/python3", "-m", "venv", folder], check=True)
    build, install = re.findall(r"^    (\S.*)$", (ROOT / "docs/notebook.md").read_text(encoding="utf-8").partition("## ")[0], re.MULTILINE)
    assert build == "./dev wheel"  # which has made `wheel`
    environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "PIP_NO_INDEX": "1", "PIP_QUIET": "1"}
    subprocess.run(["bash", "-euc", install], cwd=ROOT, env=environment, check=True)
    return folder / "bin"


@pytest.fixture(scope="module")
def interpreter(installed):
    return [installed / "python"]


def python_blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_wheel_has_the_program_itself_the_component_and_no_python_around_it(wheel, installed, program, tmp_path):
    assert filecmp.cmp(installed / "trainstep", program, shallow=False)
    assert subprocess.run([installed / "trainstep", "--version"], capture_output=True, text=True, check=True).stdout.startswith("trainstep ")
    with zipfile.ZipFile(wheel) as file:
        assert file.read("trainstep/component.yaml") == (ROOT / "component/component.yaml").read_bytes()
        assert "trainstep/py.typed" in file.namelist()
        (metadata,) = [name for name in file.namelist() if name.endswith(".dist-info/METADATA")]
        assert "Requires-Dist" not in file.read(metadata).decode()


def test_wheel_is_named_for_the_programs_machine_and_any_c_library(wheel):
    machine = platform.machine()
    assert wheel.name.partition("-py3-none-")[2] == f"manylinux2014_{machine}.manylinux_2_17_{machine}.musllinux_1_1_{machine}.whl"


def test_wheels_of_other_machines_are_named_by_their_programs(python_of, tmp_path):
    ask = "import hatch_build, pathlib, sys; print(hatch_build.tag(hatch_build.machine(pathlib.Path(sys.argv[1]))))"

    def name_for(content):
        (tmp_path / "program").write_bytes(content)
        words = [python_of("sdk"), "-B", "-c", ask, tmp_path / "program"]
        return subprocess.run(words, cwd=ROOT / "sdk", capture_output=True, text=True, check=False)

    for number, name in ((183, "aarch64"), (21, "ppc64le")):
        head = b"\x7fELF\x02\x01".ljust(18, b"\0") + number.to_bytes(2, "little")
        assert name_for(head).stdout.startswith(f"py3-none-manylinux2014_{name}.")
    assert "is not a program for x86_64, aarch64, ppc64le" in name_for(b"#!/bin/sh\nexec something else\n").stderr


def test_import_loads_only_its_own_module(script):
    loaded = script("""
        import sys
        print([name for name in sys.modules if name.partition(".")[0] == "trainstep"])
        print(sorted({"json", "subprocess", "inspect", "typing", "importlib.metadata", "kfp", "tqdm"} & set(sys.modules)))
    """)
    assert loaded.splitlines() == ["['trainstep']", "[]"]


def test_every_public_name_is_there(script):
    assert script("print([name for name in trainstep.__all__ if getattr(trainstep, name) is None], trainstep.version())").split()[0] == "[]"


def test_the_words_of_the_readme_work(script):
    (text,) = python_blocks(ROOT / "sdk/README.md")
    assert script(text).splitlines()[-1].startswith("{'loss': 0.2}")


def test_the_cells_of_the_guide_work_one_after_the_other(script):
    """Those for a cluster and for pipelines are run by tests of their own."""
    cells = [text for text in python_blocks(ROOT / "docs/notebook.md") if not text.startswith("# ")]
    output = script("\n".join(cells))
    assert "[worker-0] epoch=5/5" in output and "ZeroDivisionError" in output and output.rstrip().endswith("report.html")


@pytest.fixture
def mypy(python_of):
    """mypy(folder, "--python-version", "3.9") → what it finds there."""

    def check(folder, *words):
        words = [python_of("sdk"), "-m", "mypy", "--strict", "--no-incremental", "--cache-dir", "/dev/null", *words]
        return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=False)

    return check


def test_types_are_right(mypy):
    done = mypy(ROOT / "sdk", "--python-version", "3.9")
    assert done.returncode == 0, done.stdout


def test_type_checkers_know_results_and_inputs(mypy, installed, tmp_path):
    lines = ['result = trainstep.run("…", {"epochs": 3}, gpus=1)', "loss: str = result.metrics", 'trainstep.submit("…", modelname="digits")']
    (tmp_path / "user.py").write_text("\n".join(["import trainstep", *lines, ""]), encoding="utf-8")
    found = mypy(tmp_path, "--python-executable", installed / "python", "user.py").stdout
    assert re.findall(r"^user.py:(\d+): error: .*\[(.*)\]$", found, re.MULTILINE) == [("3", "assignment"), ("4", "call-arg")], found
