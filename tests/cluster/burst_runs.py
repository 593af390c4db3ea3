# SPDX-License-Identifier: Apache-2.0
"""Steps whose job goes to one of two other clusters, while the step is killed and started again and the network to either is cut at random.

    burst_runs.py [--runs 500] [--first 1] [--minutes 60] [--side-by-side 4] [--seed 17 …]: many of them on real nodes, or as many as finish in that time;
    the program is that of $TRAINSTEP

The two other clusters are two namespaces of one control plane, each behind a link of its own; the step's own cluster is another control plane.
"""
import contextlib
import json
import random
import signal
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import data_steps
from burst_steps import READS_SECRET, BurstStep, configuration, gate_to, home_of, store_gate, there_of
from schedules import run_many
from waiting import until

SECRETS = "gpu", "spare"
LONGER_THAN_ALL_LIVES = "import time; time.sleep(25)\n"
NO_ROOM = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}


class Pair:
    """The step's own cluster beside the other one. `closing` ends what is started for them."""

    def __init__(self, cluster, closing):
        cluster.start(nodes="real")
        data_steps.import_agent(cluster, data_steps.release())
        self.cluster, self.store = cluster, data_steps.Store(cluster)
        self.home = closing.enter_context(home_of(cluster))
        self.store_port, _ = closing.enter_context(store_gate(cluster))


class Links:
    """The networks to the two other clusters."""

    def __init__(self, gates):
        self.ports, self.processes = zip(*gates)
        self.timers = []

    @staticmethod
    def connections(port) -> int:
        """To this port of the machine, by proc(5): all but listening and TIME_WAIT."""
        rows = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
        return sum(row[1].endswith(f":{port:04X}") and row[3] not in ("0A", "06") for row in rows)

    def cut(self, number, seconds):
        self.processes[number].send_signal(signal.SIGSTOP)
        self.timers.append(threading.Timer(seconds, self.processes[number].send_signal, [signal.SIGCONT]))
        self.timers[-1].start()

    def restore(self):
        """Until what was on its way has arrived: a create that arrives after the next life has looked makes a second job (docs/adr/0037)."""
        for timer in self.timers:
            timer.join()
        for port in self.ports:
            until(lambda: self.connections(port) == 0, "the end of all connections", 30)  # noqa: B023


def run(pair, program, folder, seed) -> list:
    """What was wrong; empty when all was right."""
    dice = random.Random(seed)
    cluster, home = pair.cluster, pair.home
    kind = dice.choice(["Job", "Job", "PyTorch"])
    with contextlib.ExitStack() as stack:
        own = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder)))
        here = stack.enter_context(home.namespace([READS_SECRET]))
        there = [stack.enter_context(there_of(cluster)) for _ in SECRETS]
        server = urlsplit(cluster.server)
        gates = [stack.enter_context(gate_to(server.hostname, server.port)) for _ in SECRETS]
        links = Links(gates)
        for name, space, (port, _) in zip(SECRETS, there, gates):
            values = configuration(cluster, pair.store, space) | {"remote-host": f"https://127.0.0.1:{port}"}
            home.api.create(f"/api/v1/namespaces/{here.name}/secrets", {"metadata": {"name": name}, "stringData": values})
        if dice.random() < 0.3:
            cluster.kubectl("create", "-n", there[0].name, "-f", "-", input=NO_ROOM)
        step = stack.enter_context(BurstStep(cluster, pair.store, there[0], program, own, kind, here, pair.store_port, None, {}))
        step.options["run_policy"] = {"stop_grace": "1s"}
        story = [f"seed {seed}, {kind}"]
        step.command = ["python3", "-c", LONGER_THAN_ALL_LIVES + data_steps.PROGRAM.replace("TOGETHER", data_steps.TOGETHER[kind])]
        for _ in range(dice.randint(0, 3)):
            live(step, links, dice, story)
            links.restore()
        step.start(**wanted(dice))
        code = step.end(timeout=200)
        found = judge(step, there, code)
        return [*story, "; ".join(found), step.output] if found else []


def wanted(dice):
    return {"run-id": "same", "cluster-configuration-secret": ",".join(dice.sample(SECRETS, 2))}


def live(step, links, dice, story):
    """One life of the step, which ends with SIGKILL."""
    arguments = wanted(dice)
    length = dice.uniform(0, 4)
    began = time.monotonic()
    step.start(**arguments)
    for _ in range(dice.randint(0, 2)):
        at, number, cut = dice.uniform(0, length), dice.randrange(2), dice.uniform(0.2, 4)
        story.append(f"{arguments['cluster-configuration-secret']}: network {number} is cut for {cut:.1f} s")
        time.sleep(max(0, began + at - time.monotonic()))  # the schedule itself
        links.cut(number, cut)
    time.sleep(max(0, began + length - time.monotonic()))
    step.process.kill()
    step.process.communicate(timeout=10)
    story.append(f"killed after {length:.1f} s")


def created(cluster, space) -> int:
    """How many jobs were created there."""
    events = [event for event in cluster.requests(space.name) if event["verb"] == "create" and event["objectRef"]["resource"].endswith("jobs")]
    return sum(event["responseStatus"]["code"] == 201 and "dryRun" not in event["requestURI"] for event in events if event["stage"] == "ResponseComplete")


def judge(step, there, code) -> list:
    jobs = [created(step.cluster, space) for space in there]
    left = [name for space in there for name in step.left_in(space.name)]
    problems = [
        (code != 0, f"exit code {code}"), (sum(jobs) != 1, f"jobs in the two clusters: {jobs}, expected one"), (left, f"left: {left}"),
    ]  # fmt: skip
    if code == 0:
        wrong = data_steps.differences(step.tmp / "model", step.files)
        told = json.loads((step.tmp / "results").read_text()).get("digest")
        problems += [(wrong, f"not the model that was written: {wrong}"), (not told, "what the program returned is lost")]
    return [text for found, text in problems if found]


if __name__ == "__main__":
    with contextlib.ExitStack() as at_the_end:
        run_many("burst_runs", __doc__.partition("\n")[0], lambda cluster: Pair(cluster, at_the_end), run, side_by_side=4)
