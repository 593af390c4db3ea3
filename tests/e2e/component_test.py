# SPDX-License-Identifier: Apache-2.0
"""component/component.yaml in both SDKs: loaded, called and compiled by the real SDKs, and the result run as the backends do (tests/kfp)."""
import json
import pathlib
import re
import subprocess
import sys

import jsonschema
import pytest
import yaml
from conftest import ROOT, read_json
from surroundings import clean_environment
from waiting import until

KFP = ROOT / "tests/kfp"
sys.path.insert(0, str(KFP))

import given  # noqa: E402
import v1  # noqa: E402
import v2  # noqa: E402
import v2_words  # noqa: E402
from rendered import rendered  # noqa: E402
from launcher import Launched  # noqa: E402

COMPONENT = yaml.safe_load(given.COMPONENT.read_text(encoding="utf-8"))
INTERFACE = read_json(ROOT / "specs/interface.json")
every_generation = pytest.mark.parametrize("generation", v2.GENERATIONS)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory, python_of):
    """compiled("v1", "published"): what an SDK compiled of a pipeline."""
    folders = {}
    for sdk, venv in (("v1", "kfp1"), ("v2", "kfp2")):
        folders[sdk] = tmp_path_factory.mktemp(sdk)
        words = [python_of(venv), "-B", "-W", "ignore", KFP / f"pipelines_{sdk}.py", folders[sdk]]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def load(sdk, name):
        return v2.load(folders[sdk] / f"{name}.yaml") if sdk == "v2" else yaml.safe_load((folders[sdk] / f"{name}.yaml").read_text(encoding="utf-8"))

    load.folder = folders.get
    return load


@pytest.fixture
def images(program, python_of):
    """What stands for the images' programs here; the step trains with processes of this machine, which it would never do in a pipeline by itself."""
    local = f'shift; exec "$0" run --cluster local --python {python_of("job")} --run-dir run "$@"'
    return {"/usr/local/bin/trainstep": ["sh", "-c", local, str(program)], "python-with-sklearn": [python_of("job")]}


@pytest.fixture
def rendering(program):
    """The step only shows what it would make in a cluster."""
    return {"/usr/local/bin/trainstep": ["sh", "-c", 'shift; exec "$0" render "$@"', str(program)]}


@pytest.fixture
def environment(tmp_path):
    return {**clean_environment(), "HOME": str(tmp_path), "PIP_NO_INDEX": "1", "NO_COLOR": "1"}


@pytest.fixture
def argo(tmp_path, environment):
    return lambda images: v1.Argo(tmp_path / "argo", images, environment)


@pytest.fixture
def backend(tmp_path, environment):
    return lambda generation, images, seed=0: v2.Backend(tmp_path / generation, generation, images, environment, seed)


def shown(failed):
    """The manifest that a rendering step printed: it leaves no outputs, so its step fails."""
    return rendered(failed.value.log)


def test_component_has_the_inputs_and_outputs_of_the_interface():
    assert [port["name"] for port in COMPONENT["inputs"]] == [field["name"] for field in INTERFACE["inputs"] if field.get("component", True)]
    assert [port["name"] for port in COMPONENT["outputs"]] == [field["name"] for field in INTERFACE["outputs"]]
    assert all(len(port["description"]) > 10 for port in COMPONENT["inputs"] + COMPONENT["outputs"])
    types = {port["name"]: port.get("type") for port in COMPONENT["outputs"]}
    assert types == {
        "model_dir": "Model", "metrics": "Metrics", "results": "JsonObject", "report": "HTML", "job_name": "String", "mlpipeline_metrics": None,
        "mlpipeline_ui_metadata": None,
    }


def test_files_for_pipelines_are_ascii():
    """KFP keeps what stands in them in its database, whose character set may have no more."""
    files = [path for folder in ("component", "pipelines") for path in (ROOT / folder).rglob("*.yaml")]
    assert len(files) > 10
    assert [path for path in files if not path.read_bytes().isascii()] == []


def test_every_input_is_in_the_guide_with_its_default():
    guide = (ROOT / "docs/reference.md").read_text(encoding="utf-8").partition("## Outputs")[0]
    for port in COMPONENT["inputs"]:
        (row,) = re.findall(rf"^\| \[?`{port['name']}`(?:\]\(#{port['name']}\))? \| (.*?) \|", guide, re.MULTILINE)
        assert row == (f"`{port['default']}`" if "default" in port else "–")


