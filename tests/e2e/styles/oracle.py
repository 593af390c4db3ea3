# SPDX-License-Identifier: Apache-2.0
"""Shared by both oracles: runs a command that an SDK resolved, and records the result."""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def tree(path: pathlib.Path):
    """What lies at a path; the test reads the outputs of trainstep with the same function."""
    if path.is_dir():
        return {entry.name: tree(entry) for entry in sorted(path.iterdir())}
    return path.read_text(encoding="utf-8") if path.exists() else None


def without_installation(command):
    """The packages are there, and the environment of the SDK has no pip."""
    return command[3:] if command[:2] == ["sh", "-c"] and "pip install" in command[2] else command


def run(command, work: pathlib.Path, environment=None) -> int:
    """Runs the command with this interpreter as `python3`; returns its exit code."""
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    done = subprocess.run(
        without_installation(command), cwd=work, env={**os.environ, "PATH": path, **(environment or {})}, capture_output=True, text=True
    )
    if done.returncode != 0:
        print(f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
    return done.returncode


def readable(outputs):
    """The echo is JSON: as such it reads better than as text."""
    return {name: json.loads(what) if name == "echo" and what else what for name, what in outputs.items()}


def write_expected(folder: str, case, code: int, outputs, results, metadata=None) -> None:
    path = pathlib.Path(folder, "expected", case.name + ".json")
    path.parent.mkdir(parents=True, exist_ok=True)
    expected = {"outputs": readable(outputs), "results": results, "metadata": metadata or {}} if code == 0 else {"fails": True}
    path.write_text(json.dumps(expected, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
