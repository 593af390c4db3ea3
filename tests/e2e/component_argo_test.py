# SPDX-License-Identifier: Apache-2.0
"""component/argo: the templates have all inputs and outputs; run as Argo runs them (tests/kfp/v1.py), they train and return their outputs."""
import json
import subprocess
import sys

import pytest
import yaml
from conftest import ROOT, read_json

sys.path.insert(0, str(ROOT / "tests/kfp"))

import given  # noqa: E402
import v1  # noqa: E402

FILES = {"WorkflowTemplate": "workflow-template.yaml", "ClusterWorkflowTemplate": "cluster-workflow-template.yaml"}
INTERFACE = read_json(ROOT / "specs/interface.json")
INPUTS = [field for field in INTERFACE["inputs"] if field.get("component", True)]
SCRIPT = "import os; print('accuracy=0.75'); os.makedirs(MODEL); open(MODEL + '/weights', 'w').write(TEXT)"


def template(kind):
    return yaml.safe_load((ROOT / "component/argo" / FILES[kind]).read_text(encoding="utf-8"))


@pytest.fixture(params=FILES)
def holder(request):
    return template(request.param)


@pytest.fixture
def argo(program, python_of, tmp_path):
    local = f'shift; exec "$0" run --cluster local --python {python_of("job")} --run-dir run "$@"'
    return v1.Argo(tmp_path, {"/usr/local/bin/trainstep": ["sh", "-c", local, str(program)]}, {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})


def test_template_has_every_input_with_its_default(holder):
    (train,) = holder["spec"]["templates"]
    assert [p["name"] for p in holder["spec"]["arguments"]["parameters"]] == [field["name"] for field in INPUTS]
    assert [p["name"] for p in train["inputs"]["parameters"]] == [field["name"] for field in INPUTS]
    for field, argument, parameter in zip(INPUTS, holder["spec"]["arguments"]["parameters"], train["inputs"]["parameters"]):
        wanted = None if field["name"] == "train_specification" else field.get("default", "")
        assert argument.get("value") == parameter.get("default") == wanted
        assert len(argument["description"]) > 10


def test_every_tag_names_an_input_and_every_input_is_used(holder):
    (train,) = holder["spec"]["templates"]
    text = json.dumps(train["container"]) + json.dumps(train["inputs"]["artifacts"])
    assert {name.removeprefix("inputs.parameters.") for name in v1.tags(text)} == {field["name"] for field in INPUTS}
    files = {artifact["path"] for artifact in train["inputs"]["artifacts"]}
    assert {word[1:] for word in train["container"]["args"] if word.startswith("@")} == files
    outputs = [p["valueFrom"]["path"] for p in train["outputs"]["parameters"]] + [a["path"] for a in train["outputs"]["artifacts"]]
    assert {word for word in train["container"]["args"] if word.startswith("/tmp/outputs/")} == set(outputs)


def test_the_step_may_do_little_in_its_pod(holder):
    container = holder["spec"]["templates"][0]["container"]
    context = container["securityContext"]
    assert context["readOnlyRootFilesystem"] and context["runAsNonRoot"] and not context["allowPrivilegeEscalation"]
    assert context["capabilities"] == {"drop": ["ALL"]} and context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/tmp"]


def test_the_step_gets_its_pod_and_node_from_the_downward_api(holder):
    """By its host name it would not know its pod: that ends after 63 characters. The node's id tells it from others that begin alike."""
    env = {variable["name"]: variable["valueFrom"]["fieldRef"]["fieldPath"] for variable in holder["spec"]["templates"][0]["container"]["env"]}
    assert env == {"POD_NAME": "metadata.name", "WORKFLOW_NODE_ID": "metadata.annotations['workflows.argoproj.io/node-id']"}


def test_template_trains_and_gives_its_outputs(holder, argo):
    words = ["python3", "-c", "import sys; MODEL, TEXT = sys.argv[1:]; " + SCRIPT, {"outputPath": "model_dir"}, {"inputValue": "text"}]
    text = "$$ \"quotes\" 'and' \\ {{$}} $(HOME)\nlines é"
    specification = json.dumps({"image": "none", "command": words})
    task = argo.run_template(
        holder, {"train_specification": specification, "train_parameters": json.dumps({"text": text}), "model_name": "digits"}
    )
    assert json.loads(task.parameters["metrics"]) == {"accuracy": 0.75}
    assert list(json.loads(task.parameters["results"])) == ["model_dir"]
    assert task.parameters["job_name"].startswith("digits-")
    assert (task.artifacts["model_dir"] / "weights").read_text(encoding="utf-8") == text
    assert task.artifacts["report"].read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_every_input_given_reaches_the_job(holder, program, tmp_path):
    rendering = {"/usr/local/bin/trainstep": ["sh", "-c", 'shift; exec "$0" render "$@"', str(program)]}
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.EVERYTHING.items()}
    addresses = {"train_dataset_dir": "s3://bucket/train", "validation_dataset_dir": "/claim/validation"}
    task = v1.Argo(tmp_path, rendering).run_template(holder, texts | addresses)
    job = yaml.safe_load(task.log)
    pod = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    assert job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 2
    assert pod["nodeSelector"] == {"disk": "fast", "zone": "b"}
    assert pod["containers"][0]["image"] == "registry.example/other:2"
    assert given.EVERYTHING["train_parameters"]["odd"] in [word.replace("$$", "$") for word in pod["containers"][0]["command"]]


def test_failed_training_keeps_its_exit_code(holder, argo):
    with pytest.raises(v1.StepFailed) as failed:
        argo.run_template(holder, {"train_specification": given.FAIL})
    assert failed.value.code == 1 and "out of luck" in failed.value.log


def test_missing_specification_is_reported(holder, argo):
    with pytest.raises(v1.StepFailed) as failed:
        argo.run_template(holder, {"train_specification": ""})
    assert failed.value.code == 2 and "train_specification: is missing" in failed.value.log


def test_files_for_another_image_name_it_and_differ_in_nothing_else(tmp_path):
    image = "registry.example:5000/ml/trainstep:7"
    subprocess.run([sys.executable, ROOT / "tools/make_component.py", "--image", image, tmp_path], check=True)
    for path in ("component.yaml", *(f"argo/{file}" for file in FILES.values())):
        ours, other = (ROOT / "component" / path).read_text(encoding="utf-8"), (tmp_path / path).read_text(encoding="utf-8")
        changed = [(a, b) for a, b in zip(ours.splitlines(), other.splitlines(), strict=True) if a != b]
        assert len(changed) == 1 and changed[0][1].strip() == f'image: "{image}"'
