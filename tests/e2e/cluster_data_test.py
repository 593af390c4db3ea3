# SPDX-License-Identifier: Apache-2.0
"""Data of real pods: the pods themselves download and deliver what a pipeline passes as artifacts, from and to a real S3 server."""
import hashlib
import json
import pathlib
import subprocess

import pytest
from conftest import ROOT
from data_steps import AGENT_IMAGE, BUCKET, DISTRIBUTIONS, PROGRAM, contents, delivered, tree
from real_node import CTR

CLUSTER = {"nodes": "real", "mpi": "v2beta1"}


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_artifacts_are_transferred_between_bucket_and_pods_and_not_through_the_step(data_step, store, kind):
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
    assert training.own_paths() == {"model_dir": None}, "an empty folder: nothing is uploaded over the model"


def test_input_that_is_one_file_stays_one_file(data_step, store):
    training = data_step("Job")
    (store.files / "one.csv").write_bytes(b"1,2\n")
    assert training.run_with_artifacts("one.csv") == 0, training.output
    assert delivered(training.model, {}, single=b"1,2\n"), training.output
    results = json.loads((training.tmp / "results").read_text())
    assert results["digest"]["sha256"] == hashlib.sha256(b"1,2\n").hexdigest()


def test_model_is_delivered_to_the_address_given_on_the_command_line(data_step, store):
    training = data_step("Job")
    files = tree(store, "sets/shell")
    training.options["agent_image"] = AGENT_IMAGE
    addresses = {"train-dataset-dir": f"minio://{BUCKET}/sets/shell", "model-dir": f"minio://{BUCKET}/{training.run_key}/model_dir"}
    assert training.begin(training.values() | addresses).end() == 0, training.output
    assert delivered(training.model, files), training.output
    assert f"model: {addresses['model-dir']}" in training.output
    assert not (training.tmp / "minio:").exists(), "an address is no local path"
    assert training.left() == [], training.output


def test_ten_thousand_files_in_and_out(data_step, store):
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
    training.claim("datasets", folder)
    training.own_pod("datasets", folder)
    values = training.values()
    arguments = {name.replace("_", "-"): value for name, value in values.items()}
    places = {"train-dataset-dir": str(folder / "sets"), "model-dir": str(folder / "models/1"), "results": str(training.tmp / "results")}
    assert training.begin(arguments | places).end() == 0, training.output
    assert delivered(folder / "models/1", {"a.csv": b"1,2,3\n"}), training.output
    assert json.loads((training.tmp / "results").read_text())["digest"]["sha256"] == hashlib.sha256(b"1,2,3\n").hexdigest()
    assert training.left() == [], training.output


def test_input_that_does_not_exist_ends_the_step_before_the_program_has_begun(data_step):
    training = data_step("Job")
    assert training.run_with_artifacts("sets/none") == 2, training.output
    assert f"minio://{BUCKET}/sets/none does not exist" in training.output
    assert "has read" not in training.output
    assert training.left() == []


def test_keys_that_are_refused_are_named_by_their_store_and_not_shown(data_step, store, cluster):
    training = data_step("PyTorch")
    tree(store, "sets/refused")
    change_key(cluster, training, "another-secret-key-0123456789")
    assert training.run_with_artifacts("sets/refused") == 2, training.output
    assert "SignatureDoesNotMatch" in training.output
    assert "another-secret-key" not in training.output
    assert not training.model.exists()


def change_key(cluster, training, secret_key):
    path = f"/api/v1/namespaces/{training.space.name}/secrets/mlpipeline-minio-artifact"
    cluster.api.call("PATCH", path, {"stringData": {"secretkey": secret_key}}, "application/merge-patch+json")
    # A kubelet renews the files of a pod's Secrets once in a minute, and whenever the pod changes.
    for pod in training.pods():
        path = f"/api/v1/namespaces/{training.space.name}/pods/{pod['metadata']['name']}"
        cluster.api.call("PATCH", path, {"metadata": {"annotations": {"look-again": secret_key[:4]}}}, "application/merge-patch+json")


