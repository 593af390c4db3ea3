# SPDX-License-Identifier: Apache-2.0
"""Nodes that exist only in the API: kwok keeps them ready and gives their pods the fates of fates.py."""
import json
import sys

import control_plane
import fates
from sandbox import HERE

SERVER = "kwok"  # that makes nodes ready
LOG_PORT = 10250
CAPACITY = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "1000", "nvidia.com/gpu": "8"}


def certify(authority):
    """Rejects other users."""


def connect(cluster):
    """The address of the API server for pods, on a machine whose only network is lo."""
    cluster.sandbox.run("ip", "address", "add", f"{control_plane.NODE_ADDRESS}/32", "dev", "lo")


def start(cluster):
    stages = fates.stages(control_plane.NODE_ADDRESS, LOG_PORT)
    config = cluster.folder / "kwok.yaml"
    config.write_text("\n---\n".join(json.dumps(stage, indent=1) for stage in stages) + "\n")
    cluster.launch(
        "kwok",
        *(f"--kubeconfig={cluster.kubeconfig_for('operators')}", f"--config={config}", "--manage-all-nodes=true"),
        *("--node-lease-duration-seconds=40", f"--cidr={control_plane.POD_NETWORK}", f"--node-ip={control_plane.NODE_ADDRESS}"),
    )
    cluster.launch(
        "fake-logs",
        *(str(HERE / "fake_logs.py"), control_plane.NODE_ADDRESS, str(LOG_PORT), str(cluster.sandbox.port), str(cluster.authority.folder)),
        program=sys.executable,
    )
    for name in ("fake-0", "fake-1"):
        add(cluster, name)


def add(cluster, name, **capacity):
    """One more node; capacity as in cpu="4"."""
    labels = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": name}
    has = {**CAPACITY, **capacity}
    node = {"metadata": {"name": name, "labels": labels}, "status": {"capacity": has, "allocatable": has}}
    cluster.api.create("/api/v1/nodes", node)
