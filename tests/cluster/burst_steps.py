# SPDX-License-Identifier: Apache-2.0
"""A step here, its job in another cluster: two real control planes, each in namespaces of its own, and an S3 server that both reach. The step runs outside
both, like a notebook, with the Roles of component/kubernetes/remote there, and here with no permission but to read one Secret.
"""
import base64
import contextlib
import json
import shutil
import subprocess
import sys

import pytest
import yaml
from cluster import ROOT, Cluster
from cluster_cells import MORTAL, RESOURCES
from control_plane import NODE_ADDRESS
from data_steps import AGENT_IMAGE, BUCKET, PORT, DataStep, contents
from sandbox import listen_on_loopback
from surroundings import clean_environment

ROLES = list(yaml.safe_load_all((ROOT / "component/kubernetes/remote/account.yaml").read_text(encoding="utf-8")))
READS_SECRET = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["gpu", "full", "away", "spare"], "verbs": ["get"]}


def named(kind, name):
    return next(one for one in ROLES if (one["kind"], one["metadata"]["name"]) == (kind, name))


# Those of the step there, whose account is called `step` in the tests.
RULES = [rule | ({"resourceNames": ["step"]} if rule["resources"] == ["serviceaccounts/token"] else {}) for rule in named("Role", "trainstep")["rules"]]


def left_in(cluster, store, name, *resources):
    """What is left in a namespace of the other cluster, of these resources and of what comes with them, and in the namespace's part of the bucket."""
    wanted = ",".join([*resources, "secrets", "leases.coordination.k8s.io", "persistentvolumeclaims"])
    found = [item["metadata"]["name"] for item in cluster.kubectl("get", wanted, "-n", name)["items"]]
    return found + sorted(contents(store.files / "jobs" / name))


class BurstStep(DataStep):
    def __init__(self, cluster, store, there, program, tmp, kind, here, port, add_secret, options):
        super().__init__(cluster, store, there, program, tmp, kind)
        self.words, self.environment = [], {"KUBECONFIG": str(here.kubeconfig), "http_proxy": f"http://127.0.0.1:{port}"}
        self.options = {"agent_image": AGENT_IMAGE, "environment": {"http_proxy": ""}, **options}
        self.files = {"a.csv": b"1,2,3\n", "b/c.bin": bytes(range(256)) * 50_000}
        self.process = None
        self.add_secret = add_secret  # of another cluster, for cluster_configuration_secret: its name, and what is different from that of "gpu"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.communicate(timeout=10)

    def start(self, **more):
        for name, content in self.files.items():
            (self.tmp / "set" / name).parent.mkdir(parents=True, exist_ok=True)
            (self.tmp / "set" / name).write_bytes(content)
        arguments = {name.replace("_", "-"): value for name, value in self.values().items()}
        places = {name: str(self.tmp / path) for name, path in {"train-dataset-dir": "set", "model-dir": "model", "results": "results", "metrics": "metrics"}.items()}
        return self.begin(arguments | places | {"cluster-configuration-secret": "gpu", "report": str(self.tmp / "report.html"), **more})

    def check(self, secrets):
        """`trainstep check` with these Secrets → exit code, output."""
        words = [word for name, value in self.values().items() for word in (f"--{name.replace('_', '-')}", value if isinstance(value, str) else json.dumps(value))]
        words += ["--train-dataset-dir", str(self.tmp / "set"), "--model-dir", str(self.tmp / "model"), "--cluster-configuration-secret", secrets]
        done = subprocess.run([*MORTAL, str(self.program), "check", *words], env=clean_environment() | {"HOME": str(self.tmp)} | self.environment,
                              cwd=self.tmp, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)  # fmt: skip
        return done.returncode, done.stdout

    def left_there(self):
        """What is left of the step in its namespace of the other cluster, and in the bucket."""
        return self.left() + self.left_in(self.space.name)

    def left_in(self, name):
        """The same of any namespace there, without its pods."""
        return left_in(self.cluster, self.store, name, RESOURCES[self.kind])

    def job(self):
        [job] = self.cluster.kubectl("get", RESOURCES[self.kind], "-n", self.space.name)["items"]
        return job

    def signing_keys(self):
        """Those that the job's pods get, as text."""
        secrets = self.cluster.kubectl("get", "secrets", "-n", self.space.name)["items"]
        [copy] = (secret for secret in secrets if secret["metadata"]["name"] == self.job()["metadata"]["name"] + "-keys")
        return base64.b64decode(copy["data"]["signing-keys"]).decode()

    def await_running(self):
        self.cluster.wait_for("kubelet", 60, lambda: any(pod["status"]["phase"] == "Running" for pod in self.pods()))