# Ends when its pod has other keys than at the beginning.
UNTIL_KEYS_CHANGE = """
import time
keys = lambda: open("/trainstep/keys/0/secret_key").read()
at_first = keys()
print("reading", flush=True)
while keys() == at_first: time.sleep(0.1)
"""


def test_credentials_that_expire_are_corrected_in_their_secret_and_the_outputs_are_delivered(data_step, store, cluster):
    training = data_step("Job")
    files = tree(store, "sets/expiring")
    training.command = ["python3", "-c", PROGRAM.replace("TOGETHER", UNTIL_KEYS_CHANGE)]
    training.begin_with_artifacts("sets/expiring")
    await_line(training, "reading")
    change_key(cluster, training, "no-longer-valid-0123456789")
    refusal = await_line(training, "trying again in")
    assert "output model: " in refusal and "the secret key does not match the access key" in refusal, refusal
    assert not list(training.model.rglob("*")), "nothing is delivered without keys"
    change_key(cluster, training, store.secret_key)
    assert training.end() == 0, training.output
    assert delivered(training.model, files), training.output
    assert json.loads((training.tmp / "results").read_text())["digest"]["agreed"] is True


def test_step_fails_when_its_credentials_are_still_invalid_at_delivery(data_step, store, cluster):
    training = data_step("Job")
    tree(store, "sets/expired")
    training.options = {"limits": {"finishing": 3}, "run_policy": {"backoff_limit": 0, "stop_grace": "1s"}}
    training.command = ["python3", "-c", PROGRAM.replace("TOGETHER", UNTIL_KEYS_CHANGE)]
    training.begin_with_artifacts("sets/expired")
    await_line(training, "reading")
    change_key(cluster, training, "no-longer-valid-0123456789")
    assert training.end() == 3, training.output
    assert "output model: " in training.output.rpartition("[trainstep] failed")[2], training.output
    assert "the secret key does not match the access key" in training.output.rpartition("[trainstep] failed")[2], training.output
    assert not list(training.model.rglob("*"))


def await_line(training, words):
    """→ the first line of the step's output with these words."""
    lines = []
    for line in training.process.stdout:
        lines.append(line)
        if words in line:
            return line
    raise AssertionError(f"{words}: no such line\n{''.join(lines)}")


# Its first life saves ten epochs and then hangs; the next ones go on from what is there.
SAVES_AND_HANGS = """
import os, signal
folder, (data, model, digest) = "/saved/here", sys.argv[1:4]
done = max((int(name) for name in os.listdir(folder)), default=0) if os.path.isdir(folder) else 0
print("begins behind epoch", done, flush=True)
for epoch in range(done + 1, 11 if not done else 21):
    os.makedirs(folder, exist_ok=True)
    open(f"{folder}/{epoch}", "w").write(str(epoch) * 1000)
while not done: signal.pause()
open(model, "w").write(f"{done} {epoch}")
json.dump({"epochs": epoch}, open(digest, "w"))
"""


def test_a_killed_worker_resumes_from_checkpoints_uploaded_while_it_ran(data_step, store, cluster):
    training = data_step("Job")
    tree(store, "sets/killed")
    training.options = {"run_policy": {"backoff_limit": 3, "stop_grace": "1s"}, "checkpoint_dir": "/saved/here"}
    training.command = ["python3", "-c", "import json, sys" + SAVES_AND_HANGS]
    training.begin_with_artifacts("sets/killed")
    assert "epoch 0" in await_line(training, "begins behind epoch")
    saved = {f"{epoch}": (str(epoch) * 1000).encode() for epoch in range(1, 11)}
    checkpoints = lambda: next(iter((training.model.parent / ".trainstep").glob("*/checkpoints")), pathlib.Path("/none"))  # noqa: E731
    cluster.wait_for("s3", 60, lambda: newest_state(checkpoints()) == saved)
    # SIGKILL: neither the program nor the agent can report anything.
    kill_containers(cluster, training)
    assert training.end() == 0, training.output
    assert "begins behind epoch 10" in training.output, training.output
    assert training.model.read_text() == "10 20"
    assert not list((training.model.parent / ".trainstep").rglob("*")), "what belongs to the job goes with it"


