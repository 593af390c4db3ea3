# SPDX-License-Identifier: Apache-2.0
"""Resource usage of processes, from /proc."""
import contextlib
import os
import pathlib
import signal
import subprocess

TICKS = os.sysconf("SC_CLK_TCK")


def children(pid):
    found = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(pid), *(grandchild for child in found for grandchild in children(child))]


def status_mb(pid, key):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def resident(pid):
    """Of a process and its children, shells left out."""
    return sum(status_mb(one, "VmRSS") for one in children(pid) if pathlib.Path(f"/proc/{one}/comm").read_text().strip() != "kubectl.sh")


def cpu(pid):
    """Of a process, its children and those that it has waited for, in seconds."""
    total = 0
    for one in children(pid):
        fields = pathlib.Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15]))
    return total / TICKS


def end(process):
    """A process and its children."""
    with contextlib.suppress(OSError):
        for one in children(process.pid)[1:]:
            os.kill(one, signal.SIGTERM)
    process.terminate()
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
