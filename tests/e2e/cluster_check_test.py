# SPDX-License-Identifier: Apache-2.0
"""`trainstep check` reports before the start what would fail, and prints the missing Role. It creates nothing."""
import time

import pytest
import yaml
from cluster import STEP_RULES

CLUSTER = {}
PROGRAM = {"image": "localhost/trainstep-tests:1", "command": ["train"]}
QUOTAS = {"apiGroups": [""], "resources": ["resourcequotas"], "verbs": ["list"]}
MAY_TRY_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}
REVIEWS = [QUOTAS, MAY_TRY_PODS]  # what a check needs to answer everything
RESTRICTED = {
    "runAsUser": 1000, "runAsNonRoot": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}  # fmt: skip


@pytest.fixture
def check(cluster, trainstep):
    def call(space, kind="PyTorch", workers=3, **inputs):
        inputs.setdefault("train_specification", PROGRAM)
        done = trainstep(
            *("check", "--namespace", space.name),
            *("--distribution-specification", {"distribution_type": kind, "number_of_workers": workers, "worker_cpus": "8"}),
            *(word for name, value in inputs.items() for word in (f"--{name.replace('_', '-')}", value)),
            env={"KUBECONFIG": str(space.kubeconfig)},
        )
        for resource in ("pytorchjobs.kubeflow.org", "jobs.batch", "pods"):
            assert cluster.kubectl("get", resource, "-n", space.name)["items"] == []
        return done

    return call


def test_all_is_well(cluster, check):
    with cluster.namespace([*STEP_RULES, *REVIEWS]) as space:
        done = check(space)
        assert done.returncode == 0, done.stdout + done.stderr
        assert {line.split()[0] for line in done.stdout.splitlines()} == {"ok"}, done.stdout


def test_role_that_is_missing_is_printed_and_mends_it(cluster, check):
    with cluster.namespace(REVIEWS) as space:
        done = check(space)
        assert done.returncode == 2, done.stdout + done.stderr
        assert "error    no permission to create pytorchjobs.kubeflow.org" in done.stdout
        assert "warning  no permission to list events" in done.stdout
        give_role(cluster, space, done)
        cluster.wait_for("apiserver", 10, lambda: check(space).returncode == 0)


def give_role(cluster, space, done):
    """Does what the check says is missing, and → the Role."""
    documents = [one for one in yaml.safe_load_all(done.stdout[done.stdout.index("---") :]) if one]
    name = f"more-{len(cluster.kubectl('get', 'roles', '-n', space.name)['items'])}"
    for one in documents:
        one["metadata"]["name"] = name
    role, binding = documents
    binding["roleRef"]["name"] = name
    assert binding["subjects"] == [{"kind": "ServiceAccount", "namespace": space.name, "name": "step"}]
    for one in documents:
        cluster.kubectl("create", "-f", "-", input=one)
    return role


COPIES = {
    "inputs": [{"name": "data", "type": "Dataset"}],
    "outputs": [{"name": "model", "type": "Model"}],
    "implementation": {"container": {"image": PROGRAM["image"], "command": ["cp", "-r", {"inputPath": "data"}, {"outputPath": "model"}]}},
}
DATA = {
    "train_specification": COPIES,
    "train_parameters": {"data": "train_dataset_dir", "model": "model_dir"},
    "job_options": {"agent_image": PROGRAM["image"], "lease": "off"},
}


def test_permissions_for_data_are_checked_only_if_this_step_needs_them(cluster, check):
    with cluster.namespace([*STEP_RULES, *REVIEWS]) as space:
        secret = {"minio-url": "store:9000", "minio-bucket": "bucket", "minio-accesskey": "a", "minio-secretkey": "s"}
        cluster.api.create(f"/api/v1/namespaces/{space.name}/secrets", {"metadata": {"name": "training"}, "stringData": secret})
        inputs = DATA | {"train_dataset_dir": "/data", "model_dir": "/model", "pvc_name": "scratch", "cluster_configuration_secret": "training"}
        done = check(space, **inputs)
        assert done.returncode == 2 and "error    no permission to get secrets training" in done.stdout, done.stdout + done.stderr
        assert give_role(cluster, space, done)["rules"] == [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["training"]}]
        cluster.wait_for("apiserver", 10, lambda: "get secrets" not in check(space, **inputs).stdout)
        done = check(space, **inputs)
        assert done.returncode == 0 and "warning  no permission to get persistentvolumeclaims scratch" in done.stdout, done.stdout + done.stderr
        assert "warning  no permission to create persistentvolumeclaims" in done.stdout and "kfp-launcher" not in done.stdout, done.stdout
        give_role(cluster, space, done)
        cluster.wait_for("apiserver", 10, lambda: "no permission" not in check(space, **inputs).stdout)
        assert check(space, **inputs).returncode == 0