def test_an_example_of_an_input_is_one(trainstep):
    program = '{"image": "none", "command": ["train", {"inputValue": "epochs"}, {"inputPath": "train_dataset_dir"}, {"outputPath": "model_dir"}]}'
    flags = {"train_specification": program, "train_dataset_dir": "/data", "model_dir": "/model"}
    for field in INTERFACE["inputs"]:
        if "example" in field:
            least = {"train_parameters": {"epochs": 1}} if field["name"] != "train_specification" else {}
            words = {**flags, **least, field["name"]: field["example"]}
            trainstep("render", *(word for name, value in words.items() for word in (f"--{name.replace('_', '-')}", value)), check=0)


def test_the_programs_defaults_are_the_components(trainstep):
    least = ("render", "--run-id", "same", "--train-specification", '{"image": "none", "command": ["train"]}', "--pvc-name", "claim")
    defaults = [word for port in COMPONENT["inputs"] if "default" in port for word in (f"--{port['name'].replace('_', '-')}", port["default"])]
    assert len(defaults) == 12
    assert trainstep(*least, *defaults, check=0).stdout == trainstep(*least, check=0).stdout


def check_everything(job):
    """That each input of given.EVERYTHING reached the manifest."""
    assert job["kind"] == "PyTorchJob" and job["metadata"]["name"].startswith("digits-")
    replicas = job["spec"]["pytorchReplicaSpecs"]
    assert replicas["Worker"]["replicas"] == 2 and job["spec"]["runPolicy"]["activeDeadlineSeconds"] == 90
    pod = replicas["Master"]["template"]["spec"]
    container = pod["containers"][0]
    assert container["image"] == "registry.example/other:2"
    assert pod["nodeSelector"] == {"disk": "fast", "zone": "b"}
    limits = {name: str(amount) for name, amount in container["resources"]["limits"].items()}
    assert limits == {"cpu": "500m", "memory": "2Gi", "nvidia.com/gpu": "2"}
    assert {"name": "MODE", "value": "fast"} in container["env"]
    assert {"name": "TENSORBOARD_S3_ADDRESS", "value": "s3://logs/run"} in container["env"]
    assert any(volume.get("persistentVolumeClaim", {}).get("claimName") == "claim" for volume in pod["volumes"])
    assert any(mount["mountPath"] == "/data" for mount in container["volumeMounts"])
    words = container.get("command", []) + container.get("args", [])
    assert "0.001" in words and "3" in words
    # Kubernetes makes one $ of two in a pod's words.
    assert given.EVERYTHING["train_parameters"]["odd"] in [word.replace("$$", "$") for word in words]
    return job["metadata"]["annotations"]["trainstep.dev/spec-hash"]


def test_every_input_given_reaches_the_job_in_each_sdk_and_generation(compiled, argo, backend, rendering):
    with pytest.raises(v1.StepFailed) as failed:
        argo(rendering).run(compiled("v1", "everything"))
    hashes = {check_everything(shown(failed))}
    for generation in v2.GENERATIONS:
        with pytest.raises(v2.StepFailed) as failed:
            backend(generation, rendering).run(compiled("v2", "everything"))
        hashes.add(check_everything(shown(failed)))
    assert len(hashes) == 1


def test_base64_is_immune_to_what_is_replaced_on_the_way(compiled, argo, backend, images):
    assert "it costs $$5" in argo(images).run(compiled("v1", "encoded"))["train"].log
    for generation in v2.GENERATIONS:
        assert "it costs $$5" in backend(generation, images).run(compiled("v2", "encoded")).tasks["train"].log


def test_step_reports_that_no_input_was_given(compiled, argo, backend, images):
    with pytest.raises(v1.StepFailed) as failed:
        argo(images).run(compiled("v1", "nothing"))
    assert failed.value.code == 2 and "train_specification: is missing" in failed.value.log
    for generation in v2.GENERATIONS:
        with pytest.raises(v2.StepFailed) as failed:
            backend(generation, images).run(compiled("v2", "nothing"))
        assert "exit status 2" in str(failed.value) and "train_specification: is missing" in failed.value.log


