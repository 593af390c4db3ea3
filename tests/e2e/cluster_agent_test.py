# SPDX-License-Identifier: Apache-2.0
"""The agent in real pods: empty images, users without privileges, and pods that are lost at any moment."""
import concurrent.futures
import json
import platform
import re
import subprocess

import data_fault_runs
import pytest
from data_steps import PROGRAM, delivered, tree
from image_file import write_image
from real_node import import_image

CLUSTER = {"nodes": "real", "mpi": "v2beta1"}
SCHEDULES = 20

# Copies its input to its model and says how large it was.
COPY = r"""
#include <stdio.h>
#include <stdlib.h>
int main(int count, char** words) {
  FILE* from = fopen(words[count - 3], "rb");
  FILE* to = fopen(words[count - 2], "wb");
  FILE* size = fopen(words[count - 1], "w");
  long bytes = 0;
  if (!from || !to || !size) { perror("copy"); return 1; }
  for (int c; (c = getc(from)) != EOF; ++bytes) putc(c, to);
  fprintf(size, "{\"bytes\": %ld}", bytes);
  printf("%ld bytes\n", bytes);
  return fclose(from) || fclose(to) || fclose(size);
}
"""
# What Pod Security's level "restricted" wants, and more.
RESTRICTED = {
    "runAsUser": 12345, "runAsGroup": 12345, "runAsNonRoot": True, "readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"},
}  # fmt: skip


def image_of(cluster, name, folder):
    """An image with the program /copy: "empty" holds nothing else, "musl" what musl's programs need; "debian" is a volume of the usual image."""
    (folder / "copy.c").write_text(COPY)
    compiler = ["musl-gcc", "-O1"] if name == "musl" else ["gcc", "-O1", "-static"]
    subprocess.run([*compiler, "-o", folder / "copy", folder / "copy.c"], check=True, capture_output=True)
    loader = f"lib/ld-musl-{platform.machine()}.so.1"
    files = {"copy": folder / "copy"} | ({loader: f"/{loader}"} if name == "musl" else {})
    write_image(folder / "image.tar", f"localhost/trainstep-{name}:1", files)
    import_image(cluster, folder / "image.tar")
    return f"localhost/trainstep-{name}:1"


@pytest.mark.parametrize("name", ["empty", "musl"])
def test_any_image_will_do_for_any_user_on_a_root_that_cannot_be_written(data_step, store, cluster, tmp_path, name):
    training = data_step("Job")
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    cluster.api.call("PATCH", f"/api/v1/namespaces/{training.space.name}", label, "application/merge-patch+json")
    training.image, training.command = image_of(cluster, name, tmp_path), ["/copy"]
    training.options = {"security_context": RESTRICTED}
    (store.files / "small.bin").write_bytes(bytes(range(256)) * 100)
    assert training.run_with_artifacts("small.bin") == 0, training.output
    assert training.model.read_bytes() == bytes(range(256)) * 100
    assert json.loads((training.tmp / "results").read_text())["digest"] == {"bytes": 25600}


def test_debian_image_as_another_user(data_step, store, cluster):
    training = data_step("Job")
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    cluster.api.call("PATCH", f"/api/v1/namespaces/{training.space.name}", label, "application/merge-patch+json")
    training.options = {"security_context": RESTRICTED}
    files = tree(store, "sets/debian")
    assert training.run_with_artifacts("sets/debian") == 0, training.output
    assert delivered(training.model, files)


# The master ends once a worker has called.
MEET = """
import socket, time
rank, place = int(os.environ["RANK"]), (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank:
    while True:
        try:
            socket.create_connection(place).sendall(str(rank).encode())
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
else:
    caller, _ = socket.create_server(("", place[1])).accept()
    print("rank 0 has met rank", caller.recv(1).decode(), flush=True)
"""


def test_waiting_workers_are_admitted_at_the_restricted_level(data_step, store, cluster):
    training = data_step("PyTorch")
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    cluster.api.call("PATCH", f"/api/v1/namespaces/{training.space.name}", label, "application/merge-patch+json")
    training.options = {"security_context": RESTRICTED, "volumes": []}
    training.command = ["python3", "-c", PROGRAM.replace("TOGETHER", MEET)]
    files = tree(store, "sets/restricted")
    assert training.run_with_artifacts("sets/restricted") == 0, training.output
    assert "rank 0 has met rank 1" in training.output
    assert delivered(training.model, files)


