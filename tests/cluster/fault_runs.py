# SPDX-License-Identifier: Apache-2.0
"""A run of the program under a random schedule of faults, checked against the promises: the verdict is true, one job is created, nothing is left, each
line of the log is shown once. A seed determines the job, how it ends, and the faults.

    fault_runs.py [--runs 2000] [--first 1] [--minutes 60] [--side-by-side 6] [--seed 17 …]: many of them on a separate cluster, or as many as finish in
    that time; the program is that of $TRAINSTEP
"""
import random

import steps
from fault_proxy import FaultProxy, certify
from faults import chaos
from schedules import run_many

PRIMARY = {"Job": "main-0", "PyTorch": "master-0", "TF": "chief-0", "MPI": "launcher-0"}
ALONE = ("main-0", "launcher-0")  # shown without a number


def run(cluster, program, folder, seed) -> list:
    """What was wrong; empty when all was right."""
    dice = random.Random(seed)
    kind = dice.choice(["Job", "Job", "PyTorch", "PyTorch", "TF", "MPI"])
    code = dice.choice([0, 3])
    # All lines are printed before the container ends: its times have whole seconds.
    lines, every, run_ms = dice.choice([(0, 0, 500), (200, 0, 1000), (30, 20, 2500), (100, 15, 4000)])
    fates = {"exit-code": str(code), "log-lines": str(lines), **({"log-every-ms": str(every)} if every else {})}
    # Where one replica fails, the others have not come to their end; MPI's workers have none of their own.
    fates |= {"run-ms": "forever" if code or kind == "MPI" else str(run_ms), f"{PRIMARY[kind]}.fate/run-ms": str(run_ms)}
    with cluster.namespace() as space, FaultProxy(cluster, chaos(seed)) as proxy:
        step = steps.ProxiedStep(cluster, program, space, kind, folder, proxy)
        ended = step.run(fates=fates)
        problems = [
            (ended.code != (1 if code else 0), f"exit code {ended.code} although the training ended with {code}"),
            (len(set(proxy.created())) != 1, f"{len(set(proxy.created()))} jobs were made"),
            (bool(ended.jobs or ended.pods), f"left behind: {ended.jobs} {ended.pods}"),
            (shown(ended.output, PRIMARY[kind]) != [f"line {i}" for i in range(lines)], f"not the {lines} lines that it printed"),
        ]
        found = [text for wrong, text in problems if wrong]
        return [f"seed {seed}, {kind}, training ends with {code}: {'; '.join(found)}", ended.output, proxy.story()] if found else []


def shown(output, replica) -> list:
    """The lines of a replica's log that the program showed."""
    begin = f"[{replica[:-2] if replica in ALONE else replica}] "
    return [line[len(begin) :] for line in output.splitlines() if line.startswith(begin)]


def start(cluster):
    cluster.start()
    certify(cluster)
    return cluster


if __name__ == "__main__":
    run_many("fault_runs", __doc__.partition("\n")[0], start, run, side_by_side=6)
