# SPDX-License-Identifier: Apache-2.0
"""The machine itself as the node of a test cluster: containerd, kubelet, kube-proxy, CoreDNS, with all their mounts and networks inside the cluster's
namespaces. Outside, they use only cgroups, in a separate group. Cluster.start(nodes="two-real") adds a second containerd and kubelet on the same bridge.
"""
import dataclasses
import json
import os
import pathlib
import subprocess

from control_plane import NODE_ADDRESS, POD_NETWORK, SECOND_ADDRESS
from sandbox import HERE, ClusterError

SERVER = "kubelet"  # the server that makes nodes ready
BRIDGE = "pods0"
NET = NODE_ADDRESS.rpartition(".")[0]


@dataclasses.dataclass(frozen=True)
class Node:
    """Its servers' names, files and ports differ by `suffix`, `port` and `address`."""

    name: str
    address: str
    port: int  # of its kubelet
    suffix: str = ""

    @property
    def state(self) -> str:
        return f"/run/containerd{self.suffix}"

    @property
    def socket(self) -> str:
        return f"{self.state}/containerd.sock"

    @property
    def ctr(self) -> tuple:
        return ("ctr", f"--address={self.socket}", "--namespace=k8s.io")

    @property
    def pod_logs(self) -> str:
        """Not shared: a kubelet removes the logs of pods that it does not know."""
        return f"/var/log/pods{self.suffix}"


FIRST = Node("real", NODE_ADDRESS, 10250)
SECOND = Node("second", SECOND_ADDRESS, 11250, "-second")
CTR = FIRST.ctr
# setupKernelTunables() in pkg/kubelet/cm/container_manager_linux.go, Kubernetes 1.36
SYSCTLS = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1_000_000,
    "kernel/keys/root_maxbytes": 25_000_000,
}


def nodes_of(cluster):
    return [FIRST, SECOND] if cluster.options["nodes"] == "two-real" else [FIRST]


def certify(authority):
    for node in (FIRST, SECOND):
        authority.client(f"node{node.suffix}", f"system:node:{node.name}", "system:nodes")
    authority.client("proxy", "system:kube-proxy")


def connect(cluster):
    """The pods' bridge, which carries the API server's address, and containerd with the images; needs no API server yet."""
    images = _built_images()
    # None of these mounts is visible outside; inside, mounts propagate to the namespaces that share them.
    own = [f"{cluster.folder}/{server}{node.suffix}" for node in nodes_of(cluster) for server in ("containerd", "kubelet")]
    for path in ("/run", "/var/log", "/var/lib/cni", *own):
        cluster.sandbox.mount_memory(path)
    cluster.sandbox.run("mount", "--make-rshared", "/")
    # A kubelet sets these sysctls, which apply to the whole machine: give it files that already have its values. It would truncate a file that has
    # another one before it writes, and the second node's kubelet could read it empty.
    for name, value in SYSCTLS.items():
        copy = cluster.folder / "sys" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(f"{value}\n")
        cluster.sandbox.run("mount", "--bind", str(copy), f"/proc/sys/{name}")
    for command in (
        f"ip link add {BRIDGE} type bridge",
        *(f"ip address add {node.address}/24 dev {BRIDGE}" for node in nodes_of(cluster)),
        f"ip link set {BRIDGE} up",
        "sysctl -qw net.ipv4.ip_forward=1",
    ):
        cluster.sandbox.run(*command.split())
    _write(cluster, "cni/pods.conflist", json.dumps(_cni(cluster)))
    for node in nodes_of(cluster):
        name = f"containerd{node.suffix}"
        _write(cluster, f"{name}.toml", _containerd(cluster, node))
        cluster.launch(name, "--config", f"{cluster.folder}/{name}.toml", program="/usr/bin/containerd")
        cluster.wait_for(name, 30, lambda node=node: _is_ready(cluster, node))
    for name in ("trainstep-tests-pause", "trainstep-tests", *(["trainstep-tests-kubectl"] if cluster.options["mpi"] == "v1" else [])):
        import_image(cluster, images / f"{name}.tar")


def _is_ready(cluster, node):
    cluster.sandbox.run(*node.ctr, "version")
    return True


def import_image(cluster, archive):
    """Imports an image on all nodes; pods use its name in the archive."""
    for node in nodes_of(cluster):
        cluster.sandbox.run(*node.ctr, "images", "import", str(archive))


