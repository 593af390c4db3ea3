# SPDX-License-Identifier: Apache-2.0
"""Every way a job can end, on the real control plane with the real operators: what the cells of the matrix do, and what is expected of them.

The cells run concurrently, each in its own namespace; a test waits for its cell.
Cells that cannot exist: Job × operator absent (the control plane's own controller runs it). Job and MPIJob have no webhook that could deny them: the test
creates an admission policy that does. MPIJob v1 is served instead of v2beta1, never in addition, so it has a separate cluster.
"""
import concurrent.futures
import dataclasses
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from surroundings import clean_environment  # noqa: E402

PROGRAM = {"image": "localhost/trainstep-tests:1", "command": ["train"]}
DISTRIBUTIONS = {
    "Job": {},
    "PyTorch": {"number_of_workers": 3},
    "MPI": {"number_of_workers": 2},
    "TF": {"number_of_workers": 2, "number_of_parameter_servers": 1},
}
RESOURCES = {"Job": "jobs.batch", "PyTorch": "pytorchjobs.kubeflow.org", "MPI": "mpijobs.kubeflow.org", "TF": "tfjobs.kubeflow.org"}
REPLICAS = {"Job": ["main-0"], "PyTorch": ["master-0", "worker-0", "worker-1"], "MPI": ["launcher-0"], "TF": ["chief-0", "worker-0", "worker-1"]}
SIDE_BY_SIDE = 6
MORTAL = ("setpriv", "--pdeathsig", "KILL")  # ends with the test, however that ends


@dataclasses.dataclass
class Ended:
    code: int
    output: str
    jobs: list
    pods: list


class Step:
    """One run of the program against one namespace."""

    def __init__(self, cluster, program, space, kind, tmp):
        self.cluster, self.program, self.space, self.kind, self.tmp = cluster, program, space, kind, tmp

    def words(self, command, fates, distribution, options):
        annotations = {f"fate/{name}" if "." not in name else name: value for name, value in (fates or {}).items()}
        return [
            *(str(self.program), command, "--namespace", self.space.name, "--run-id", "cell", "--train-specification", json.dumps(PROGRAM)),
            *("--distribution-specification", json.dumps({"distribution_type": self.kind, **DISTRIBUTIONS[self.kind], **(distribution or {})})),
            *("--job-options", json.dumps({**(options or {}), "annotations": annotations})),
        ]

    def start(self, fates=None, distribution=None, options=None):
        environment = clean_environment()
        environment |= {"KUBECONFIG": str(self.space.kubeconfig), "HOME": str(self.tmp), "NO_COLOR": "1"}
        return subprocess.Popen(
            [*MORTAL, *self.words("run", fates, distribution, options), "--cluster", "kubernetes"],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL, cwd=self.tmp,
        )

    def rendered(self, version=None):
        extra = ["--api-version", version] if version else []
        return subprocess.run([*self.words("render", None, None, None), *extra], capture_output=True, text=True, check=True, cwd=self.tmp).stdout

    def end(self, process, timeout=100):
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate(timeout=10)
            output += "\n--- the step did not end in time ---"
        assert self.space.token not in output, "the token stands in the log"
        return Ended(process.returncode, output, self.left(RESOURCES[self.kind]), self.left("pods"))

    def left(self, resource):
        return [item["metadata"]["name"] for item in self.cluster.kubectl("get", resource, "-n", self.space.name)["items"]]

    def job(self):
        """The job, once it exists."""
        return self.until(lambda: self.cluster.kubectl("get", RESOURCES[self.kind], "-n", self.space.name)["items"])[0]

    def until(self, ask, seconds=40):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if answer := ask():
                return answer
            time.sleep(0.1)
        raise AssertionError("what the test waits for did not happen")

    def running(self, name="fate"):
        """Waits until a pod runs."""
        pods = lambda: self.cluster.kubectl("get", "pods", "-n", self.space.name)["items"]  # noqa: E731
        self.until(lambda: any(pod["status"].get("phase") == "Running" for pod in pods()))

    def run(self, **how):
        return self.end(self.start(**how))


def succeeds(step):
    return step.run()


def user_error(step):
    return step.run(fates={"exit-code": "3"})


def out_of_memory(step):
    return step.run(fates={"reason": "OOMKilled"})


def image_cannot_be_pulled(step):
    return step.run(fates={"waiting": "ErrImagePull"}, options={"limits": {"starting": 3}})


def unschedulable(step):
    key = "launcher_cpus" if step.kind == "MPI" else "worker_cpus"
    return step.run(distribution={"worker_cpus": "10000", key: "10000"}, options={"limits": {"scheduling": 3}})


def quota_refuses(step):
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    step.cluster.kubectl("create", "-n", step.space.name, "-f", "-", input=quota)
    step.until(lambda: "hard" in step.cluster.kubectl("get", "resourcequota", "none", "-n", step.space.name).get("status", {}))
    return step.run(options={"limits": {"queued": 6}})


def webhook_denies(step):
    if step.kind in ("PyTorch", "TF"):  # the operator's own webhook: the container must have its name
        types = {"PyTorch": ("pytorch", "Master"), "TF": ("tf", "Chief")}[step.kind]
        path = f"/spec/{types[0]}ReplicaSpecs/{types[1]}/template/spec/containers/0/name"
        return step.run(options={"patch": [{"op": "replace", "path": path, "value": "other"}]})
    return step.run(options={"labels": {"denied-by-the-test": "yes"}})


