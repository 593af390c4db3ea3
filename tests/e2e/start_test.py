# SPDX-License-Identifier: Apache-2.0
"""The cost of a start, measured in operations, as times vary on a busy machine (./dev bench has the milliseconds)."""
import re
import subprocess

import pytest

FEW = 40  # system calls; it was 25 with glibc 2.36


@pytest.fixture
def calls(program, tmp_path):
    """calls("--version"): the system calls of that start, by name."""

    def trace(*words):
        log = tmp_path / "strace"
        subprocess.run(["strace", "-f", "-o", log, program, *words], capture_output=True, check=True, stdin=subprocess.DEVNULL)
        return re.findall(r"^\d+ +(\w+)\(", log.read_text(encoding="utf-8"), re.MULTILINE)

    return trace


def test_version_opens_nothing_starts_nothing_and_is_soon_done(calls):
    made = calls("--version")
    assert "execve" in made and "write" in made and len(made) <= FEW
    assert {"open", "openat", "socket", "clone", "clone3", "fork", "vfork"} & set(made) == set()


@pytest.mark.parametrize("words", [("--help",), ("man",), ("completion", "bash"), ("completion", "words", "--", "run", "--m")], ids=lambda words: words[0])
def test_what_only_prints_opens_and_starts_nothing(calls, words):
    assert {"open", "openat", "socket", "clone", "clone3", "fork", "vfork"} & set(calls(*words)) == set()
