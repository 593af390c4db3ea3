# SPDX-License-Identifier: Apache-2.0
"""Steps whose jobs transfer data, on a real node: an S3 server that pods can reach, an image with the agent, and a program that reads a data set and
writes a model.
"""
import json
import os
import pathlib
import secrets
import shutil
import subprocess
import sys

from cluster import ROOT, STEP_RULES
from cluster_cells import MORTAL, RESOURCES
from control_plane import NODE_ADDRESS
from image_file import write_image
from real_node import import_image
from steps import IN_POD
from surroundings import clean_environment

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "s3"))
from server import programs  # noqa: E402

RULES = [
    *STEP_RULES,
    {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["kfp-launcher"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mlpipeline-minio-artifact", "training"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": ["get", "create"]},
]
AGENT_IMAGE = "localhost/trainstep-agent:1"
PORT = 9000
BUCKET = "pipelines"
NOBODY = "nobody"  # a scheduler that does not exist

# Every rank reads all its data; the model is what was read, and what the ranks say together.
PROGRAM = """
import hashlib, json, os, shutil, sys
data, model, digest = sys.argv[1:4]
files = sorted(os.path.join(folder, name) for folder, _, names in os.walk(data) for name in names) if os.path.isdir(data) else [data]
total = hashlib.sha256(b"".join(open(file, "rb").read() for file in files)).hexdigest()
rank, said = 0, [total]
TOGETHER
print("rank", rank, "has read", len(files), "files", flush=True)
if os.path.isdir(data):
    shutil.copytree(data, model + "/data")
else:
    os.makedirs(model + "/data")
    shutil.copy(data, model + "/data/single")
open(model + "/weights.bin", "wb").write(bytes(range(256)) * 40000)
os.makedirs(os.path.dirname(digest), exist_ok=True)
json.dump({"sha256": total, "agreed": len(set(said)) == 1, "much": list(range(2000))}, open(digest, "w"))
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
        self.codes = []  # exit codes of the steps
        self.files = cluster.folder / "s3" / BUCKET
        self.files.mkdir(parents=True)
        self.access_key, self.secret_key = secrets.token_hex(10), secrets.token_hex(16)
        self.url = f"http://{NODE_ADDRESS}:{PORT}"
        cluster.launch(
            "s3", "--port", f"{NODE_ADDRESS}:{PORT}", "--keep-alive", "--quiet", "--health", "/healthz", "posix", str(self.files.parent),
            program=str(programs() / "versitygw"),
            env={"ROOT_ACCESS_KEY": self.access_key, "ROOT_SECRET_KEY": self.secret_key, "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        cluster.wait_for("s3", 20, lambda: cluster.answers(f"{self.url}/healthz"))

    def forget(self, space):
        """What a namespace's steps have put there and at their own output paths, and its data set."""
        for key in f"v2/artifacts/{space.name}", f"sets/{space.name}":
            shutil.rmtree(self.files / key, ignore_errors=True)
        shutil.rmtree(own_place(space), ignore_errors=True)

    def configure(self, space):
        """What KFP puts into a profile's namespace."""
        path = f"/api/v1/namespaces/{space.name}"
        keys = {"accesskey": self.access_key, "secretkey": self.secret_key}
        self.cluster.api.create(f"{path}/secrets", {"metadata": {"name": "mlpipeline-minio-artifact"}, "stringData": keys})
        default = {
            "endpoint": self.url, "region": "us-east-1", "disableSSL": True, "forcePathStyle": True,
            "credentials": {"fromEnv": False, "secretRef": {"secretName": "mlpipeline-minio-artifact", "accessKeyKey": "accesskey", "secretKeyKey": "secretkey"}},
        }  # fmt: skip
        self.cluster.api.create(f"{path}/configmaps", {"metadata": {"name": "kfp-launcher"}, "data": {"providers": json.dumps({"minio": {"default": default}})}})


def own_place(space):
    """The folder of all output paths of the steps of that namespace, on the machine of the steps."""
    return pathlib.Path("/minio", BUCKET, "v2/artifacts", space.name)


def release() -> pathlib.Path:
    return pathlib.Path(os.environ.get("TRAINSTEP", ROOT / "build/release/trainstep")).resolve()


def import_agent(cluster, program):
    """Makes the release file an image of the node."""
    archive = cluster.folder / "agent.tar"
    write_image(archive, AGENT_IMAGE, {"usr/local/bin/trainstep": program}, {"Env": ["PATH=/usr/local/bin"]})
    import_image(cluster, archive)


class DataStep:
    """A step that hands a data set to its job and gets a model; `program` is the release file."""

    def __init__(self, cluster, store, space, program, tmp, kind):
        self.cluster, self.store, self.space, self.program, self.tmp, self.kind = cluster, store, space, program, tmp, kind
        self.run_key = f"v2/artifacts/{space.name}/train"
        self.words, self.environment = cluster.sandbox.enter(), {"KUBECONFIG": str(space.kubeconfig)}
        self.more, self.flags = {}, {}  # further inputs of the step; further flags, whatever way the inputs come
        self.artifacts = ["model_dir"]  # that the pods bring to their addresses
        self.reports = {}  # that the step itself writes: name → as the launcher describes it
        self.data_as_text = False  # the data set's address is a text: KFP's launcher copies no artifact then
        self.image, self.command, self.options = cluster.IMAGE, ["python3", "-c", PROGRAM.replace("TOGETHER", TOGETHER[kind])], {}

    def begin(self, arguments):
        """The step as a process; `arguments`: flags and their values."""
        flags = [word for name, value in (arguments | self.flags).items() for word in (f"--{name}", value if isinstance(value, str) else json.dumps(value))]
        environment = clean_environment()
        environment |= {"HOME": str(self.tmp), "NO_COLOR": "1"} | self.environment
        words = [*MORTAL, *self.words, str(self.program), "run", "--cluster", "kubernetes", *flags]
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        self.process = subprocess.Popen(words, env=environment, cwd=self.tmp, stdin=subprocess.DEVNULL, **output)
        return self

    def end(self, timeout=150):
        """→ exit code; what was printed is in `output`."""
        try:
            self.output, _ = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.output = self.process.communicate(timeout=10)[0] + "\n--- the step did not end in time ---"
        assert self.store.secret_key not in self.output and self.store.access_key not in self.output, "a key stands in the log"
        return self.process.returncode

    def values(self):
        specification = {
            "name": "train",
            "inputs": [{"name": "data", "type": "Dataset"}],
            "outputs": [{"name": "model", "type": "Model"}, {"name": "digest", "type": "JsonObject"}],
            "implementation": {"container": {
                "image": self.image, "command": [*self.command, {"inputPath": "data"}, {"outputPath": "model"}, {"outputPath": "digest"}],
            }},
        }  # fmt: skip
        volumes = {"volumes": MACHINE} if self.kind == "PyTorch" else {}
        return {
            "train_specification": json.dumps(specification), "train_parameters": {"data": "train_dataset_dir", "model": "model_dir"},
            "distribution_specification": {"distribution_type": self.kind, **DISTRIBUTIONS[self.kind]},
            "job_options": {"run_policy": {"stop_grace": "1s"}, **volumes, **self.options},
            **self.more,
        }  # fmt: skip

    def begin_with_artifacts(self, data):
        """As the KFP v2 launcher calls it. `data`: key of the input artifact. Local paths are on this machine and must not be changed."""
        artifact = lambda key, name: {  # noqa: E731
            "name": name, "type": {"schemaTitle": "system.Artifact"}, "uri": f"minio://{BUCKET}/{key}", "metadata": {},
        }  # fmt: skip
        self.options.setdefault("agent_image", AGENT_IMAGE)
        inputs = {"parameterValues": self.values()}
        if self.data_as_text:
            inputs["parameterValues"]["train_parameters"]["train_dataset_dir"] = f"minio://{BUCKET}/{data}"
        else:
            inputs["artifacts"] = {"train_dataset_dir": {"artifacts": [artifact(data, "data")]}}
        return self.begin({"executor-input": {
            "inputs": inputs,
            "outputs": {
                "artifacts": {name: {"artifacts": [artifact(f"{self.run_key}/{name}", name)]} for name in self.artifacts} | self.reports,
                "parameters": {"results": {"outputFile": str(self.tmp / "results")}},
                "outputFile": str(self.tmp / "executor_output.json"),
            },
        }})  # fmt: skip

    def run_with_artifacts(self, data):
        return self.begin_with_artifacts(data).end()

    @property
    def model(self):
        return self.store.files / self.run_key / "model_dir"

    def own_paths(self):
        """What lies at the step's own output paths, for KFP's launcher to upload: path → content, None of a folder."""
        place = own_place(self.space) / "train"
        return {str(path.relative_to(place)): None if path.is_dir() else path.read_bytes() for path in place.rglob("*")}

    def pods(self):
        return self.cluster.api.get(f"/api/v1/namespaces/{self.space.name}/pods")["items"]

    def left(self):
        names = lambda resource: [item["metadata"]["name"] for item in self.cluster.kubectl("get", resource, "-n", self.space.name)["items"]]  # noqa: E731
        return names(RESOURCES[self.kind]) + [pod["metadata"]["name"] for pod in self.pods() if pod["spec"].get("schedulerName") != NOBODY]

    def claim(self, name, folder, mode="ReadWriteMany"):
        """This folder as a claim of the namespace."""
        wanted = {"accessModes": [mode], "storageClassName": f"{self.space.name}-{name}"}
        volume = {"capacity": {"storage": "1Gi"}, "hostPath": {"path": str(folder)}, "claimRef": {"namespace": self.space.name, "name": name}}
        self.cluster.api.create("/api/v1/persistentvolumes", {"metadata": {"name": f"{self.space.name}-{name}"}, "spec": wanted | volume})
        claims = f"/api/v1/namespaces/{self.space.name}/persistentvolumeclaims"
        self.cluster.api.create(claims, {"metadata": {"name": name}, "spec": wanted | {"resources": {"requests": volume["capacity"]}}})

    def own_pod(self, claim, mount_path, node=None):
        """Puts the step into a pod which has a claim mounted: a pod object that is not run, or one that idles on a node."""
        (account := self.tmp / "account").mkdir()
        (account / "namespace").write_text(self.space.name)
        (account / "token").write_text(self.space.token)
        (account / "ca.crt").write_bytes((self.cluster.authority.folder / "ca.crt").read_bytes())
        main = {"name": "main", "image": AGENT_IMAGE, "volumeMounts": [{"name": "data", "mountPath": str(mount_path)}]}
        place = {"schedulerName": NOBODY}
        if node is not None:
            place["nodeName"] = node
            main |= {"image": self.cluster.IMAGE, "command": ["sleep", "600"]}
            self.options["agent_image"] = AGENT_IMAGE  # the pod's own has none
        spec = {**place, "containers": [main], "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}
        self.cluster.api.create(f"/api/v1/namespaces/{self.space.name}/pods", {"metadata": {"name": "step"}, "spec": spec})
        self.words = self.cluster.sandbox.enter("unshare", "--mount", "sh", "-c", IN_POD, str(account))
        port = str(self.cluster.sandbox.port)
        self.environment = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port, "HOSTNAME": "step"}


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


def delivered(folder, files, single=None):
    """The model is what the program wrote, byte for byte."""
    return not differences(folder, files, single)


def differences(folder, files, single=None) -> list:
    """What of the model is not as the program wrote it."""
    data = {"data/single": single} if single is not None else {f"data/{name}": content for name, content in files.items()}
    wanted = {"weights.bin": bytes(range(256)) * 40000} | data
    found = contents(folder)
    size = lambda tree, name: len(tree[name]) if name in tree else "none"  # noqa: E731
    return [f"{name}: {size(found, name)} bytes, not {size(wanted, name)}" for name in sorted({*wanted, *found}) if found.get(name) != wanted.get(name)]
