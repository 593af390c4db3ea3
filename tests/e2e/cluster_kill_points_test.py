# SPDX-License-Identifier: Apache-2.0
"""The program is killed before and after each of its calls to the API server, and started again with the same inputs: exactly one job is ever
created, the verdict is right, and nothing is left behind. All kill points, on the real control plane."""
import concurrent.futures
import dataclasses
import pathlib
import tempfile

import pytest
import steps
from fault_proxy import FaultProxy, certify
from faults import Fault

CLUSTER = {}
SIDE_BY_SIDE = 8


@dataclasses.dataclass(frozen=True)
class Case:
    kind: str
    exit_code: int  # of the training
    in_workflow: bool

    @property
    def fates(self):
        return {"run-ms": "500", "exit-code": str(self.exit_code), "log-lines": "3"}

    def __str__(self):
        return f"{self.kind}-{'fails' if self.exit_code else 'succeeds'}-{'workflow' if self.in_workflow else 'shell'}"


CASES = [Case(kind, code, in_workflow) for kind in ("Job", "PyTorch") for code in (0, 3) for in_workflow in (False, True)]
VERDICTS = {0: (0, "succeeded"), 3: (1, "exited with code 3")}


@dataclasses.dataclass
class Point:
    """The `nth` call of a sort; "before" it is forwarded, or "after" the server has answered."""

    sort: str
    nth: int
    when: str

    def is_here(self, request):
        return (request.sort, request.nth) == (self.sort, self.nth)

    @property
    def surely_met(self):
        """How often is asked whether a job has gone, or is read again, is chance."""
        return self.nth == 1 and "/log" not in self.sort


class Life:
    """Both starts of the program in one namespace, and what came of them."""

    def __init__(self, cluster, program, case, folder, point=None):
        self.cluster, self.case, self.point = cluster, case, point
        self.calls, self.problems = [], []
        self.met = self.reached = self.was_over = False
        self.process = None
        with cluster.namespace(steps.WORKFLOW_RULES) as space, FaultProxy(cluster, self.schedule, self.kill) as proxy:
            self.space, self.proxy = space, proxy
            self.workflow = steps.Workflow(cluster, space) if case.in_workflow else None
            pod = steps.Pod(self.workflow, "flow(0).train(0)") if case.in_workflow else None
            self.step = steps.ProxiedStep(cluster, program, space, case.kind, folder, proxy, pod)
            self.live()

    def schedule(self, request):
        self.calls.append(request)
        if self.met or not self.point or not self.point.is_here(request):
            return None
        self.met = True
        return Fault(kill=self.point.when)

    def kill(self):
        """Not called when the program has given up the call before it was answered."""
        self.reached = True
        self.process.kill()
        self.process.wait()
        self.was_over = self.told()

    def told(self):
        """Whether the server knows that the verdict was given: what starts then is another training, by a person who takes the run id again, or by the
        retry of a failure. A success within a workflow stays and is found."""
        if self.case.in_workflow and self.case.exit_code == 0:
            return False
        return any(exchange.status == 200 for exchange in self.proxy.sent("PATCH" if self.case.in_workflow else "DELETE"))

    def live(self):
        self.process = self.step.start(fates=self.case.fates)
        first = ended = self.step.end(self.process)
        if self.reached:
            self.process = self.step.start(fates=self.case.fates)
            ended = self.step.end(self.process)
        code, words = VERDICTS[self.case.exit_code]
        self.hold(ended.code == code, f"exit code {ended.code} instead of {code}")
        self.hold(words in ended.output, f"no word of {words!r}")
        made = len(self.created())
        self.hold(made == (2 if self.was_over else 1), f"{made} jobs were made")
        self.check_what_is_left()
        if self.problems:
            self.problems += [first.output, ended.output, self.proxy.story()]

    def created(self):
        """The state in the API server: the response may have been lost."""
        collection = steps.RESOURCES[self.case.kind].partition(".")[0]
        made = [event for event in self.cluster.requests(self.space.name) if event["verb"] == "create" and event["responseStatus"]["code"] == 201]
        return [event for event in made if event["objectRef"]["resource"] == collection and "dryRun" not in event["requestURI"]]

    def check_what_is_left(self):
        jobs = self.step.jobs()
        if self.workflow is None:
            self.hold(not jobs, "the job is left behind")
            self.hold(not self.step.training_pods(), "pods are left behind")
            return
        outcomes = [job["metadata"]["annotations"].get("trainstep.dev/outcome") for job in jobs]
        self.hold(outcomes == ["user" if self.case.exit_code else "succeeded"], f"marked as {outcomes}")
        self.workflow.delete()
        self.step.until(lambda: not self.step.jobs() and not self.step.training_pods())

    def hold(self, condition, problem):
        if not condition:
            self.problems.append(f"{self.case} {self.point}: {problem}")


@pytest.fixture(scope="module")
def ready(cluster):
    certify(cluster)
    steps.define_workflows(cluster)
    return cluster


@pytest.fixture(scope="module")
def lives(ready, program, tmp_path_factory):
    """case → (an undisturbed life, {point of it: future life}); all of all cases begin with the first."""
    parent = tmp_path_factory.mktemp("lives")  # made here: that is not for several threads
    live = lambda case, point=None: Life(ready, program, case, pathlib.Path(tempfile.mkdtemp(dir=parent)), point)  # noqa: E731
    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        undisturbed = dict(zip(CASES, pool.map(live, CASES)))
        points = {case: [Point(call.sort, call.nth, when) for call in life.calls for when in ("before", "after")] for case, life in undisturbed.items()}
        yield {case: (undisturbed[case], [pool.submit(live, case, point) for point in points[case]]) for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_killed_at_every_call_the_step_has_the_same_outcome_and_the_same_job(lives, case):
    undisturbed, futures = lives[case]
    assert not undisturbed.problems, "\n".join(undisturbed.problems)
    killed = [future.result() for future in futures]
    problems = [problem for each in killed for problem in each.problems]
    assert not problems, "\n".join(problems)
    missed = [each.point for each in killed if not each.reached and each.point.surely_met]
    assert not missed, f"never met: {missed}"
    print(f"{case}: {sum(each.reached for each in killed)} of {len(futures)} points of {len(undisturbed.calls)} calls")
