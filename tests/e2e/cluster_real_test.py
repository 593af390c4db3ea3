# SPDX-License-Identifier: Apache-2.0
"""The test cluster's real node: programs in containers, each with the means of its kind, over the pods' own network."""
import json

import pytest

CLUSTER = {"nodes": "real", "mpi": "v2beta1"}

# The API by the address, name and token that every pod has.
API = """
import os, ssl, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount"
trust = ssl.create_default_context(cafile=folder + "/ca.crt")
for host in "kubernetes.default.svc", os.environ["KUBERNETES_SERVICE_HOST"]:
    print("result", urllib.request.urlopen(f"https://{host}/version", context=trust).status, flush=True)
"""

# Every rank sends its number to rank 0, which sends the sum back: what a collective needs of names, ports and variables.
PYTORCH = """
import os, socket, time
rank, world, there = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    with socket.create_server(("", there[1])) as server:
        others = [server.accept()[0] for _ in range(world - 1)]
    total = sum(int(other.recv(9)) for other in others)
    for other in others:
        other.sendall(str(total).encode())
else:
    while True:
        try:
            other = socket.create_connection(there)
            break
        except OSError:
            time.sleep(0.2)
    other.sendall(str(rank).encode())
    total = int(other.recv(9))
print("result", total, "of", world, flush=True)
"""

MPI = """
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(world.rank + 1)
if world.rank == 0:
    print("result", total, "of", world.size, flush=True)
"""

# Chief and workers count at a parameter server, which serves until it is deleted.
TF = """
import json, os, socket, time
config = json.loads(os.environ["TF_CONFIG"])
host, port = config["cluster"]["ps"][0].split(":")
if config["task"]["type"] == "ps":
    count = 0
    with socket.create_server(("", int(port))) as server:
        while True:
            count += 1
            with server.accept()[0] as asker:
                asker.sendall(str(count).encode())
while True:
    try:
        seen = int(socket.create_connection((host, int(port))).recv(9))
        if config["task"]["type"] != "chief" or seen > 2:
            break
    except OSError:
        pass
    time.sleep(0.2)
print("result", seen > 0, flush=True)
"""

CASES = {
    "Job": (API, {"number_of_workers": 1}, "result 200\nresult 200\n", ""),
    "PyTorch": (PYTORCH, {"number_of_workers": 3}, "result 3 of 3\n", "-master-0"),
    "MPI": (MPI, {"number_of_workers": 2}, "result 3 of 2\n", "-launcher"),
    "TF": (TF, {"number_of_workers": 1, "number_of_parameter_servers": 1}, "result True\n", "-chief-0"),
}


@pytest.fixture
def submit(cluster, namespace, trainstep):
    def create(kind, program, distribution, **inputs):
        api_version = ["--api-version", f"kubeflow.org/{cluster.options['mpi']}"] if kind == "MPI" else []
        rendered = trainstep(
            *("render", "--namespace", namespace.name, "--run-id", "real", *api_version),
            *("--train-specification", {"image": cluster.IMAGE, "command": ["python3", "-c", program]}),
            *("--distribution-specification", {"distribution_type": kind, **distribution}),
            *(word for name, value in inputs.items() for word in (f"--{name}", value)),
            check=0,
        )
        made = cluster.kubectl("create", "--validate=strict", "-f", "-", input=rendered.stdout)
        return made["kind"].lower(), made["metadata"]["name"]

    return create


@pytest.mark.parametrize("kind", CASES)
def test_program_of_this_kind_runs(cluster, namespace, submit, kind):
    program, distribution, printed, primary = CASES[kind]
    job = submit(kind, program, distribution)
    end = cluster.end_of(namespace, job)
    pods = cluster.kubectl("get", "pods", "-n", namespace.name)["items"]
    name = next(pod["metadata"]["name"] for pod in pods if primary in pod["metadata"]["name"])
    log = cluster.kubectl("logs", name, "-n", namespace.name)
    assert end["type"] in ("Complete", "Succeeded"), f"{json.dumps(end)}\n{log}"
    assert "".join(line + "\n" for line in log.splitlines() if line.startswith("result")) == printed


def test_program_that_takes_too_much_memory_is_killed(cluster, namespace, submit):
    job = submit("Job", "data = b'1' * (1 << 28)", {"number_of_workers": 1}, memory="64Mi")
    assert cluster.end_of(namespace, job)["type"] == "Failed"
    (pod,) = cluster.kubectl("get", "pods", "-n", namespace.name)["items"]
    end = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (end["exitCode"], end["reason"]) == (137, "OOMKilled")


def test_image_that_no_node_has_is_not_found(cluster, namespace, submit):
    submit("Job", "", {"number_of_workers": 1}, **{"base-image": "localhost/no-such-image:1"})

    def reason():
        (pod,) = cluster.kubectl("get", "pods", "-n", namespace.name)["items"]
        return pod["status"].get("containerStatuses", [{"state": {}}])[0]["state"].get("waiting", {}).get("reason")

    cluster.wait_for("kubelet", 60, lambda: cluster.kubectl("get", "pods", "-n", namespace.name)["items"] and reason() in ("ErrImagePull", "ImagePullBackOff"))


@pytest.mark.parametrize("cluster", [{"nodes": "real", "mpi": "v1"}], indirect=True, ids=["v1"])
def test_program_of_an_mpi_job_of_the_training_operator_runs(cluster, namespace, submit):
    test_program_of_this_kind_runs(cluster, namespace, submit, "MPI")
