# SPDX-License-Identifier: Apache-2.0
"""Every example of the documentation and of --help works as shown.

They run in an empty folder that has the samples and the environments of build/venv, with `trainstep` and the PyTorch sample's interpreter first in PATH.
"""
import json
import os
import pathlib
import re
import subprocess

import pytest
from conftest import PROGRAM, ROOT

VENVS = pathlib.Path(os.environ.get("TRAINSTEP_VENVS", ROOT / "build/venv"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language):
    """(where, text) of every fenced block of that language."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in re.finditer(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            yield f"{page.name}:{text.count(chr(10), 0, found.start()) + 1}", found.group(1)


def commands(text):
    """The calls of trainstep in a shell text, each with its continued lines."""
    return re.findall(r"^ *(trainstep (?:.*\\\n)*.*)$", text, re.MULTILINE)


def help_of(*words):
    return subprocess.run([PROGRAM, *words, "--help"], capture_output=True, text=True, check=True).stdout


def examples():
    for where, text in blocks("sh"):
        for number, command in enumerate(commands(text)):
            yield pytest.param(command, id=f"{where}.{number}")
    for words in [("run",), ("render",)]:
        for number, command in enumerate(commands(help_of(*words).partition("Examples:")[2])):
            yield pytest.param(command, id=f"help.{'_'.join(words)}.{number}")
    for words in [(), ("replay",), ("exec",), ("man",)]:  # their later lines need what the first ones have made
        yield pytest.param(help_of(*words).partition("Examples:")[2].partition("\nExit codes:")[0], id=f"help.{'_'.join(words)}")


EXAMPLES = list(examples())


def test_the_examples_are_found():
    ids = [example.id for example in EXAMPLES]
    for page in ("README.md", "inputs.md", "help.", "help.run", "help.render", "help.replay", "help.exec", "help.man"):
        assert any(name.startswith(page) for name in ids), f"no example of {page} in {ids}"


@pytest.mark.parametrize("command", EXAMPLES)
def test_example_works(command, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "trainstep").symlink_to(PROGRAM)
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "samples").symlink_to(ROOT / "samples")
    (folder / "build").mkdir()
    (folder / "build/venv").symlink_to(VENVS)
    environment = {name: os.environ[name] for name in ("HOME", "LANG", "USER") if name in os.environ}  # one that has nothing to pass on
    environment["PATH"] = f"{tools}:{VENVS / 'pytorch/bin'}:{os.environ['PATH']}"
    environment["PIP_NO_INDEX"] = "1"
    done = subprocess.run(
        ["bash", "-euc", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert done.stdout
    for flag, name in re.findall(r"--(model-dir|metrics|report|results) (\S+)", command):
        assert (folder / name).exists(), f"--{flag} {name}: not there"


@pytest.mark.parametrize("text", [pytest.param(text, id=where) for where, text in blocks("json")])
def test_json_is_json(text):
    json.loads(text)


def test_the_dev_script_knows_what_the_pages_name():
    known = subprocess.run([ROOT / "dev", "--help"], capture_output=True, text=True, check=False).stdout
    named = {word for page in [*PAGES, ROOT / "CONTRIBUTING.md"] for word in re.findall(r"\./dev ([a-z]+)", page.read_text(encoding="utf-8"))}
    assert "demo" in named
    for word in sorted(named - {"help"}):
        assert re.search(rf"\b{word}\b", known), f"./dev {word} is in no line of ./dev --help"


FLAGS_OF_OTHERS = "--pytorch-init-container-template-file --prefix --mca --bind-to --map-by --all --restart-successful"  # of the training-operator, mpirun, skopeo, argo


def test_every_flag_that_the_pages_name_exists():
    known = help_of("run") + help_of("render") + help_of() + FLAGS_OF_OTHERS
    for page in PAGES:
        text = re.sub(r"^```(?:python|jsonl)\n.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        text = re.sub(r"(\./dev|tools/\S+) [^`\n]*", "", text)
        text = re.sub(r"(trainstep (?:run|render|check)[^`\n]*?) -- [^`\n]*", r"\1", text)  # what follows is of another program
        for flag in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)):
            assert re.search(rf"(?<![\w-]){flag}(?![\w-])", known), f"{page.name} names {flag}"


COMMANDS = re.findall(r"^  ([a-z]+) ", help_of().partition("Subcommands:")[2].partition("Examples:")[0], re.MULTILINE)


@pytest.mark.parametrize("words", [(), *((command,) for command in COMMANDS)], ids=["app", *COMMANDS])
def test_help_is_readable_and_ends_with_examples(words):
    text = help_of(*words)
    assert " ".join(["Usage: trainstep", *words]) in text
    assert ("[OPTIONS] [-- COMMAND...]\n" in text) == (words[-1:] in [("run",), ("render",), ("check",), ("exec",)])
    assert max(len(line) for line in text.splitlines()) <= 150
    assert "\nExamples:\n" in text
    undescribed = [line for line in text.partition("Examples:")[0].splitlines() if re.fullmatch(r"  --\S{1,25}", line)]
    assert undescribed == []


def test_version_is_one_line():
    done = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"trainstep \d+\.\d+\.\d+\n", done.stdout)
