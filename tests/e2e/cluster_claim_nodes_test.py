# SPDX-License-Identifier: Apache-2.0
"""Claims that only one node can mount, on two real nodes with the real scheduler: their pods run on one of them."""
import pytest
from data_steps import DISTRIBUTIONS, NOBODY, delivered

CLUSTER = {"nodes": "two-real", "mpi": "v2beta1"}
KEPT = {"cleanup": "never", "run_policy": {"stop_grace": "1s", "clean_pod_policy": "None"}}


def nodes_of(training):
    """Of the job's pods, not the step's own."""
    pods = [pod for pod in training.pods() if pod["metadata"]["name"] != "step" and pod["spec"].get("schedulerName") != NOBODY]
    return [pod["spec"].get("nodeName") for pod in pods]


@pytest.fixture
def claimed(data_step):
    """claimed(kind, mode): a step that is to read and write on the claim "datasets"; its arguments."""

    def call(kind, mode):
        training = data_step(kind)
        folder = training.tmp / "claimed"
        (folder / "sets").mkdir(parents=True)
        (folder / "sets/a.csv").write_bytes(b"1,2,3\n")
        training.claim("datasets", folder, mode)
        training.options |= KEPT
        training.folder = folder
        return training

    return call


def arguments(training):
    values = {name.replace("_", "-"): value for name, value in training.values().items()}
    return values | {"train-dataset-dir": str(training.folder / "sets"), "model-dir": str(training.folder / "models/1")}


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
@pytest.mark.parametrize("node", ["real", "second"])
def test_pods_run_on_the_node_where_the_step_has_the_claim(claimed, kind, node):
    training = claimed(kind, "ReadWriteOnce")
    training.own_pod("datasets", training.folder, node)
    assert training.begin(arguments(training)).end() == 0, training.output
    assert f"claim datasets (ReadWriteOnce): all pods are scheduled on node {node}, where this step uses it" in training.output
    assert delivered(training.folder / "models/1", {"a.csv": b"1,2,3\n"}), training.output
    assert set(nodes_of(training)) == {node}, training.output


@pytest.mark.parametrize("kind", [kind for kind in DISTRIBUTIONS if kind != "Job"])
def test_pods_that_share_another_claim_run_on_one_node(claimed, store, kind):
    training = claimed(kind, "ReadWriteOnce")
    (store.files / f"sets/{training.space.name}").mkdir(parents=True)
    (store.files / f"sets/{training.space.name}/a.csv").write_bytes(b"1,2,3\n")
    training.options["volumes"] = [{"mount_path": "/shared", "claim": "datasets"}, *training.values()["job_options"].get("volumes", [])]
    assert training.run_with_artifacts(f"sets/{training.space.name}") == 0, training.output
    assert "claim datasets (ReadWriteOnce): all pods are scheduled on one node" in training.output
    assert len(nodes_of(training)) > 1 and len(set(nodes_of(training))) == 1, training.output


def test_a_claim_of_one_pod_that_the_step_has_is_refused_before_there_is_a_job(claimed):
    training = claimed("Job", "ReadWriteOncePod")
    training.own_pod("datasets", training.folder, "second")
    assert training.begin(arguments(training)).end() == 2, training.output
    assert "claim datasets is ReadWriteOncePod, and this step's own pod uses it; use a ReadWriteMany claim" in training.output
    assert nodes_of(training) == []


def test_a_node_without_room_is_reported_with_the_schedulers_message(claimed):
    training = claimed("PyTorch", "ReadWriteOnce")
    training.own_pod("datasets", training.folder, "second")
    training.more["memory"] = "900Gi"
    training.options["limits"] = {"scheduling": "3s"}
    assert training.begin(arguments(training)).end() == 5, training.output
    assert "Insufficient memory" in training.output
