# SPDX-License-Identifier: Apache-2.0
"""`trainstep check` tells before the start what would fail, and prints the Role that is missing. It makes nothing."""
import pytest
import yaml
from cluster import STEP_RULES

CLUSTER = {}
PROGRAM = {"image": "localhost/trainstep-tests:1", "command": ["train"]}
REVIEWS = {"apiGroups": [""], "resources": ["resourcequotas"], "verbs": ["list"]}


@pytest.fixture
def check(cluster, trainstep):
    def call(space, kind="PyTorch", **inputs):
        done = trainstep(
            *("check", "--namespace", space.name, "--train-specification", PROGRAM),
            *("--distribution-specification", {"distribution_type": kind, "number_of_workers": 3, "worker_cpus": "8"}),
            *(word for name, value in inputs.items() for word in (f"--{name.replace('_', '-')}", value)),
            env={"KUBECONFIG": str(space.kubeconfig)},
        )
        for resource in ("pytorchjobs.kubeflow.org", "jobs.batch", "pods"):
            assert cluster.kubectl("get", resource, "-n", space.name)["items"] == []
        return done

    return call


def test_all_is_well(cluster, check):
    with cluster.namespace([*STEP_RULES, REVIEWS]) as space:
        done = check(space)
        assert done.returncode == 0, done.stdout + done.stderr
        assert {line.split()[0] for line in done.stdout.splitlines()} == {"ok"}, done.stdout


def test_role_that_is_missing_is_printed_and_mends_it(cluster, check):
    with cluster.namespace([REVIEWS]) as space:
        done = check(space)
        assert done.returncode == 2, done.stdout + done.stderr
        assert "FAILS  no right to create pytorchjobs.kubeflow.org" in done.stdout
        assert "doubt  no right to list events" in done.stdout
        role = yaml.safe_load(done.stdout[done.stdout.index("apiVersion:") :])
        cluster.kubectl("create", "-f", "-", input=role)
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "more", "namespace": space.name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role["metadata"]["name"]},
            "subjects": [{"kind": "ServiceAccount", "name": "step", "namespace": space.name}],
        }
        cluster.kubectl("create", "-f", "-", input=binding)
        cluster.wait_for("apiserver", 10, lambda: check(space).returncode == 0)


def test_quota_that_has_no_room_is_a_doubt(cluster, check):
    with cluster.namespace([*STEP_RULES, REVIEWS]) as space:
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"}, "spec": {"hard": {"requests.cpu": "20"}}}
        cluster.kubectl("create", "-n", space.name, "-f", "-", input=quota)
        cluster.wait_for("controller-manager", 20, lambda: "hard" in cluster.kubectl("get", "resourcequota", "small", "-n", space.name)["status"])
        done = check(space)
        assert done.returncode == 0 and "doubt  quota small: requests.cpu: 24 are needed, 20 of 20 are left" in done.stdout, done.stdout


@pytest.mark.parametrize(
    "inputs, said",
    [
        ({"job_options": {"patch": {"spec": {"no_such_field": 1}}}}, "no_such_field"),
        ({"job_options": {"patch": {"metadata": {"labels": {"a": "not a label"}}}}}, "not a label"),
    ],
)
def test_manifest_that_would_be_refused(cluster, check, inputs, said):
    with cluster.namespace([*STEP_RULES, REVIEWS]) as space:
        done = check(space, **inputs)
        assert done.returncode == 2 and said in done.stdout, done.stdout + done.stderr


def test_another_cluster_is_not_answered_for(cluster, check):
    with cluster.namespace([*STEP_RULES, REVIEWS]) as space:
        done = check(space, cluster_configuration_secret="remote")
        assert done.returncode == 2 and "--context" in done.stderr and done.stdout == "", done.stdout + done.stderr
