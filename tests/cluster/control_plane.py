# SPDX-License-Identifier: Apache-2.0
"""etcd, kube-apiserver, kube-controller-manager, kube-scheduler: their command lines."""
import json

NODE_ADDRESS = "10.244.0.1"  # of the machine inside, towards pods; carried by lo, or by the pods' bridge on a real node
SECOND_ADDRESS = "10.244.0.2"  # of a second real node
POD_NETWORK = "10.244.0.0/24"
SERVICE_NETWORK = "10.96.0.0/16"
SERVICE_ADDRESS = "10.96.0.1"  # of the API server, for pods
KUBERNETES_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")

# What the tests' own service accounts ask of the API server is written down: log/audit.log.
AUDIT = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"]},
        {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
    ],
}


def certify(authority):
    """Certificates of the servers, and of all who log in by one."""
    addresses = (f"IP:{ip}" for ip in ("127.0.0.1", NODE_ADDRESS, SECOND_ADDRESS, SERVICE_ADDRESS))
    authority.server("server", *addresses, *(f"DNS:{name}" for name in ("localhost", *KUBERNETES_NAMES)))
    authority.client("admin", "admin", "system:masters")
    authority.client("operators", "operators", "system:masters")
    authority.client("apiserver", "kube-apiserver-kubelet-client", "system:masters")
    authority.client("controller-manager", "system:kube-controller-manager")
    authority.client("scheduler", "system:kube-scheduler")


def start(cluster):
    """Returns when the API server is ready."""
    folder, key = cluster.folder, cluster.authority.path
    (folder / "audit.json").write_text(json.dumps(AUDIT))
    cluster.sandbox.mount_memory(f"{folder}/etcd")
    cluster.launch(
        "etcd",
        *("--data-dir", f"{folder}/etcd", "--unsafe-no-fsync", "--log-level=warn"),
        *("--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379"),
        *("--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380"),
        "--initial-cluster=default=http://127.0.0.1:2380",
    )
    cluster.launch(
        "apiserver",
        *(f"--advertise-address={NODE_ADDRESS}", f"--secure-port={cluster.sandbox.port}", "--etcd-servers=http://127.0.0.1:2379"),
        *(f"--service-cluster-ip-range={SERVICE_NETWORK}", "--allow-privileged"),
        *("--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", f"--client-ca-file={key('ca.crt')}"),
        *(f"--tls-cert-file={key('server.crt')}", f"--tls-private-key-file={key('server.key')}"),
        *("--service-account-issuer=https://kubernetes.default.svc.cluster.local", f"--service-account-key-file={key('sa.pub')}"),
        f"--service-account-signing-key-file={key('sa.key')}",
        *(f"--kubelet-client-certificate={key('apiserver.crt')}", f"--kubelet-client-key={key('apiserver.key')}"),
        *(f"--kubelet-certificate-authority={key('ca.crt')}", "--kubelet-preferred-address-types=InternalIP"),
        *(f"--requestheader-client-ca-file={key('ca.crt')}", "--requestheader-allowed-names=nobody"),  # else its clients complain without end
        *(f"--audit-policy-file={folder}/audit.json", f"--audit-log-path={folder}/log/audit.log"),
        program="kube-apiserver",
    )
    cluster.wait_for("apiserver", 60, lambda: cluster.api.get("/readyz") == "ok")


def start_controllers(cluster):
    key = cluster.authority.path
    cluster.launch(
        "controller-manager",
        *_as_user(cluster, "controller-manager"),
        *("--use-service-account-credentials", f"--service-account-private-key-file={key('sa.key')}", f"--root-ca-file={key('ca.crt')}"),
        *(f"--cluster-signing-cert-file={key('ca.crt')}", f"--cluster-signing-key-file={key('ca.key')}"),
        program="kube-controller-manager",
    )
    cluster.launch("scheduler", *_as_user(cluster, "scheduler"), program="kube-scheduler")


def _as_user(cluster, name):
    file = cluster.kubeconfig_for(name)
    return [f"--kubeconfig={file}", f"--authentication-kubeconfig={file}", f"--authorization-kubeconfig={file}", "--leader-elect=false"]
