# SPDX-License-Identifier: Apache-2.0
"""Runs many random schedules concurrently on a separate cluster: the command line of fault_runs.py and data_fault_runs.py."""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import sys
import tempfile
import time
import traceback

from cluster import ROOT, Cluster


def run_many(script: str, description: str, start, run, side_by_side: int):
    """`start(cluster)` makes the empty cluster ready and returns what `run` gets as its first argument; `run(started, program, folder, seed)` returns what
    was wrong, line by line: nothing when all was right. Ends the process with an error if anything was.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no run begins later")
    parser.add_argument("--seed", type=int, action="append", help="this one again, instead")
    parser.add_argument("--side-by-side", type=int, default=side_by_side)
    options = parser.parse_args()
    program = pathlib.Path(os.environ.get("TRAINSTEP", ROOT / "build/release/trainstep")).resolve()
    seeds = options.seed or range(options.first, options.first + options.runs)
    bad, until = [], time.monotonic() + options.minutes * 60
    with Cluster(ROOT / f"build/cluster/{script}-{os.getpid()}") as cluster, tempfile.TemporaryDirectory() as folder:
        started = start(cluster)

        def live(seed):
            """(seed, problems), None: not run"""
            try:
                return seed, run(started, program, pathlib.Path(folder), seed) if time.monotonic() < until else None
            except Exception:  # whatever it is, the others go on
                return seed, [f"seed {seed}", traceback.format_exc()]

        done = 0
        with concurrent.futures.ThreadPoolExecutor(options.side_by_side) as pool:
            for seed, problems in pool.map(live, seeds):
                done += problems is not None
                if problems:
                    bad.append(seed)
                    print("\n".join(problems), f"again: tests/cluster/{script}.py --seed {seed}", sep="\n", flush=True)
                elif done % 100 == 0 and problems is not None:
                    print(f"{done} schedules, {len(bad)} failed", flush=True)
    if bad:
        sys.exit(f"{len(bad)} of {done} schedules failed: {' '.join(f'--seed {seed}' for seed in bad)}")
    print(f"{done} schedules from {seeds[0]} on, all right")
    shutil.rmtree(cluster.folder)
