# SPDX-License-Identifier: Apache-2.0
"""Runs the same job on the test cluster with Trainstep, kubectl, the client of the training operator, and the Kubeflow SDK.

The pods are fake: their annotations determine their lifecycle and output (tests/cluster/README.md).
"""
import dataclasses
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from surroundings import clean_environment  # noqa: E402

HERE = pathlib.Path(__file__).parent
IMAGE = "localhost/trainstep-tests:1"
PLAIN = clean_environment() | {"NO_COLOR": "1"}
PYTORCH = "/apis/kubeflow.org/v1/namespaces/{}/pytorchjobs"
TRAINER = "/apis/trainer.kubeflow.org/v1alpha1/{}"
RIGHTS = {"apiGroups": ["trainer.kubeflow.org"], "resources": ["*"], "verbs": ["create", "get", "list", "watch"]}
TRAIN_JOBS = TRAINER.format("namespaces/{}/trainjobs")


def fated(fates):
    return {f"fate/{name}": value for name, value in fates.items()}


@dataclasses.dataclass
class Contestant:
    """`command(space, fates)` runs a job in a namespace; `jobs` is the collection it is made in, "{}" for the namespace."""

    name: str
    command: object
    jobs: str = PYTORCH

    def start(self, space, fates, **more):
        """(time of the start, process)"""
        words, environment = self.command(space, fates, **more)
        begun = time.time()
        return begun, subprocess.Popen(words, env=PLAIN | environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def pytorch_job(fates, replicas=3):
    """What kubectl and the Python client create: the same job that Trainstep makes."""
    template = {"metadata": {"annotations": fated(fates)}, "spec": {"containers": [{"name": "pytorch", "image": IMAGE, "command": ["train"]}]}}
    types = {"Master": 1, "Worker": replicas - 1}
    specs = {name: {"replicas": count, "restartPolicy": "Never", "template": template} for name, count in types.items()}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "bench"},
        "spec": {"pytorchReplicaSpecs": specs, "runPolicy": {"cleanPodPolicy": "None"}},
    }


def trainstep(program):
    def command(space, fates, replicas=3, logs="primary", words=(), options=None):
        distribution = {"distribution_type": "PyTorch", "number_of_workers": replicas}
        return [
            *(str(program), "run", "--cluster", "kubernetes", "--namespace", space.name, *words),
            *("--train-specification", json.dumps({"image": IMAGE, "command": ["train"]}), "--distribution-specification", json.dumps(distribution)),
            *("--job-options", json.dumps({"annotations": fated(fates), "logs": logs, **(options or {})})),
        ], {"KUBECONFIG": str(space.kubeconfig), "HOME": str(space.kubeconfig.parent)}

    return Contestant("trainstep", command)


def kubectl(cluster):
    path = str(cluster.programs / "bin/kubectl")
    return Contestant("kubectl", lambda space, fates: ([str(HERE / "clients/kubectl.sh"), path, space.name, json.dumps(pytorch_job(fates))],
                                                       {"KUBECONFIG": str(space.kubeconfig), "HOME": str(space.kubeconfig.parent)}))


def training_client(python):
    script = str(HERE / "clients/training_client.py")
    return Contestant("kubeflow-training", lambda space, fates: ([python, script, str(space.kubeconfig), space.name, json.dumps(pytorch_job(fates))], {}))


def kubeflow_sdk(python):
    """Makes TrainJobs, which no operator of the test cluster runs: the bench says when they have ended."""
    script = str(HERE / "clients/kubeflow_sdk.py")
    return Contestant("kubeflow SDK", lambda space, fates: ([python, script, str(space.kubeconfig), space.name, "bench"], {}), TRAIN_JOBS)


def define_train_jobs(cluster):
    """The resources that the Kubeflow SDK needs, without their operator."""
    for kind, plural in (("TrainJob", "trainjobs"), ("TrainingRuntime", "trainingruntimes")):
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        version = {"name": "v1alpha1", "served": True, "storage": True, "schema": schema}
        names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
        spec = {"group": "trainer.kubeflow.org", "names": names, "scope": "Namespaced", "versions": [version]}
        cluster.api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {"metadata": {"name": f"{plural}.trainer.kubeflow.org"}, "spec": spec})
        cluster.wait_for("apiserver", 30, lambda: cluster.api.get(TRAINER.format(plural)))


def make_runtime(cluster, space):
    pod = {"spec": {"containers": [{"name": "node", "image": IMAGE}]}}
    step = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}, "spec": {"template": pod}}
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "bench", "labels": {"trainer.kubeflow.org/framework": "torch"}},
        "spec": {"mlPolicy": {"numNodes": 3, "torch": {}}, "template": {"spec": {"replicatedJobs": [{"name": "node", "template": step}]}}},
    }
    cluster.api.create(TRAINER.format(f"namespaces/{space.name}/trainingruntimes"), runtime)


def end_train_job(cluster, space):
    condition = {"type": "Complete", "status": "True", "reason": "AllJobsCompleted", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    path = f"{TRAIN_JOBS.format(space.name)}/bench"
    cluster.api.call("PATCH", path, {"status": {"conditions": [condition]}}, "application/merge-patch+json")
