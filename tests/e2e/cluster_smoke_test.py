# SPDX-License-Identifier: Apache-2.0
"""The test cluster itself: the real servers accept what `trainstep render` prints, and the real operators bring it to the end that the test has chosen."""
import pytest

# Of a cluster whose MPIJobs are served by the training-operator; all other tests have the mpi-operator.
V1 = pytest.mark.parametrize("cluster", [{"mpi": "v1"}], indirect=True, ids=["v1"])
KINDS = {
    "Job": {"number_of_workers": 1},
    "PyTorch": {"number_of_workers": 3},
    "MPI": {"number_of_workers": 2},
    "TF": {"number_of_workers": 2, "number_of_parameter_servers": 1},
}
PROGRAM = {"image": "localhost/trainstep-tests:1", "command": ["train"]}


@pytest.fixture
def submit(cluster, namespace, trainstep):
    """submit("MPI", {"exit-code": "1"}) → (resource, name) of the job; what the pods do is said by annotations, by short or whole names."""

    def create(kind, fates=None, more=None, **options):
        api_version = ["--api-version", f"kubeflow.org/{cluster.options['mpi']}"] if kind == "MPI" else []
        rendered = trainstep(
            *("render", "--namespace", namespace.name, "--run-id", "smoke", *api_version),
            *("--train-specification", PROGRAM, "--distribution-specification", {"distribution_type": kind, **KINDS[kind]}),
            *("--job-options", {"annotations": {**{f"fate/{name}": value for name, value in (fates or {}).items()}, **(more or {})}, **options}),
            check=0,
        )
        made = cluster.kubectl("create", "--validate=strict", "-f", "-", input=rendered.stdout)
        return made["kind"].lower(), made["metadata"]["name"]

    return create


@pytest.mark.parametrize("kind", KINDS)
def test_job_succeeds(cluster, namespace, submit, kind):
    assert cluster.end_of(namespace, submit(kind))["type"] in ("Complete", "Succeeded")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fates, code, reason", [({"exit-code": "1"}, 1, "Error"), ({"reason": "OOMKilled"}, 137, "OOMKilled")])
def test_job_fails_as_decided(cluster, namespace, submit, kind, fates, code, reason):
    assert cluster.end_of(namespace, submit(kind, fates))["type"] == "Failed"
    pods = cluster.kubectl("get", "pods", "-n", namespace.name)["items"]
    ends = [status["state"].get("terminated") for pod in pods for status in pod["status"].get("containerStatuses", [])]
    assert (code, reason) in [(end["exitCode"], end["reason"]) for end in ends if end]


def test_replicas_have_separate_scripted_outcomes(cluster, namespace, submit):
    job = submit("PyTorch", {"run-ms": "3000"}, {"worker-1.fate/exit-code": "3", "worker-1.fate/run-ms": "0", "worker-1.fate/message": "no more"})
    assert cluster.end_of(namespace, job)["type"] == "Failed"
    status = cluster.kubectl("get", "pod", f"{job[1]}-worker-1", "-n", namespace.name)["status"]
    end = status["containerStatuses"][0]["state"]["terminated"]
    assert (end["exitCode"], end["message"]) == (3, "no more")


def test_container_that_fails_twice_succeeds_then(cluster, namespace, submit):
    options = {"run_policy": {"restart_policy": "OnFailure", "backoff_limit": 9}}  # it counts the restarts of all replicas
    job = submit("PyTorch", {"failures": "2", "exit-code": "1", "run-ms": "300", "log-lines": "1"}, **options)
    assert cluster.end_of(namespace, job)["type"] == "Succeeded"
    master = cluster.kubectl("get", "pod", f"{job[1]}-master-0", "-n", namespace.name)
    status = master["status"]["containerStatuses"][0]
    assert (status["restartCount"], status["lastState"]["terminated"]["exitCode"]) == (2, 1)
    assert cluster.kubectl("logs", f"{job[1]}-master-0", "-n", namespace.name, "--previous") == "line 0\n"


