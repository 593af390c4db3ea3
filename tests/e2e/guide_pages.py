# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/, and where their examples run.

In one folder for each page, which has the samples, the component and the environments of build/venv:
  ```console     lines after `$ ` are run, the rest is their output; `…` in a line matches any text, a line `…` any lines.
  ```python      by its first line: `# NAME.py` is a file for the console; `# SDK 1.8`, `# SDK 2` is a pipeline, which is compiled by that SDK and run as its
                 backend would; `# on a cluster` is run with the package, and rendered instead of sent to a cluster; `# before` is the code to migrate.
  ```sh cluster  commands that require a cluster: cluster_jobs_test.py has one.
"""
import os
import pathlib
import re

import pytest
from conftest import ROOT
from surroundings import clean_environment

DOCS = ROOT / "docs"
PAGES = {page.name: page.read_text(encoding="utf-8") for page in sorted(DOCS.glob("*.md"))}


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGES[page], re.DOTALL | re.MULTILINE)


def pythons(page, first):
    """The Python blocks whose first line is `# FIRST`."""
    return [text for text in blocks(page, "python") if text.startswith(f"# {first}\n")]


def cluster_commands():
    """Those of the blocks `sh cluster`, in their order."""
    text = "\n".join(block for page in PAGES for block in blocks(page, "sh cluster"))
    return re.findall(r"^(trainstep (?:.*\\\n)*.*)$", text, re.MULTILINE)


@pytest.fixture
def folder(tmp_path, python_of):
    here = tmp_path / "here"
    here.mkdir()
    for name in ("samples", "component"):
        (here / name).symlink_to(ROOT / name)
    (here / "build").mkdir()
    (here / "build/venv").symlink_to(pathlib.Path(python_of("uv")).parents[2])
    return here


@pytest.fixture
def environment(program, tmp_path):
    """`trainstep` comes first in PATH; every Python has the package."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "trainstep").symlink_to(program)
    kept = clean_environment()
    own = {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "sdk"), "TRAINSTEP": str(program), "HOME": str(tmp_path)}
    return {**kept, **own, "PIP_NO_INDEX": "1", "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}
