# SPDX-License-Identifier: Apache-2.0
"""trainstep with gangs of small shell programs: start, watch, kill, and check which processes are left.

TRAINSTEP names the program (default build/dev/trainstep).
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import uuid

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from surroundings import clean_environment, usual_signals  # noqa: E402
from waiting import until  # noqa: E402

usual_signals()

PROGRAM = pathlib.Path(os.environ.get("TRAINSTEP", ROOT / "build/dev/trainstep")).resolve()
LIMIT = 10  # seconds within which all processes must be gone


class Gang:
    """One run of trainstep and every process that comes from it, known by a variable of their environment."""

    def __init__(self, folder):
        self.folder = folder
        self.mark = f"FLOW_TEST={uuid.uuid4()}"
        self.log = folder / "log"
        self.process = None

    def start(self, script, distribution=None, options=None, after=(), path=os.environ["PATH"], words=(), begin=subprocess.Popen, **how):
        """`after`: further words of the command behind `sh -c script`; `words`: of trainstep. `begin`: what starts trainstep's words."""
        name, _, value = self.mark.partition("=")
        environment = clean_environment()
        words = [PROGRAM, "run", *words, "--cluster", "local", "--run-dir", self.folder / "run"]
        words += ["--train-specification", json.dumps({"image": "none", "command": ["sh", "-c", script, *after]})]
        words += ["--distribution-specification", json.dumps(distribution or {}), "--job-options", json.dumps(options or {})]
        streams = {"stdin": subprocess.DEVNULL, "stdout": self.log.open("wb"), "stderr": subprocess.STDOUT}
        self.process = begin(words, env={**environment, name: value, "NO_COLOR": "1", "PATH": path}, cwd=self.folder, **{**streams, **how})
        return self

    def output(self):
        return self.log.read_text(errors="replace")

    def until_said(self, text, times=1):
        until(lambda: self.output().count(text) >= times, f"{times} × {text!r} in\n{self.output()}")
        return self

    def exit_code(self):
        return self.process.wait(timeout=60)

    def all(self):
        """pid → command line of all processes of this run that are alive."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if self.mark.encode() not in (entry / "environ").read_bytes().split(b"\0"):
                    continue
                if (entry / "stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                    continue
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except (FileNotFoundError, ProcessLookupError, PermissionError):  # gone, or none of ours
                continue
        return found

    def pid_of(self, member):
        """From the working directory: the first process of a member of the gang."""
        folder = self.folder / "run" / member
        here = [pid for pid in self.all() if pathlib.Path(f"/proc/{pid}/cwd").resolve() == folder.resolve()]
        return min(here)

    def child(self):
        """The process below the guard, which does the work."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        assert len(children) == 1
        return int(children[0])

    def assert_gone(self):
        until(lambda: not self.all(), "everybody gone", LIMIT)

    def end(self):
        for pid in self.all():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.process:
            self.process.wait()


@pytest.fixture
def gang(tmp_path):
    assert PROGRAM.is_file(), f"{PROGRAM} does not exist"
    running = Gang(tmp_path)
    yield running
    running.end()
