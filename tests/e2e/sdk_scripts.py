# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the Python package: scripts that import it, run by an interpreter that has it (fixture `interpreter` of the module)."""
import subprocess
import textwrap

import pytest
from surroundings import clean_environment


@pytest.fixture
def environment(tmp_path):
    return {**clean_environment(), "HOME": str(tmp_path), "PIP_NO_INDEX": "1", "SDK_TEST": str(tmp_path)}


@pytest.fixture
def start(interpreter, environment, tmp_path):
    """start("print(1)") → the running process of a script that has `import trainstep`."""
    running = []

    def begin(script):
        path = tmp_path / "script.py"
        path.write_text("import trainstep\n" + textwrap.dedent(script), encoding="utf-8")
        process = subprocess.Popen([*interpreter, "-u", path], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, text=True)
        running.append(process)
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def script(start):
    """script("print(1)") → what it prints."""

    def run(text, check=0):
        process = start(text)
        output, _ = process.communicate(timeout=60)
        assert process.returncode == check, output
        return output

    return run