def test_pod_lingers_after_its_deletion(cluster, namespace, submit):
    pod = submit("PyTorch", {"run-ms": "forever", "linger-ms": "3000"})[1] + "-worker-0"
    cluster.wait_for("kwok", 30, lambda: cluster.kubectl("get", "pod", pod, "-n", namespace.name)["status"]["phase"] == "Running")
    cluster.kubectl("delete", "pod", pod, "-n", namespace.name, "--wait=false")
    assert "deletionTimestamp" in cluster.kubectl("get", "pod", pod, "-n", namespace.name)["metadata"]
    cluster.kubectl("wait", "pod", pod, "-n", namespace.name, "--for=delete", "--timeout=20s")


@pytest.mark.parametrize("reason", ["ErrImagePull", "CreateContainerConfigError"])
def test_container_waits_until_the_test_lets_it_start(cluster, namespace, submit, reason):
    job = submit("Job", {"waiting": reason})

    def waits_for():
        (pod,) = cluster.kubectl("get", "pods", "-n", namespace.name)["items"]
        state = pod["status"].get("containerStatuses", [{"state": {}}])[0]["state"]
        return pod["metadata"]["name"], state.get("waiting", {}).get("reason")

    cluster.wait_for("kwok", 30, lambda: cluster.kubectl("get", "pods", "-n", namespace.name)["items"] and waits_for()[1] == reason)
    cluster.kubectl("annotate", "pod", waits_for()[0], "-n", namespace.name, "fate/waiting-")
    assert cluster.end_of(namespace, job)["type"] == "Complete"


def test_evicted_worker_fails_alone(cluster, namespace, submit):
    job = submit("PyTorch", {"run-ms": "forever"})
    one = f"{job[1]}-worker-1"
    cluster.wait_for("training-operator", 30, lambda: cluster.kubectl("get", "pod", one, "-n", namespace.name)["status"]["phase"] == "Running")
    cluster.kubectl("annotate", "pod", one, "-n", namespace.name, "fate/run-ms=0", "fate/reason=Evicted", "--overwrite")
    cluster.end_of(namespace, job)
    status = cluster.kubectl("get", "pod", one, "-n", namespace.name)["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "Evicted")


def test_log_ends_with_the_container(cluster, namespace, submit):
    master = submit("PyTorch", {"log-lines": "4", "log-every-ms": "300", "run-ms": "2000"})[1] + "-master-0"
    cluster.wait_for("kwok", 30, lambda: cluster.kubectl("get", "pod", master, "-n", namespace.name)["status"]["phase"] == "Running")
    assert cluster.kubectl("logs", master, "-n", namespace.name, "--follow") == "".join(f"line {i}\n" for i in range(4))


def test_step_may_only_what_its_role_says(cluster, namespace):
    mine = ("--token", namespace.token, "--kubeconfig", str(namespace.kubeconfig), "-n", namespace.name)
    assert cluster.kubectl("auth", "can-i", "create", "jobs", *mine).strip() == "yes"
    with pytest.raises(Exception, match="forbidden"):
        cluster.kubectl("get", "secrets", *mine)
    assert [event for event in cluster.requests(namespace.name) if event.get("objectRef", {}).get("resource") == "secrets"]


def until_refused(api):
    """The gate notices by a connection that fails, and may have taken in the next one by then."""
    for _ in range(100):
        with pytest.raises(ConnectionError) as failure:
            api.get("/readyz")
        if isinstance(failure.value, ConnectionRefusedError):
            return
    raise AssertionError("connections to a server that is down are taken in")


def test_api_server_restarts_with_all_objects(cluster, namespace, submit):
    job = submit("Job", {"run-ms": "3000"})
    cluster.stop_server("apiserver", "KILL")
    until_refused(cluster.api)
    cluster.start_server("apiserver")
    cluster.wait_for("apiserver", 30, lambda: cluster.api.get("/readyz") == "ok")
    assert cluster.end_of(namespace, job)["type"] == "Complete"


@V1
@pytest.mark.parametrize("fates, end", [({}, "Succeeded"), ({"exit-code": "1"}, "Failed"), ({"reason": "OOMKilled"}, "Failed")])
def test_mpi_job_of_the_training_operator_ends_as_decided(cluster, namespace, submit, fates, end):
    assert cluster.end_of(namespace, submit("MPI", fates))["type"] == end
