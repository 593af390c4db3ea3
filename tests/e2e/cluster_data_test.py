# SPDX-License-Identifier: Apache-2.0
"""Data of real pods: what a pipeline hands over as artifacts is fetched and delivered by the pods themselves, from and to a real S3 server."""
import hashlib
import json
import os
import pathlib
import secrets
import subprocess
import sys

import pytest
from cluster import STEP_RULES
from cluster_cells import MORTAL, RESOURCES
from control_plane import NODE_ADDRESS
from image_file import write_image
from real_node import import_image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "s3"))
from server import programs  # noqa: E402

CLUSTER = {"nodes": "real", "mpi": "v2beta1"}
RULES = [*STEP_RULES, {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["kfp-launcher"], "verbs": ["get"]}]
AGENT_IMAGE = "localhost/trainstep-agent:1"
PORT = 9000
BUCKET = "pipelines"

# Every rank reads all its data; the model is what was read, and what the ranks say together.
PROGRAM = """
import hashlib, json, os, shutil, sys
data, model, digest = sys.argv[1:4]
files = sorted(os.path.join(folder, name) for folder, _, names in os.walk(data) for name in names) if os.path.isdir(data) else [data]
total = hashlib.sha256(b"".join(open(file, "rb").read() for file in files)).hexdigest()
rank, said = 0, [total]
{together}
print("rank", rank, "has read", len(files), "files", flush=True)
if os.path.isdir(data):
    shutil.copytree(data, model + "/data")
else:
    os.makedirs(model + "/data")
    shutil.copy(data, model + "/data/single")
open(model + "/weights.bin", "wb").write(bytes(range(256)) * 40000)
os.makedirs(os.path.dirname(digest), exist_ok=True)
open(digest, "w").write(total if len(set(said)) == 1 else "the ranks have read different data")
assert "TRAINSTEP_TASK" not in os.environ
print("accuracy=0.97", flush=True)
"""
TOGETHER = {
    "Job": "",
    "TF": "",
    "PyTorch": """
import torch.distributed as dist
dist.init_process_group("gloo")
rank, said = dist.get_rank(), [None] * dist.get_world_size()
dist.all_gather_object(said, total)
dist.barrier()
""",
    "MPI": """
from mpi4py import MPI
rank, said = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.allgather(total)
if rank: sys.exit(0)
""",
}
DISTRIBUTIONS = {
    "Job": {},
    "PyTorch": {"number_of_workers": 2},
    "MPI": {"number_of_workers": 2},
    "TF": {"number_of_workers": 2, "number_of_parameter_servers": 0},
}
MACHINE = [{"mount_path": path, "host_path": path, "read_only": True} for path in ("/usr", "/etc/alternatives")]


class Store:
    """versitygw inside the cluster's world, where pods reach it; its objects are files that the test looks at."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.files = cluster.folder / "s3" / BUCKET
        self.files.mkdir(parents=True)
        self.access_key, self.secret_key = "pipeline", secrets.token_hex(16)
        self.url = f"http://{NODE_ADDRESS}:{PORT}"
        cluster.launch(
            "s3", "--port", f"{NODE_ADDRESS}:{PORT}", "--keep-alive", "--quiet", "--health", "/healthz", "posix", str(self.files.parent),
            program=str(programs() / "versitygw"),
            env={"ROOT_ACCESS_KEY": self.access_key, "ROOT_SECRET_KEY": self.secret_key, "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        cluster.wait_for("s3", 20, lambda: cluster.answers(f"{self.url}/healthz"))

    def configure(self, space):
        """What KFP puts into a profile's namespace."""
        path = f"/api/v1/namespaces/{space.name}"
        keys = {"accesskey": self.access_key, "secretkey": self.secret_key}
        self.cluster.api.create(f"{path}/secrets", {"metadata": {"name": "mlpipeline-minio-artifact"}, "stringData": keys})
        default = {
            "endpoint": self.url, "region": "minio", "disableSSL": True, "forcePathStyle": True,
            "credentials": {"fromEnv": False, "secretRef": {"secretName": "mlpipeline-minio-artifact", "accessKeyKey": "accesskey", "secretKeyKey": "secretkey"}},
        }  # fmt: skip
        self.cluster.api.create(f"{path}/configmaps", {"metadata": {"name": "kfp-launcher"}, "data": {"providers": json.dumps({"minio": {"default": default}})}})