def evicted_worker(step):
    if step.kind == "Job":
        return step.run(fates={"run-ms": "500", "reason": "Evicted"})
    worker = {"PyTorch": "worker-1", "TF": "worker-1", "MPI": "worker-0"}[step.kind]
    fates = {"run-ms": "forever", f"{worker}.fate/run-ms": "500", f"{worker}.fate/reason": "Evicted"}
    if step.kind == "MPI":  # mpirun notices that a worker is gone
        fates |= {"launcher-0.fate/run-ms": "3000", "launcher-0.fate/exit-code": "1"}
    return step.run(fates=fates)


def backoff_limit(step):
    policy = {"restart_policy": "Never" if step.kind == "Job" else "OnFailure", "backoff_limit": 1}
    return step.run(fates={"exit-code": "7", "run-ms": "300"} if step.kind != "MPI" else {"launcher-0.fate/exit-code": "7"}, options={"run_policy": policy})


def deadline(step):
    return step.run(fates={"run-ms": "forever"}, options={"run_policy": {"active_deadline": 4}})


def suspended_then_resumed(step):
    process = step.start(options={"run_policy": {"suspend": True}, "limits": {"running": 30}})
    job = step.job()
    conditions = lambda: step.job().get("status", {}).get("conditions", [])  # noqa: E731
    step.until(lambda: any(c["type"] == "Suspended" and c["status"] == "True" for c in conditions()))
    spec = {"suspend": False} if step.kind == "Job" else {"runPolicy": {"suspend": False}}
    step.cluster.kubectl(*("patch", RESOURCES[step.kind], job["metadata"]["name"], "-n", step.space.name, "--type=merge", "-p", json.dumps({"spec": spec})))
    return step.end(process)


def deleted_by_someone_else(step):
    process = step.start(fates={"run-ms": "forever"})
    job = step.job()
    step.running()
    step.cluster.kubectl("delete", RESOURCES[step.kind], job["metadata"]["name"], "-n", step.space.name, "--wait=false")
    return step.end(process)


def step_cancelled(step):
    process = step.start(fates={"run-ms": "forever"})
    step.running()
    process.send_signal(signal.SIGTERM)
    ended = step.end(process)
    step.until(lambda: not step.left(RESOURCES[step.kind]) and not step.left("pods"))
    ended.jobs, ended.pods = [], []
    return ended


def step_evicted_then_retried(step):
    fates = {"run-ms": "4000"} if step.kind != "MPI" else {"launcher-0.fate/run-ms": "4000"}
    first = step.start(fates=fates)
    uid = step.job()["metadata"]["uid"]
    step.running()
    first.kill()
    first.communicate()
    second = step.start(fates=fates)
    assert step.job()["metadata"]["uid"] == uid
    return step.end(second)


def name_taken_by_a_stranger(step):
    version = f"kubeflow.org/{step.cluster.options['mpi']}" if step.kind == "MPI" else None
    text = step.rendered(version).replace("trainstep.dev/run: cell", "trainstep.dev/run: stranger")
    step.cluster.kubectl("create", "-f", "-", input=text)
    ended = step.run()
    assert len(ended.jobs) == 1, "the stranger's job must stay"
    ended.jobs, ended.pods = [], []
    return ended


# What must be seen: exit code and a part of the last words.
CASES = {
    succeeds: (0, "succeeded"),
    user_error: (1, "exited with code 3"),
    out_of_memory: (1, "OOMKilled"),
    image_cannot_be_pulled: (2, "cannot pull the image"),
    unschedulable: (5, "cannot be scheduled"),
    quota_refuses: (5, "exceeded quota"),
    webhook_denies: (2, "denied"),
    evicted_worker: (5, "Evicted"),
    backoff_limit: (1, "exited with code 7"),
    deadline: (4, "active_deadline"),
    suspended_then_resumed: (0, "suspended"),
    deleted_by_someone_else: (3, "deleted by another client"),
    step_cancelled: (143, "cancelled by SIGTERM"),
    step_evicted_then_retried: (0, "adopted"),
    name_taken_by_a_stranger: (2, "does not belong to this run"),
}


@pytest.fixture(scope="module")
def denied(cluster):
    """An admission policy that refuses whatever carries a label of the test's."""
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "denied-by-the-test"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{"apiGroups": ["batch", "kubeflow.org"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}]},
            "validations": [{"expression": "!('denied-by-the-test' in object.metadata.?labels.orValue({}))", "message": "the test does not want it"}],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "denied-by-the-test"},
        "spec": {"policyName": "denied-by-the-test", "validationActions": ["Deny"]},
    }
    for item in (policy, binding):
        cluster.kubectl("create", "-f", "-", input=item)


@pytest.fixture(scope="module")
def cells(request, cluster, denied, program, tmp_path_factory):
    """(kind, case) → future Ended, for the module's CELLS. All of them begin with the first."""

    folder = tmp_path_factory.mktemp("cells")  # pytest's own is not for several threads

    def live(kind, case):
        with cluster.namespace() as space:
            return case(Step(cluster, program, space, kind, pathlib.Path(tempfile.mkdtemp(dir=folder))))

    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        futures = {(kind, case): pool.submit(live, kind, case) for kind, case in request.module.CELLS}
        yield futures



def check(cells, kind, case):
    ended = cells[kind, case].result()
    code, words = CASES[case]
    assert ended.code == code, ended.output
    assert words in ended.output, ended.output
    assert ended.jobs == [], ended.output


def named(cells):
    """For parametrize."""
    return [pytest.param(kind, case, id=f"{kind}-{case.__name__}") for kind, case in cells]
