# SPDX-License-Identifier: Apache-2.0
"""The migration pages: their pipelines and programs, run (guide_pages.py describes how)."""
import ast
import re
import subprocess
import sys

import pytest
import yaml
from conftest import ROOT
from guide_pages import PAGES, blocks, environment, folder, pythons  # noqa: F401

sys.path.insert(0, str(ROOT / "tests/kfp"))

import v1  # noqa: E402
import v2  # noqa: E402
from rendered import rendered  # noqa: E402

MIGRATIONS = [page for page in PAGES if page.startswith("migrate_")]


def test_each_page_shows_what_was_before():
    assert MIGRATIONS == ["migrate_component.md", "migrate_launch_crd.md", "migrate_training_client.md"]
    assert all(pythons(page, "before") for page in MIGRATIONS)


def test_every_program_of_a_migration_is_python_and_of_a_kind_that_is_run():
    for page in MIGRATIONS:
        for text in blocks(page, "python"):
            ast.parse(text)
            assert re.match(r"# (before|SDK 1\.8|SDK 2|on a cluster|\w+\.py)\n", text), f"{page}: {text[:40]}"


@pytest.fixture
def compile_with(folder, environment, python_of):  # noqa: F811
    """compile_with("SDK 1.8", text) → CompletedProcess of the SDK with that pipeline."""

    def compiling(sdk, text):
        (folder / "pipeline.py").write_text(text, encoding="utf-8")
        words = [python_of({"SDK 1.8": "kfp1", "SDK 2": "kfp2"}[sdk]), "-B", "-W", "ignore", "pipeline.py"]
        return subprocess.run(words, cwd=folder, env={**environment, "PYTHONPATH": ""}, capture_output=True, text=True, timeout=100, check=False)

    return compiling


@pytest.fixture
def compiled(folder, compile_with):  # noqa: F811
    """compiled("migrate_component.md", "SDK 1.8") → the file that the page's pipeline compiles to."""

    def compiled_by(page, sdk):
        (text,) = pythons(page, sdk)
        done = compile_with(sdk, text)
        assert done.returncode == 0, done.stderr
        (made,) = folder.glob("*.yaml")
        return made

    return compiled_by


def test_pipeline_of_the_python_component_trains_and_is_evaluated(compiled, environment, program, tmp_path):  # noqa: F811
    """Its evaluation has an input of type String, as those who come from that component have them."""
    workflow = yaml.safe_load(compiled("migrate_component.md", "SDK 1.8").read_text(encoding="utf-8"))
    step = ["sh", "-c", 'shift; exec "$0" run --cluster local --run-dir run "$@"', str(program)]
    tasks = v1.Argo(tmp_path / "argo", {"/usr/local/bin/trainstep": step}, environment).run(workflow, {"number_of_workers": "2"})
    assert "epoch=3/3 loss=0.333" in tasks["train-model-job"].log
    (counted,) = tasks["evaluate"].artifacts.values()
    assert counted.read_text() == "4"


@pytest.mark.parametrize("declared", ["InputPath(str)", "InputPath()"])
@pytest.mark.parametrize("component", ["component/train-model-job/component.yaml", "component/component.yaml"])
def test_model_goes_to_an_input_of_type_string_by_the_file_for_such_calls_alone(compile_with, component, declared):
    (text,) = pythons("migrate_component.md", "SDK 1.8")
    assert "component/train-model-job/component.yaml" in text and "def evaluate(model_dir: InputPath(str))" in text
    changed = text.replace("component/train-model-job/component.yaml", component)
    done = compile_with("SDK 1.8", changed.replace("def evaluate(model_dir: InputPath(str))", f"def evaluate(model_dir: {declared})"))
    refused = component == "component/component.yaml" and declared == "InputPath(str)"
    assert (done.returncode != 0) == refused
    assert ('Argument type "Model" is incompatible with the input type "String"' in done.stderr) == refused


@pytest.fixture
def rendering(program):
    return {"/usr/local/bin/trainstep": ["sh", "-c", 'shift; exec "$0" render "$@"', str(program)]}


