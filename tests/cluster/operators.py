# SPDX-License-Identifier: Apache-2.0
"""training-operator and mpi-operator: their resources, admission webhooks and command lines. One of the two serves mpijobs.kubeflow.org."""

# What the training-operator adds to a PyTorchJob's workers, as Pod Security's level "restricted" takes it (docs/data.md).
INIT_CONTAINER = """
- name: init-pytorch
  image: {{.InitContainerImage}}
  imagePullPolicy: IfNotPresent
  command: ["sh", "-c", "for i in $(seq {{.MaxTries}}); do nslookup {{.MasterAddr}} && exit; echo waiting for master; sleep 2; done; exit 1"]
  resources:
    requests: {cpu: 50m, memory: 10Mi}
    limits: {cpu: 100m, memory: 20Mi}
  securityContext:
    allowPrivilegeEscalation: false
    capabilities: {drop: [ALL]}
    runAsNonRoot: true
    runAsUser: 65534
    seccompProfile: {type: RuntimeDefault}
"""
TRAINING_KINDS = ("pytorchjob", "tfjob", "xgboostjob", "paddlejob", "jaxjob")
WEBHOOK_PORT = 9543
READY_PORT = 9541
CERTIFICATES = "/tmp/k8s-webhook-server/serving-certs"  # compiled into the training-operator
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def define(cluster, mpi: str):
    """Creates the custom resources, also those without a running controller."""
    files = [file for name in ("training-operator", f"mpi-{mpi}") for file in (cluster.programs / "crds" / name).iterdir()]
    names = [cluster.api.create_from(DEFINITIONS, file)["metadata"]["name"] for file in files]
    for name in names:
        cluster.wait_for("apiserver", 30, lambda name=name: _established(cluster.api.get(f"{DEFINITIONS}/{name}")))


def _established(definition):
    conditions = definition.get("status", {}).get("conditions") or []  # null at first
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


def start_training_operator(cluster, mpi: str):
    key = cluster.authority.path
    template = cluster.folder / "initContainer.yaml"
    template.write_text(INIT_CONTAINER)
    cluster.sandbox.run("mkdir", CERTIFICATES)
    for name, file in (("ca.crt", "ca.crt"), ("tls.crt", "server.crt"), ("tls.key", "server.key")):
        cluster.sandbox.run("cp", key(file), f"{CERTIFICATES}/{name}")
    # It would make certificates of its own in this Secret, for a webhook configuration of a name that does not exist here.
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": "kubeflow"}})
    cluster.api.create("/api/v1/namespaces/kubeflow/secrets", {"metadata": {"name": "training-operator-webhook-cert"}})
    kinds = [*TRAINING_KINDS, *(["mpijob"] if mpi == "v1" else [])]
    cluster.launch(
        "training-operator",
        *(f"--enable-scheme={kind}" for kind in kinds),
        *("--metrics-bind-address=0", f"--health-probe-bind-address=127.0.0.1:{READY_PORT}", f"--webhook-server-port={WEBHOOK_PORT}"),
        *("--kube-api-qps=100", "--kube-api-burst=200"),
        *(f"--pytorch-init-container-image={cluster.IMAGE}", f"--pytorch-init-container-template-file={template}"),
        f"--mpi-kubectl-delivery-image={cluster.KUBECTL_IMAGE}",
        env={"KUBECONFIG": str(cluster.kubeconfig_for("operators"))},
        keep=True,
    )
    for file in (cluster.programs / "crds/webhooks").iterdir():
        _create_webhooks(cluster, file)


def _create_webhooks(cluster, file):
    """As the operator's own manifest has them, but called by address: there is no Service, as the operator is no pod."""
    hooks = cluster.api.create_from(f"{VALIDATING}?dryRun=All", file)
    for hook in hooks["webhooks"]:
        path = hook["clientConfig"].pop("service")["path"]
        hook["clientConfig"] = {"url": f"https://127.0.0.1:{WEBHOOK_PORT}{path}", "caBundle": cluster.authority.base64("ca.crt")}
    hooks["metadata"] = {"name": "training-operator"}
    cluster.api.create(VALIDATING, hooks)


def await_training_operator(cluster):
    cluster.wait_for("training-operator", 60, lambda: cluster.answers(f"http://127.0.0.1:{READY_PORT}/readyz"))


def start_mpi_operator(cluster, mpi: str):
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": "mpi-operator"}})  # for its lease
    config = str(cluster.kubeconfig_for("operators"))
    cluster.launch("mpi-operator", "-kube-api-qps=100", "-kube-api-burst=200", "-alsologtostderr", env={"KUBECONFIG": config}, keep=True)


def await_mpi_operator(cluster):
    cluster.wait_for("mpi-operator", 60, lambda: cluster.answers("http://127.0.0.1:8080/healthz"))


START = {"training-operator": start_training_operator, "mpi-operator": start_mpi_operator}
AWAIT = {"training-operator": await_training_operator, "mpi-operator": await_mpi_operator}
