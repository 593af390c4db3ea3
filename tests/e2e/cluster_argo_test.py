# SPDX-License-Identifier: Apache-2.0
"""component/argo, pipelines/argo, and what the SDK 1.8 compiles from the component, under the real Argo Workflows: real pods, the image that ./dev image
builds.
"""
import io
import json
import re
import subprocess
import sys
import tarfile

import pytest
import samples
import yaml
from conftest import ROOT
from data_steps import DISTRIBUTIONS, MACHINE, PROGRAM, TOGETHER, Store, contents, delivered, tree

sys.path.insert(0, str(ROOT / "tests/argo"))
import argo as argo_workflows  # noqa: E402
import template  # noqa: E402
from template import NAMESPACE, outputs, step_log  # noqa: E402

CLUSTER = {"nodes": "real", "mpi": "v2beta1"}
BUCKET_SECRET = "training-bucket"
SHORT_GRACE = {"run_policy": {"stop_grace": "1s"}}
RESOURCES = {"Job": "jobs.batch", "PyTorch": "pytorchjobs.kubeflow.org", "MPI": "mpijobs.kubeflow.org"}


@pytest.fixture(scope="module")
def store(cluster):
    started = Store(cluster)
    # Pipelines share the folder of their jobs. This server removes it with the last object, and answers 409 to one that arrives at that moment.
    folder = started.files / "private-artifacts/PROFILE/jobs"
    folder.mkdir(parents=True)
    (folder / "kept").touch()
    return started


@pytest.fixture(scope="module")
def argo(cluster, store):
    """The controller, and in its namespace what component/kubernetes/argo says, with the name of this namespace's Secret in the Role."""
    started = argo_workflows.Argo(cluster, store)
    template.install(cluster, [BUCKET_SECRET])
    started.prepare(NAMESPACE)
    example = yaml.safe_load((ROOT / "component/kubernetes/secrets/bucket.yaml").read_text(encoding="utf-8"))
    assert example["metadata"]["name"] == BUCKET_SECRET
    values = {"minio-url": store.url, "minio-bucket": "pipelines", "minio-accesskey": store.access_key, "minio-secretkey": store.secret_key}
    cluster.kubectl("create", "-n", NAMESPACE, "-f", "-", input={**example, "stringData": {**example["stringData"], **values}})
    for thing in yaml.safe_load_all((ROOT / "pipelines/argo/store.yaml").read_text(encoding="utf-8")):
        text = json.dumps(thing).replace("http://minio.argo:9000", store.url)
        text = text.replace("ACCESS-KEY", store.access_key).replace("SECRET-KEY", store.secret_key)
        cluster.kubectl("create", "-n", NAMESPACE, "-f", "-", input=text)
    return started


@pytest.fixture
def submit(argo, cluster):
    """submit(train_specification=…): a Workflow from the template; nothing of it is left at the end."""
    flows = []

    def call(change=None, **parameters):
        flows.append(argo.submit(NAMESPACE, template.workflow(cluster, change, **parameters)))
        return flows[-1]

    yield call
    for flow in flows:
        flow.delete()
    cluster.wait_for("controller-manager", 60, lambda: jobs(cluster) == [])


def jobs(cluster):
    return [job for resource in RESOURCES.values() for job in cluster.kubectl("get", resource, "-n", NAMESPACE)["items"]]


