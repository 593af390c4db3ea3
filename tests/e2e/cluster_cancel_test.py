# SPDX-License-Identifier: Apache-2.0
"""A pipeline's step that is cancelled under the KFP v2 launcher has 40 to 1,000 ms left: its job is deleted nevertheless."""
import concurrent.futures
import contextlib
import pathlib
import random
import statistics
import tempfile

import pytest
import steps
from fault_proxy import FaultProxy, certify
from launcher import Launched

CLUSTER = {}
CANCELS = 100
WATCHED = 20
SIDE_BY_SIDE = 4
UNDER_LAUNCHER = ["/var/run/argo/argoexec", "emissary", "--", "/kfp-launcher/launch"]
NOTICE = 1.0  # seconds from Argo's label to its first signal


@pytest.fixture(scope="module")
def ready(cluster):
    certify(cluster)
    steps.define_workflows(cluster)
    return cluster


class Cancelled:
    """A step in a Workflow's pod, cancelled while its job runs; `rules` are its rights. With notice Argo's label comes first."""

    def __init__(self, cluster, program, folder, rules, at_the_end):
        with contextlib.ExitStack() as stack:
            space, self.proxy = stack.enter_context(cluster.namespace(rules)), stack.enter_context(FaultProxy(cluster))
            self.pod = steps.Pod(steps.Workflow(cluster, space), "flow(0).train(0)", command=UNDER_LAUNCHER)
            step = steps.ProxiedStep(cluster, program, space, "Job", pathlib.Path(tempfile.mkdtemp(dir=folder)), self.proxy, self.pod)
            self.launched = Launched(*step.arguments(fates={"run-ms": "forever"}), step.tmp)
            at_the_end.callback(self.launched.kill)
            stack.callback(self.launched.kill)
            self.proxy.wait_for(lambda: any(exchange.status == 200 for exchange in self.proxy.sent("GET", path="/log")), 60)
            self.close = stack.pop_all().close

    def cancel(self, life, notice):
        self.life = life
        if notice:
            self.pod.complete()
            self.wait_for_notice(self.proxy)
        self.asked = self.launched.cancel(life)

    def look(self):
        """What became of it; nothing is left running."""
        self.close()
        self.sent = self.proxy.sent("DELETE")
        self.story = f"life {self.life * 1000:.0f} ms after {self.asked % 1000:.3f}\n{self.launched.output}\n{self.proxy.story()}"

    def wait_for_notice(self, proxy):
        # A DELETE that meets a change of the job's status is refused with 409 and sent again, well within the notice.
        try:
            proxy.wait_for(lambda: any(exchange.status == 200 for exchange in proxy.sent("DELETE")), NOTICE)
        except AssertionError:
            pass  # the DELETE is missing then when it is looked for

    @property
    def on_the_wire_ms(self):
        """From the signal; negative: before it."""
        return (self.sent[0].received - self.asked) * 1000 if self.sent else None

    @property
    def accepted_ms(self):
        accepted = [exchange.answered for exchange in self.sent if exchange.status == 200]
        return (accepted[0] - self.asked) * 1000 if accepted else None


def cancel_all(cluster, program, folder, rules, lives, notice):
    """Some are prepared side by side; while one is cancelled nothing else begins."""
    done = []
    with contextlib.ExitStack() as at_the_end, concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        for first in range(0, len(lives), SIDE_BY_SIDE):
            batch = lives[first : first + SIDE_BY_SIDE]
            runs = list(pool.map(lambda life: Cancelled(cluster, program, folder, rules, at_the_end), batch))
            for run, life in zip(runs, batch):
                run.cancel(life, notice)
            list(pool.map(Cancelled.look, runs))
            done += runs
    for name in ("on_the_wire_ms", "accepted_ms"):
        times = sorted(time for run in done if (time := getattr(run, name)) is not None)
        print(f"{name}: {len(times)} of {len(done)}, median {statistics.median(times):.1f}, most {times[-1]:.1f}")
    return done


def some_life(dice):
    """40 to 1,000 ms, as many below 200 as above."""
    return 0.04 * 25 ** dice.random()


def test_without_a_watch_of_the_workflow_the_delete_is_on_the_wire_each_time(ready, program, tmp_path):
    dice = random.Random(1)
    lives = [some_life(dice) for _ in range(CANCELS - 10)] + [0.04] * 5 + [0.1] * 5
    runs = cancel_all(ready, program, tmp_path, steps.STEP_RULES, lives, False)
    lost = [run for run in runs if run.on_the_wire_ms is None]
    assert not lost, f"{len(lost)} of {CANCELS}\n" + lost[0].story
    # By the API server beside it on the same two processors, so this test is alone on the machine.
    late = [run for run in runs if run.life >= 0.1 and (run.accepted_ms is None or run.accepted_ms > run.life * 1000)]
    assert not late, f"{len(late)} were not accepted\n" + late[0].story


def test_with_a_watch_the_delete_is_accepted_before_the_signal(ready, program, tmp_path):
    dice = random.Random(2)
    runs = cancel_all(ready, program, tmp_path, steps.WORKFLOW_RULES, [some_life(dice) for _ in range(WATCHED)], True)
    late = [run for run in runs if run.accepted_ms is None or run.accepted_ms > 0]
    assert not late, f"{len(late)} of {WATCHED}\n" + late[0].story
