# SPDX-License-Identifier: Apache-2.0
"""Faults between the program and the API server do not change the verdict, create no second job, leave nothing behind and lose no line."""
import collections
import concurrent.futures
import contextlib
import time

import fault_runs
import operators
import pytest
import steps
from fault_proxy import FaultProxy, certify
from faults import Fault, Rule, script

CLUSTER = {}
SEEDS = range(1, 21)
SIDE_BY_SIDE = 5


@pytest.fixture(scope="module")
def faulty(cluster):
    certify(cluster)
    return cluster


@pytest.fixture(scope="module")
def random_runs(faulty, program, tmp_path_factory):
    """seed → future list of problems; all begin with the first."""
    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        folder = tmp_path_factory.mktemp("step")
        yield {seed: pool.submit(fault_runs.run, faulty, program, folder, seed) for seed in SEEDS}


@pytest.mark.parametrize("seed", SEEDS)
def test_random_faults_change_nothing(random_runs, seed):
    problems = random_runs[seed].result()
    assert not problems, "\n".join(problems)


@pytest.fixture
def through(faulty, program, tmp_path):
    """through(schedule, kind) → ProxiedStep in a namespace of its own."""
    with contextlib.ExitStack() as stack:

        def make(schedule, kind="Job"):
            space, proxy = stack.enter_context(faulty.namespace()), stack.enter_context(FaultProxy(faulty, schedule))
            return steps.ProxiedStep(faulty, program, space, kind, tmp_path, proxy)

        yield make


def well_ended(step, ended, code=0):
    """The verdict, one job, nothing left."""
    story = f"{ended.output}\n{step.proxy.story()}"
    assert ended.code == code, story
    assert len(set(step.proxy.created())) == 1, story
    assert (ended.jobs, ended.pods) == ([], []), story


@pytest.mark.parametrize("kind", ["Job", "PyTorch"])
def test_watches_that_end_every_second_and_are_expired_each_time(through, kind):
    step = through(lambda request: None if not request.watch else Fault(seconds=1) if request.nth % 2 else Fault(answer=410), kind)
    ended = step.run(fates={"run-ms": "6000", "exit-code": "3"})
    well_ended(step, ended, 1)
    assert "exited with code 3" in ended.output
    lists, expired, watches = collections.Counter(), collections.Counter(), collections.Counter()
    for exchange in step.proxy.sent("GET"):
        sort = exchange.request.sort.removesuffix(" watch")
        expired[sort] += exchange.given == 410
        watches[sort] += exchange.request.watch
        lists[sort] += not exchange.request.watch
    for sort in (sort for sort in watches if expired[sort] and "events" not in sort):
        assert expired[sort] >= 2 and lists[sort] >= expired[sort], step.proxy.story()
    assert len(step.proxy.exchanges) < 150, "a busy loop"


def test_each_call_is_refused_once_for_its_token(through):
    step = through(lambda request: Fault(answer=401) if request.nth == 1 else None)
    well_ended(step, step.run(fates={"log-lines": "5"}))


def test_an_expired_token_is_read_again(through, cluster, tmp_path):
    """The kubelet exchanges the file; the old token is refused from then on."""
    expired, file = [], tmp_path / "token"
    step = through(lambda request: Fault(answer=401) if expired and request.headers["Authorization"] == f"Bearer {old}" else None)
    old = step.space.token
    file.write_text(old)
    step.proxy.kubeconfig(step.space, {"tokenFile": str(file)})
    process = step.start(fates={"run-ms": "4000"})
    step.proxy.wait_for(lambda: step.proxy.sent("GET", path="/log"), 60)
    (tmp_path / "new").write_text(cluster.token(step.space.name, seconds=7200))
    (tmp_path / "new").rename(file)
    expired.append(True)
    well_ended(step, step.end(process))
    assert not [exchange for exchange in step.proxy.sent("DELETE") if exchange.given != 200]
    assert {exchange.request.headers["Authorization"] for exchange in step.proxy.exchanges} == {f"Bearer {old}", f"Bearer {file.read_text()}"}


@contextlib.contextmanager
def away(cluster):
    """The control plane's machine fails, and starts again at the end."""
    controllers = ("controller-manager", "scheduler", "training-operator")  # which else wait up to a minute before they ask again
    for server in ("apiserver", *controllers):
        cluster.stop_server(server, "KILL")
    try:
        yield
    finally:
        cluster.start_server("apiserver")
        cluster.wait_for("apiserver", 60, lambda: cluster.api.get("/readyz") == "ok")
        for server in controllers:
            cluster.start_server(server)
        operators.await_training_operator(cluster)


