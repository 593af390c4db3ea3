"""The cost of Trainstep compared with the same steps in Python (kfp + kubernetes packages), measured in one run.

Every number is the median of several runs. Usage: bench.py PROGRAM PYTHON, where PYTHON has the packages of samples/requirements/kfp2.txt.
"""

import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from table import show

HERE = pathlib.Path(__file__).parent
PEAK = HERE.parent.parent / "build/release/peak"
SPECIFICATION = HERE.parent.parent / "samples" / "pytorch" / "train_specification.v1.yaml"
RUNS = 15
PYTHON_RUNS = 3
REPLICAS = 8
LINES = 1_200_000  # of each replica
LINE = 96  # bytes, newline included


def measured(command, runs):
    """Median wall time in seconds and peak resident memory in MB of a command."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        status = subprocess.run(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL).returncode
        times.append(time.perf_counter() - begin)
        if status != 0:
            sys.exit(f"bench: {command[:3]} failed")
    peak = subprocess.run([PEAK, *command], capture_output=True, check=True, stdin=subprocess.DEVNULL).stdout
    return statistics.median(times), int(peak) * 1024 / 1e6


def render_command(program, workers, kind):
    distribution = json.dumps({"distribution_type": kind, "number_of_workers": workers, "worker_cpus": "8", "worker_memory": "32Gi"})
    return [program, "render", "--train-specification", f"@{SPECIFICATION}", "--distribution-specification", distribution]


def rendering(program, python):
    start, start_memory = measured([program, "--version"], RUNS)
    rows = [("trainstep --version, from start", f"{start * 1000:.1f} ms", "", "", "10 ms"), ("  peak memory", f"{start_memory:.1f} MB", "", "", "8 MB")]
    for title, kind, workers, target in (("manifest of a PyTorchJob, from start", "PyTorch", 3, "5 ms"), ("manifest of a TFJob of 1,000 workers", "TF", 1000, "10 ms")):
        ours, our_memory = measured(render_command(program, workers, kind), RUNS)
        theirs, their_memory = measured([python, str(HERE / "render.py"), str(SPECIFICATION), kind, str(workers)], PYTHON_RUNS)
        rows.append((title, f"{ours * 1000:.1f} ms", f"{theirs * 1000:.0f} ms", f"{theirs / ours:.0f}×", target))
        rows.append(("  peak memory", f"{our_memory:.1f} MB", f"{their_memory:.0f} MB", f"{their_memory / our_memory:.0f}×", "8 MB"))
    return rows


WRITER = rf"""
import os, sys
rank = int(os.environ["JOB_COMPLETION_INDEX"])
tail = "x" * ({LINE} - len("r0 n0000000 \n"))
batch = 2000
for first in range(0, {LINES}, batch):
    os.write(1, "".join(f"r{{rank}} n{{n:07}} {{tail}}\n" for n in range(first, min(first + batch, {LINES}))).encode())
"""


def check_merged(path):
    """No line lost, torn or out of its replica's order."""
    expected = [0] * REPLICAS
    pattern = re.compile(rb"\[\S+\] r(\d) n(\d{7}) x+$")
    with open(path, "rb") as log:
        for line in log:
            if line.startswith(b"[trainstep]"):
                continue
            match = pattern.match(line)
            if not match:
                sys.exit(f"bench: a torn line: {line[:120]!r}")
            rank, number = int(match[1]), int(match[2])
            if number != expected[rank]:
                sys.exit(f"bench: replica {rank}: line {number} where {expected[rank]} was due")
            expected[rank] += 1
    if expected != [LINES] * REPLICAS:
        sys.exit(f"bench: lines are missing: {expected}")


def merging(program):
    """Eight replicas that write as fast as they can, through `trainstep run`, through a Python launcher, and into bare pipes."""
    megabytes = REPLICAS * LINES * LINE / 1e6
    with tempfile.TemporaryDirectory() as folder:
        specification = json.dumps({"image": "none", "command": [sys.executable, "-c", WRITER]})
        distribution = json.dumps({"distribution_type": "Job", "indexed": True, "number_of_workers": REPLICAS})
        log = pathlib.Path(folder) / "log"

        def timed(command, check):
            seconds = []
            for _ in range(3):
                with open(log, "wb") as out:
                    begin = time.perf_counter()
                    subprocess.run(command, stdout=out, check=True, stdin=subprocess.DEVNULL)
                    seconds.append(time.perf_counter() - begin)
                if check:
                    check_merged(log)
            return megabytes / statistics.median(seconds)

        ours = timed([program, "run", "--cluster", "local", "--run-dir", f"{folder}/run", "--train-specification", specification,
                      "--distribution-specification", distribution], True)
        theirs = timed([sys.executable, str(HERE / "merge.py"), str(REPLICAS), "prefix", WRITER], True)
        pipe = timed([sys.executable, str(HERE / "merge.py"), str(REPLICAS), "bare", WRITER], False)
    return [
        (f"log of {REPLICAS} replicas merged", f"{ours:.0f} MB/s", f"{theirs:.0f} MB/s", f"{ours / theirs:.1f}×", "200 MB/s"),
        ("  bare pipes on this machine, writers included", f"{pipe:.0f} MB/s", "", f"{ours / pipe:.2f}× of it", ""),
    ]


def main():
    program, python = sys.argv[1:]
    rows = rendering(program, python)
    rows.append(("size of the program", f"{pathlib.Path(program).stat().st_size / 1e6:.1f} MB", "", "", "9 MB"))
    rows += merging(program)
    show([("", "trainstep", "Python", "ratio", "target"), *rows])


if __name__ == "__main__":
    main()