@pytest.mark.parametrize("kind", RESOURCES)
def test_template_trains_and_its_outputs_are_argos(cluster, store, submit, kind):
    files = tree(store, f"sets/argo-{kind}")
    command = ["python3", "-c", PROGRAM.replace("TOGETHER", TOGETHER[kind]), {"inputPath": "data"}, {"outputPath": "model"}, {"outputPath": "digest"}]
    specification = {
        "name": "train",
        "inputs": [{"name": "data", "type": "Dataset"}],
        "outputs": [{"name": "model", "type": "Model"}, {"name": "digest", "type": "JsonObject"}],
        "implementation": {"container": {"image": cluster.IMAGE, "command": command}},
    }
    options = {**SHORT_GRACE, **({"volumes": MACHINE} if kind == "PyTorch" else {})}
    flow = submit(
        train_specification=specification, train_dataset_dir=f"minio://pipelines/sets/argo-{kind}", model_name="digits", job_options=options,
        train_parameters={"data": "train_dataset_dir", "model": "model_dir"}, cluster_configuration_secret=BUCKET_SECRET,
        distribution_specification={"distribution_type": kind, **DISTRIBUTIONS[kind]},
    )
    status = flow.until_over()
    assert status["phase"] == "Succeeded", step_log(flow)
    _, parameters, artifacts = outputs(status)
    assert json.loads(parameters["metrics"]) == {"accuracy": 0.97}
    assert parameters["job_name"].startswith("digits-")
    assert json.loads(parameters["results"])["digest"]["agreed"] is True
    report = (store.files / artifacts["report"]).read_text(encoding="utf-8")
    assert report.startswith("<!DOCTYPE html>") and parameters["job_name"] in report
    model = template.unpacked(store, artifacts["model_dir"], cluster.folder / f"model-{kind}")
    assert delivered(model, files), contents(model).keys()
    (job,) = cluster.kubectl("get", RESOURCES[kind], "-n", NAMESPACE, "-l", "app.kubernetes.io/managed-by=trainstep")["items"]
    assert [(owner["kind"], owner["name"]) for owner in job["metadata"]["ownerReferences"]] == [("Workflow", flow.name)]


def test_template_trains_the_mpi_sample(cluster, store, submit, python_of):
    samples.make_digits(python_of, store.files / "sets/argo-digits")
    flow = submit(
        train_specification=samples.specification("mpi", cluster.IMAGE), train_dataset_dir="minio://pipelines/sets/argo-digits", model_name="digits",
        train_parameters={"epochs": 4}, job_options=samples.options(python_of, "job", []), cluster_configuration_secret=BUCKET_SECRET,
        distribution_specification={"distribution_type": "MPI", "number_of_workers": 2},
    )
    status = flow.until_over()
    assert status["phase"] == "Succeeded", step_log(flow)
    _, parameters, artifacts = outputs(status)
    assert 0.85 <= json.loads(parameters["metrics"])["accuracy"] <= 1
    with tarfile.open(fileobj=io.BytesIO((store.files / artifacts["model_dir"]).read_bytes())) as tar:
        assert "model_dir/model.npz" in tar.getnames()


def small(cluster, script):
    return {"image": cluster.IMAGE, "command": ["python3", "-c", script]}


WAITS = "import time\nfor i in range(1, 11): print(f'epoch={i}/10 loss={1 / i}', flush=True); time.sleep(0.05)\ntime.sleep(1000)"


def test_progress_is_the_nodes(cluster, submit):
    flow = submit(train_specification=small(cluster, WAITS.replace("range(1, 11)", "range(1, 4)")), job_options=SHORT_GRACE)
    flow.until(lambda status: any(node.get("progress") == "3/10" for node in status.get("nodes", {}).values()))


def test_program_that_fails_fails_the_node_with_its_exit_code(cluster, submit):
    flow = submit(train_specification=small(cluster, "raise SystemExit('out of luck')"))
    status = flow.until_over()
    node, _, artifacts = outputs(status)
    assert status["phase"] == "Failed" and node["outputs"]["exitCode"] == "1", step_log(flow)
    assert "report" in artifacts and "out of luck" in flow.log()


@pytest.mark.parametrize("how", ["Stop", "Terminate"])
def test_cancelled_workflow_leaves_no_job(cluster, submit, how):
    flow = submit(train_specification=small(cluster, WAITS), job_options=SHORT_GRACE)
    cluster.wait_for("workflow-controller", 90, lambda: jobs(cluster) and jobs(cluster)[0]["status"].get("ready"))
    flow.patch({"spec": {"shutdown": how}})
    assert flow.until_over()["phase"] == "Failed", step_log(flow)
    cluster.wait_for("controller-manager", 60, lambda: jobs(cluster) == [])