def test_a_control_plane_outage_of_ten_seconds_does_not_end_the_step(through, cluster):
    running = [through(lambda request: None, kind) for kind in ("Job", "PyTorch")]
    processes = [step.start(fates={"run-ms": "5000", "log-lines": "3"}) for step in running]
    for step in running:
        step.proxy.wait_for(lambda step=step: any(exchange.status == 200 for exchange in step.proxy.sent("GET", path="/log")), 60)
    with away(cluster):
        time.sleep(10)  # the fault itself
    for step, process in zip(running, processes):
        ended = step.end(process)
        well_ended(step, ended)
        assert "cannot reach the API server" in ended.output, ended.output
        assert fault_runs.shown(ended.output, fault_runs.PRIMARY[step.kind]) == ["line 0", "line 1", "line 2"], ended.output


BUSY = Fault(answer=429, retry_after=3)


@pytest.mark.parametrize(
    "rule",
    # The job's own watch: a pods' watch need not be opened again when the job's end is seen meanwhile.
    [Rule(BUSY, "POST", dry_run=False), Rule(BUSY, "GET", "/jobs$", watch=True), Rule(BUSY, "DELETE")],
    ids=["create", "watch", "delete"],
)
def test_retry_after_is_waited_for(through, rule):
    step = through(script(rule))
    well_ended(step, step.run(fates={"run-ms": "4000"}))  # longer than the refusal
    (refused,) = (exchange for exchange in step.proxy.exchanges if exchange.given == 429)
    again = next(exchange for exchange in step.proxy.exchanges if exchange.request.sort == refused.request.sort and exchange.request.nth == 2)
    assert again.received - refused.ended >= 2.99, step.proxy.story()


@pytest.mark.parametrize("method", ["POST", "DELETE"])
@pytest.mark.parametrize("cut", ["after", "head", "body"])
def test_an_answer_that_is_lost_after_the_effect_has_it_once(through, method, cut):
    step = through(script(Rule(Fault(cut=cut), method, dry_run=False)), "PyTorch")
    well_ended(step, step.run(fates={"run-ms": "500"}))
    assert [exchange.given for exchange in step.proxy.sent(method, dry_run=False)][0] is None


# Equal lines, empty ones, letters of several bytes, one longer than a packet.
TEXT = "\n".join(["begin", "again", "again", "", "", "again", "größer als 5 €", "x" * 20000, "again", *(f"step {i % 3}" for i in range(60)), "end"])


CUTS = [
    Fault(lines=3, cut="body"),
    Fault(lines=3, cut="chunk"),
    Fault(lines=7, cut="body", split=5),
    Fault(lines=5, end=True),
    Fault(lines=4, silence=0.5),
    Fault(lines=0, cut="body"),
]


@pytest.fixture(scope="module")
def cut_logs(faulty, program, tmp_path_factory):
    """(fault, milliseconds from line to line) → future (step, Ended); all begin with the first."""
    folder = tmp_path_factory.mktemp("step")

    def live(fault, every_ms):
        # What is read once the pod has ended is cut as well, but no server ends that before its end.
        schedule = script(Rule(fault, log=True, follow=True if fault.end else None, times=6))
        with faulty.namespace() as space, FaultProxy(faulty, schedule) as proxy:
            step = steps.ProxiedStep(faulty, program, space, "Job", folder, proxy)
            return step, step.run(fates={"log": TEXT, "run-ms": "4000"} | ({"log-every-ms": every_ms} if every_ms else {}))

    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        yield {(fault, every_ms): pool.submit(live, fault, every_ms) for fault in CUTS for every_ms in ("", "20")}


@pytest.mark.parametrize("fault", CUTS, ids=repr)
@pytest.mark.parametrize("every_ms", ["", "20"], ids=["at once", "slowly"])
def test_a_log_that_is_cut_is_shown_to_the_byte(cut_logs, fault, every_ms):
    step, ended = cut_logs[fault, every_ms].result()
    well_ended(step, ended)
    assert fault_runs.shown(ended.output, "main-0") == TEXT.split("\n"), ended.output + step.proxy.story()


def test_duplicate_and_late_events_are_reported_once(through):
    hold_job = Rule(Fault(hold=1.5, repeat=True), path="/pytorchjobs$", watch=True, times=9)
    step = through(script(hold_job, Rule(Fault(repeat=True), watch=True, times=99)), "PyTorch")
    ended = step.run(fates={"exit-code": "3", "run-ms": "forever", "master-0.fate/run-ms": "500"})
    well_ended(step, ended, 1)
    told = [line.split(maxsplit=2)[2] for line in ended.output.splitlines() if line.startswith("[trainstep] ")]
    assert told.count("master-0 exited with code 3") == 1 and "starts again" not in ended.output, ended.output