def test_pod_that_is_lost_after_the_delivery_starts_again_without_training(data_step, store, cluster):
    training = data_step("Job")
    tree(store, "sets/lost")
    training.options = {"run_policy": {"restart_policy": "OnFailure", "backoff_limit": 3, "stop_grace": "1s"}}
    training.command = ["python3", "-c", "import time; print('training', flush=True); time.sleep(100)"]
    training.begin_with_artifacts("sets/lost")
    for line in training.process.stdout:
        if "[main] training" in line:
            break
    # Everything was delivered, and then the pod is lost: the record is there.
    pod = next(pod for pod in training.pods() if pod["metadata"]["name"] != "step")
    variables = {entry["name"]: entry.get("value") for entry in pod["spec"]["containers"][0]["env"]}
    task = json.loads(variables["TRAINSTEP_TASK"])
    outputs = [{"name": "model", "artifact": True, "present": True}, {"name": "digest", "present": True, "value": {"sha256": "as told"}}]
    record = {"trainstep_report": 1, "class": "succeeded", "exit_code": 0, "attempt": task["attempt"], "primary": True, "outputs": outputs}
    model = next(output for output in task["outputs"] if output["name"] == "model")
    for uri, text in ((model["uri"], "weights"), (task["record"]["uri"], json.dumps(record))):
        place = store.files.parent / uri.removeprefix("minio://")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    cluster.api.delete(f"/api/v1/namespaces/{training.space.name}/pods/{pod['metadata']['name']}")
    assert training.end() == 0, training.output
    assert "nothing to do" in training.output
    assert json.loads((training.tmp / "results").read_text())["digest"] == {"sha256": "as told"}


SAVES = """
import json, os, re, sys, time
folder, (data, model, digest) = "/train/checkpoints", sys.argv[1:4]
os.makedirs(folder, exist_ok=True)
done = max((int(name) for name in os.listdir(folder) if name.isdigit()), default=0)
print("begins behind epoch", done, flush=True)
for epoch in range(done + 1, 61):
    open(f"{folder}/.tmp", "w").write(str(epoch))
    os.rename(f"{folder}/.tmp", f"{folder}/{epoch}")
    print(f"epoch={epoch} loss={1 / epoch}", flush=True)
    time.sleep(0.05)
open(model, "w").write(str(epoch))
json.dump({"epochs": epoch}, open(digest, "w"))
"""


def test_a_lost_worker_resumes_from_its_last_checkpoint(data_step, store, cluster):
    training = data_step("Job")
    tree(store, "sets/saved")
    policy = {"restart_policy": "OnFailure", "backoff_limit": 3, "stop_grace": "20s"}
    training.options = {"run_policy": policy, "checkpoint_dir": "/train/checkpoints"}
    training.command = ["python3", "-c", SAVES]
    training.begin_with_artifacts("sets/saved")
    for line in training.process.stdout:
        if "epoch=20 " in line:
            break
    pod = training.pods()[0]["metadata"]["name"]
    cluster.api.delete(f"/api/v1/namespaces/{training.space.name}/pods/{pod}")
    assert training.end() == 0, training.output
    begun = re.findall(r"begins behind epoch (\d+)", training.output)
    assert begun and int(begun[-1]) >= 20, training.output
    assert training.model.read_text() == "60"
    assert not list((training.model.parent / ".trainstep").rglob("*")), "what belongs to the job goes with it"


def test_faults_at_any_moment_lose_nothing_and_deliver_nothing_wrong(store, program, tmp_path):
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        stories = list(pool.map(lambda seed: data_fault_runs.run(store, program, tmp_path, seed), range(SCHEDULES)))
    assert store.codes.count(0) >= SCHEDULES / 2, "a pod that is lost is replaced"
    assert stories == [[]] * SCHEDULES, "\n".join(line for story in stories for line in story)