def test_step_whose_pod_was_deleted_adopts_the_running_job(cluster, submit):
    script = "import os, time\nfor _ in range(600):\n    if os.path.exists('/shared/end'): break\n    time.sleep(0.1)\nprint('accuracy=0.5')"
    shared = cluster.folder / "shared"
    shared.mkdir()
    flow = submit(
        change=lambda step: step.update(retryStrategy={"limit": "2", "retryPolicy": "Always"}), train_specification=small(cluster, script),
        job_options={"volumes": [{"mount_path": "/shared", "host_path": str(shared)}]},
    )
    cluster.wait_for("workflow-controller", 90, lambda: jobs(cluster) and jobs(cluster)[0]["status"].get("ready"))
    (before,) = jobs(cluster)
    # Argo makes a pod anew under its own name that is gone within ten seconds of its start.
    (first,) = flow.pods()
    cluster.kubectl("delete", "pod", first["metadata"]["name"], "-n", NAMESPACE)
    cluster.wait_for("workflow-controller", 90, lambda: any(p["metadata"]["uid"] != first["metadata"]["uid"] and running(p) for p in flow.pods()))
    (shared / "end").touch()
    assert flow.until_over()["phase"] == "Succeeded", step_log(flow)
    (after,) = jobs(cluster)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


def running(pod):
    return pod["status"].get("phase") == "Running"


def on_this_cluster(value, image):
    """The tests' pipelines name no image, and no Secret."""
    if isinstance(value, dict):
        return {key: image if (key, item) == ("image", "none") else on_this_cluster(item, image) for key, item in value.items()}
    if isinstance(value, list):
        words = [on_this_cluster(item, image) for item in value]
        at = words.index("--cluster-configuration-secret") if "--cluster-configuration-secret" in words else None
        return words if at is None else [*words[: at + 1], BUCKET_SECRET, *words[at + 2 :]]
    return value.replace('"image": "none"', f'"image": "{image}"') if isinstance(value, str) else value


def test_workflow_that_the_sdk_1_8_compiles_trains_and_hands_on_its_model(cluster, argo, store, python_of, tmp_path):
    """The published call, of tests/kfp/pipelines_v1.py."""
    words = [python_of("kfp1"), "-B", "-W", "ignore", ROOT / "tests/kfp/pipelines_v1.py", tmp_path]
    subprocess.run(words, check=True, capture_output=True, timeout=120)
    spec = on_this_cluster(yaml.safe_load((tmp_path / "published.yaml").read_text(encoding="utf-8"))["spec"], cluster.IMAGE)
    flow = argo.submit(NAMESPACE, {**spec, "serviceAccountName": "trainstep"})
    status = flow.until_over()
    assert status["phase"] == "Succeeded", step_log(flow)
    artifacts = {a["name"]: a["s3"]["key"] for node in status["nodes"].values() for a in node.get("outputs", {}).get("artifacts", []) if "s3" in a}
    assert {"train-model_dir", "train-report", "mlpipeline-metrics", "mlpipeline-ui-metadata"} <= set(artifacts)
    verdict = text_of(store, artifacts["evaluate-verdict"])
    assert verdict.startswith("3 epochs of some words, rank 0 of 2; my; "), verdict
    flow.delete()
    cluster.wait_for("controller-manager", 60, lambda: jobs(cluster) == [])


