# SPDX-License-Identifier: Apache-2.0
"""Runs that transfer data while pods and the object store fail at random: the complete model is delivered, or the run does not succeed.

    data_fault_runs.py [--runs 1000] [--first 1] [--minutes 60] [--side-by-side 5] [--seed 17 …]: many of them on a real node, or as many as finish in
    that time; the program is that of $TRAINSTEP

All runs share the store: when a schedule stops it, concurrent runs are affected too.
"""
import json
import random
import tempfile
import threading
import time
from pathlib import Path

import data_steps
from schedules import run_many

_ONE_RESTARTS_THE_STORE = threading.Lock()


def run(store, program, folder, seed) -> list:
    """What was wrong; empty when all was right."""
    dice = random.Random(seed)
    cluster = store.cluster
    kind = dice.choice(["Job", "Job", "PyTorch", "TF"])
    # Of the job's own life, which takes some three seconds.
    faults = sorted((dice.uniform(0.3, 5), dice.choice(["pod", "pod", "store"])) for _ in range(dice.randint(1, 3)))
    with cluster.namespace(data_steps.RULES) as space, tempfile.TemporaryDirectory(dir=folder) as own:
        store.configure(space)
        training = data_steps.DataStep(cluster, store, space, program, Path(own), kind)
        files = data_steps.tree(store, f"sets/{space.name}")
        training.options = {"run_policy": {"restart_policy": "OnFailure", "backoff_limit": 6, "stop_grace": "1s"}}
        training.command = ["python3", "-c", data_steps.PROGRAM.replace("TOGETHER", "import time; time.sleep(0.5)")]
        began = time.monotonic()
        training.begin_with_artifacts(f"sets/{space.name}")
        for at, what in faults:
            time.sleep(max(0, began + at - time.monotonic()))  # the schedule itself
            strike(store, training, what, dice)
        code = training.end(timeout=300)  # a Job waits 10, 20, 40 s before it replaces a pod
        store.codes.append(code)
        found = judge(training, files, code)
        store.forget(space)
        return [f"seed {seed}, {kind}, {faults}: {'; '.join(found)}", training.output] if found else []


def strike(store, training, what, dice):
    pods = training.pods()
    if what == "store":
        with _ONE_RESTARTS_THE_STORE:
            store.cluster.stop_server("s3", "KILL")
            time.sleep(dice.uniform(0, 1))  # so long it is away
            store.cluster.start_server("s3")
    elif pods:
        name = dice.choice(pods)["metadata"]["name"]
        store.cluster.api.ask("DELETE", f"/api/v1/namespaces/{training.space.name}/pods/{name}")  # it may have gone by itself


def judge(training, files, code) -> list:
    if code != 0:  # more pods were taken away than may be
        return [] if code in (3, 5) else [f"exit code {code}, although the program never fails"]
    wrong = data_steps.differences(training.model, files)
    told = json.loads((training.tmp / "results").read_text()).get("digest")
    problems = [(wrong, f"not the model that was written: {wrong}"), (not told, "what the program returned is lost"), (training.left(), "something is left")]
    return [text for found, text in problems if found]


def start(cluster):
    cluster.start(nodes="real")
    data_steps.import_agent(cluster, data_steps.release())
    return data_steps.Store(cluster)


if __name__ == "__main__":
    run_many("data_fault_runs", __doc__.partition("\n")[0], start, run, side_by_side=5)