def newest_state(checkpoints):
    """The files that the newest set lists, as they are kept."""
    sets = sorted((checkpoints / ".trainstep/sets").glob("*.json"))
    try:
        return {path: (checkpoints / key).read_bytes() for path, key, *_ in json.loads(sets[-1].read_text())["files"]} if sets else {}
    except FileNotFoundError:  # a newer one has come
        return {}


def kill_containers(cluster, training):
    """All processes of the program's containers, at once."""
    for pod in training.pods():
        for status in pod["status"]["containerStatuses"]:
            container = status["containerID"].removeprefix("containerd://")
            cluster.sandbox.run(*CTR, "tasks", "kill", "--all", "--signal", "SIGKILL", container)


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


def name_store(cluster, store, training):
    """The Secret `training`, for cluster_configuration_secret."""
    keys = {"minio-url": store.url, "minio-bucket": BUCKET, "minio-job-folder": "jobs", "minio-accesskey": store.access_key}
    secret = {"metadata": {"name": "training"}, "stringData": keys | {"minio-secretkey": store.secret_key}}
    cluster.api.create(f"/api/v1/namespaces/{training.space.name}/secrets", secret)


BURST = """
import os

import trainstep

os.chdir(os.path.dirname(__file__))


def train(train_dataset_dir: trainstep.InputPath, model_dir: trainstep.OutputPath, factor: int) -> str:
    import os

    os.makedirs(model_dir)
    text = open(os.path.join(train_dataset_dir, "words.txt")).read()
    open(os.path.join(model_dir, "model.txt"), "w").write(text * factor)
    print("accuracy=0.9")
    return text


run = trainstep.submit(
    train, {"factor": 2}, train_dataset_dir="set", base_image="IMAGE", cluster_configuration_secret="training", job_options={"agent_image": "AGENT"}
)
result = run.follow()
assert (result.model_dir / "model.txt").read_text() == "wordswords" and result.model_dir.parent == result.folder
assert result.metrics == {"accuracy": 0.9} and result.results["Output"] == "words"
"""


def test_function_submitted_from_python_reads_local_files_and_its_model_is_downloaded(data_step, store, cluster):
    training = data_step("Job")
    (training.tmp / "set").mkdir()
    (training.tmp / "set/words.txt").write_text("words")
    name_store(cluster, store, training)
    (training.tmp / "burst.py").write_text(BURST.replace("IMAGE", training.image).replace("AGENT", AGENT_IMAGE))
    environment = {"HOME": str(training.tmp), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "sdk"), "TRAINSTEP": str(training.program)}
    words = [*training.words, "/usr/bin/python3", "-B", training.tmp / "burst.py"]
    done = subprocess.run(words, env=training.environment | environment, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0 and store.secret_key not in done.stdout, done.stdout + done.stderr
    assert training.left() == [] and contents(store.files / "jobs") == {}


def test_local_files_are_uploaded_to_the_jobs_prefix_and_removed_afterwards(data_step, store, cluster):
    training = data_step("PyTorch")
    (training.tmp / "set").mkdir()
    files = {"a.csv": b"1,2,3\n", "b/c.bin": bytes(range(256)) * 50_000}
    for name, content in files.items():
        (training.tmp / "set" / name).parent.mkdir(exist_ok=True)
        (training.tmp / "set" / name).write_bytes(content)
    name_store(cluster, store, training)
    training.options = {"agent_image": AGENT_IMAGE}
    arguments = {name.replace("_", "-"): value for name, value in training.values().items()}
    places = {name: str(training.tmp / path) for name, path in {"train-dataset-dir": "set", "model-dir": "model", "results": "results"}.items()}
    assert training.begin(arguments | places | {"cluster-configuration-secret": "training"}).end() == 0, training.output
    assert delivered(training.tmp / "model", files), training.output
    results = json.loads((training.tmp / "results").read_text())
    assert results["digest"]["agreed"] is True and results["model"] == str(training.tmp / "model")
    assert training.left() == [], training.output
    assert contents(store.files / "jobs") == {}


def test_a_missing_claim_is_created_for_the_job_and_deleted_with_it(data_step, store, cluster):
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
