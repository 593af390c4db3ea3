# SPDX-License-Identifier: Apache-2.0
"""component/train-model-job/component.yaml: the published calls of that component (tests/kfp/train_model_job_v1.py) compile with the SDK 1.8 and run as
its backend runs them.
"""
import subprocess
import sys

import pytest
import yaml
from conftest import ROOT, read_json
from surroundings import clean_environment

KFP = ROOT / "tests/kfp"
sys.path.insert(0, str(KFP))

import v1  # noqa: E402
from rendered import rendered  # noqa: E402

FOLDER = ROOT / "component/train-model-job"
COMPONENT = yaml.safe_load((FOLDER / "component.yaml").read_text(encoding="utf-8"))

# As the published file has them: name, type, default (None: there is none), in this order.
PUBLISHED_INPUTS = [
    ("train_dataset_dir", "String", None), ("validation_dataset_dir", "String", None), ("train_specification", "String", None),
    ("train_parameters", "typing.Dict[str, str]", None), ("train_mount", "String", "/train"), ("model_name", "String", "my-model"),
    ("base_image", "String", "quay.io/ibm/kubeflow-notebook-image-ppc64le:latest"), ("node_selector", "String", ""), ("pvc_name", "String", ""),
    ("pvc_size", "String", "10Gi"), ("cpus", "String", ""), ("gpus", "Integer", "0"), ("memory", "String", ""), ("tensorboard_s3_address", "String", ""),
    ("cluster_configuration_secret", "String", ""), ("distribution_specification", "typing.Dict[str, str]", None),
]
REQUIRED = {"train_dataset_dir", "validation_dataset_dir", "train_specification", "train_parameters"}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory, python_of):
    """compiled("music"): what the SDK 1.8 compiled of a published pipeline."""
    folder = tmp_path_factory.mktemp("v1")
    words = [python_of("kfp1"), "-B", "-W", "ignore", KFP / "train_model_job_v1.py", folder]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return lambda name: yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def argo(tmp_path):
    environment = {**clean_environment(), "HOME": str(tmp_path), "PIP_NO_INDEX": "1", "NO_COLOR": "1"}
    return lambda images: v1.Argo(tmp_path / "argo", images, environment)


@pytest.fixture
def images(program, python_of):
    """The step trains with processes of this machine, which it would never do in a pipeline by itself."""
    local = f'shift; exec "$0" run --cluster local --python {python_of("job")} --run-dir run "$@"'
    return {"/usr/local/bin/trainstep": ["sh", "-c", local, str(program)]}


@pytest.fixture
def rendering(program):
    return {"/usr/local/bin/trainstep": ["sh", "-c", 'shift; exec "$0" render "$@"', str(program)]}


def shown(argo, images, workflow, arguments=None):
    """The manifest that a rendering step printed: it leaves no outputs, so its step fails."""
    with pytest.raises(v1.StepFailed) as failed:
        argo(images).run(workflow, arguments)
    return rendered(failed.value.log)


def output(task):
    (path,) = task.artifacts.values()
    return path.read_text(encoding="utf-8")


def test_inputs_are_the_published_ones_in_their_order_and_new_ones_follow():
    ports = COMPONENT["inputs"]
    assert [(port["name"], port["type"], port.get("default")) for port in ports[: len(PUBLISHED_INPUTS)]] == PUBLISHED_INPUTS
    assert {port["name"] for port in ports if not port.get("optional")} == REQUIRED
    assert [port["name"] for port in ports[len(PUBLISHED_INPUTS) :]] == ["job_options"]


def test_outputs_are_the_published_one_and_the_steps_own():
    assert COMPONENT["name"] == "Train model job"
    ours = yaml.safe_load((ROOT / "component/component.yaml").read_text(encoding="utf-8"))["outputs"]
    assert [port["name"] for port in COMPONENT["outputs"]] == [port["name"] for port in ours]
    assert COMPONENT["outputs"][0] | {"type": "Model"} == ours[0] and COMPONENT["outputs"][0]["type"] == "String"
    assert COMPONENT["outputs"][1:] == ours[1:]