def test_published_pipeline_runs_with_kubeflows_store_alone_on_one_worker_and_on_several(cluster, argo, store, python_of, tmp_path):
    """Of tests/kfp/train_model_job_v1.py: no Secret, no claim is named; data and model go over the bucket that KFP's configuration leads to."""
    bucket = store.files.parent / "mlpipeline"
    bucket.mkdir()
    for name in ("first", "second"):  # as a StorageClass has them made: each job has a claim of pvc_size, as the component of this name makes one
        volume = {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteMany"], "hostPath": {"path": str(tmp_path / name), "type": "DirectoryOrCreate"}}
        cluster.api.create("/api/v1/persistentvolumes", {"metadata": {"name": name}, "spec": volume})
    words = [python_of("kfp1"), "-B", "-W", "ignore", ROOT / "tests/kfp/train_model_job_v1.py", tmp_path]
    subprocess.run(words, check=True, capture_output=True, timeout=120)
    text = (tmp_path / "music.yaml").read_text(encoding="utf-8")
    for image in ("quay.io/ibm/kubeflow-notebook-image-ppc64le:latest", "python:3.7"):
        text = text.replace(image, cluster.IMAGE)
    spec = {**yaml.safe_load(text)["spec"], "serviceAccountName": "trainstep"}
    flows = {}
    for kind, workers in (("MPI", "2"), ("Job", "1")):
        values = {"distribution_type": kind, "number_of_workers": workers}
        parameters = [{**p, "value": values.get(p["name"], p["value"])} for p in spec["arguments"]["parameters"]]
        flows[workers] = argo.submit(NAMESPACE, {**spec, "arguments": {"parameters": parameters}})
    for workers, flow in flows.items():
        status = flow.until_over(300)
        assert status["phase"] == "Succeeded", step_log(flow)
        said = {p["name"]: p["value"] for node in status["nodes"].values() for p in node.get("outputs", {}).get("parameters", [])}
        artifacts = {a["name"]: a["s3"]["key"] for node in status["nodes"].values() for a in node.get("outputs", {}).get("artifacts", []) if "s3" in a}
        trained = f"{workers} workers, 3 epochs, batches of 16, logs in s3://mlpipeline/tensorboard/music: a piece of, music"
        assert text_of(store, artifacts["evaluate-model-Output"]) == f"{trained}; seen again: music", said
        assert text_of(store, artifacts["upload-model-Output"]) == "music: model.onnx"
        flow.delete()
    cluster.wait_for("controller-manager", 60, lambda: jobs(cluster) == [] and cluster.kubectl("get", "pvc", "-n", NAMESPACE)["items"] == [])
    assert list(bucket.rglob("jobs/*/*")) == []  # a job's part of the folder goes with its step


def text_of(store, key):
    """Of an artifact of one file."""
    with tarfile.open(fileobj=io.BytesIO((store.files / key).read_bytes())) as tar:
        return tar.extractfile(tar.getnames()[0]).read().decode()


# Only KServe's API: nothing is served.
KSERVE = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: inferenceservices.serving.kserve.io}
spec:
  group: serving.kserve.io
  scope: Namespaced
  names: {kind: InferenceService, listKind: InferenceServiceList, plural: inferenceservices, singular: inferenceservice}
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


def allow_deployment(cluster):
    """The rule of docs/pipelines.md for the account of the steps."""
    (rule,) = re.findall(r"^(- apiGroups: \[serving\.kserve\.io\]\n(?:  .*\n)+)", (ROOT / "docs/pipelines.md").read_text(encoding="utf-8"), re.MULTILINE)
    role = cluster.kubectl("get", "role", "trainstep", "-n", NAMESPACE)
    cluster.kubectl("patch", "role", "trainstep", "-n", NAMESPACE, "-p", json.dumps({"rules": role["rules"] + yaml.safe_load(rule)}), "--type=merge")


def pipeline(file, cluster, python_of, **arguments):
    """The spec of a Workflow of pipelines/argo; its images are the test's, and what that lacks comes from this machine: the frameworks are large."""
    spec = yaml.safe_load((ROOT / "pipelines/argo" / file).read_text(encoding="utf-8"))["spec"]
    options = samples.options(python_of, "pytorch")
    volumes, variables = options["volumes"], options["environment"]
    named = {f"machine-{i}": volume for i, volume in enumerate(volumes)}
    for part in spec["templates"]:
        if "container" in part:
            part["volumes"] = [{"name": name, "hostPath": {"path": volume["host_path"]}} for name, volume in named.items()]
            mounts = [{"name": name, "mountPath": volume["mount_path"], "readOnly": True} for name, volume in named.items()]
            part["container"] |= {"image": cluster.IMAGE, "volumeMounts": mounts, "env": [{"name": n, "value": v} for n, v in variables.items()]}
    (train,) = [task for task in spec["templates"][0]["dag"]["tasks"] if task["name"] == "train"]
    train["arguments"]["parameters"] += [{"name": "base_image", "value": cluster.IMAGE}, {"name": "job_options", "value": json.dumps(options)}]
    values = {"epochs": "4", "bucket": "minio://pipelines", "cluster_configuration_secret": BUCKET_SECRET, **arguments}
    spec["arguments"]["parameters"] = [{**p, "value": values.get(p["name"], p["value"])} for p in spec["arguments"]["parameters"]]
    return spec


