# SPDX-License-Identifier: Apache-2.0
"""The machine itself as the one node of a test cluster: containerd, kubelet, kube-proxy, CoreDNS, with all they mount and all their networks inside the
cluster's own world. Of the machine outside they use only cgroups, in a group of their own.
"""
import json
import os
import pathlib
import subprocess

from control_plane import NODE_ADDRESS, POD_NETWORK
from sandbox import HERE, ClusterError

NODE = "real"
SERVER = "kubelet"  # that makes nodes ready
SOCKET = "/run/containerd/containerd.sock"
BRIDGE = "pods0"
NET = NODE_ADDRESS.rpartition(".")[0]


def certify(authority):
    authority.client("node", f"system:node:{NODE}", "system:nodes")
    authority.client("proxy", "system:kube-proxy")


def connect(cluster):
    """The pods' bridge, which carries the API server's address, and containerd with the images; needs no API server yet."""
    images = _built_images()
    # Nothing of this is seen outside, and what mounts there are inside go to those who share them.
    for path in ("/run", "/var/log", "/var/lib/cni", f"{cluster.folder}/containerd", f"{cluster.folder}/kubelet"):
        cluster.sandbox.mount_memory(path)
    cluster.sandbox.run("mount", "--make-rshared", "/")
    # A kubelet sets these, which are the whole machine's: it shall set copies.
    for name in ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"):
        copy = cluster.folder / "sys" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(pathlib.Path("/proc/sys", name).read_text())
        cluster.sandbox.run("mount", "--bind", str(copy), f"/proc/sys/{name}")
    for command in (
        f"ip link add {BRIDGE} type bridge",
        f"ip address add {NODE_ADDRESS}/24 dev {BRIDGE}",
        f"ip link set {BRIDGE} up",
        "sysctl -qw net.ipv4.ip_forward=1",
    ):
        cluster.sandbox.run(*command.split())
    _write(cluster, "cni/pods.conflist", json.dumps(_cni(cluster)))
    _write(cluster, "containerd.toml", _containerd(cluster))
    cluster.launch("containerd", "--config", f"{cluster.folder}/containerd.toml", program="/usr/bin/containerd")
    cluster.wait_for("containerd", 30, lambda: _is_ready(cluster))
    for name in ("trainstep-tests-pause", "trainstep-tests", *(["trainstep-tests-kubectl"] if cluster.options["mpi"] == "v1" else [])):
        import_image(cluster, images / f"{name}.tar")


def _is_ready(cluster):
    cluster.sandbox.run(*CTR, "version")
    return True


CTR = ("ctr", f"--address={SOCKET}", "--namespace=k8s.io")


def import_image(cluster, archive):
    """Makes an image known to the node; pods name it as the archive does."""
    cluster.sandbox.run(*CTR, "images", "import", str(archive))


def start(cluster):
    group = cgroup(cluster.folder)
    for controller in _controllers():
        (controller / group).mkdir(exist_ok=True)
    _write(cluster, "kubelet.json", json.dumps(_kubelet(cluster, group)))
    _write(cluster, "proxy.json", json.dumps(_proxy(cluster)))
    _write(cluster, "Corefile", _corefile(cluster))
    _write(cluster, "resolv.conf", "")
    binding = {
        "metadata": {"name": "tests-proxy"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:node-proxier"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:kube-proxy"}],
    }
    cluster.api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
    cluster.launch(
        "kubelet",
        *(f"--config={cluster.folder}/kubelet.json", f"--kubeconfig={cluster.kubeconfig_for('node')}"),
        *(f"--root-dir={cluster.folder}/kubelet", f"--hostname-override={NODE}", f"--node-ip={NODE_ADDRESS}"),
    )
    cluster.launch("kube-proxy", f"--config={cluster.folder}/proxy.json")
    cluster.launch("coredns", "-conf", f"{cluster.folder}/Corefile")


def cgroup(folder: pathlib.Path) -> str:
    return f"trainstep-{folder.name}"


def remove_cgroups(folder: pathlib.Path):
    """After the last process has ended."""
    for controller in _controllers():
        for path, _, _ in os.walk(controller / cgroup(folder), topdown=False):
            os.rmdir(path)


def _controllers():
    """Where groups lie: in one tree (cgroup v2), or in one for each controller; runc also uses one that has none."""
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


def _containerd(cluster):
    return f"""
version = 2
root = "{cluster.folder}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.aufs"]
[grpc]
  address = "{SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{cluster.PAUSE_IMAGE}"
  stream_server_address = "127.0.0.1"
  # Where CAP_SYS_RESOURCE is missing a score cannot be lowered, and runc would end without saying so.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{cluster.folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"""


def _kubelet(cluster, group):
    key = cluster.authority.path
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": NODE_ADDRESS,
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True}, "x509": {"clientCAFile": key("ca.crt")}},
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": key("server.crt"),
        "tlsPrivateKeyFile": key("server.key"),
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{group}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "clusterDNS": [NODE_ADDRESS],
        "clusterDomain": "cluster.local",
        "resolvConf": f"{cluster.folder}/resolv.conf",
        # Images come from archives and are not to be had again; the disk is the developer's.
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
        "hostnameOverride": NODE,
        "bindAddress": NODE_ADDRESS,
        "clientConnection": {"kubeconfig": str(cluster.kubeconfig_for("proxy"))},
        "conntrack": {"maxPerCore": 0},
        # Answers of a pod to another on the same bridge then come back through here, where their addresses are put right.
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
