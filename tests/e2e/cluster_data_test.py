# SPDX-License-Identifier: Apache-2.0
"""Data of real pods: what a pipeline hands over as artifacts is fetched and delivered by the pods themselves, from and to a real S3 server."""
import hashlib
import json
import pathlib

import pytest
from data_steps import AGENT_IMAGE, BUCKET, DISTRIBUTIONS, PROGRAM, contents, delivered, tree

CLUSTER = {"nodes": "real", "mpi": "v2beta1"}


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_artifacts_go_from_the_bucket_to_the_pods_and_back_and_not_through_the_step(data_step, store, kind):
    training = data_step(kind)
    files = tree(store, f"sets/{kind}")
    assert training.run_with_artifacts(f"sets/{kind}") == 0, training.output
    assert delivered(training.model, files), training.output
    results = json.loads((training.tmp / "results").read_text())
    assert results["digest"]["agreed"] is True
    assert results["digest"]["much"] == list(range(2000)), "more than a pod's message takes"
    assert results["model"] == f"minio://{BUCKET}/{training.run_key}/model_dir"
    assert training.left() == [], training.output
    assert "accuracy=0.97" in training.output
    assert not pathlib.Path(f"/minio/{BUCKET}/{training.run_key}").exists(), "the step's own output path is left alone"


def test_input_that_is_one_file_stays_one_file(data_step, store):
    training = data_step("Job")
    (store.files / "one.csv").write_bytes(b"1,2\n")
    assert training.run_with_artifacts("one.csv") == 0, training.output
    assert delivered(training.model, {}, single=b"1,2\n"), training.output
    results = json.loads((training.tmp / "results").read_text())
    assert results["digest"]["sha256"] == hashlib.sha256(b"1,2\n").hexdigest()


def test_ten_thousand_files_come_and_go(data_step, store):
    training = data_step("Job")
    folder = store.files / "sets/many"
    files = {f"{i % 100:02}/{i}": f"file {i}".encode() for i in range(10_000)}
    for i in range(100):
        (folder / f"{i:02}").mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    assert training.run_with_artifacts("sets/many") == 0, training.output
    assert delivered(training.model, files)


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_data_on_a_claim_that_the_step_has_mounted_is_read_and_written_there(data_step, kind, cluster):
    training = data_step(kind)
    folder = training.tmp / "claimed"
    (folder / "sets").mkdir(parents=True)
    (folder / "sets/a.csv").write_bytes(b"1,2,3\n")
    claim(cluster, training.space, folder)
    training.own_pod("datasets", folder)
    values = training.values()
    arguments = {name.replace("_", "-"): value for name, value in values.items()}
    places = {"train-dataset-dir": str(folder / "sets"), "model-dir": str(folder / "models/1"), "results": str(training.tmp / "results")}
    assert training.begin(arguments | places).end() == 0, training.output
    assert delivered(folder / "models/1", {"a.csv": b"1,2,3\n"}), training.output
    assert json.loads((training.tmp / "results").read_text())["digest"]["sha256"] == hashlib.sha256(b"1,2,3\n").hexdigest()
    assert training.left() == [], training.output


def claim(cluster, space, folder):
    """The claim "datasets" of a namespace: this folder."""
    size = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "storageClassName": space.name}
    volume = {"hostPath": {"path": str(folder)}, "claimRef": {"namespace": space.name, "name": "datasets"}}
    cluster.api.create("/api/v1/persistentvolumes", {"metadata": {"name": space.name}, "spec": size | volume})
    wanted = {"accessModes": ["ReadWriteMany"], "storageClassName": space.name, "resources": {"requests": size["capacity"]}}
    cluster.api.create(f"/api/v1/namespaces/{space.name}/persistentvolumeclaims", {"metadata": {"name": "datasets"}, "spec": wanted})


def test_input_that_does_not_exist_ends_the_step_before_the_program_has_begun(data_step):
    training = data_step("Job")
    assert training.run_with_artifacts("sets/none") == 2, training.output
    assert f"nothing lies at minio://{BUCKET}/sets/none" in training.output
    assert "has read" not in training.output
    assert training.left() == []