def test_commands_of_the_guide_make_workflows(cluster, argo):
    commands = re.findall(r"^kubectl (create .*)$", (ROOT / "docs/pipelines.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        *words, file = command.split()
        assert cluster.kubectl(*words, str(ROOT / file), "--dry-run=server")["kind"] == "Workflow"


def of(status, name):
    (node,) = [n for n in status["nodes"].values() if name in (n.get("templateName"), n.get("templateRef", {}).get("template"))]
    return {p["name"]: p["value"] for p in node["outputs"]["parameters"]}


def test_deployment_reports_that_the_cluster_has_no_kserve(cluster, argo, python_of):
    flow = argo.submit(NAMESPACE, {**pipeline("digits.yaml", cluster, python_of), "entrypoint": "deploy"})
    status = flow.until_over()
    assert status["phase"] == "Succeeded", step_log(flow)
    assert of(status, "deploy")["outcome"] == "not deployed: this cluster has no KServe"
    flow.delete()


def test_deployment_that_the_account_may_not_make_fails_the_step(cluster, argo, python_of):
    """The Role lacks the rule."""
    cluster.kubectl("apply", "--server-side", "-f", "-", input=KSERVE)
    flow = argo.submit(NAMESPACE, {**pipeline("digits.yaml", cluster, python_of), "entrypoint": "deploy"})
    assert flow.until_over()["phase"] == "Failed", step_log(flow)
    assert "inferenceservices/digits?fieldManager=digits-pipeline: 403" in flow.log()
    flow.delete()


def test_pipelines_train_on_two_workers_and_on_one_and_deploy_with_the_template_of_the_namespace_and_of_the_cluster(cluster, argo, store, python_of):
    cluster.kubectl("apply", "--server-side", "-f", "-", input=KSERVE)
    allow_deployment(cluster)
    shared = yaml.safe_load((ROOT / "component/argo/cluster-workflow-template.yaml").read_text(encoding="utf-8"))
    cluster.kubectl("apply", "--server-side", "-f", "-", input=shared)
    one = {"distribution_type": "Job", "number_of_workers": "1"}
    flows = [
        argo.submit(NAMESPACE, pipeline(file, cluster, python_of, **spread)) for file, spread in (("digits.yaml", {}), ("digits-cluster.yaml", one))
    ]
    kinds = []
    for flow in flows:
        status = flow.until_over(300)
        assert status["phase"] == "Succeeded", step_log(flow)
        assert 0.9 <= float(of(status, "evaluate")["accuracy"]) <= 1
        trained = of(status, "train")
        kinds += [job["kind"] for job in jobs(cluster) if job["metadata"]["name"] == trained["job_name"]]
        assert of(status, "deploy")["outcome"].startswith("applied: ")
        assert "accuracy" in json.loads(trained["metrics"]) and trained["job_name"].startswith("digits-")
        flow.delete()
    assert kinds == ["PyTorchJob", "Job"]
    served = cluster.kubectl("get", "inferenceservices.serving.kserve.io", "digits", "-n", NAMESPACE)["spec"]["predictor"]["model"]
    assert served["modelFormat"] == {"name": "onnx"} and served["storageUri"].startswith("s3://pipelines/digits/")
    assert (store.files / served["storageUri"].removeprefix("s3://pipelines/") / "digits/1/model.onnx").stat().st_size > 1000
    cluster.wait_for("controller-manager", 60, lambda: jobs(cluster) == [])