def test_pipeline_of_launch_crd_makes_the_job_that_the_launcher_made(compiled, environment, rendering, tmp_path):  # noqa: F811
    with pytest.raises(v2.StepFailed) as shown:  # a step that only renders leaves no outputs
        v2.Backend(tmp_path / "v2", "2.17.1", rendering, environment).run(v2.load(compiled("migrate_launch_crd.md", "SDK 2")))
    job = rendered(shown.value.log)
    replicas = job["spec"]["pytorchReplicaSpecs"]
    assert {name: replica["replicas"] for name, replica in replicas.items()} == {"Master": 1, "Worker": 2}
    assert job["spec"]["runPolicy"]["backoffLimit"] == 2 and job["spec"]["runPolicy"]["cleanPodPolicy"] == "Running"
    for replica in replicas.values():
        (container,) = replica["template"]["spec"]["containers"]
        assert replica["restartPolicy"] == "OnFailure" and container["image"] == "registry.example/mnist:1"
        assert container["command"] == ["python3", "/app/train.py", "--epochs", "3", "--backend", "gloo"]
        assert {"name": "NCCL_DEBUG", "value": "INFO"} in container["env"]
        assert {name: str(amount) for name, amount in container["resources"]["limits"].items()} == {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}


def test_pipeline_of_launch_tfjob_makes_the_job_that_the_launcher_made(compiled, environment, rendering, tmp_path):  # noqa: F811
    workflow = yaml.safe_load(compiled("migrate_launch_crd.md", "SDK 1.8").read_text(encoding="utf-8"))
    with pytest.raises(v1.StepFailed) as shown:
        v1.Argo(tmp_path / "argo", rendering, environment).run(workflow)
    job = rendered(shown.value.log)
    replicas = job["spec"]["tfReplicaSpecs"]
    assert {name: replica["replicas"] for name, replica in replicas.items()} == {"Chief": 1, "Worker": 2, "PS": 1}
    images = {name: replica["template"]["spec"]["containers"][0]["image"] for name, replica in replicas.items()}
    assert images == {"Chief": "registry.example/tf-mnist:1", "Worker": "registry.example/tf-mnist:1", "PS": "registry.example/tf-mnist-ps:1"}
    assert job["spec"]["runPolicy"]["ttlSecondsAfterFinished"] == 3600


# In the place of the program: the step that is to run on a cluster shows what it would make there.
SHOWS = """#!/bin/sh
[ "$1" = run ] || exit 3
shift
for word; do
  shift
  case $word in
    --cluster=kubernetes | --log-format=* | --python-json) ;;
    --exit-code-file=*) file=${word#*=} ;;
    *) set -- "$@" "$word" ;;
  esac
done
"$PROGRAM" render "$@" >>"$SHOWN"
code=$?
echo $code >"$file"
exit $code
"""


def test_calls_of_the_clients_make_the_jobs_that_the_clients_made(folder, environment, program, tmp_path):  # noqa: F811
    cells = pythons("migrate_training_client.md", "on a cluster")
    assert len(cells) == 2
    shows = tmp_path / "shows"
    shows.write_text(SHOWS, encoding="utf-8")
    shows.chmod(0o755)
    for number, cell in enumerate(cells):
        path, shown = folder / f"cell_{number}.py", folder / f"shown_{number}.yaml"
        path.write_text(cell, encoding="utf-8")
        own = {"TRAINSTEP": str(shows), "PROGRAM": str(program), "SHOWN": str(shown)}
        done = subprocess.run(["python3", path], cwd=folder, env={**environment, **own}, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        replicas = yaml.safe_load(shown.read_text(encoding="utf-8"))["spec"]["pytorchReplicaSpecs"]
        assert {name: replica["replicas"] for name, replica in replicas.items()} == {"Master": 1, "Worker": 2}
        (container,) = replicas["Worker"]["template"]["spec"]["containers"]
        limits = {name: str(amount) for name, amount in container["resources"]["limits"].items()}
        assert limits.items() >= {"cpu": "4", "nvidia.com/gpu": "2"}.items()
        words = " ".join(map(str, container.get("command", []) + container.get("args", [])))
        assert "'scikit-learn'" in words and "epoch={epoch}" in words