def test_keys_that_are_refused_are_named_by_their_store_and_not_shown(data_step, store, cluster):
    training = data_step("PyTorch")
    tree(store, "sets/refused")
    keys = {"stringData": {"accesskey": "pipeline", "secretkey": "another-secret-key-0123456789"}}
    path = f"/api/v1/namespaces/{training.space.name}/secrets/mlpipeline-minio-artifact"
    cluster.api.call("PATCH", path, keys, "application/merge-patch+json")
    assert training.run_with_artifacts("sets/refused") == 2, training.output
    assert "SignatureDoesNotMatch" in training.output
    assert "another-secret-key" not in training.output
    assert not training.model.exists()


def test_program_that_fails_delivers_nothing(data_step, store):
    training = data_step("Job")
    tree(store, "sets/failing")
    training.command = ["python3", "-c", "import os, sys; os.makedirs(sys.argv[2]); open(sys.argv[2] + '/half', 'w').write('x'); raise ValueError('no luck')"]
    assert training.run_with_artifacts("sets/failing") == 1, training.output
    assert "ValueError: no luck" in training.output.rpartition("[trainstep] failed")[2], training.output
    assert not training.model.exists()


def test_store_that_is_away_when_the_outputs_are_to_be_delivered_is_waited_for(data_step, store, cluster):
    training = data_step("Job")
    files = tree(store, "sets/away")
    training.command = ["python3", "-c", PROGRAM.replace("TOGETHER", "import time; print('reading', flush=True); time.sleep(3)")]
    training.begin_with_artifacts("sets/away")
    for line in training.process.stdout:
        if "reading" in line:
            break
    cluster.stop_server("s3", "KILL")
    for line in training.process.stdout:
        if "accuracy" in line:
            break
    cluster.start_server("s3")
    assert training.end() == 0, training.output
    assert delivered(training.model, files), training.output


def test_local_files_go_through_the_jobs_prefix_which_is_gone_afterwards(data_step, store, cluster):
    training = data_step("PyTorch")
    (training.tmp / "set").mkdir()
    files = {"a.csv": b"1,2,3\n", "b/c.bin": bytes(range(256)) * 50_000}
    for name, content in files.items():
        (training.tmp / "set" / name).parent.mkdir(exist_ok=True)
        (training.tmp / "set" / name).write_bytes(content)
    keys = {"minio-url": store.url, "minio-bucket": BUCKET, "minio-job-folder": "jobs", "minio-accesskey": store.access_key}
    secret = {"metadata": {"name": "training"}, "stringData": keys | {"minio-secretkey": store.secret_key}}
    cluster.api.create(f"/api/v1/namespaces/{training.space.name}/secrets", secret)
    training.options = {"agent_image": AGENT_IMAGE}
    arguments = {name.replace("_", "-"): value for name, value in training.values().items()}
    places = {name: str(training.tmp / path) for name, path in {"train-dataset-dir": "set", "model-dir": "model", "results": "results"}.items()}
    assert training.begin(arguments | places | {"cluster-configuration-secret": "training"}).end() == 0, training.output
    assert delivered(training.tmp / "model", files), training.output
    assert json.loads((training.tmp / "results").read_text())["digest"]["agreed"] is True
    assert training.left() == [], training.output
    assert contents(store.files / "jobs") == {}


def test_claim_that_is_not_there_is_made_for_the_job_and_goes_with_it(data_step, store, cluster):
    training = data_step("Job")
    volume = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "hostPath": {"path": str(training.tmp)}}
    claimed = {"claimRef": {"namespace": training.space.name, "name": "scratch"}}
    cluster.api.create("/api/v1/persistentvolumes", {"metadata": {"name": f"{training.space.name}-scratch"}, "spec": volume | claimed})
    tree(store, "sets/claimed")
    training.more = {"pvc_name": "scratch", "pvc_size": "1Gi"}
    training.command = ["python3", "-c", PROGRAM.replace("TOGETHER", "open('/train/note', 'w').write('on the claim')")]
    assert training.run_with_artifacts("sets/claimed") == 0, training.output
    assert (training.tmp / "note").read_text() == "on the claim"
    claims = f"/api/v1/namespaces/{training.space.name}/persistentvolumeclaims"
    cluster.wait_for("controller-manager", 30, lambda: not cluster.api.get(claims)["items"])