@contextlib.contextmanager
def home_of(cluster, nodes="kwok"):
    """The step's own cluster."""
    with Cluster(cluster.folder.with_name(cluster.folder.name + "-home")) as started:
        started.start(nodes=nodes, without=["training-operator", "mpi-operator"])
        yield started
    shutil.rmtree(started.folder)


@contextlib.contextmanager
def gate_to(*target, enter=lambda *words: list(words), listen=listen_on_loopback):
    """A process that forwards a port, usually on loopback, to `target` → port, process. Paused, it is a network without an answer."""
    with listen() as gate:
        words = [sys.executable, str(ROOT / "tests/cluster/gate.py"), str(gate.fileno()), *map(str, target)]
        process = subprocess.Popen([*MORTAL, *enter(*words)], pass_fds=[gate.fileno()], stdin=subprocess.DEVNULL)
        try:
            yield gate.getsockname()[1], process
        finally:
            process.kill()
            process.wait()


def store_gate(cluster):
    """From where the S3 server of the other cluster is reached outside."""
    return gate_to(NODE_ADDRESS, PORT, enter=cluster.sandbox.enter)


@contextlib.contextmanager
def there_of(cluster):
    """A namespace of the other cluster with the Roles of component/kubernetes/remote."""
    with cluster.namespace(RULES) as there:
        for one in named("Role", "trainstep-pods"), named("RoleBinding", "trainstep-pods"):
            cluster.kubectl("create", "-n", there.name, "-f", "-", input=one)
        yield there


def configuration(cluster, store, there):
    """The keys of a Secret that names that namespace."""
    return {
        "remote-host": cluster.server, "remote-token": cluster.token(there.name, seconds=600), "remote-namespace": there.name,
        "remote-ca": (cluster.authority.folder / "ca.crt").read_text(),
        "minio-url": store.url, "minio-bucket": BUCKET, "minio-job-folder": f"jobs/{there.name}",
        "minio-accesskey": store.access_key, "minio-secretkey": store.secret_key,
    }  # fmt: skip


@pytest.fixture(scope="module")
def home(cluster):
    with home_of(cluster) as started:
        yield started


@pytest.fixture(scope="module")
def store_port(cluster, store):
    with store_gate(cluster) as (port, _):
        yield port


@contextlib.contextmanager
def burst_of(cluster, home, store, store_port, program, folder, **changes):
    """f("Job"): a step of `home` whose job goes to the other cluster, with local files for its data. `changes`: of its Secret."""
    with home.namespace([READS_SECRET]) as here, there_of(cluster) as there:
        secret = configuration(cluster, store, there) | changes

        def add_secret(name, **changes):
            values = secret | {key.replace("_", "-"): value for key, value in changes.items()}
            home.api.create(f"/api/v1/namespaces/{here.name}/secrets", {"metadata": {"name": name}, "stringData": values})

        add_secret("gpu")
        with contextlib.ExitStack() as steps:
            yield lambda kind, **options: steps.enter_context(BurstStep(cluster, store, there, program, folder, kind, here, store_port, add_secret, options))
        shutil.rmtree(store.files / "jobs" / there.name, ignore_errors=True)


@pytest.fixture
def burst(cluster, home, store, store_port, program, tmp_path):
    with burst_of(cluster, home, store, store_port, program, tmp_path) as make:
        yield make
