# SPDX-License-Identifier: Apache-2.0
"""component/kubernetes on a real API server: it is accepted, binds the right accounts, and its Roles grant what the program needs and nothing else."""
import base64
import subprocess

import pytest
import yaml
from cluster_cells import RESOURCES, Step
from conftest import ROOT, read_json
from steps import Pod, Workflow, define_workflows

CLUSTER = {}
FOLDER = ROOT / "component/kubernetes"
PROGRAM = '{"image": "localhost/trainstep-tests:1", "command": ["train"]}'
# What docs/data.md adds.
CLAIMS = {("", "persistentvolumeclaims", verb) for verb in ("get", "create", "patch")}
LEASES = {("coordination.k8s.io", "leases", verb) for verb in ("create", "patch")}
DATA = {("", "configmaps", "get"), ("", "secrets", "get")} | CLAIMS | LEASES
# There it also chooses a cluster by its quotas, and renews its token.
REMOTE_DATA = {("", "secrets", "create"), ("", "secrets", "patch"), ("", "resourcequotas", "list"), ("", "serviceaccounts/token", "create")} | CLAIMS | LEASES
# What only `check` looks at: quotas, and the namespace's labels of Pod Security.
QUOTAS = {"apiGroups": [""], "resources": ["resourcequotas"], "verbs": ["list"]}
LABELS = {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}
OWN_POD = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}


@pytest.fixture(scope="module")
def workflows(cluster):
    define_workflows(cluster)


@pytest.fixture
def built(cluster):
    """built("argo"): the objects of a kustomization, without those that only Argo's API server knows."""

    def build(name):
        objects = list(yaml.safe_load_all(cluster.kubectl("kustomize", str(FOLDER / name))))
        return [thing for thing in objects if thing["apiVersion"] != "argoproj.io/v1alpha1"]

    return build


def rights(rules):
    return {(group, resource, verb) for rule in rules for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]}


def rules_of(objects, kind="Role"):
    (role,) = [thing for thing in objects if thing["kind"] == kind and thing["metadata"]["name"].startswith("trainstep") and len(thing["rules"]) > 1]
    return role["rules"]


def apply(cluster, objects):
    for name in {thing["metadata"].get("namespace") for thing in objects} - {None}:
        cluster.kubectl("apply", "-f", "-", input={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for thing in objects:
        cluster.kubectl("apply", "--server-side", "--validate=strict", "-f", "-", input=thing)


def may(cluster, account, verb, resource, namespace):
    words = [str(cluster.programs / "bin/kubectl"), f"--kubeconfig={cluster.kubeconfig}", "auth", "can-i", verb, resource, "-n", namespace]
    answer = subprocess.run([*words, f"--as={account}"], capture_output=True, text=True, check=False)
    return answer.stdout.strip() == "yes"


@pytest.mark.parametrize(
    "name, namespace, account",
    [("standalone", "kubeflow", "pipeline-runner"), ("argo", "argo", "trainstep"), ("remote", "training", "trainstep")],
)
def test_service_account_may_train_in_its_namespace_and_nowhere_else(cluster, built, name, namespace, account):
    apply(cluster, built(name))
    user = f"system:serviceaccount:{namespace}:{account}"
    for resource in RESOURCES.values():
        cluster.wait_for("apiserver", 20, lambda resource=resource: may(cluster, user, "create", resource, namespace))
    assert not may(cluster, user, "create", "jobs.batch", "default")
    assert not may(cluster, user, "list", "secrets", namespace)


def test_editors_of_all_profiles_may_train(cluster, built, namespace):
    edit = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "kubeflow-edit"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"rbac.authorization.kubeflow.org/aggregate-to-kubeflow-edit": "true"}}]},
    }
    cluster.kubectl("apply", "-f", "-", input=edit)
    cluster.kubectl(
        *("create", "rolebinding", "default-editor", "--clusterrole=kubeflow-edit"),
        *(f"--serviceaccount={namespace.name}:default-editor", "-n", namespace.name),
    )
    apply(cluster, built("multi-user"))
    user = f"system:serviceaccount:{namespace.name}:default-editor"
    cluster.wait_for("controller-manager", 20, lambda: may(cluster, user, "create", "pytorchjobs.kubeflow.org", namespace.name))
    assert not may(cluster, user, "create", "pytorchjobs.kubeflow.org", "default")


def test_the_role_of_profiles_is_the_others(built):
    assert rules_of(built("multi-user"), "ClusterRole") == rules_of(built("standalone")) == rules_of(built("argo"))


