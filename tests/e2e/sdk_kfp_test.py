# SPDX-License-Identifier: Apache-2.0
"""The Python package with the KFP SDKs 1.8 and 2: specifications mean the same as the SDKs' own, and pipelines run as the backends run them (tests/kfp)."""
import json
import os
import re
import subprocess
import sys
import zipfile

import pytest
import yaml
from conftest import ROOT, read_json
from surroundings import clean_environment

KFP = ROOT / "tests/kfp"
sys.path.insert(0, str(KFP))

import v1  # noqa: E402
import v2  # noqa: E402
from rendered import rendered  # noqa: E402

SDKS = {"v1": "kfp1", "v2": "kfp2"}
every_sdk = pytest.mark.parametrize("sdk", SDKS)


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The wheel's content, for the environments of the SDKs."""
    (wheel,) = (ROOT / "build/wheel").glob(f"trainstep-*{os.uname().machine}.whl")
    folder = tmp_path_factory.mktemp("package")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


@pytest.fixture(scope="module")
def made(package, tmp_path_factory, python_of):
    """made[sdk]: the folder of what sdk_pipelines.py made with that SDK."""
    folders = {}
    for sdk, venv in SDKS.items():
        folders[sdk] = tmp_path_factory.mktemp(sdk)
        words = [python_of(venv), "-B", "-W", "ignore", KFP / "sdk_pipelines.py", folders[sdk]]
        done = subprocess.run(words, env={**os.environ, "PYTHONPATH": str(package)}, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return folders


@pytest.fixture
def environment(tmp_path):
    return {**clean_environment(), "HOME": str(tmp_path), "PIP_NO_INDEX": "1", "NO_COLOR": "1"}


@pytest.fixture
def backend(program, python_of, tmp_path, environment):
    """backend("v2", "run") → one whose steps run on this machine; "render": they only show what they would make in a cluster."""
    words = {"run": f'shift; exec "$0" run --cluster local --python {python_of("job")} --run-dir run "$@"', "render": 'shift; exec "$0" render "$@"'}

    def make(sdk, how="run"):
        images = {"/usr/local/bin/trainstep": ["sh", "-c", words[how], str(program)]}
        return v1.Argo(tmp_path / "argo", images, environment) if sdk == "v1" else v2.Backend(tmp_path / "kfp", "2.17.1", images, environment)

    return make


@pytest.fixture
def trained(trainstep, tmp_path, python_of):
    """trained(file of a specification, parameters) → (results, text of the model) of a run here. What needs kfp finds it with this interpreter."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/words.txt").write_text("words")

    def run(specification, **parameters):
        out = tmp_path / specification.name
        trainstep(
            *("run", "--cluster", "local", "--python", python_of("job"), "--train-specification", f"@{specification}", "--train-parameters", parameters),
            *("--train-dataset-dir", tmp_path / "data", "--model-dir", out / "model", "--results", out / "results.json", "--metrics", out / "metrics.json"),
            check=0,
        )
        results = {name: value for name, value in read_json(out / "results.json").items() if name != "model_dir"}
        return results, read_json(out / "metrics.json"), (out / "model/model.txt").read_text()

    return run


GIVEN = {"epochs": 2, "rate": 0.25, "shuffle": False, "more": {"b": [1]}, "names": [], "text": "other"}


@every_sdk
@pytest.mark.parametrize("parameters", [{}, GIVEN], ids=["defaults", "given"])
def test_specification_means_what_the_sdks_own_means(made, trained, sdk, parameters):
    ours = trained(made[sdk] / "ours", **parameters)
    assert ours == trained(made[sdk] / "theirs", **parameters)
    assert ours[0]["words"] == (list(GIVEN.values())[2:] if parameters else [True, {"a": 1}, ["x"], "some"])


def test_specification_is_the_same_with_either_sdk(made):
    assert (made["v1"] / "ours").read_text() == (made["v2"] / "ours").read_text()


def test_component_of_the_specification_is_the_one_that_the_sdk_1_8_writes(made):
    ours, theirs = json.loads((made["v1"] / "ours").read_text()), yaml.safe_load((made["v1"] / "theirs").read_text())
    for key in ("name", "description", "inputs", "outputs"):
        assert ours[key] == theirs[key]


@every_sdk
def test_component_of_the_sdk_is_taken_as_it_is(made, sdk):
    component, theirs = (yaml.safe_load((made[sdk] / name).read_text()) for name in ("component", "theirs"))
    for key in ("implementation",) if sdk == "v1" else ("deploymentSpec", "components", "root"):
        assert component[key] == theirs[key]


def test_function_with_artifacts_of_the_sdk_2_is_written_by_it(made, trained):
    assert "deploymentSpec" in (made["v2"] / "artifacts").read_text()
    assert trained(made["v2"] / "artifacts", epochs=5)[1:] == ({"epochs": 5}, "words")


@pytest.mark.parametrize("old, new", [("a: int = 2", "a: int = 5"), ("return 1", "return 2")])
def test_function_with_artifacts_that_has_changed_since_is_refused(python_of, tmp_path, old, new):
    text = "from kfp.dsl import Model, Output\n\ndef train(model: Output[Model], a: int = 2):\n    return 1\n"
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    script = f"""
import pathlib, program, trainstep
trainstep.train_specification(program.train)
file = pathlib.Path(program.__file__)
file.write_text(file.read_text().replace({old!r}, {new!r}))
try:
    trainstep.train_specification(program.train)
except trainstep.SpecificationError as problem:
    print(problem)
"""
    path = f"{ROOT}/sdk:{tmp_path}"
    done = subprocess.run([python_of(SDKS["v2"]), "-B", "-W", "ignore", "-c", script], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
                          timeout=100, check=False)
    assert done.returncode == 0 and done.stdout.endswith("; import its module again, or restart the kernel\n"), done.stdout + done.stderr


def check_verdict(text, epochs):
    assert text.startswith(f"{epochs} epochs of some words, rank 0 of 2 for $$5 in $(HOME); my; "), text
    results = json.loads(text.rpartition("; ")[2])
    assert results["accuracy"] == pytest.approx(1 - 0.5 / epochs) and list(results) == ["model_dir", "accuracy", "words"]


def test_task_of_the_sdk_2_trains_and_hands_on_its_model(made, backend):
    run = backend("v2").run(v2.load(made["v2"] / "chain.yaml"), {"epochs": 2})
    check_verdict(run.tasks["evaluate"].parameters["verdict"], 2)


def test_task_of_the_sdk_1_8_trains_and_hands_on_its_model(made, backend):
    tasks = backend("v1").run(yaml.safe_load((made["v1"] / "chain.yaml").read_text()), {"epochs": "2"})
    check_verdict(next(iter(tasks["evaluate"].artifacts.values())).read_text(), 2)


def test_task_of_the_sdk_2_is_not_cached_and_says_its_image_and_retries(made):
    ir = v2.load(made["v2"] / "chain.yaml")
    task = ir["root"]["dag"]["tasks"]["train"]
    assert task["cachingOptions"] == {} and task["retryPolicy"]["maxRetryCount"] == 2
    assert ir["deploymentSpec"]["executors"]["exec-train"]["container"]["image"] == "registry.example/trainstep:9"
    cached = v2.load(made["v2"] / "cached.yaml")["root"]["dag"]["tasks"]["train"]
    assert cached["cachingOptions"] == {"enableCache": True} and "retryPolicy" not in cached


def test_task_of_the_sdk_1_8_is_not_cached_and_says_its_image_and_retries(made):
    def template(name):
        return next(t for t in yaml.safe_load((made["v1"] / f"{name}.yaml").read_text())["spec"]["templates"] if t["name"] == "train")

    task, cached = template("chain"), template("cached")
    staleness = "pipelines.kubeflow.org/max_cache_staleness"
    assert task["metadata"]["annotations"][staleness] == "P0D" and staleness not in cached["metadata"]["annotations"]
    assert task["retryStrategy"] == {"limit": 2, "retryPolicy": "Always"} and "retryStrategy" not in cached
    assert task["container"]["image"] == "registry.example/trainstep:9"


def test_settings_of_the_task_apply_to_the_training_pods(made, backend):
    ir = v2.load(made["v2"] / "settings.yaml")
    component = ir["components"]["comp-train"]
    assert component["inputDefinitions"]["parameters"]["task_config"]["parameterType"] == "TASK_CONFIG"
    passed = {item["field"]: item.get("applyToTask", False) for item in component["taskConfigPassthroughs"]}
    of_kubernetes = [f"KUBERNETES_{name}" for name in ("AFFINITY", "TOLERATIONS", "NODE_SELECTOR", "VOLUMES")]
    assert passed == {"ENV": True, **dict.fromkeys(["RESOURCES", *of_kubernetes], False)}
    with pytest.raises(v2.StepFailed) as shown:  # a step that only renders leaves no outputs
        backend("v2", "render").run(ir)
    (container,) = rendered(shown.value.log)["spec"]["template"]["spec"]["containers"]
    limits = {name: str(amount) for name, amount in container["resources"]["limits"].items()}
    assert limits == {"cpu": "8", "memory": "2G", "nvidia.com/gpu": "1"}
    assert {"name": "MODE", "value": "fast"} in container["env"]


@every_sdk
def test_pipeline_of_the_guide_compiles(made, package, python_of, tmp_path, sdk):
    cells = re.findall(r"^```python\n(# in a pipeline\n.*?)^```", (ROOT / "docs/notebook.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (tmp_path / "page.py").write_text(cells[0] + "\nfrom kfp import compiler\ncompiler.Compiler().compile(digits, 'digits.yaml')\n", encoding="utf-8")
    words = [python_of(SDKS[sdk]), "-B", "-W", "ignore", "page.py"]
    done = subprocess.run(words, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(package)}, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0 and len(cells) == 1, done.stderr
    assert "registry.example/trainstep:0.1.0" in (tmp_path / "digits.yaml").read_text()


def test_the_sdk_1_8_has_no_settings_to_pass_on(made):
    assert (made["v1"] / "refused").read_text().startswith("task_config: not supported by the SDK 1.8")


NUMBERS = repr((2**53 + 1, 0.1 + 0.2, float("-inf"), "x"))


def test_numbers_that_no_double_keeps_arrive_through_the_sdk_2(made, backend):
    ir = v2.load(made["v2"] / "numbers.yaml")
    assert backend("v2").run(ir).tasks["train"].parameters["results"]["Output"] == NUMBERS


def test_numbers_that_no_double_keeps_arrive_through_the_sdk_1_8(made, backend):
    tasks = backend("v1").run(yaml.safe_load((made["v1"] / "numbers.yaml").read_text()))
    assert json.loads(tasks["train"].artifacts["train-results"].read_text())["Output"] == NUMBERS


@every_sdk
def test_what_no_pipeline_of_the_sdk_can_carry_is_refused_by_its_place(made, sdk):
    refusals = read_json(made[sdk] / "refusals")
    assert [refusals[name].partition("; got")[0] for name in ("cpus", "gpus", "node_selector")] == [
        "cpus: expected str, int, float, bool, dict, list or None", "gpus: expected an integer, got 'two'",
        "node_selector: expected str keys, as in JSON",
    ]
    of_the_sdk_2 = ("train_parameters.more.seeds[0]: 9007199254740993 would", "distribution_specification.number_of_workers: 1152921504606846976 would",
                    "job_options.environment.A: nan would")
    for start in of_the_sdk_2:
        said = refusals[start.partition(".")[0]]
        assert said is None if sdk == "v1" else said.startswith(f"{start} change: ")


def test_default_that_the_sdk_2_would_change_is_refused(made):
    assert (made["v2"] / "seed").read_text().startswith("with-seed: the default of seed: 9007199254740993 would change")
