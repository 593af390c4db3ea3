# SPDX-License-Identifier: Apache-2.0
"""How training scales: samples/images and samples/text with 1, 2 and 4 workers on this machine.

Usage: scaling_bench.py PROGRAM PYTHON PICTURE. PYTHON has PyTorch. Prints a table, and plots it to PICTURE, an SVG file, if the machine was idle.

Every worker computes with one thread, so only the number of workers differs. The data are shared among them, each has its own batches: with more workers
an epoch has fewer steps. Rates are those that the programs print, the median of all epochs except the first, without start and evaluation.
"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from scaling_picture import draw
from table import show

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"
WORKERS = (1, 2, 4)
RUNS = 3
# what is trained → (folder of samples/, parameters)
TRAININGS = {
    "images, batches of 16": ("images", {"epochs": 4, "base_epochs": 1, "batch_size": 16}),
    "images, batches of 128": ("images", {"epochs": 4, "base_epochs": 1, "batch_size": 128}),
    "text, batches of 16": ("text", {"epochs": 3, "batch_size": 16}),
}


def rate(program, python, sample, workers, parameters):
    """Samples per second of all workers together."""
    with tempfile.TemporaryDirectory() as folder:
        words = [program, "run", "--cluster", "local", "--python", python, "--run-dir", f"{folder}/run", "--model-dir", f"{folder}/model"]
        words += ["--train-specification", f"@{SAMPLES / sample / 'train_specification.v1.yaml'}"]
        words += ["--train-parameters", json.dumps({"model_dir": "model_dir", **parameters})]
        words += ["--distribution-specification", json.dumps({"distribution_type": "PyTorch", "number_of_workers": workers})]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PIP_NO_INDEX": "1"}
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    rates = [float(text) for text in re.findall(r"epoch=\d.* samples_per_second=(\S+)", done.stdout + done.stderr)]
    if done.returncode != 0 or len(rates) != parameters["epochs"]:
        sys.exit(f"bench: {sample} with {workers} workers: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return statistics.median(rates[1:])


def measure(program, python):
    """{name: [samples per second, for each of WORKERS]}; in turn, so that what else the machine does meets all alike."""
    found = {name: {workers: [] for workers in WORKERS} for name in TRAININGS}
    for run in range(RUNS):
        for name, (sample, parameters) in TRAININGS.items():
            for workers in WORKERS:
                speed = rate(program, python, sample, workers, parameters)
                found[name][workers].append(speed)
                print(f"run {run + 1} of {RUNS}: {name}, workers: {workers}: {speed:.0f} samples/s", file=sys.stderr, flush=True)
    return {name: [statistics.median(rates) for rates in by_workers.values()] for name, by_workers in found.items()}


def busy():
    """The share of the machine's time, 0 to 1, that is not idle within the next three seconds. A load average still remembers the build before."""

    def times():
        spent = [int(ticks) for ticks in pathlib.Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()[1:9]]
        return sum(spent), spent[3] + spent[4]

    before, idle_before = times()
    time.sleep(3)
    after, idle_after = times()
    return 1 - (idle_after - idle_before) / (after - before)


def table(rates):
    rows = [("", "workers", "samples/s", "speed-up", "efficiency")]
    for name, by_workers in rates.items():
        for workers, speed in zip(WORKERS, by_workers, strict=True):
            gain = speed / by_workers[0]
            rows.append((name, str(workers), f"{speed:.0f}", f"{gain:.2f}×", f"{gain / workers:.0%}"))
    return rows


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: scaling_bench.py PROGRAM PYTHON PICTURE")
    cores, others = len(os.sched_getaffinity(0)), busy()
    rates = measure(*sys.argv[1:3])
    show(table(rates))
    print(f"\n{cores} cores, {others:.0%} busy before the start. Efficiency: speed-up per worker; with more workers than cores it cannot stay at 100 %.")
    if others > 0.1:
        print(f"Others were at work on this machine: these are no numbers to keep, and {sys.argv[3]} is not drawn.")
        sys.exit()
    pathlib.Path(sys.argv[3]).write_text(draw(rates, WORKERS, cores), encoding="utf-8")
    print(sys.argv[3])
