# SPDX-License-Identifier: Apache-2.0
"""The calls of published notebooks: dictionaries of strings, number of workers and type from pipeline parameters."""
import pytest
import yaml
from conftest import ROOT, read_json

SPECIFICATION = ROOT / "tests/e2e/styles/specs/train_model.v1.yaml"
PARAMETERS = {"train_dataset_dir": "train_dataset_dir", "validation_dataset_dir": "validation_dataset_dir", "model_dir": "model_dir"}
NODES = 'nvidia.com/gpu.product: "Tesla-V100-SXM2-32GB"'


@pytest.fixture
def call(trainstep, tmp_path):
    """The notebook's call: what a step of the SDK 1.8 has on its command line, with the defaults of the component filled in."""
    for name in ("train_dataset_dir", "validation_dataset_dir"):
        (tmp_path / "inputs" / name / "data").mkdir(parents=True)
        (tmp_path / "inputs" / name / "data" / f"{name}.txt").write_text("data")

    def run(subcommand, *words, kind, workers, parameters=PARAMETERS, **inputs):
        inputs = {"model_name": "monkey-classification", "tensorboard_s3_address": "s3://logs/run-1", "cluster_configuration_secret": "", **inputs}
        return trainstep(
            *(subcommand, *words, "--executor-input", "{{$}}"),
            *("--train-dataset-dir", tmp_path / "inputs/train_dataset_dir/data"),
            *("--validation-dataset-dir", tmp_path / "inputs/validation_dataset_dir/data"),
            *("--train-specification", SPECIFICATION.read_text(encoding="utf-8"), "--train-parameters", parameters),
            *("--distribution-specification", {"distribution_type": kind, "number_of_workers": workers}),
            *(word for name, value in inputs.items() for word in ("--" + name.replace("_", "-"), value)),
            *("--model-dir", tmp_path / "outputs/model_dir/data"),
            check=0,
        )

    return run


def manifest(done, kind):
    (found,) = [document for document in yaml.safe_load_all(done.stdout) if document and document["kind"] == kind]
    return found


def words_of(container):
    words = container.get("command", []) + container.get("args", [])
    assert all(isinstance(word, str) for word in words), "Kubernetes takes only texts"
    return words


def after(words, flag):
    """The words that follow a flag wherever it stands as a word of its own."""
    return [words[i + 1] for i in range(len(words) - 1) if words[i] == flag]


def check_flags(words, epochs, batch_size):
    assert after(words, "--epochs") == [epochs] and after(words, "--batch-size") == [batch_size]
    assert "--batch_size" not in words
    for flag in ("--train-dataset-dir", "--validation-dataset-dir", "--model-dir"):
        (path,) = after(words, flag)
        assert path.startswith("/")


@pytest.mark.parametrize("workers, ranks", [("3", "3"), ("2", "2"), (3, "3"), (3.0, "3")])
def test_mpi_job_has_the_number_of_ranks_as_a_number(call, workers, ranks):
    job = manifest(call("render", kind="MPI", workers=workers, gpus="1", node_selector=NODES), "MPIJob")
    assert job["apiVersion"] == "kubeflow.org/v2beta1"
    replicas = job["spec"]["mpiReplicaSpecs"]
    assert replicas["Worker"]["replicas"] == int(ranks) and replicas["Launcher"]["replicas"] == 1
    launcher, worker = (replicas[name]["template"]["spec"] for name in ("Launcher", "Worker"))
    words = words_of(launcher["containers"][0])
    assert after(words, "-np") == [ranks]
    check_flags(words, "100", "32")
    assert worker["nodeSelector"] == {"nvidia.com/gpu.product": "Tesla-V100-SXM2-32GB"}
    assert str(worker["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]) == "1"
    assert "nvidia.com/gpu" not in launcher["containers"][0].get("resources", {}).get("limits", {})


def test_epochs_given_as_text_reach_the_program(call):
    job = manifest(call("render", kind="MPI", workers="3", parameters={**PARAMETERS, "epochs": "5"}), "MPIJob")
    check_flags(words_of(job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]), "5", "32")


def test_one_worker_is_an_ordinary_job(call):
    job = manifest(call("render", kind="Job", workers="1", node_selector="kubernetes.io/hostname: node2", gpus=""), "Job")
    assert job["apiVersion"] == "batch/v1"
    pod = job["spec"]["template"]["spec"]
    check_flags(words_of(pod["containers"][0]), "100", "32")
    assert pod["nodeSelector"] == {"kubernetes.io/hostname": "node2"}
    assert {"name": "TENSORBOARD_S3_ADDRESS", "value": "s3://logs/run-1"} in pod["containers"][0]["env"]


@pytest.mark.parametrize("kind, workers, ranks", [("Job", "1", None), ("MPI", "3", "3")])
def test_program_gets_the_right_flags_when_it_runs_here(call, python_of, tmp_path, kind, workers, ranks):
    parameters = {**PARAMETERS, "epochs": "5"}
    call("run", "--cluster", "local", "--python", python_of("mpi"), kind=kind, workers=workers, parameters=parameters, node_selector=NODES)
    assert read_json(tmp_path / "outputs/model_dir/data/model.json") == {
        "epochs": 5,
        "batch_size": 32,
        "train": ["train_dataset_dir.txt"],
        "validation": ["validation_dataset_dir.txt"],
        "tensorboard": "s3://logs/run-1",
        "flags": ["--train-dataset-dir", "--validation-dataset-dir", "--epochs", "--batch-size", "--model-dir"],
        "ranks": ranks,
        "rank": "0" if ranks else None,
    }
