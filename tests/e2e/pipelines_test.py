# SPDX-License-Identifier: Apache-2.0
"""The pipelines of pipelines/, run as the backends of both SDKs do (tests/kfp): each trains on one and on two workers, evaluates the model, converts it to
ONNX, and shows what would be deployed.

Their steps run with the PyTorch sample's packages, so pip finds nothing to install.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import yaml
from conftest import ROOT
from surroundings import clean_environment

sys.path[:0] = [str(ROOT / "tests/kfp"), str(ROOT / "tests/s3")]

import server  # noqa: E402
import v1  # noqa: E402
import v2  # noqa: E402

PIPELINES = ROOT / "pipelines"
WORKFLOW = yaml.safe_load((PIPELINES / "kfp1/digits.yaml").read_text(encoding="utf-8"))
IR = v2.load(PIPELINES / "kfp2/digits.yaml")


@pytest.fixture(scope="module")
def images(program, python_of):
    """The step trains with processes of this machine, which it would never do in a pipeline by itself."""
    local = f'shift; exec "$0" run --cluster local --python {python_of("pytorch")} --run-dir run "$@"'
    return {"/usr/local/bin/trainstep": ["sh", "-c", local, str(program)]}


@pytest.fixture(scope="module")
def environment(python_of, tmp_path_factory):
    (pip,) = pathlib.Path(python_of("uv")).parents[1].glob("lib/python3*/site-packages")
    kept = clean_environment()
    path = f"{pathlib.Path(python_of('pytorch')).parent}:{os.environ['PATH']}"
    own = {"PATH": path, "PYTHONPATH": f"{ROOT}/tests/kfp/executor:{pip}", "HOME": str(tmp_path_factory.mktemp("home"))}
    return {**kept, **own, "PIP_NO_INDEX": "1", "NO_COLOR": "1"}


@pytest.fixture(scope="module")
def backend(images, environment, tmp_path_factory):
    folder = tmp_path_factory.mktemp("v2")
    return v2.Backend(folder, "2.17.1", images, {**environment, "KFP_MINIO": str(folder / "minio")})


@pytest.fixture(scope="module")
def run(backend):
    """The pipeline of the SDK 2, run once."""
    return backend.run(IR, {"epochs": 6})


# The share of the images that a converted model reads, without any of the pipeline's functions.
READING = """
import glob, sys
import numpy
import onnxruntime
(data,) = glob.glob(f"{sys.argv[1]}/**/digits.npz", recursive=True)
digits = numpy.load(data)
session = onnxruntime.InferenceSession(f"{sys.argv[2]}/digits/1/model.onnx", providers=["CPUExecutionProvider"])
(scores,) = session.run(None, {"images": (digits["images"] / 16).astype("float32")})
print((scores.argmax(1) == digits["labels"]).mean())
"""


@pytest.fixture(scope="module")
def share_read(python_of):
    def read(data, model):
        return float(subprocess.run([python_of("pytorch"), "-c", READING, data, model], check=True, capture_output=True, text=True).stdout)

    return read


def service(address):
    predictor = {"model": {"modelFormat": {"name": "onnx"}, "storageUri": address}}
    return {
        "apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": "digits"}, "spec": {"predictor": predictor}
    }  # fmt: skip


def test_pipeline_of_the_sdk_2_evaluates_the_model_that_two_workers_trained(run):
    assert "rank 1 of 2 trains on 568 images" in run.tasks["train"].log and "epoch=6/6" in run.tasks["train"].log
    assert run.tasks["train"].artifacts["model_dir"]["metadata"]["distribution_type"] == "PyTorch"
    accuracy = run.tasks["evaluate"].parameters["Output"]
    assert 0.9 <= accuracy <= 1
    matrix = run.tasks["evaluate"].artifacts["confusion"]["metadata"]["confusionMatrix"]
    rows = [row["row"] for row in matrix["rows"]]
    assert sum(map(sum, rows)) == 300 and sum(rows[i][i] for i in range(10)) == pytest.approx(300 * accuracy)
    evaluated = run.tasks["evaluate"].executor_input["inputs"]["artifacts"]["model"]["artifacts"][0]
    assert evaluated["uri"] == run.tasks["train"].artifacts["model_dir"]["uri"]


def test_model_in_onnx_of_the_sdk_2_reads_as_many_images_as_the_evaluation_found(run, share_read):
    converted = run.tasks["convert"]
    place = {name: entry["artifacts"][0]["customPath"] for name, entry in converted.executor_input["inputs"]["artifacts"].items()}
    onnx = converted.artifacts["onnx"]
    assert onnx["metadata"]["format"] == "ONNX" and "differ by" in converted.log
    assert share_read(place["test_data"], onnx["customPath"]) == pytest.approx(run.tasks["evaluate"].parameters["Output"])


def test_pipeline_of_the_sdk_2_prints_what_it_would_deploy_without_a_cluster(run):
    deployed = run.tasks["deploy"]
    assert deployed.parameters["Output"] == "not deployed: there is no cluster here"
    address = run.tasks["convert"].artifacts["onnx"]["uri"]
    assert address.startswith("minio://")
    manifest = pathlib.Path(deployed.artifacts["manifest"]["customPath"])
    assert json.loads(manifest.read_text()) == service(address.replace("minio://", "s3://"))


def test_pipeline_of_the_sdk_2_trains_on_one_worker_as_a_job(images, environment, tmp_path):
    backend = v2.Backend(tmp_path, "2.17.1", images, {**environment, "KFP_MINIO": str(tmp_path / "minio")})
    run = backend.run(IR, {"epochs": 6, "distribution_type": "Job", "number_of_workers": 1})
    assert "rank 0 of 1 trains on 1137 images" in run.tasks["train"].log
    assert run.tasks["train"].artifacts["model_dir"]["metadata"]["distribution_type"] == "Job"
    assert 0.9 <= run.tasks["evaluate"].parameters["Output"] <= 1 and "deploy" in run.tasks


def test_model_that_answers_otherwise_once_converted_fails_the_step(run, environment, python_of, tmp_path):
    """A converter that spoils the weights."""
    inputs = {name: entry["artifacts"][0]["customPath"] for name, entry in run.tasks["convert"].executor_input["inputs"]["artifacts"].items()}
    spoiling = """
