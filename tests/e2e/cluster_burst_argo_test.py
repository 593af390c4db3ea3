# SPDX-License-Identifier: Apache-2.0
"""A pod of a Workflow under the real Argo Workflows is the step, and its job trains in another cluster: two control planes and two real nodes in networks of
their own, between them two gates. Each leads to one server of the other side: here to the API server there, there to the S3 server here.
"""
import contextlib
import json
import shutil
import sys
import time

import pytest
from api import ApiError
from burst_runs import created
from burst_steps import configuration, gate_to, home_of, left_in, there_of
from cluster_cells import RESOURCES
from conftest import ROOT
from control_plane import NODE_ADDRESS
from data_steps import DISTRIBUTIONS, MACHINE, PORT, PROGRAM, TOGETHER, Store, delivered, tree
from real_node import CTR, import_image

sys.path.insert(0, str(ROOT / "tests/argo"))
import argo as argo_workflows  # noqa: E402
import template  # noqa: E402
from template import NAMESPACE, outputs, step_log  # noqa: E402

CLUSTER = {"nodes": "real"}  # the other one
SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"


@pytest.fixture(scope="module")
def home(cluster):
    with home_of(cluster, nodes="real") as started:
        yield started


@pytest.fixture(scope="module")
def store(home):
    return Store(home)


@pytest.fixture(scope="module")
def argo(cluster, home, store):
    """Argo here, and the networks between the two clusters. A node's address is the same on both sides, so is the S3 server's URL."""
    import_image(cluster, ROOT / "build/image/trainstep.tar")  # the agent's image is the step's
    port = cluster.sandbox.port
    with contextlib.ExitStack() as gates:
        gates.enter_context(gate_to("127.0.0.1", port, listen=lambda: home.sandbox.listen(NODE_ADDRESS, port)))
        gates.enter_context(gate_to(NODE_ADDRESS, PORT, enter=home.sandbox.enter, listen=lambda: cluster.sandbox.listen(NODE_ADDRESS, PORT)))
        started = argo_workflows.Argo(home, store)
        # The garbage collector looks for new resources when it starts, then every half minute.
        home.stop_server("controller-manager", "KILL")
        home.start_server("controller-manager")
        template.install(home, ["gpu"])
        started.prepare(NAMESPACE)
        yield started


class There:
    """A namespace of the other cluster, which a Secret names; Workflows here whose jobs run there."""

    def __init__(self, cluster, home, store, argo, space, tmp):
        self.cluster, self.home, self.store, self.argo, self.space, self.tmp = cluster, home, store, argo, space, tmp
        self.shared = tmp / "shared"  # /shared of the job's pods
        self.shared.mkdir()
        self.flows = []

    def name_in_secret(self, **changes):
        values = configuration(self.cluster, self.store, self.space) | {"remote-host": f"https://{NODE_ADDRESS}:{self.cluster.sandbox.port}", **changes}
        self.home.api.create(SECRETS, {"metadata": {"name": "gpu"}, "stringData": values})

    def submit(self, kind, script, retries=0):
        """The data set comes into the step's pod as an artifact, and from there to the job. → the Workflow; the files of the data set."""
        key = f"sets/{self.space.name}"
        files = tree(self.store, key)

        def change(step):
            # Argo makes folders for its executor alone.
            step["inputs"]["artifacts"].append({"name": "set", "path": "/sets/set", "s3": {"key": key}, "mode": 0o755, "recurseMode": True})
            step["retryStrategy"] = {"limit": str(retries), "retryPolicy": "Always"}

        specification = {
            "name": "train",
            "inputs": [{"name": "data", "type": "Dataset"}],
            "outputs": [{"name": "model", "type": "Model"}, {"name": "digest", "type": "JsonObject"}],
            "implementation": {"container": {
                "image": self.cluster.IMAGE, "command": ["python3", "-c", script, {"inputPath": "data"}, {"outputPath": "model"}, {"outputPath": "digest"}],
            }},
        }  # fmt: skip
        volumes = [{"mount_path": "/shared", "host_path": str(self.shared)}, *(MACHINE if kind == "PyTorch" else [])]
        spec = template.workflow(
            self.home, change, train_specification=specification, train_dataset_dir="/sets/set", model_name="digits", cluster_configuration_secret="gpu",
            train_parameters={"data": "train_dataset_dir", "model": "model_dir"}, job_options={"run_policy": {"stop_grace": "1s"}, "volumes": volumes},
            distribution_specification={"distribution_type": kind, **DISTRIBUTIONS[kind]},
        )  # fmt: skip
        self.flows.append(self.argo.submit(NAMESPACE, spec))
        return self.flows[-1], files

    def await_training(self, flow):
        """Until the program of the job's first pod runs, which says so."""
        self.cluster.wait_for("kubelet", 120, lambda: (self.shared / "begun").exists() or over(flow))
        assert not over(flow), step_log(flow)

    def job(self, kind):
        (job,) = self.cluster.kubectl("get", RESOURCES[kind], "-n", self.space.name)["items"]
        return job

    def left(self):
        return left_in(self.cluster, self.store, self.space.name, "pods", *RESOURCES.values())

    def created(self):
        return created(self.cluster, self.space)

    def judge(self, flow, files, type_of_node):
        """The Workflow has succeeded with all that its job made, once, there; nothing of the job is left."""
        status = flow.until_over()
        log = step_log(flow)
        assert status["phase"] == "Succeeded", log
        _, parameters, artifacts = outputs(status, type_of_node)
        assert json.loads(parameters["metrics"]) == {"accuracy": 0.97} and json.loads(parameters["results"])["digest"]["agreed"] is True
        assert f"has read {len(files)} files" in log and self.store.secret_key not in log
        report = (self.store.files / artifacts["report"]).read_text(encoding="utf-8")
        assert report.startswith("<!DOCTYPE html>") and parameters["job_name"] in report and "0.97" in report
        assert delivered(template.unpacked(self.store, artifacts["model_dir"], self.tmp / "model"), files), log
        assert (self.created(), self.left()) == (1, []), log
        return log


