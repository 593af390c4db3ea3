# SPDX-License-Identifier: Apache-2.0
"""Packages that a specification installs: only missing ones, and only once."""
import pathlib
import subprocess
import sys
import zipfile

import pytest
from conftest import ROOT, read_json

SPECIFICATION = ROOT / "tests/e2e/styles/specs/missing_package.v1.yaml"


@pytest.fixture
def wheels(tmp_path) -> pathlib.Path:
    """A folder with the one package that the specification wants."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    with zipfile.ZipFile(folder / "styles_probe-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("styles_probe.py", '__version__ = "1.0"\n')
        wheel.writestr("styles_probe-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: styles-probe\nVersion: 1.0\n")
        wheel.writestr("styles_probe-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("styles_probe-1.0.dist-info/RECORD", "styles_probe.py,,\n")
    return folder


@pytest.fixture
def python(tmp_path) -> pathlib.Path:
    """An environment of its own, with pip."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    return tmp_path / "venv/bin/python"


def words(python, tmp_path, name):
    specification = f"@{SPECIFICATION}"
    return ("run", "--cluster", "local", "--python", python, "--run-dir", tmp_path / name, "--train-specification", specification)


def test_missing_package_is_installed_once(trainstep, wheels, python, tmp_path):
    trainstep(*words(python, tmp_path, "first"), env={"PIP_FIND_LINKS": str(wheels)}, check=0)
    assert read_json(tmp_path / "first/outputs/echo") == {"version": {"str": "1.0"}}
    trainstep(*words(python, tmp_path, "second"), check=0)  # nothing to install it from any more
    assert read_json(tmp_path / "second/outputs/echo") == {"version": {"str": "1.0"}}


def test_package_that_cannot_be_installed_is_a_clear_error(trainstep, python, tmp_path):
    done = trainstep(*words(python, tmp_path, "run"), check=2)
    assert "styles-probe" in done.stdout + done.stderr