def test_published_pipeline_trains_on_several_workers_and_its_next_steps_read_the_model(compiled, argo, images):
    tasks = argo(images).run(compiled("music"), {"number_of_workers": "3"})
    model = "3 workers, 3 epochs, batches of 16, logs in s3://mlpipeline/tensorboard/music: a piece of, music"
    assert output(tasks["evaluate-model"]) == f"{model}; seen again: music"
    assert read_json(next(iter(tasks["plot-confusion-matrix"].artifacts.values())))["outputs"][0]["source"] == model
    assert output(tasks["upload-model"]) == "music: model.onnx"
    found = {name.removeprefix("train-model-job-"): path for name, path in tasks["train-model-job"].artifacts.items()}
    assert found["job_name"].read_text().startswith("music-") and read_json(found["metrics"])["loss"] == pytest.approx(0.333)


def test_published_pipeline_trains_on_one_worker(compiled, argo, images):
    tasks = argo(images).run(compiled("music"), {"number_of_workers": "1", "distribution_type": "Job", "epochs": "1"})
    assert output(tasks["evaluate-model"]).startswith("1 workers, 1 epochs, batches of 16, logs in s3://mlpipeline/tensorboard/music: ")


def test_variable_of_tensorboard_is_there_without_an_address(compiled, argo, images):
    tasks = argo(images).run(compiled("monkeys"), {"training_gpus": "0"})
    assert output(tasks["evaluate-model"]).startswith("1 workers, 100 epochs, batches of 32, logs in no bucket: ")


def test_distributed_training_without_a_number_has_two_workers(compiled, argo, rendering):
    job = shown(argo, rendering, compiled("horovod"))
    assert job["kind"] == "MPIJob" and job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 2


def test_gpus_and_the_node_of_a_published_call_reach_the_job(compiled, argo, rendering):
    pod = shown(argo, rendering, compiled("monkeys"))["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"nvidia.com/gpu.product": "Tesla-V100-SXM2-32GB"}
    (container,) = pod["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] in (1, "1")
    assert container["image"] == "quay.io/ibm/kubeflow-notebook-image-ppc64le:latest"


def test_every_published_input_by_position_reaches_the_job(compiled, argo, rendering):
    job = shown(argo, rendering, compiled("everything"))
    assert job["spec"]["slotsPerWorker"] == 2 and job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 2
    launcher, worker = (job["spec"]["mpiReplicaSpecs"][name]["template"]["spec"] for name in ("Launcher", "Worker"))
    limits = {name: str(amount) for name, amount in worker["containers"][0]["resources"]["limits"].items()}
    assert limits == {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "2"}
    assert {str(amount) for amount in launcher["containers"][0]["resources"]["limits"].values()} == {"2", "8Gi"}
    assert worker["nodeSelector"] == {"kubernetes.io/hostname": "node2"}
    assert worker["containers"][0]["image"] == "quay.io/me/horovod:1"
    assert any(mount["mountPath"] == "/data" for mount in worker["containers"][0]["volumeMounts"])
    words = launcher["containers"][0].get("command", []) + launcher["containers"][0].get("args", [])
    assert words[words.index("-np") + 1] == "4"


def test_a_custom_image_replaces_the_published_default(tmp_path):
    make = [sys.executable, ROOT / "tools/make_component.py", "--image", "registry.example/trainstep:7", "--base-image", "registry.example/train:1"]
    subprocess.run([*make, tmp_path], check=True)
    made = yaml.safe_load((tmp_path / "train-model-job/component.yaml").read_text(encoding="utf-8"))
    assert made["implementation"]["container"]["image"] == "registry.example/trainstep:7"
    (port,) = [port for port in made["inputs"] if port["name"] == "base_image"]
    assert port["default"] == "registry.example/train:1"
    assert (tmp_path / "component.yaml").read_text() == (ROOT / "component/component.yaml").read_text().replace(
        "trainstep:0.1.0", "registry.example/trainstep:7"
    )
