# SPDX-License-Identifier: Apache-2.0
"""The pipelines of pipelines/, run as the backends of both SDKs do (tests/kfp): each trains on two workers and evaluates the model that they made.

Their steps run with the PyTorch sample's packages, and pip finds nothing to install.
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

sys.path.insert(0, str(ROOT / "tests/kfp"))

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


def test_model_below_the_minimum_fails_the_pipeline(run, backend):
    evaluate = IR["root"]["dag"]["tasks"]["evaluate"]
    with pytest.raises(v2.StepFailed) as failed:
        backend.run_task(IR, "evaluate", evaluate, {"minimum_accuracy": 1.5}, run)
    assert "less than the 150.0% that it must" in failed.value.log


def test_pipeline_of_the_sdk_1_8_evaluates_the_model_that_two_workers_trained(images, environment, tmp_path):
    # A workflow's parameters are texts.
    tasks = v1.Argo(tmp_path, images, environment).run(WORKFLOW, {"epochs": "6", "workers": "2"})
    assert "rank 1 of 2 trains on 568 images" in tasks["train"].log and "epoch=6/6" in tasks["train"].log
    (evaluated,) = (tmp_path / "evaluate/inputs").glob("model/data/model.pt")
    assert evaluated.read_bytes() == (tasks["train"].artifacts["train-model_dir"] / "model.pt").read_bytes()
    found = tasks["evaluate"].artifacts
    assert 0.9 <= float(found["evaluate-Output"].read_text()) <= 1
    shown = json.loads(found["mlpipeline-ui-metadata"].read_text())["outputs"]
    (matrix,) = shown
    counts = [int(line.split(",")[2]) for line in matrix["source"].splitlines()]
    assert matrix["type"] == "confusion_matrix" and len(counts) == 100 and sum(counts) == 300


def test_training_is_the_one_task_that_the_cache_may_not_skip():
    cached = {name: task["cachingOptions"].get("enableCache", False) for name, task in IR["root"]["dag"]["tasks"].items()}
    assert cached == {"load": True, "preprocess": True, "train": False, "evaluate": True}
    staleness = {
        template["name"]: template["metadata"].get("annotations", {}).get("pipelines.kubeflow.org/max_cache_staleness")
        for template in WORKFLOW["spec"]["templates"]
        if "container" in template
    }
    assert staleness == {"load": None, "preprocess": None, "train": "P0D", "evaluate": None}


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