def over(flow):
    return flow.status().get("phase") in ("Succeeded", "Failed", "Error")


def delete(flow):
    with contextlib.suppress(ApiError):  # it may be gone
        flow.delete()


@pytest.fixture
def there(cluster, home, store, argo, tmp_path):
    with there_of(cluster) as space:
        made = There(cluster, home, store, argo, space, tmp_path)
        yield made
        for flow in made.flows:
            delete(flow)
        home.wait_for("workflow-controller", 60, lambda: not any(flow.pods() for flow in made.flows))
        home.api.delete(f"{SECRETS}/gpu")
        for place in "jobs", "sets":
            shutil.rmtree(store.files / place / space.name, ignore_errors=True)
        assert home.kubectl("get", ",".join(RESOURCES.values()), "--all-namespaces")["items"] == []


BEGUN = "open('/shared/begun', 'w').close()\n"
# Until the test says so.
HELD = "import os, time\n" + BEGUN + "for _ in range(1800):\n    if os.path.exists('/shared/end'): break\n    time.sleep(0.1)\n"


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_workflow_here_trains_there_and_its_outputs_are_argos(there, kind):
    there.name_in_secret()
    flow, files = there.submit(kind, PROGRAM.replace("TOGETHER", TOGETHER[kind]))
    there.judge(flow, files, "Pod")


def delete_pod(home, pod):
    home.kubectl("delete", "pod", pod["metadata"]["name"], "-n", NAMESPACE)


def kill_container(home, pod):
    (state,) = [state for state in pod["status"]["containerStatuses"] if state["name"] == "main"]
    home.sandbox.run(*CTR, "tasks", "kill", "--signal", "SIGKILL", state["containerID"].removeprefix("containerd://"))


@pytest.mark.parametrize("end_pod", [delete_pod, kill_container])
def test_step_whose_pod_is_gone_adopts_its_job_there(there, end_pod):
    there.name_in_secret()
    flow, files = there.submit("Job", HELD + PROGRAM.replace("TOGETHER", ""), retries=2)
    there.await_training(flow)
    uid = there.job("Job")["metadata"]["uid"]
    (first,) = flow.pods()
    end_pod(there.home, first)
    there.home.wait_for("workflow-controller", 90, lambda: any(is_next(pod, first) for pod in flow.pods()))
    assert there.job("Job")["metadata"]["uid"] == uid, step_log(flow)
    (there.shared / "end").touch()
    assert "adopted" in there.judge(flow, files, "Retry")


def is_next(pod, first):
    return pod["metadata"]["uid"] != first["metadata"]["uid"] and pod["status"].get("phase") == "Running"


def stop(flow):
    flow.patch({"spec": {"shutdown": "Stop"}})


def terminate(flow):
    flow.patch({"spec": {"shutdown": "Terminate"}})


@pytest.mark.parametrize("cancel", [stop, terminate, delete])
@pytest.mark.parametrize("kind", ["Job", "PyTorch"])
def test_cancelled_workflow_leaves_nothing_there(there, kind, cancel):
    there.name_in_secret()
    flow, _ = there.submit(kind, HELD)
    there.await_training(flow)
    name = there.job(kind)["metadata"]["name"]
    assert {name, f"{name}-keys", f"{name}/inputs/data/a.csv"} <= set(there.left())
    cancel(flow)
    there.cluster.wait_for("controller-manager", 60, lambda: there.left() == [])
    if cancel is not delete:
        assert flow.until_over()["phase"] == "Failed", step_log(flow)
    assert there.created() == 1


def test_workflow_that_is_stopped_while_the_network_is_cut_leaves_nothing_there(there):
    there.name_in_secret()
    flow, _ = there.submit("Job", HELD)
    there.await_training(flow)
    there.cluster.stop_server("gate", "STOP")
    stop(flow)
    time.sleep(8)  # the fault itself
    there.cluster.stop_server("gate", "CONT")
    there.cluster.wait_for("controller-manager", 60, lambda: there.left() == [])
    assert flow.until_over()["phase"] == "Failed" and "no answer for" in flow.log(), step_log(flow)


def test_server_with_a_certificate_of_another_authority_gets_no_token(there):
    there.name_in_secret(**{"remote-ca": (there.home.authority.folder / "ca.crt").read_text()})
    flow, _ = there.submit("Job", HELD)
    assert flow.until_over()["phase"] == "Failed" and "certificate" in flow.log(), step_log(flow)
    assert (there.created(), there.left()) == (0, [])
    assert there.cluster.requests(there.space.name) == []
