# SPDX-License-Identifier: Apache-2.0
"""The program leaks no token, key or value of a Secret: not in its output, records, reports or objects, nor in the arguments of other programs."""
import base64
import json
import subprocess

import pytest
import yaml
from cluster import STEP_RULES
from cluster_cells import RESOURCES, Step
from data_steps import AGENT_IMAGE, BUCKET, PROGRAM, TOGETHER, delivered, tree

CLUSTER = {}
RULES = [*STEP_RULES, {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
CANARY = "canary-7d1e0f"  # part of whatever is secret here


@pytest.fixture
def space(cluster):
    with cluster.namespace(RULES) as made:
        yield made


class CanaryStep(Step):
    """Runs with files for all it can write; `secrets` are what must be in none of them."""

    def __init__(self, cluster, program, space, tmp):
        super().__init__(cluster, program, space, "PyTorch", tmp)
        self.out = tmp / "out"
        self.out.mkdir()
        self.secrets = [CANARY, base64.b64encode(CANARY.encode()).decode()[:-2], space.token]

    def words(self, command, fates, distribution, options):
        files = ("record", "report", "metrics", "results", "job-name-file", "mlpipeline-metrics", "mlpipeline-ui-metadata")
        written = (word for name in files for word in (f"--{name}", str(self.out / name))) if command == "run" else ()
        return [*super().words(command, fates, distribution, options), *written, *self.more]

    more = ()

    def run_secretly(self, more=(), **how):
        self.more = more
        process = self.start(**how)
        self.until(lambda: process.poll() is not None or self.left("pods"))
        objects = [self.cluster.kubectl("get", resource, "-n", self.space.name) for resource in ("pytorchjobs.kubeflow.org", "pods", "events")]
        ended = self.end(process)
        texts = {str(path): path.read_text() for path in self.out.iterdir()} | {"its log": ended.output, "objects": json.dumps(objects)}
        texts["arguments"] = json.dumps(process.args)
        for what, text in texts.items():
            for secret in self.secrets:
                assert secret not in text, f"a secret stands in {what}"
        return ended

    def change_user(self, **user):
        """In the kubeconfig, instead of the token."""
        config = yaml.safe_load(self.space.kubeconfig.read_text())
        config["users"][0]["user"] = user
        self.space.kubeconfig.write_text(yaml.safe_dump(config))

    def make_secret(self, name, **values):
        self.cluster.api.create(f"/api/v1/namespaces/{self.space.name}/secrets", {"metadata": {"name": name}, "stringData": values})


@pytest.fixture
def step(cluster, space, program, tmp_path):
    return CanaryStep(cluster, program, space, tmp_path)


@pytest.mark.parametrize("fates, code", [({}, 0), ({"exit-code": "3"}, 1)])
def test_token_of_the_kubeconfig(step, fates, code):
    ended = step.run_secretly(fates=fates)
    assert ended.code == code, ended.output
    assert {path.name for path in step.out.iterdir()} >= {"record", "report", "job-name-file"}
    replayed = subprocess.run([str(step.program), "replay", str(step.out / "record")], capture_output=True, text=True)
    assert replayed.returncode == code and step.space.token not in replayed.stdout + replayed.stderr, replayed.stderr


def test_token_that_is_refused(step):
    step.change_user(token=CANARY)
    ended = step.run_secretly()
    assert ended.code != 0 and "Unauthorized" in ended.output, ended.output


def test_token_of_an_exec_plugin_and_its_error_output(step):
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": CANARY}}
    file = step.tmp / "answer"
    file.write_text(json.dumps(answer))
    step.change_user(exec={"apiVersion": answer["apiVersion"], "command": "cat", "args": [str(file)], "interactiveMode": "Never"})
    assert "Unauthorized" in step.run_secretly().output
    file.write_text(json.dumps(answer)[:-5])
    ended = step.run_secretly()
    assert ended.code != 0 and "exec" in ended.output, ended.output


def test_keys_that_cannot_be_read(step):
    key = base64.b64encode(f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----\n".encode()).decode()
    certificate = base64.b64encode((step.cluster.authority.folder / "ca.crt").read_bytes()).decode()
    step.secrets.append(key)
    step.change_user(**{"client-certificate-data": certificate, "client-key-data": key})
    assert step.run_secretly().code != 0


def test_password_of_a_proxy(step):
    config = yaml.safe_load(step.space.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["proxy-url"] = f"http://user:{CANARY}@127.0.0.1:1"
    step.space.kubeconfig.write_text(yaml.safe_dump(config))
    process = step.start(options={"limits": {"total": 3}})
    assert CANARY not in step.end(process).output


def test_secret_of_the_programs_environment(step):
    step.make_secret("hub", token=CANARY)
    ended = step.run_secretly(options={"environment": {"HUB_TOKEN": {"secret": "hub", "key": "token"}}})
    assert ended.code == 0, ended.output


def test_secret_of_another_cluster(step):
    step.make_secret("remote", kubeconfig=json.dumps(yaml.safe_load(step.space.kubeconfig.read_text()) | {"preferences": {"canary": CANARY}}))
    ended = step.run_secretly(more=("--cluster-configuration-secret", "remote"))
    assert ended.code == 0, ended.output
    step.make_secret("broken", **{"remote-host": "127.0.0.1:1", "remote-token": f"{CANARY}\nx", "remote-ca": CANARY})
    ended = step.run_secretly(more=("--cluster-configuration-secret", "broken"))
    assert ended.code == 2 and "Secret broken, remote-token" in ended.output, ended.output


# --- keys to an object store, on a real node ----------------------------------------------------------------------------------------------------------

# All that can be seen of a container's processes, the agent's among them.
SEES_ALL = """
import glob
seen = {}
for file in (file for name in ("environ", "cmdline") for file in glob.glob(f"/proc/[0-9]*/{name}")):
    try:
        seen[file] = open(file).read().split(chr(0))
    except OSError:
        pass  # it has ended
print("has seen", json.dumps(seen), flush=True)
"""


class DataCanary:
    """A step whose job stays, with all that it wrote; `secrets` are what may stand in Secrets alone."""

    def __init__(self, cluster, training):
        self.cluster, self.training, self.store, self.space = cluster, training, training.store, training.space
        self.secrets = [self.store.access_key, self.store.secret_key]
        training.command = ["python3", "-c", PROGRAM.replace("TOGETHER", SEES_ALL + TOGETHER[training.kind])]
        training.options = {"cleanup": "never", "logs": "all", "agent_image": AGENT_IMAGE}
        training.flags = {"record": str(training.tmp / "record")}

    def run_with_files(self, secret):
        """Local files; `secret`: the configuration."""
        tmp = self.training.tmp
        (tmp / "set").mkdir()
        (tmp / "set/a.csv").write_bytes(b"1,2,3\n")
        arguments = {name.replace("_", "-"): value for name, value in self.training.values().items()}
        names = ("model-dir", "metrics", "results", "report", "job-name-file", "mlpipeline-metrics", "mlpipeline-ui-metadata")
        places = {"train-dataset-dir": str(tmp / "set")} | {name: str(tmp / name) for name in names}
        code = self.training.begin(arguments | places | {"cluster-configuration-secret": secret}).end()
        assert code == 0 and delivered(tmp / "model-dir", {"a.csv": b"1,2,3\n"}), self.training.output

    def make_secret(self, name, **values):
        self.cluster.api.create(f"/api/v1/namespaces/{self.space.name}/secrets", {"metadata": {"name": name}, "stringData": values})

    @property
    def bucket(self):
        keys = {"minio-accesskey": self.store.access_key, "minio-secretkey": self.store.secret_key}
        return {"minio-url": self.store.url, "minio-bucket": BUCKET, "minio-job-folder": f"v2/artifacts/{self.space.name}"} | keys

    def look_everywhere(self, *holders, begun=True):
        """No key is to be found but in the Secrets of these names; `begun`: the program was, and has shown its surroundings."""
        output, tmp = self.training.output, self.training.tmp
        assert ("TRAINSTEP_TASK" in output.partition("has seen")[2]) == begun, "the agent's own surroundings were seen"
        job = self.list(RESOURCES[self.training.kind])["items"][0]["metadata"]["name"]
        texts = {str(path): path.read_bytes() for folder in (tmp, self.store.files / "v2/artifacts" / self.space.name) for path in files_of(folder)}
        resources = {RESOURCES[self.training.kind], "pods", "jobs.batch", "events", "configmaps"}
        texts |= {resource: json.dumps(self.list(resource)).encode() for resource in resources}
        assert b'"terminated"' in texts["pods"], "what the pods have said at their end is looked at"
        texts |= {"its log": output.encode(), "arguments": json.dumps(self.training.process.args).encode()}
        texts["requests"] = json.dumps(self.cluster.requests(self.space.name)).encode()
        replayed = subprocess.run([str(self.training.program), "replay", str(tmp / "record")], capture_output=True)
        texts["replay"] = replayed.stdout + replayed.stderr
        forms = [form for secret in self.secrets for form in (secret.encode(), base64.b64encode(secret.encode()).rstrip(b"=")[:-1])]
        for what, text in texts.items():
            for form in forms:
                assert form not in text, f"a key stands in {what}"
        holding = {name for name, content in self.contents_of_secrets().items() if any(form in content for form in forms)}
        assert holding == {name.replace("JOB", job) for name in holders}

    def contents_of_secrets(self):
        """By name, encoded and decoded."""
        decoded = lambda secret: [base64.b64decode(value) for value in secret.get("data", {}).values()]  # noqa: E731
        return {secret["metadata"]["name"]: b"\0".join([json.dumps(secret).encode(), *decoded(secret)]) for secret in self.list("secrets")["items"]}

    def signing_keys(self):
        """Those that the job has."""
        [copy] = (secret for secret in self.list("secrets")["items"] if "signing-keys" in secret["data"])
        return list(json.loads(base64.b64decode(copy["data"]["signing-keys"])).values())

    def list(self, resource):
        return self.cluster.kubectl("get", resource, "-n", self.space.name)


def files_of(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


on_real_nodes = pytest.mark.parametrize("cluster", [{"nodes": "real", "mpi": "v2beta1"}], indirect=True)


@on_real_nodes
@pytest.mark.parametrize("kind", ["Job", "MPI"])
def test_credentials_of_the_artifact_store(cluster, data_step, store, kind):
    canary = DataCanary(cluster, data_step(kind))
    files = tree(store, f"sets/canary-{kind}")
    assert canary.training.run_with_artifacts(f"sets/canary-{kind}") == 0, canary.training.output
    assert delivered(canary.training.model, files)
    canary.look_everywhere("mlpipeline-minio-artifact")


@on_real_nodes
def test_keys_of_the_jobs_prefix(cluster, data_step):
    canary = DataCanary(cluster, data_step("Job"))
    canary.make_secret("training", **canary.bucket)
    canary.run_with_files("training")
    canary.look_everywhere("mlpipeline-minio-artifact", "training")


@on_real_nodes
@pytest.mark.parametrize("whole", [False, True], ids=["signing keys", "secret key"])
def test_credentials_for_pods_in_another_cluster(cluster, data_step, whole):
    canary = DataCanary(cluster, data_step("Job"))
    allow_secrets(cluster, canary.space)
    kubeconfig = canary.space.kubeconfig.read_text()
    canary.secrets.append(canary.space.token)
    canary.make_secret("training", kubeconfig=kubeconfig, **canary.bucket, **({"minio-pod-keys": "secret"} if whole else {}))
    canary.run_with_files("training")
    canary.look_everywhere("mlpipeline-minio-artifact", "training", "JOB-keys")
    if whole:
        return
    canary.secrets = [canary.store.secret_key]
    canary.look_everywhere("mlpipeline-minio-artifact", "training")
    canary.secrets = canary.signing_keys()
    canary.look_everywhere("JOB-keys")


def allow_secrets(cluster, space):
    """The step may make Secrets where the job is."""
    rights = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{space.name}"
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}]
    cluster.api.create(f"{rights}/roles", {"metadata": {"name": "keys"}, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "keys"}
    subjects = [{"kind": "ServiceAccount", "name": "step", "namespace": space.name}]
    cluster.api.create(f"{rights}/rolebindings", {"metadata": {"name": "keys"}, "roleRef": role, "subjects": subjects})
    cluster.wait_for("apiserver", 30, lambda: cluster._may(space.name, rules[0]))


@on_real_nodes
def test_session_token_that_the_store_refuses(cluster, data_step, store):
    canary = DataCanary(cluster, data_step("Job"))
    token = f"{CANARY}-session"
    canary.secrets.append(token)
    keys = {"AWS_ACCESS_KEY_ID": store.access_key, "AWS_SECRET_ACCESS_KEY": store.secret_key, "AWS_SESSION_TOKEN": token}
    canary.make_secret("session", **keys)
    use_environment(cluster, canary.space)
    canary.training.options |= {"environment": {name: {"secret": "session", "key": name} for name in keys}, "run_policy": {"backoff_limit": 0}}
    canary.training.environment |= keys
    tree(store, "sets/session")
    assert canary.training.run_with_artifacts("sets/session") == 2, canary.training.output
    assert "InvalidToken" in canary.training.output
    canary.look_everywhere("mlpipeline-minio-artifact", "session", begun=False)


def use_environment(cluster, space):
    """Keys are where the pods' environment says."""
    path = f"/api/v1/namespaces/{space.name}/configmaps/kfp-launcher"
    providers = json.loads(cluster.api.get(path)["data"]["providers"])
    providers["minio"]["default"]["credentials"] = {"fromEnv": True}
    cluster.api.call("PATCH", path, {"data": {"providers": json.dumps(providers)}}, "application/merge-patch+json")