def check_verdict(text):
    assert text.startswith("3 epochs of some words, rank 0 of 2; my; "), text
    assert list(json.loads(text.rpartition("; ")[2])) == ["model_dir"]


def check_v1_outputs(task):
    found = {name.removeprefix("train-"): path for name, path in task.artifacts.items()}
    assert (found["model_dir"] / "model.txt").is_file()
    assert read_json(found["metrics"])["accuracy"] == pytest.approx(1 - 0.5 / 3)
    assert found["report"].read_text().startswith("<!DOCTYPE html>")
    assert found["job_name"].read_text().startswith("my-model-")
    for name in ("mlpipeline_metrics", "mlpipeline_ui_metadata"):
        value = read_json(found[name.replace("_", "-")])
        jsonschema.validate(value, read_json(ROOT / f"specs/{name}.schema.json"))
    assert {m["name"] for m in read_json(found["mlpipeline-metrics"])["metrics"]} >= {"accuracy"}


def test_published_call_trains_and_hands_on_its_model_with_the_sdk_1_8(compiled, argo, images):
    tasks = argo(images).run(compiled("v1", "published"))
    check_v1_outputs(tasks["train"])
    check_verdict(next(iter(tasks["evaluate"].artifacts.values())).read_text())


def test_numbers_of_a_published_call_may_be_texts(compiled, argo, images):
    tasks = argo(images).run(compiled("v1", "published"), {"epochs": "1", "workers": "3"})
    assert next(iter(tasks["evaluate"].artifacts.values())).read_text().startswith("1 epochs of some words, rank 0 of 3;")


def test_the_sdk_1_8_passes_a_model_to_an_input_of_type_string_only_without_its_type(compiled, argo, images):
    refusal = (compiled.folder("v1") / "typed_text.txt").read_text()
    assert 'Argument type "Model" is incompatible with the input type "String"' in refusal
    tasks = argo(images).run(compiled("v1", "ignored_types"))
    assert next(iter(tasks["evaluate"].artifacts.values())).read_text().startswith("3 epochs of some words, rank 0 of 1;")


def check_v2_outputs(task):
    assert task.parameters["job_name"].startswith("my-model-")
    assert task.parameters["results"] == {"model_dir": task.artifacts["model_dir"]["uri"]}
    path = {name: pathlib.Path(artifact["customPath"]) for name, artifact in task.artifacts.items()}
    assert (path["model_dir"] / "model.txt").is_file()
    assert task.artifacts["model_dir"]["metadata"]["distribution_type"] == "PyTorch"
    assert task.artifacts["metrics"]["metadata"]["accuracy"] == pytest.approx(1 - 0.5 / 3)
    assert path["report"].read_text().startswith("<!DOCTYPE html>")
    assert read_json(path["mlpipeline_ui_metadata"])["version"] == 1
    assert read_json(path["mlpipeline_metrics"])["metrics"]


@every_generation
def test_chain_trains_and_hands_on_its_model_with_the_sdk_2(compiled, backend, images, generation):
    run = backend(generation, images).run(compiled("v2", "chain"))
    check_v2_outputs(run.tasks["train"])
    check_verdict(run.tasks["evaluate"].parameters["verdict"])


@pytest.mark.parametrize("generation, seed", [*((generation, 0) for generation in v2.GENERATIONS), *(("2.5", seed) for seed in (1, 2, 3, 4))])
def test_parameters_of_the_pipeline_inside_dictionaries_arrive_with_the_sdk_2(compiled, backend, images, generation, seed):
    """Before 2.14 the launcher replaces its keys in random order, so that references inside {{$}} may stay."""
    run = backend(generation, images, seed).run(compiled("v2", "published"))
    check_verdict(run.tasks["evaluate"].parameters["verdict"])


@every_generation
def test_specification_with_placeholders_of_its_own_arrives_unchanged(compiled, backend, images, generation):
    """Every function of the SDK 2 holds {{$}}, which backends replace wherever they meet it on a command line."""
    task = backend(generation, images).run(compiled("v2", "sample")).tasks["train"]
    assert task.artifacts["metrics"]["metadata"]["accuracy"] > 0.5
    assert task.artifacts["model_dir"]["metadata"]["distribution_type"] == "Job"