import sys, torch, steps
export = torch.onnx.export
def spoiled(model, *arguments, **options):
    with torch.no_grad():
        model[2].bias[3] += 0.01
    export(model, *arguments, **options)
    with torch.no_grad():
        model[2].bias[3] -= 0.01
torch.onnx.export = spoiled
steps.convert_model(*sys.argv[1:])
"""
    words = [python_of("pytorch"), "-B", "-c", spoiling, inputs["test_data"], inputs["model"], tmp_path / "onnx"]
    done = subprocess.run(words, env={**environment, "PYTHONPATH": PIPELINES}, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "the converted model answers otherwise than the model" in done.stderr, done.stdout + done.stderr


def test_model_below_the_minimum_fails_the_pipeline(run, backend):
    evaluate = IR["root"]["dag"]["tasks"]["evaluate"]
    with pytest.raises(v2.StepFailed) as failed:
        backend.run_task(IR, "evaluate", evaluate, {"minimum_accuracy": 1.5}, run)
    assert "less than the 150.0% that it must" in failed.value.log


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with server.S3Server(tmp_path_factory.mktemp("s3")) as started:
        started.make_bucket("mlpipeline")
        yield started


SEVERAL = {"distribution_type": "PyTorch", "number_of_workers": "2"}  # a workflow's parameters are texts
ONE = {"distribution_type": "Job", "number_of_workers": "1"}


@pytest.mark.parametrize("spread, seen", [(SEVERAL, "rank 1 of 2 trains on 568 images"), (ONE, "rank 0 of 1 trains on 1137 images")], ids=["two", "one"])
def test_pipeline_of_the_sdk_1_8_trains_evaluates_converts_uploads_and_prints_what_it_would_deploy(
    images, environment, store, share_read, tmp_path, spread, seen
):
    keys = {"AWS_ACCESS_KEY_ID": store.root.access_key, "AWS_SECRET_ACCESS_KEY": store.root.secret_key}
    arguments = {"epochs": "6", **spread, "models": "s3://mlpipeline/some/models", "s3_endpoint": store.url}
    tasks = v1.Argo(tmp_path, images, {**environment, **keys}).run(WORKFLOW, arguments)
    assert seen in tasks["train"].log and "epoch=6/6" in tasks["train"].log
    (evaluated,) = (tmp_path / "evaluate/inputs").glob("model/data/model.pt")
    assert evaluated.read_bytes() == (tasks["train"].artifacts["train-model_dir"] / "model.pt").read_bytes()
    found = tasks["evaluate"].artifacts
    accuracy = float(found["evaluate-Output"].read_text())
    assert 0.9 <= accuracy <= 1
    shown = json.loads(found["mlpipeline-ui-metadata"].read_text())["outputs"]
    (matrix,) = shown
    counts = [int(line.split(",")[2]) for line in matrix["source"].splitlines()]
    assert matrix["type"] == "confusion_matrix" and len(counts) == 100 and sum(counts) == 300

    onnx = tasks["convert"].artifacts["convert-onnx"]
    assert share_read(tmp_path / "evaluate/inputs", onnx) == pytest.approx(accuracy)
    address = f"s3://mlpipeline/some/models/{tasks['train'].parameters['train-job_name']}"
    uploaded = store.file("mlpipeline", address.removeprefix("s3://mlpipeline/"))
    assert (uploaded / "digits/1/model.onnx").read_bytes() == (onnx / "digits/1/model.onnx").read_bytes()
    assert json.loads(tasks["deploy"].artifacts["deploy-manifest"].read_text()) == service(address)
    assert "not deployed: there is no cluster here" in tasks["deploy"].log


def test_step_of_the_sdk_1_8_gets_its_pod_and_node_from_the_downward_api():
    (train,) = [template for template in WORKFLOW["spec"]["templates"] if template["name"] == "train"]
    told = {variable["name"]: variable["valueFrom"]["fieldRef"]["fieldPath"] for variable in train["container"]["env"]}
    assert told == {"POD_NAME": "metadata.name", "WORKFLOW_NODE_ID": "metadata.annotations['workflows.argoproj.io/node-id']"}


def test_upload_of_the_sdk_1_8_has_the_keys_of_kubeflows_store():
    (upload,) = [template for template in WORKFLOW["spec"]["templates"] if template["name"] == "upload"]
    keys = {variable["name"]: variable["valueFrom"]["secretKeyRef"] for variable in upload["container"]["env"]}
    secret = "mlpipeline-minio-artifact"
    assert keys == {"AWS_ACCESS_KEY_ID": {"name": secret, "key": "accesskey"}, "AWS_SECRET_ACCESS_KEY": {"name": secret, "key": "secretkey"}}


def test_nothing_is_deployed_before_its_evaluation_has_succeeded():
    assert "evaluate" in IR["root"]["dag"]["tasks"]["deploy"]["dependentTasks"]
    (dag,) = [template["dag"]["tasks"] for template in WORKFLOW["spec"]["templates"] if "dag" in template]
    needs = {task["name"]: task.get("dependencies", []) for task in dag}
    assert "evaluate" in needs["upload"] and "upload" in needs["deploy"]
    for file in "digits.yaml", "digits-cluster.yaml":
        spec = yaml.safe_load((PIPELINES / "argo" / file).read_text(encoding="utf-8"))["spec"]
        depends = {task["name"]: task.get("depends") for task in spec["templates"][0]["dag"]["tasks"]}
        assert depends["deploy"] == "convert && evaluate"


def test_training_and_deployment_are_what_the_cache_may_not_skip():
    cached = {name: task["cachingOptions"].get("enableCache", False) for name, task in IR["root"]["dag"]["tasks"].items()}
    assert cached == {"load": True, "preprocess": True, "train": False, "evaluate": True, "convert": True, "deploy": False}
    staleness = {
        template["name"]: template["metadata"].get("annotations", {}).get("pipelines.kubeflow.org/max_cache_staleness")
        for template in WORKFLOW["spec"]["templates"]
        if "container" in template
    }
    always = {"train", "deploy"}
    assert staleness == {name: "P0D" if name in always else None for name in ("load", "preprocess", "train", "evaluate", "convert", "upload", "deploy")}


@pytest.mark.parametrize("file, cluster_scope", [("digits.yaml", None), ("digits-cluster.yaml", True)])
def test_argo_workflow_gives_the_template_what_it_has(file, cluster_scope):
    """That they run, tests/e2e/cluster_argo_test.py shows."""
    spec = yaml.safe_load((PIPELINES / "argo" / file).read_text(encoding="utf-8"))["spec"]
    (train,) = [task for task in spec["templates"][0]["dag"]["tasks"] if "templateRef" in task]
    assert train["templateRef"].get("clusterScope") == cluster_scope
    holder = "cluster-workflow-template.yaml" if cluster_scope else "workflow-template.yaml"
    template = yaml.safe_load((ROOT / "component/argo" / holder).read_text(encoding="utf-8"))
    assert train["templateRef"]["name"] == template["metadata"]["name"]
    (called,) = [t for t in template["spec"]["templates"] if t["name"] == train["templateRef"]["template"]]
    assert {p["name"] for p in train["arguments"]["parameters"]} <= {p["name"] for p in called["inputs"]["parameters"]}
    given = {p["name"]: p["value"] for p in train["arguments"]["parameters"]}
    assert given["train_specification"] == (ROOT / "samples/pytorch/train_specification.v1.yaml").read_text(encoding="utf-8")
    for name in "train_parameters", "distribution_specification":
        json.loads(re.sub(r"\{\{.*?\}\}", "3", given[name]))


GUIDE = (ROOT / "docs/pipelines.md").read_text(encoding="utf-8")
COMPILING = re.findall(r"^python (\S+)/digits\.py (\S+)$", GUIDE, re.MULTILINE)


def test_both_pipelines_are_compiled_in_the_guide():
    assert [folder for folder, _ in COMPILING] == ["pipelines/kfp2", "pipelines/kfp1"]


@pytest.mark.parametrize("folder, file", COMPILING)
def test_command_of_the_guide_compiles_the_pipeline(folder, file, python_of, tmp_path):
    venv = pathlib.Path(folder).name
    subprocess.run([python_of(venv), "-B", "-W", "ignore", ROOT / folder / "digits.py", file], cwd=tmp_path, check=True, capture_output=True)
    kept = next(yaml.safe_load_all((ROOT / folder / "digits.yaml").read_text(encoding="utf-8")))
    made = next(yaml.safe_load_all((tmp_path / file).read_text(encoding="utf-8")))
    made.get("metadata", {}).get("annotations", {}).pop("pipelines.kubeflow.org/pipeline_compilation_time", None)
    assert made == kept


# The client as the SDK has it, without a server: a call that the SDK does not know fails.
CLIENT = """
import sys, unittest.mock, kfp
kfp.Client = unittest.mock.create_autospec(kfp.Client)
exec(sys.argv[1])
(call,) = client.create_run_from_pipeline_package.call_args_list
open(call.args[0]).close()
print(*call.kwargs["arguments"])
"""


PARAMETERS = {
    "kfp1": {parameter["name"] for parameter in WORKFLOW["spec"]["arguments"]["parameters"]},
    "kfp2": set(IR["root"]["inputDefinitions"]["parameters"]),
}


@pytest.mark.parametrize("sdk", PARAMETERS)
def test_call_of_the_guide_is_one_of_each_sdk_and_names_parameters_of_the_pipeline(sdk, python_of):
    (script,) = re.findall(r"^```python\n# SDK 1\.8 and 2\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
    script = script.replace("pipelines/kfp2/", f"pipelines/{sdk}/")
    done = subprocess.run([python_of(sdk), "-B", "-W", "ignore", "-c", CLIENT, script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() and set(done.stdout.split()) <= PARAMETERS[sdk]
