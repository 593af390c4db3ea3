# SPDX-License-Identifier: Apache-2.0
"""The template of component/argo and its account, as component/kubernetes/argo installs them on a test cluster; Workflows of it.

    install(cluster, ["training-bucket"])
    flow = argo.submit(NAMESPACE, workflow(cluster, train_specification={…}, train_dataset_dir="minio://…"))
"""
import io
import json
import tarfile

import yaml
from cluster import ROOT
from real_node import import_image

NAMESPACE = "argo"  # of component/kubernetes/argo
TEMPLATE = f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}/workflowtemplates/trainstep"


def install(cluster, secrets):
    """The image that ./dev image builds, the namespace and what belongs there; `secrets`: names of Secrets that the steps may read."""
    import_image(cluster, ROOT / "build/image/trainstep.tar")
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for thing in yaml.safe_load_all(cluster.kubectl("kustomize", str(ROOT / "component/kubernetes/argo"))):
        for rule in thing.get("rules", []):
            if rule["resources"] == ["secrets"]:
                rule["resourceNames"] += secrets
        cluster.kubectl("apply", "--server-side", "-f", "-", input=thing)


def workflow(cluster, change=None, **parameters):
    """The spec of a Workflow of the template, or of a copy of it in which `change` has changed the step."""
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in parameters.items()}
    if change is None:
        return {"workflowTemplateRef": {"name": "trainstep"}, "arguments": {"parameters": [{"name": n, "value": v} for n, v in texts.items()]}}
    spec = cluster.api.get(TEMPLATE)["spec"]
    change(spec["templates"][0])
    spec["arguments"]["parameters"] = [{"name": p["name"], "value": texts.get(p["name"], p.get("value", ""))} for p in spec["arguments"]["parameters"]]
    return spec


def outputs(status, kind="Pod"):
    """Of a Workflow whose only node of this type is the step: the node, parameters, keys of the artifacts."""
    (node,) = [node for node in status["nodes"].values() if node["type"] == kind]
    parameters = {p["name"]: p["value"] for p in node["outputs"]["parameters"]}
    return node, parameters, {a["name"]: a["s3"]["key"] for a in node["outputs"]["artifacts"] if "s3" in a}


def unpacked(store, key, folder):
    """An artifact that is a folder."""
    with tarfile.open(fileobj=io.BytesIO((store.files / key).read_bytes())) as tar:
        tar.extractall(folder)
        return folder / tar.getnames()[0].split("/")[0]


def step_log(flow):
    status = flow.status()
    return json.dumps({**status, "nodes": [node.get("message") for node in status.get("nodes", {}).values()]}) + "\n" + flow.log()
