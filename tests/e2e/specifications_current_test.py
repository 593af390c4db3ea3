# SPDX-License-Identifier: Apache-2.0
"""The specifications and pipelines in the repository are what the pinned SDKs generate from the sources next to them."""
import pathlib
import subprocess

import pytest
from conftest import ROOT, SAMPLES

STYLES = ROOT / "tests/e2e/styles"


def files(folder: pathlib.Path, *patterns: str):
    return {str(path.relative_to(folder)): path.read_bytes() for pattern in patterns for path in folder.glob(pattern)}


@pytest.mark.parametrize(
    "script, folder, patterns",
    [
        (SAMPLES / "make_specifications.py", SAMPLES, ["*/train_specification.*.yaml"]),
        (ROOT / "pipelines/make_pipelines.py", ROOT / "pipelines", ["*/digits*.yaml"]),
        (STYLES / "make_styles.py", STYLES, ["specs/*", "expected/*"]),
    ],
    ids=["samples", "pipelines", "parameter styles"],
)
def test_generated_files_are_current(script, folder, patterns, tmp_path, python_of):
    done = subprocess.run([python_of("e2e"), script, tmp_path], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    made, kept = files(tmp_path, *patterns), files(folder, *patterns)
    assert made and sorted(made) == sorted(kept), f"{script} writes other files than there are"
    for name, content in made.items():
        assert content.decode() == kept[name].decode(), f"{name} is not what {script.name} writes: run it"
