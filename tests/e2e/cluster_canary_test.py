# SPDX-License-Identifier: Apache-2.0
"""No token, key or Secret's value comes out of the program: not in what it prints, records, reports or creates, nor in its arguments to others."""
import base64
import json
import subprocess

import pytest
import yaml
from cluster import STEP_RULES
from cluster_cells import Step

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


def test_token_of_an_exec_plugin_and_what_it_says_when_it_fails(step):
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