@pytest.fixture(scope="module")
def store(cluster, program):
    archive = cluster.folder / "agent.tar"
    write_image(archive, AGENT_IMAGE, {"usr/local/bin/trainstep": program}, {"Env": ["PATH=/usr/local/bin"]})
    import_image(cluster, archive)
    return Store(cluster)


@pytest.fixture
def namespace(cluster):
    with cluster.namespace(RULES) as made:
        yield made


class KfpStep:
    """A step as the KFP v2 launcher calls it; local paths are those of this machine, which nobody is to touch."""

    def __init__(self, cluster, store, space, program, tmp, kind):
        self.cluster, self.store, self.space, self.program, self.tmp, self.kind = cluster, store, space, program, tmp, kind
        self.run_key = f"v2/artifacts/{space.name}/train"
        self.local = tmp / "minio"
        store.configure(space)

    def run(self, data, options=None, text=None, timeout=150):
        """`data`: key of the input artifact. → (exit code, output)"""
        words = [str(self.program), "run", "--executor-input", json.dumps(self.executor_input(data, options, text)), "--cluster", "kubernetes"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("KUBE", "ARGO"))}
        environment |= {"KUBECONFIG": str(self.space.kubeconfig), "HOME": str(self.tmp), "NO_COLOR": "1"}
        done = subprocess.run([*MORTAL, *words], env=environment, capture_output=True, text=True, timeout=timeout, cwd=self.tmp, stdin=subprocess.DEVNULL)
        self.output = done.stdout + done.stderr
        return done.returncode

    def executor_input(self, data, options, text):
        program = text or PROGRAM.format(together=TOGETHER[self.kind])
        specification = {
            "name": "train",
            "inputs": [{"name": "data", "type": "Dataset"}],
            "outputs": [{"name": "model", "type": "Model"}, {"name": "digest", "type": "JsonObject"}],
            "implementation": {"container": {
                "image": self.cluster.IMAGE,
                "command": ["python3", "-c", program, {"inputPath": "data"}, {"outputPath": "model"}, {"outputPath": "digest"}],
            }},
        }  # fmt: skip
        artifact = lambda key, name: {  # noqa: E731
            "name": name, "type": {"schemaTitle": "system.Artifact"}, "uri": f"minio://{BUCKET}/{key}", "metadata": {},
        }  # fmt: skip
        options = {"agent_image": AGENT_IMAGE, "run_policy": {"stop_grace": "1s"}, "volumes": MACHINE if self.kind == "PyTorch" else []} | (options or {})
        values = {
            "train_specification": json.dumps(specification), "train_parameters": {"data": "train_dataset_dir", "model": "model_dir"},
            "distribution_specification": {"distribution_type": self.kind, **DISTRIBUTIONS[self.kind]}, "job_options": options,
        }  # fmt: skip
        return {
            "inputs": {"parameterValues": values, "artifacts": {"train_dataset_dir": {"artifacts": [artifact(data, "data")]}}},
            "outputs": {
                "artifacts": {"model_dir": {"artifacts": [artifact(f"{self.run_key}/model_dir", "model")]}},
                "parameters": {"results": {"outputFile": str(self.tmp / "results")}},
                "outputFile": str(self.tmp / "executor_output.json"),
            },
        }

    @property
    def model(self):
        return self.store.files / self.run_key / "model_dir"

    def left(self):
        names = lambda resource: [item["metadata"]["name"] for item in self.cluster.kubectl("get", resource, "-n", self.space.name)["items"]]  # noqa: E731
        return names(RESOURCES[self.kind]) + names("pods")


@pytest.fixture
def step(cluster, store, namespace, program, tmp_path):
    return lambda kind: KfpStep(cluster, store, namespace, program, tmp_path, kind)


def tree(store, key):
    """A data set with what names and sizes may be; → digest of all files in the order of their names."""
    folder = store.files / key
    files = {"a.csv": b"1,2,3\n", "empty": b"", "deep/er/b.bin": os.urandom(300_000), "odd näme +&%=#.txt": b"odd", "large.bin": os.urandom(20_000_000)}
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return files


def contents(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_artifacts_go_from_the_bucket_to_the_pods_and_back_and_not_through_the_step(step, store, kind):
    training = step(kind)
    files = tree(store, f"sets/{kind}")
    assert training.run(f"sets/{kind}") == 0, training.output
    delivered = contents(training.model)
    assert delivered.pop("weights.bin") == bytes(range(256)) * 40000
    assert delivered == {f"data/{name}": content for name, content in files.items()}, training.output
    assert training.left() == [], training.output
    assert "accuracy=0.97" in training.output
    assert not training.local.exists()