@pytest.fixture
def check_in_pod(cluster, workflows, program, tmp_path):
    """`trainstep check` as a workflow's step."""

    def call(space, kind):
        pod = Pod(Workflow(cluster, space), "flow.train")
        distribution = {"Job": "{}"}.get(kind, f'{{"distribution_type": "{kind}", "number_of_workers": 2}}')
        words = [str(program), "check", "--train-specification", PROGRAM, "--distribution-specification", distribution]
        words, environment = pod.command(words, tmp_path / "account", cluster.server.rpartition(":")[2])
        environment |= {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(tmp_path), "NO_COLOR": "1"}
        return subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    return call


@pytest.mark.parametrize("kind", RESOURCES)
def test_the_role_gives_a_step_all_that_the_program_asks_for(cluster, built, check_in_pod, kind):
    with cluster.namespace([*rules_of(built("standalone")), QUOTAS, LABELS]) as space:
        done = check_in_pod(space, kind)
        assert done.returncode == 0 and "permissions in namespace" in done.stdout, done.stdout + done.stderr
        assert {line.split()[0] for line in done.stdout.splitlines()} == {"ok"}, done.stdout


@pytest.mark.parametrize("kind", RESOURCES)
def test_the_role_grants_nothing_that_the_program_does_not_use(cluster, built, check_in_pod, kind):
    with cluster.namespace([OWN_POD, QUOTAS, LABELS]) as space:
        done = check_in_pod(space, kind)
    role = next(one for one in yaml.safe_load_all(done.stdout[done.stdout.index("---") :]) if one)
    asked = rights(role["rules"]) | rights([OWN_POD])
    given = rights(rules_of(built("standalone")))
    others = {right for right in given for other in RESOURCES.values() if other != RESOURCES[kind] and f"{right[1]}.{right[0]}" == other}
    assert asked - DATA <= given
    assert given - DATA - asked <= others  # the launcher of an MPIJob is a Job


@pytest.mark.parametrize("kind", RESOURCES)
def test_job_of_a_step_elsewhere_runs_with_the_remote_account(cluster, built, program, tmp_path, kind):
    """The Secret is the example's, with this cluster's address, token and CA."""
    apply(cluster, built("remote"))
    cluster.wait_for("controller-manager", 20, lambda: remote_token(cluster))
    example = yaml.safe_load((FOLDER / "secrets/remote-cluster.yaml").read_text(encoding="utf-8"))
    values = {key: text for key, text in example["stringData"].items() if not key.startswith("minio-")}
    values |= {"remote-host": cluster.server, "remote-token": remote_token(cluster), "remote-ca": (cluster.authority.folder / "ca.crt").read_text()}
    secret_right = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [example["metadata"]["name"]], "verbs": ["get"]}
    with cluster.namespace([OWN_POD, secret_right]) as space:
        cluster.kubectl("create", "-n", space.name, "-f", "-", input={**example, "stringData": values})
        step = RemoteStep(cluster, program, space, kind, tmp_path)
        step.secret = example["metadata"]["name"]
        ended = step.run()
        assert ended.code == 0, ended.output
        assert ended.jobs == []
    assert cluster.kubectl("get", RESOURCES[kind], "-n", "training")["items"] == []


class RemoteStep(Step):
    secret = ""

    def words(self, command, fates, distribution, options):
        return [*super().words(command, fates, distribution, options), "--cluster-configuration-secret", self.secret]


def remote_token(cluster):
    data = cluster.kubectl("get", "secret", "trainstep-token", "-n", "training").get("data", {})
    return base64.b64decode(data.get("token", "")).decode()


def test_example_secrets_are_accepted_and_contain_only_known_keys(cluster, namespace):
    schema = read_json(ROOT / "specs/cluster_configuration_secret.schema.json")
    for file in sorted((FOLDER / "secrets").glob("*.yaml")):
        secret = yaml.safe_load(file.read_text(encoding="utf-8"))
        assert set(secret["stringData"]) <= set(schema["properties"]), file
        cluster.kubectl("create", "--validate=strict", "-n", namespace.name, "-f", "-", input=secret)


def test_remote_role_gives_what_a_step_there_needs(built):
    step = rights(rules_of(built("standalone"))) - DATA
    own_life = {("", "pods", "get"), *(("argoproj.io", "workflows", verb) for verb in ("get", "list", "watch"))}  # the step is elsewhere
    assert rights(rules_of(built("remote"))) == step - own_life | REMOTE_DATA