def start(cluster):
    _write(cluster, "proxy.json", json.dumps(_proxy(cluster)))
    _write(cluster, "Corefile", _corefile(cluster))
    _write(cluster, "resolv.conf", "")
    binding = {
        "metadata": {"name": "tests-proxy"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:node-proxier"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:kube-proxy"}],
    }
    cluster.api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
    for node in nodes_of(cluster):
        _start_kubelet(cluster, node)
    cluster.launch("kube-proxy", f"--config={cluster.folder}/proxy.json")
    cluster.launch("coredns", "-conf", f"{cluster.folder}/Corefile")


def _start_kubelet(cluster, node):
    group = f"{cgroup(cluster.folder)}{node.suffix and '/' + node.name}"
    for controller in _controllers():
        (controller / group).mkdir(exist_ok=True)
    name = f"kubelet{node.suffix}"
    _write(cluster, f"{name}.json", json.dumps(_kubelet(cluster, group, node)))
    cluster.launch(
        name,
        *(f"--config={cluster.folder}/{name}.json", f"--kubeconfig={cluster.kubeconfig_for(f'node{node.suffix}')}"),
        *(f"--root-dir={cluster.folder}/{name}", f"--hostname-override={node.name}", f"--node-ip={node.address}"),
        program="kubelet",
    )


def cgroup(folder: pathlib.Path) -> str:
    return f"trainstep-{folder.name}"


def remove_cgroups(folder: pathlib.Path):
    """Call it after the last process has exited."""
    for controller in _controllers():
        for path, _, _ in os.walk(controller / cgroup(folder), topdown=False):
            os.rmdir(path)


def _controllers():
    """The roots of the cgroup hierarchies: one (cgroup v2), or one for each controller; runc also uses one without a controller."""
    root = pathlib.Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        return [root]
    return [path for path in root.iterdir() if path.is_dir() and not path.is_symlink()]


def _built_images() -> pathlib.Path:
    done = subprocess.run([HERE / "images"], stdout=subprocess.PIPE, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise ClusterError("tests/cluster/images failed")
    return pathlib.Path(done.stdout.strip())


def _write(cluster, name, text):
    path = cluster.folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def _cni(cluster):
    addresses = {"subnet": POD_NETWORK, "rangeStart": f"{NET}.10", "gateway": NODE_ADDRESS}
    ipam = {"type": "host-local", "dataDir": f"{cluster.folder}/addresses", "ranges": [[addresses]], "routes": [{"dst": "0.0.0.0/0"}]}
    bridge = {"type": "bridge", "bridge": BRIDGE, "isGateway": True, "hairpinMode": True, "ipMasq": False, "ipam": ipam}
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge]}


def _containerd(cluster, node):
    return f"""
version = 2
root = "{cluster.folder}/containerd{node.suffix}"
state = "{node.state}"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.aufs"]
[grpc]
  address = "{node.socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{cluster.PAUSE_IMAGE}"
  stream_server_address = "127.0.0.1"
  # Without CAP_SYS_RESOURCE an oom_score_adj cannot be lowered, and runc would exit without an error message.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{cluster.folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"""


def _kubelet(cluster, group, node):
    key = cluster.authority.path
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": node.address,
        "port": node.port,
        "healthzPort": 0,
        "podLogsDir": node.pod_logs,
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True}, "x509": {"clientCAFile": key("ca.crt")}},
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": key("server.crt"),
        "tlsPrivateKeyFile": key("server.key"),
        "containerRuntimeEndpoint": f"unix://{node.socket}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{group}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "clusterDNS": [NODE_ADDRESS],
        "clusterDomain": "cluster.local",
        "resolvConf": f"{cluster.folder}/resolv.conf",
        # Images are imported from archives and could not be pulled again; the disk is the developer's.
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "maxPods": 200,
    }


def _proxy(cluster):
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clusterCIDR": POD_NETWORK,
        "hostnameOverride": FIRST.name,
        "bindAddress": NODE_ADDRESS,
        "clientConnection": {"kubeconfig": str(cluster.kubeconfig_for("proxy"))},
        "conntrack": {"maxPerCore": 0},
        # Replies between pods on the same bridge then pass through the host, which translates their addresses back.
        "nftables": {"masqueradeAll": True, "minSyncPeriod": "0s"},
    }


def _corefile(cluster):
    return f"""
.:53 {{
  bind {NODE_ADDRESS}
  errors
  kubernetes cluster.local in-addr.arpa {{
    kubeconfig {cluster.kubeconfig_for("operators")}
    pods insecure
    ttl 1
  }}
}}
"""
