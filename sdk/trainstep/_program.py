# SPDX-License-Identifier: Apache-2.0
"""Locates the program, and runs its short commands."""
from __future__ import annotations

import functools
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence

from ._files import ExitCode
from .errors import InputError, error


@functools.lru_cache(maxsize=None)
def program() -> pathlib.Path:
    """The path of the program `trainstep`: the environment variable TRAINSTEP, the one in this package, or the first in PATH.

    FileNotFoundError: not found.
    """
    for path in _candidates():
        if os.access(path, os.X_OK) and path.is_file():
            return path
    raise FileNotFoundError("the program trainstep is neither where pip installs it nor in PATH; run `pip install --force-reinstall trainstep`")


def _candidates() -> Iterator[pathlib.Path]:
    if os.environ.get("TRAINSTEP"):
        yield pathlib.Path(os.environ["TRAINSTEP"])
    here = pathlib.Path(__file__).resolve().parent
    # lib/python3.11/site-packages/trainstep → bin; `pip install --target` → TARGET/bin
    if here.parent == pathlib.Path(sysconfig.get_path("purelib")).resolve():
        yield pathlib.Path(sysconfig.get_path("scripts"), "trainstep")
    yield from _listed()
    yield here.parent / "bin/trainstep"
    found = shutil.which("trainstep")
    if found:
        yield pathlib.Path(found)


def _listed() -> Iterator[pathlib.Path]:
    """The program's path as recorded by pip, also for `--user` and `--prefix`."""
    import importlib.metadata

    try:
        files = importlib.metadata.files("trainstep") or []
    except importlib.metadata.PackageNotFoundError:
        return
    yield from (pathlib.Path(str(file.locate())) for file in files if file.parts[-2:] == ("bin", "trainstep"))


def version() -> str:
    """The program's version: "0.1.0"."""
    return call("--version").split()[1]


def call(command: str, *words: str) -> str:
    """Runs the program and returns its output. TrainstepError: it failed; the message is its own."""
    ended = ExitCode()
    words = (command, ended.flag, *words) if not command.startswith("-") else (command, *words)
    done = subprocess.run(
        [str(program()), *words], stdin=subprocess.DEVNULL, capture_output=True, check=False, pass_fds=[ended.descriptor]
    )
    # Not in text mode, which would convert carriage returns in a log to newlines.
    output, problems = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
    if code := ended.of(done.returncode) if ended.flag in words else done.returncode:
        raise error(code, plain(problems or output))
    if problems:  # warnings: missing permissions, leftovers
        print(plain(problems), file=sys.stderr)
    return output


def flags(values: Sequence[tuple[str, str]]) -> list[str]:
    """("base_image", "x") → --base-image=x. An empty string counts as not given. InputError: not valid on a command line."""
    return [f"--{name.replace('_', '-')}={_word(name, value)}" for name, value in values if value]


def _word(name: str, value: str) -> str:
    try:
        if b"\0" not in os.fsencode(value):
            return value
    except (TypeError, UnicodeEncodeError):
        pass
    raise InputError(f"{name}: expected a string without NUL and unpaired surrogates; got {value!a}", 2)


def plain(text: str) -> str:
    """Removes the program's name from the start of a message; the traceback already shows it."""
    return text.strip().removeprefix("trainstep: ")
