# SPDX-License-Identifier: Apache-2.0
"""The real Argo Workflows, controller and executor, on a test cluster with a real node; artifacts are stored in the cluster's S3 server.

    argo = Argo(cluster, store)
    flow = argo.submit("argo", {"workflowTemplateRef": {"name": "trainstep"}, …})
    flow.until_over().phase
"""
import json
import pathlib
import subprocess

from image_file import write_image
from real_node import import_image

HERE = pathlib.Path(__file__).resolve().parent
EXECUTOR = "localhost/trainstep-tests-argoexec:1"
SECRET = "artifact-keys"
FLOWS = "/apis/argoproj.io/v1alpha1/namespaces/{}/workflows"


def programs() -> pathlib.Path:
    done = subprocess.run([HERE / "build"], stdout=subprocess.PIPE, text=True, check=True, stdin=subprocess.DEVNULL)
    return pathlib.Path(done.stdout.strip())


class Argo:
    def __init__(self, cluster, store):
        self.cluster, self.store, made = cluster, store, programs()
        for definition in sorted((made / "crds").iterdir()):
            cluster.kubectl("apply", "--server-side", "-f", str(definition))
        self._define(store)
        archive = cluster.folder / "argoexec.tar"
        write_image(archive, EXECUTOR, {"bin/argoexec": made / "argoexec"}, {"User": "8737", "Entrypoint": ["argoexec"], "Env": ["PATH=/bin"]})
        import_image(cluster, archive)
        cluster.launch(
            "workflow-controller",
            *(f"--kubeconfig={cluster.kubeconfig_for('operators')}", f"--executor-image={EXECUTOR}", "--executor-image-pull-policy=IfNotPresent"),
            *("--qps=100", "--burst=200"),
            program=str(made / "workflow-controller"),
            env={"LEADER_ELECTION_DISABLE": "true", "DEFAULT_REQUEUE_TIME": "1s", "ARGO_PROGRESS_PATCH_TICK_DURATION": "1s", "PATH": "/usr/bin:/bin"},
        )
        cluster.wait_for("workflow-controller", 60, lambda: cluster.answers("http://127.0.0.1:6060/healthz"))

    def _define(self, store):
        """The controller's settings, where its kubeconfig is at home."""
        keys = {"accessKeySecret": {"name": SECRET, "key": "accesskey"}, "secretKeySecret": {"name": SECRET, "key": "secretkey"}}
        bucket = {"endpoint": store.url.removeprefix("http://"), "insecure": True, "bucket": "pipelines", "keyFormat": "argo/{{pod.name}}"}
        settings = {"metricsConfig": json.dumps({"enabled": False}), "artifactRepository": json.dumps({"s3": bucket | keys})}
        body = {"metadata": {"name": "workflow-controller-configmap"}, "data": settings}
        self.cluster.api.create("/api/v1/namespaces/default/configmaps", body)

    def prepare(self, namespace):
        """The keys to the artifacts in a namespace."""
        keys = {"accesskey": self.store.access_key, "secretkey": self.store.secret_key}
        self.cluster.api.create(f"/api/v1/namespaces/{namespace}/secrets", {"metadata": {"name": SECRET}, "stringData": keys})

    def submit(self, namespace, spec) -> "Flow":
        body = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"generateName": "flow-"}, "spec": spec}
        return Flow(self.cluster, namespace, self.cluster.api.create(FLOWS.format(namespace), body)["metadata"]["name"])


class Flow:
    """A Workflow of one step."""

    def __init__(self, cluster, namespace, name):
        self.cluster, self.namespace, self.name = cluster, namespace, name
        self.path = f"{FLOWS.format(namespace)}/{name}"

    def status(self) -> dict:
        return self.cluster.api.get(self.path).get("status", {})

    def until(self, happened, seconds=120):
        """Until the status is so; the status."""
        self.cluster.wait_for("workflow-controller", seconds, lambda: happened(self.status()))
        return self.status()

    def until_over(self, seconds=180) -> dict:
        return self.until(lambda status: status.get("phase") in ("Succeeded", "Failed", "Error"), seconds)

    def patch(self, body):
        self.cluster.api.call("PATCH", self.path, body, "application/merge-patch+json")

    def delete(self):
        self.cluster.api.delete(self.path)

    def pods(self) -> list:
        pods = self.cluster.api.get(f"/api/v1/namespaces/{self.namespace}/pods")["items"]
        return [pod for pod in pods if pod["metadata"].get("labels", {}).get("workflows.argoproj.io/workflow") == self.name]

    def log(self) -> str:
        """Of its step's pods, the first one first."""
        logs = []
        for pod in sorted(self.pods(), key=lambda pod: pod["metadata"]["creationTimestamp"]):
            try:
                logs.append(self.cluster.kubectl("logs", pod["metadata"]["name"], "-c", "main", "-n", self.namespace))
            except Exception as error:  # noqa: BLE001 - for a failed test's message only
                logs.append(str(error))
        return "\n".join(logs)