def test_sample_trains_with_the_sdk_1_8(compiled, argo, images):
    task = argo(images).run(compiled("v1", "sample"))["train"]
    assert read_json(task.artifacts["train-metrics"])["accuracy"] > 0.5
    assert read_json(task.artifacts["train-results"])["accuracy"] > 0.5


def test_failed_training_fails_the_step_and_leaves_its_report(compiled, argo, backend, images, tmp_path):
    with pytest.raises(v1.StepFailed) as failed:
        argo(images).run(compiled("v1", "failing"))
    assert failed.value.code == 1 and "out of luck" in failed.value.log
    assert "out of luck" in (tmp_path / "argo/train/outputs/report/data").read_text()
    with pytest.raises(v2.StepFailed) as failed:
        backend("2.17.1", images).run(compiled("v2", "failing"))
    assert "exit status 1" in str(failed.value) and "out of luck" in failed.value.log
    assert not list(tmp_path.glob("2.17.1/minio/**/output_metadata.json"))


@pytest.mark.parametrize("life", [0.05, 0.9])
def test_terminated_step_leaves_no_process(compiled, backend, images, environment, tmp_path, life):
    """The launcher dies at once of the signal, the step some time later."""
    ir = compiled("v2", "long")
    words, _, _ = backend("2.17.1", images).prepare(ir, "train", ir["root"]["dag"]["tasks"]["train"], {}, v2.Run({}))
    launched = Launched(words, environment, tmp_path / "2.17.1")
    began = tmp_path / "2.17.1/run/main/began"
    until(lambda: began.exists() and began.read_text().endswith("\n"), "a training that has begun")
    trained = int(began.read_text())
    launched.cancel(life)
    until(lambda: not alive(trained), "the end of the training")


def test_a_pipelines_step_does_not_train_locally_by_default(compiled, backend, program):
    unasked = {"/usr/local/bin/trainstep": [str(program)]}
    with pytest.raises(v2.StepFailed) as failed:
        backend("2.17.1", unasked).run(compiled("v2", "failing"))
    assert "no kubeconfig" in failed.value.log and "step=1" not in failed.value.log


def test_bare_optional_input_would_fail_2_17_0(compiled):
    """Why each input stands in an `if`: the imitation knows the trap, and the component is not in it."""
    with pytest.raises(v2_words.DriverFailed):
        v2_words.by_driver("2.17.0", ["trainstep", "--cpus", "{{$.inputs.parameters['cpus']}}"], {"parameterValues": {}, "artifacts": {}}, {})
    arguments = compiled("v2", "nothing")["deploymentSpec"]["executors"]["exec-train"]["container"]["args"]
    assert [word for word in arguments if re.match(r"\{\{\$\.inputs", word)] == []


def alive(pid):
    try:
        return open(f"/proc/{pid}/stat", encoding="utf-8").read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


GUIDE = (ROOT / "docs/pipelines.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("sdk, venv", [("SDK 2", "kfp2"), ("SDK 1.8", "kfp1")])
def test_pipeline_of_the_guide_compiles(sdk, venv, python_of, tmp_path):
    (script,) = re.findall(rf"^```python\n# {re.escape(sdk)}\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
    for folder in ("component", "samples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / "pipeline.py").write_text(script, encoding="utf-8")
    words = [python_of(venv), "-B", "-W", "ignore", "pipeline.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    (compiled_file,) = tmp_path.glob("*.yaml")
    assert "/usr/local/bin/trainstep" in compiled_file.read_text(encoding="utf-8")


def test_workflow_of_the_guide_names_what_the_template_has():
    blocks = re.findall(r"^```yaml\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
    (workflow,) = (yaml.safe_load(text) for text in blocks if "\nkind: Workflow\n" in text)
    (called,) = [task for task in workflow["spec"]["templates"][0]["dag"]["tasks"] if "templateRef" in task]
    template = yaml.safe_load((ROOT / "component/argo/workflow-template.yaml").read_text(encoding="utf-8"))
    (train,) = [t for t in template["spec"]["templates"] if t["name"] == called["templateRef"]["template"]]
    assert called["templateRef"]["name"] == template["metadata"]["name"]
    assert {p["name"] for p in called["arguments"]["parameters"]} <= {p["name"] for p in train["inputs"]["parameters"]}
    assert "metrics" in {p["name"] for p in train["outputs"]["parameters"]}