def test_claim_that_is_not_there_needs_the_right_to_make_it(cluster, check):
    look = {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "resourceNames": ["scratch"], "verbs": ["get"]}
    with cluster.namespace([*STEP_RULES, *REVIEWS, look]) as space:
        done = check(space, pvc_name="scratch")
        assert done.returncode == 2 and "error    no permission to create persistentvolumeclaims in" in done.stdout, done.stdout + done.stderr
        claim = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
        cluster.api.create(f"/api/v1/namespaces/{space.name}/persistentvolumeclaims", {"metadata": {"name": "scratch"}, "spec": claim})
        done = check(space, pvc_name="scratch")
        assert done.returncode == 0 and "persistentvolumeclaims" not in done.stdout, done.stdout + done.stderr


def test_access_mode_of_a_claim_determines_the_nodes_of_the_pods(cluster, check):
    claims = {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": ["get"]}
    secrets = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    with cluster.namespace([*STEP_RULES, *REVIEWS, claims, secrets]) as space:
        for name, mode in ("datasets", "ReadWriteOnce"), ("single", "ReadWriteOncePod"):
            claim = {"accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}}
            cluster.api.create(f"/api/v1/namespaces/{space.name}/persistentvolumeclaims", {"metadata": {"name": name}, "spec": claim})
        mounted = lambda name: {"volumes": [{"mount_path": "/data", "claim": name}]}  # noqa: E731
        done = check(space, job_options=mounted("datasets"))
        assert done.returncode == 0 and "ok       claim datasets (ReadWriteOnce): all pods are scheduled on one node" in done.stdout, done.stdout + done.stderr
        done = check(space, job_options=mounted("datasets") | {"single_node": False})
        assert done.returncode == 0 and "datasets" not in done.stdout, done.stdout + done.stderr
        done = check(space, job_options=mounted("single"))
        assert done.returncode == 2 and "claim single is ReadWriteOncePod, and 3 pods mount it" in done.stderr, done.stdout + done.stderr
        secret = {"minio-url": "store:9000", "minio-bucket": "bucket", "minio-accesskey": "a", "minio-secretkey": "s", "access-mode": "ReadWriteOnce"}
        cluster.api.create(f"/api/v1/namespaces/{space.name}/secrets", {"metadata": {"name": "training"}, "stringData": secret})
        done = check(space, pvc_name="scratch", cluster_configuration_secret="training")
        assert "ok       claim scratch (ReadWriteOnce): all pods are scheduled on one node" in done.stdout, done.stdout + done.stderr


def restrict(cluster, space):
    cluster.kubectl("label", "namespace", space.name, "pod-security.kubernetes.io/enforce=restricted")


def test_pods_that_pod_security_would_refuse_are_named_before_there_are_any(cluster, check):
    with cluster.namespace([*STEP_RULES, *REVIEWS]) as space:
        restrict(cluster, space)
        done = check(space)
        assert done.returncode == 2, done.stdout + done.stderr
        for kind in ("Master", "Worker"):
            assert f'error    pods of {kind} would be rejected, because each violates PodSecurity "restricted:latest"' in done.stdout, done.stdout
        done = check(space, job_options={"security_context": RESTRICTED})
        assert done.returncode == 0, done.stdout + done.stderr
        assert "warning  the operator's container init-pytorch would, by default, cause pods of Worker to be rejected" in done.stdout, done.stdout
        assert "--pytorch-init-container-template-file" in done.stdout, done.stdout
        for kind in ("MPI", "TF", "Job"):
            done = check(space, kind, 1 if kind == "Job" else 3, job_options={"security_context": RESTRICTED})
            assert done.returncode == 0 and "ok       Pod Security admits the pods" in done.stdout, done.stdout + done.stderr


def test_pod_security_level_is_reported_without_permission_to_create_pods(cluster, check):
    look = {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}
    with cluster.namespace([*STEP_RULES, QUOTAS, look]) as space:
        assert "ok       the namespace enforces no Pod Security level" in check(space).stdout
        restrict(cluster, space)
        done = check(space)
        assert done.returncode == 0 and "warning  the namespace enforces Pod Security level restricted" in done.stdout, done.stdout + done.stderr
        assert "init-pytorch" in done.stdout
    with cluster.namespace([*STEP_RULES, QUOTAS]) as space:
        assert "warning  no permission to dry-run pods or read the namespace" in check(space).stdout


def test_quota_that_has_no_room_is_a_doubt(cluster, check):
    with cluster.namespace([*STEP_RULES, *REVIEWS]) as space:
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"}, "spec": {"hard": {"requests.cpu": "20"}}}
        cluster.kubectl("create", "-n", space.name, "-f", "-", input=quota)
        cluster.wait_for("controller-manager", 20, lambda: "hard" in cluster.kubectl("get", "resourcequota", "small", "-n", space.name)["status"])
        done = check(space)
        assert done.returncode == 0 and "warning  quota small: requests.cpu: requested 24, 20 of 20 left" in done.stdout, done.stdout


@pytest.mark.parametrize(
    "inputs, said",
    [
        ({"job_options": {"patch": {"spec": {"no_such_field": 1}}}}, "no_such_field"),
        ({"job_options": {"patch": {"metadata": {"labels": {"a": "not a label"}}}}}, "not a label"),
    ],
)
def test_manifest_that_would_be_refused(cluster, check, inputs, said):
    with cluster.namespace([*STEP_RULES, *REVIEWS]) as space:
        done = check(space, **inputs)
        assert done.returncode == 2 and said in done.stdout, done.stdout + done.stderr


READS_SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}


def name_cluster(cluster, space, there, **changes):
    """A Secret with which the step of `space` trains in the namespace `there`, as if that were in another cluster."""
    values = {
        "remote-host": cluster.server,
        "remote-token": there.token,
        "remote-namespace": there.name,
        "remote-ca": (cluster.authority.folder / "ca.crt").read_text(),
    } | changes
    cluster.api.create(f"/api/v1/namespaces/{space.name}/secrets", {"metadata": {"name": "remote"}, "stringData": values})


def test_both_clusters_are_checked_and_each_gets_its_role(cluster, check):
    with cluster.namespace([READS_SECRETS]) as space, cluster.namespace(REVIEWS) as there:
        name_cluster(cluster, space, there)
        done = check(space, cluster_configuration_secret="remote")
        assert done.returncode == 2, done.stdout + done.stderr
        assert f"error    no permission to create pytorchjobs.kubeflow.org in namespace {there.name} of {cluster.server}" in done.stdout, done.stdout
        assert f"# Missing permissions in namespace {there.name} ({cluster.server}):" in done.stdout, done.stdout
        role, binding = (one for one in yaml.safe_load_all(done.stdout[done.stdout.index("# Missing permissions in namespace " + there.name) :]) if one)
        assert role["metadata"]["namespace"] == there.name
        assert binding["subjects"] == [{"kind": "ServiceAccount", "namespace": there.name, "name": "step"}]
        for one in role, binding:
            cluster.kubectl("create", "-f", "-", input=one)
        cluster.wait_for("apiserver", 10, lambda: check(space, cluster_configuration_secret="remote").returncode == 0)
        done = check(space, cluster_configuration_secret="remote")
        assert f"ok       {cluster.server} answers" in done.stdout, done.stdout


@pytest.mark.parametrize(
    "changes, code, said",
    [
        ({"remote-token": "wrong"}, 2, "put a valid token into the Secret"),
        ({"remote-token": ""}, 2, "remote-token"),
        ({"remote-ca": ""}, 2, "certificate"),
        ({"remote-host": "https://127.0.0.1:1"}, 3, "127.0.0.1:1"),
        ({"remote-host": ""}, 2, "requires remote-host or kubeconfig"),
        ({"remote-hots": "x"}, 2, "did you mean remote-host?"),
        ({"remote-namespace": "absent"}, 2, "in namespace absent"),
    ],
)
@pytest.mark.parametrize("command", ["check", "run"])
def test_a_secret_that_is_wrong_is_one_message_within_seconds(cluster, trainstep, check, command, changes, code, said):
    with cluster.namespace([READS_SECRETS]) as space, cluster.namespace([*STEP_RULES, *REVIEWS]) as there:
        name_cluster(cluster, space, there, **changes)
        began = time.monotonic()
        if command == "check":
            done = check(space, cluster_configuration_secret="remote")
        else:
            words = ("--cluster", "kubernetes", "--namespace", space.name, "--cluster-configuration-secret", "remote")
            kind = {"distribution_type": "PyTorch", "number_of_workers": 3}
            inputs = ("--train-specification", PROGRAM, "--distribution-specification", kind)
            done = trainstep("run", *words, *inputs, env={"KUBECONFIG": str(space.kubeconfig)})
        assert time.monotonic() - began < 20, done.stdout + done.stderr  # unit tests have the limit of 5 s; this machine is busy
        assert done.returncode == code and said in done.stdout + done.stderr, done.stdout + done.stderr
        assert cluster.kubectl("get", "pytorchjobs.kubeflow.org", "-n", there.name)["items"] == []


def test_a_secret_that_is_missing_or_forbidden_is_named(cluster, check):
    with cluster.namespace([*STEP_RULES, READS_SECRETS]) as space:
        done = check(space, cluster_configuration_secret="remote")
        assert done.returncode == 2 and f"not found in namespace {space.name}; create the Secret there" in done.stderr, done.stdout + done.stderr
    with cluster.namespace(STEP_RULES) as space:
        done = check(space, cluster_configuration_secret="remote")
        assert done.returncode == 2 and "error    no permission to get secrets remote" in done.stdout, done.stdout + done.stderr
        assert give_role(cluster, space, done)["rules"][0]["resourceNames"] == ["remote"]
