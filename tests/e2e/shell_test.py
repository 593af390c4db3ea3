# SPDX-License-Identifier: Apache-2.0
"""Completion in real shells, at a terminal, and the manual page as mandoc and man read it."""
import os
import pty
import re
import select
import subprocess
import time

import pytest

LIMIT = 30  # seconds; matters only when a test fails
MARK = "ready>"
SHELLS = {
    "bash": (["bash", "--noprofile", "--norc", "-i"], f"PS1='{MARK} '; bind 'set bell-style none' 'set enable-bracketed-paste off'"),
    "zsh": (["zsh", "-f", "-i"], f"unsetopt beep; PS1='{MARK} '; autoload -Uz compinit; compinit -u -D"),
}
# fish's line editor draws the whole screen anew: it is asked by `complete -C`, which its own tests use.
COMPLETED = [
    ("trainstep rend", "trainstep render "),
    ("trainstep run --log-f", "trainstep run --log-format "),
    ("trainstep run --log-format j", "trainstep run --log-format json "),
    ("trainstep run --log-format=j", "trainstep run --log-format=json "),
    ("trainstep run --job_options @opt", "trainstep run --job_options @options.json "),
    ("trainstep run --job-options @opt", "trainstep run --job-options @options.json "),
    ("trainstep run --train-dataset-dir fol", "trainstep run --train-dataset-dir folder/"),
    ("trainstep run --run-dir fo", "trainstep run --run-dir folder/"),
    ("trainstep replay rec", "trainstep replay record.jsonl "),
    ("trainstep completion z", "trainstep completion zsh "),
]


@pytest.fixture
def home(program, tmp_path):
    """An empty home with a few files to complete, and trainstep in PATH."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "trainstep").symlink_to(program)
    (tmp_path / "folder").mkdir()
    for name in ("options.json", "record.jsonl", "foreign file"):
        (tmp_path / name).touch()
    return tmp_path


def environment(home):
    return {"HOME": str(home), "PATH": f"{home}/tools:/usr/bin:/bin", "TERM": "dumb", "LANG": "C.UTF-8"}


class Terminal:
    """An interactive shell at a terminal of its own."""

    def __init__(self, words, home):
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.chdir(home)
            os.execve(f"/bin/{words[0]}", words, environment(home))

    def type(self, text):
        os.write(self.end, text.encode())

    def until(self, pattern):
        """What has come once it matches."""
        seen, end = "", time.monotonic() + LIMIT
        while not re.search(pattern, seen):
            ready, _, _ = select.select([self.end], [], [], max(0, end - time.monotonic()))
            assert ready, f"no {pattern!r} in {seen!r}"
            seen += os.read(self.end, 4096).decode(errors="replace")
        return seen

    def close(self):
        os.close(self.end)
        os.waitpid(self.pid, 0)


@pytest.fixture
def terminal(home):
    opened = []

    def open_one(words):
        opened.append(Terminal(words, home))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


@pytest.fixture
def example(trainstep):
    """example("zsh"): the line of --help that switches completion on."""
    told = trainstep("completion", "--help", check=0).stdout.partition("Examples:")[2]
    return lambda shell: re.search(rf"^  (.*trainstep completion {shell}\b.*)$", told, re.MULTILINE)[1]


@pytest.mark.parametrize("shell", SHELLS)
def test_tab_completes_commands_flags_values_and_files(shell, example, terminal):
    words, setup = SHELLS[shell]
    at = terminal(words)
    at.type(f"{setup}; {example(shell)}; echo be\"\"gun\n")
    at.until("begun\r?\n")
    for written, completed in COMPLETED:
        at.type(f"{written}\t")
        at.until(re.escape(completed.removeprefix(written)))
        at.type("\x15")  # what stands there is removed


def test_fish_completes_commands_flags_values_and_files(example, home):
    asked = [written for written, _ in COMPLETED]
    script = example("fish") + "\n" + "".join(f"complete -C '{written}'; echo\n" for written in asked)
    done = subprocess.run(["fish", "--no-config", "-c", script], cwd=home, env=environment(home), capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    answers = [[line.partition("\t")[0] for line in part.splitlines()] for part in done.stdout.split("\n\n")]
    assert answers[: len(asked)] == [[completed.split()[-1]] for _, completed in COMPLETED]


def test_script_of_an_unknown_shell_is_refused(trainstep):
    done = trainstep("completion", "csh", check=2)
    assert "; expected bash, zsh or fish" in done.stderr


@pytest.fixture
def page(trainstep, tmp_path):
    path = tmp_path / "trainstep.1"
    path.write_text(trainstep("man", check=0).stdout, encoding="ascii")
    return path


def test_manual_page_is_correct(page):
    """mandoc misses a date, which the page has not, so that the same sources always make the same one."""
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True, check=False)
    assert [line for line in done.stdout.splitlines() if "missing date" not in line] == []
    read = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", page], capture_output=True, text=True, check=True)
    assert read.stderr == ""


def test_manual_page_matches_help(page, trainstep):
    shown = subprocess.run(["mandoc", "-T", "ascii", "-O", "width=900", page], capture_output=True, text=True, check=True).stdout
    text = " ".join(re.sub(".\b", "", shown).split())
    commands = re.findall(r"^  ([a-z]+) ", trainstep("--help").stdout.partition("Subcommands:")[2].partition("Examples:")[0], re.MULTILINE)
    assert {"run", "render", "completion", "man"} <= set(commands)
    for command in commands:
        told = trainstep(command, "--help").stdout
        flags = set(re.findall(r"^  (--[a-z0-9-]+)", told, re.MULTILINE)) - {"--help"}
        missing = [flag for flag in flags if f"{flag} " not in text]
        assert f"trainstep {command}" in text and missing == []
