# SPDX-License-Identifier: Apache-2.0
"""The program on a test cluster, behind a fault proxy: as a user's command, or as the step of an Argo Workflow, in its pod.

A step in a pod is the program itself, in a mount namespace with the service account's files at their usual place; its pod is an object on a fake node, and
its Workflow is an object of which only the name matters.
"""
import dataclasses
import os
import subprocess

from cluster import STEP_RULES
from cluster_cells import MORTAL, RESOURCES, Step
from surroundings import clean_environment

WORKFLOW_RULES = [*STEP_RULES, {"apiGroups": ["argoproj.io"], "resources": ["workflows"], "verbs": ["get", "list", "watch"]}]
WORKFLOWS = "/apis/argoproj.io/v1alpha1/namespaces/{}/workflows"
_DEFINITION = {
    "metadata": {"name": "workflows.argoproj.io"},
    "spec": {
        "group": "argoproj.io",
        "names": {"kind": "Workflow", "listKind": "WorkflowList", "plural": "workflows", "singular": "workflow"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
# A private /run; the service account's files are reached through a link.
IN_POD = 'mount -t tmpfs tmpfs /run && mkdir -p /run/secrets/kubernetes.io && ln -s "$0" /run/secrets/kubernetes.io/serviceaccount && exec "$@"'


def define_workflows(cluster):
    """Creates the CustomResourceDefinition; there is no controller."""
    cluster.api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", _DEFINITION)
    cluster.wait_for("apiserver", 30, lambda: cluster.api.get(WORKFLOWS.format("default")))
    # The garbage collector looks for new resources when it starts, then every half minute.
    cluster.stop_server("controller-manager", "KILL")
    cluster.start_server("controller-manager")
    with cluster.namespace() as space:
        flow = Workflow(cluster, space)
        path = f"/api/v1/namespaces/{space.name}/secrets"
        cluster.api.create(path, {"metadata": {"name": "owned", "ownerReferences": [flow.owner()]}})
        flow.delete()
        cluster.wait_for("controller-manager", 60, lambda: not cluster.api.get(path)["items"])


class Workflow:
    """A Workflow in a namespace; its pods are those of the steps."""

    def __init__(self, cluster, space, name="flow"):
        self.cluster, self.space = cluster, space
        self.path = f"{WORKFLOWS.format(space.name)}/{name}"
        body = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": name}, "spec": {}}
        self.uid = cluster.api.create(WORKFLOWS.format(space.name), body)["metadata"]["uid"]
        self.name = name

    def owner(self) -> dict:
        return {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": self.name, "uid": self.uid, "controller": True}

    def delete(self):
        self.cluster.api.delete(self.path)


class Pod:
    """A step's pod: `node_name` is the name of Argo's node, `command` the command of its container. After a delete it lingers, as its containers take
    time to terminate."""

    def __init__(self, workflow, node_name, name="step", linger_ms=20000, command=()):
        self.cluster, self.space, self.name = workflow.cluster, workflow.space, name
        self.path = f"/api/v1/namespaces/{self.space.name}/pods/{name}"
        annotations = {"workflows.argoproj.io/node-name": node_name, "fate/run-ms": "forever", "fate/linger-ms": str(linger_ms)}
        labels = {"workflows.argoproj.io/workflow": workflow.name, "workflows.argoproj.io/completed": "false", "pipeline/runid": "run-1"}
        container = {"name": "main", "image": "step", "command": list(command)}
        body = {
            "metadata": {"name": name, "annotations": annotations, "labels": labels, "ownerReferences": [workflow.owner()]},
            "spec": {"nodeName": "fake-0", "serviceAccountName": "step", "containers": [container], "restartPolicy": "Never"},
        }
        self.cluster.api.create(self.path.rpartition("/")[0], body)

    def complete(self):
        """Sets the label that Argo sets a second before it sends the signal."""
        patch = {"metadata": {"labels": {"workflows.argoproj.io/completed": "true"}}}
        self.cluster.api.call("PATCH", self.path, patch, "application/merge-patch+json")

    def delete(self):
        self.cluster.api.delete(self.path)

    def command(self, words, folder, port):
        """(command line, environment) to run the program in this pod. Writes the service account's files to `folder`."""
        folder.mkdir(exist_ok=True)
        (folder / "namespace").write_text(self.space.name)
        (folder / "token").write_text(self.space.token)
        (folder / "ca.crt").write_bytes((self.cluster.authority.folder / "ca.crt").read_bytes())
        user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
        environment = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(port), "HOSTNAME": self.name}
        return ["unshare", "--mount", *user, "sh", "-c", IN_POD, str(folder), *words], environment


class ProxiedStep(Step):
    """A step through a fault proxy; `pod`: the pod that it runs in; None: in a shell."""

    def __init__(self, cluster, program, space, kind, tmp, proxy, pod=None):
        super().__init__(cluster, program, dataclasses.replace(space, kubeconfig=proxy.kubeconfig(space)), kind, tmp)
        self.proxy, self.pod = proxy, pod

    def arguments(self, **how):
        """(command line, environment)"""
        words = self.words("run", *(how.get(name) for name in ("fates", "distribution", "options")))
        kept = clean_environment() | {"HOME": str(self.tmp), "NO_COLOR": "1"}
        if self.pod is None:
            return [*words, "--cluster", "kubernetes"], kept | {"KUBECONFIG": str(self.space.kubeconfig)}
        words, environment = self.pod.command(without(words, "--run-id"), self.tmp / f"account-{self.pod.name}", self.proxy.port)
        return words, kept | environment

    def start(self, **how):
        words, environment = self.arguments(**how)
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen([*MORTAL, *words], env=environment, stdin=subprocess.DEVNULL, cwd=self.tmp, **output)

    def left(self, resource) -> list:
        return [item["metadata"]["name"] for item in self.items(resource)]

    def jobs(self) -> list:
        """The job objects that are there."""
        return self.items(RESOURCES[self.kind])

    def items(self, resource) -> list:
        """Without kubectl, which takes 0.1 s of CPU time per call."""
        name, _, group = resource.partition(".")
        version = self.cluster.options["mpi"] if name == "mpijobs" else "v1"
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        return self.cluster.api.get(f"{path}/namespaces/{self.space.name}/{name}")["items"]

    def training_pods(self) -> list:
        """The names of the job's pods."""
        own = self.pod.name if self.pod else ""
        return [name for name in self.left("pods") if name != own]


def without(words, flag):
    """The command line without a flag and its value."""
    at = words.index(flag)
    return words[:at] + words[at + 2 :]
