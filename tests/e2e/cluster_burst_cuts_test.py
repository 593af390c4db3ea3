# SPDX-License-Identifier: Apache-2.0
"""The network between a step and the other cluster with its bucket is cut for five minutes in each phase of the step."""
import contextlib
import signal
import threading
import time
from urllib.parse import urlsplit

import data_steps
import pytest
from burst_steps import burst_of, gate_to, store_gate
from data_steps import delivered
from waiting import until

CLUSTER = {"nodes": "real"}  # the other one
WORKS = ["python3", "-c", "import time; print('training', flush=True); time.sleep(20)\n" + data_steps.PROGRAM.replace("TOGETHER", "")]
# What the step has said when the network goes.
PHASES = {"start": "", "upload": " on Kubernetes (https://", "pending": "created Job", "running": "training", "delivery": "accuracy=0.97"}


class Cut:
    """A step behind links of its own, which can be cut."""

    def __init__(self, step, links):
        self.step, self.links, self.lines = step, links, []
        step.start()
        self.reader = threading.Thread(target=lambda: self.lines.extend(iter(step.process.stdout.readline, "")), daemon=True)
        self.reader.start()

    @property
    def output(self):
        return "".join(self.lines)

    def cut(self):
        for link in self.links:
            link.send_signal(signal.SIGSTOP)

    def restore(self):
        for link in self.links:
            link.send_signal(signal.SIGCONT)

    def end(self, seconds):
        code = self.step.process.wait(timeout=seconds)
        self.reader.join()
        return code


@pytest.fixture
def cut(cluster, home, store, program, tmp_path):
    """cut(name, command, **options): a step that has just started."""
    server = urlsplit(cluster.server)
    with contextlib.ExitStack() as stack:

        def start(name, command, **options):
            port, link = stack.enter_context(gate_to(server.hostname, server.port))
            store_port, store_link = stack.enter_context(store_gate(cluster))
            (tmp_path / name).mkdir()
            host = {"remote-host": f"https://127.0.0.1:{port}"}
            step = stack.enter_context(burst_of(cluster, home, store, store_port, program, tmp_path / name, **host))("Job", **options)
            step.command = command
            return Cut(step, [link, store_link])

        yield start


def test_five_minutes_without_the_network_are_no_verdict_in_any_phase(cut):
    steps = {}
    for phase, words in PHASES.items():
        steps[phase] = cut(phase, WORKS)
        until(lambda: words in steps[phase].output, words)  # noqa: B023
        steps[phase].cut()
    time.sleep(300)  # the fault itself
    for one in steps.values():
        one.restore()
    for phase, one in steps.items():
        code = one.end(200)
        assert code == 0 or (phase == "start" and code == 3), f"{phase}: exit code {code}\n{one.output}"
        assert code != 0 or delivered(one.step.tmp / "model", one.step.files), f"{phase}\n{one.output}"
        assert one.step.left_there() == [], f"{phase}\n{one.output}"
