# SPDX-License-Identifier: Apache-2.0
"""Real pods: the step runs programs in containers on a real node, each with the mechanism of its job type, over the pods' own network."""
import json

import pytest
from cluster import Cluster
from cluster_cells import Step
from fault_runs import PRIMARY, shown

CLUSTER = {"nodes": "real", "mpi": "v2beta1"}

# The API by the address, name and token that every pod has.
API = """
import os, ssl, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount"
trust = ssl.create_default_context(cafile=folder + "/ca.crt")
for host in "kubernetes.default.svc", os.environ["KUBERNETES_SERVICE_HOST"]:
    print("result", urllib.request.urlopen(f"https://{host}/version", context=trust).status, flush=True)
"""

# Training as it is written, each rank on its own data: gloo sums the gradients over the pods' network, and all ranks come to the same weights.
PYTORCH = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
data = torch.randn(256, 4)
target = data @ torch.tensor([[1.0], [-2.0], [3.0], [0.5]])
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(60):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(data), target)
    loss.backward()
    optimizer.step()
    if rank == 0:
        print(f"epoch={epoch} loss={loss.item():.6f}", flush=True)
weights = model.module.weight.detach().clone()
others = [torch.zeros_like(weights) for _ in range(world)]
dist.all_gather(others, weights)
same = all(torch.equal(weights, other) for other in others)
dist.destroy_process_group()
if rank == 0:
    print("result", same and loss.item() < 0.01, "of", world, flush=True)
"""
# PyTorch is this machine's own, which is the same distribution as the image.
MACHINE = {"volumes": [{"mount_path": path, "host_path": path, "read_only": True} for path in ("/usr", "/etc/alternatives")]}

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

# It takes its time to save when it is ended.
SAVES = """
import signal, sys, time
def save(*_):
    for i in range(30):
        print("line", i, flush=True)
        time.sleep(0.05)
    print("saved", end="")
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
print("begins", flush=True)
while True:
    time.sleep(0.1)
"""

# Python as a container's first process does not end by SIGTERM.
FAST = {"run_policy": {"stop_grace": "1s"}}
LAST = "\nfor i in range(300):\n    print('line', i, flush=True)\nprint('the end', end='')\n"
CASES = {
    "Job": (API + LAST, {"number_of_workers": 1}, {}, ["result 200"] * 2),
    "PyTorch": (PYTORCH + "\nif rank == 0:" + LAST.replace("\n", "\n    "), {"number_of_workers": 3}, MACHINE, ["result True of 3"]),
    "MPI": (MPI + "\nif world.rank == 0:" + LAST.replace("\n", "\n    "), {"number_of_workers": 2}, {}, ["result 3 of 2"]),
    "TF": (TF + LAST, {"number_of_workers": 1, "number_of_parameter_servers": 1}, {}, ["result True"]),
}


class RealStep(Step):
    """The release program and one training program, in the pods of a namespace."""

    def words(self, command, specification, distribution, options, *more):
        return [
            *(str(self.program), command, "--namespace", self.space.name, "--run-id", "real", "--train-specification", json.dumps(specification)),
            *("--distribution-specification", json.dumps({"distribution_type": self.kind, **distribution})),
            *("--job-options", json.dumps(options)),
        ]

    def run_program(self, text, distribution, options=None, image=Cluster.IMAGE):
        return self.run(fates={"image": image, "command": ["python3", "-c", text]}, distribution=distribution, options=FAST | (options or {}))


@pytest.fixture
def step(cluster, namespace, program, tmp_path):
    return lambda kind: RealStep(cluster, program, namespace, kind, tmp_path)


@pytest.mark.parametrize("kind", CASES)
def test_program_of_this_kind_is_run_and_shown_to_its_last_line(step, kind):
    program, distribution, options, printed = CASES[kind]
    ended = step(kind).run_program(program, distribution, options)
    assert (ended.code, ended.jobs, ended.pods) == (0, [], []), ended.output
    lines = shown(ended.output, PRIMARY[kind])
    assert [line for line in lines if line.startswith("result")] == printed, ended.output
    assert lines[-301:] == [*(f"line {i}" for i in range(300)), "the end"], ended.output
    if kind == "PyTorch":
        assert [line.partition(" ")[0] for line in lines if line.startswith("epoch")] == [f"epoch={i}" for i in range(60)]


@pytest.mark.parametrize("kind", CASES)
def test_exception_of_the_program_is_the_first_failure(step, kind):
    ended = step(kind).run_program("raise ValueError('no such data set')", CASES[kind][1])
    assert (ended.code, ended.jobs, ended.pods) == (1, [], []), ended.output
    assert "ValueError: no such data set" in ended.output.rpartition("[trainstep] failed")[2], ended.output


def test_program_that_exceeds_its_memory_limit_is_killed(step):
    ended = step("Job").run_program("data = b'1' * (1 << 28)", {"worker_memory": "64Mi"})
    assert (ended.code, ended.jobs, ended.pods) == (1, [], []), ended.output
    assert "OOMKilled" in ended.output


@pytest.mark.parametrize("kind", ["Job", "PyTorch"])
def test_what_a_program_says_in_its_grace_is_shown_when_a_limit_passes(step, kind):
    ended = step(kind).run_program(SAVES, {"number_of_workers": 1}, {"limits": {"running": 2}, "run_policy": {"stop_grace": "30s"}})
    assert (ended.code, ended.jobs, ended.pods) == (4, [], []), ended.output
    # If the kubelet has removed the container before the last line, which has no newline, was read a second time, the line is only quoted.
    quoted = ["saved"] if "of the next one, this was read: saved" in ended.output else []
    assert shown(ended.output, PRIMARY[kind]) + quoted == ["begins", *(f"line {i}" for i in range(30)), "saved"], ended.output
    assert "the limit of 2.0 s for running" in ended.output.rpartition("[trainstep] failed")[2], ended.output


def test_an_unavailable_registry_is_not_a_user_error(step):
    ended = step("Job").run_program("", {}, {"limits": {"starting": 5}}, image="localhost/no-such-image:1")
    assert (ended.code, ended.jobs, ended.pods) == (3, [], []), ended.output
    assert 'main: cannot pull the image at present: failed to pull and unpack image "localhost/no-such-image:1"' in ended.output


@pytest.mark.parametrize("cluster", [{"nodes": "real", "mpi": "v1"}], indirect=True, ids=["v1"])
@pytest.mark.parametrize("test", [test_program_of_this_kind_is_run_and_shown_to_its_last_line, test_exception_of_the_program_is_the_first_failure])
def test_mpi_job_of_the_training_operator(cluster, step, test):
    test(step, "MPI")
