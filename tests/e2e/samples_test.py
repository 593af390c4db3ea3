# SPDX-License-Identifier: Apache-2.0
"""Every sample really learns, distributed over local processes, and its results have every form that a pipeline reads."""
import json

import pytest
from conftest import SAMPLES, read_json

KINDS = {
    "job": ({}, "model.joblib", None),
    "pytorch": ({"distribution_type": "PyTorch", "number_of_workers": 2}, "model.pt", "rank 0 of 2 trains on 718 images"),
    "mpi": ({"distribution_type": "MPI", "number_of_workers": 2}, "model.npz", "rank 0 of 2 trains on 718 images"),
    "tf": ({"distribution_type": "TF", "number_of_workers": 2, "number_of_parameter_servers": 1}, "model.keras", "worker 1 serves"),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def artifact(path, name, schema):
    """As KFP's launcher describes it; customPath puts it where the test may write."""
    uri = f"minio://mlpipeline/v2/artifacts/train/run/train/uuid/{name}"
    return {"artifacts": [{"name": name, "type": {"schemaTitle": f"system.{schema}", "schemaVersion": "0.0.1"}, "uri": uri, "customPath": str(path / name), "metadata": {}}]}


def executor_input(path, specification, distribution):
    return {
        "inputs": {
            "parameterValues": {
                "train_specification": specification.read_text(encoding="utf-8"),
                "train_parameters": {"model_dir": "model_dir"},
                "distribution_specification": distribution,
            }
        },
        "outputs": {
            "artifacts": {
                "model_dir": artifact(path, "model_dir", "Model"),
                "metrics": artifact(path, "metrics", "Metrics"),
                "report": artifact(path, "report", "HTML"),
            },
            "parameters": {"job_name": {"outputFile": str(path / "job_name")}, "results": {"outputFile": str(path / "results")}},
            "outputFile": str(path / "output_metadata.json"),
        },
    }


def check_training(kind, done, model):
    _, file, seen = KINDS[kind]
    assert done.returncode == 0, done.stdout + done.stderr
    assert (model / file).stat().st_size > 100
    assert seen is None or seen in done.stdout + done.stderr


def check_accuracy(metrics):
    assert 0.90 <= metrics["accuracy"] <= 1 and 0 < metrics["loss"] < 1


@every_kind
def test_version_2_component_gives_executor_output(kind, trainstep, python_of, tmp_path):
    given = executor_input(tmp_path / "out", SAMPLES / kind / "train_specification.v2.yaml", KINDS[kind][0])
    done = trainstep("run", "--cluster", "local", "--python", python_of(kind), "--executor-input", given)
    check_training(kind, done, tmp_path / "out/model_dir")
    output = read_json(tmp_path / "out/output_metadata.json")
    assert set(output) <= {"parameterValues", "artifacts"}, "the launcher refuses unknown fields"
    assert set(output["artifacts"]) <= set(given["outputs"]["artifacts"])
    check_accuracy(output["artifacts"]["metrics"]["artifacts"][0]["metadata"])
    assert output["parameterValues"]["job_name"]
    assert "<html" in (tmp_path / "out/report").read_text(encoding="utf-8")


@every_kind
def test_version_1_component_gives_mlpipeline_files_and_plain_files(kind, trainstep, python_of, tmp_path):
    names = ["model-dir", "metrics", "results", "report", "job-name-file", "mlpipeline-metrics", "mlpipeline-ui-metadata"]
    outputs = [word for name in names for word in ("--" + name, tmp_path / "out" / name / "data")]
    done = trainstep(
        *("run", "--cluster", "local", "--python", python_of(kind)),
        *("--executor-input", "{{$}}", "--train-specification", (SAMPLES / kind / "train_specification.v1.yaml").read_text(encoding="utf-8")),
        *("--train-parameters", {"model_dir": "model_dir"}, "--distribution-specification", KINDS[kind][0], *outputs),
    )
    check_training(kind, done, tmp_path / "out/model-dir/data")

    read = {name: read_json(tmp_path / "out" / name / "data") for name in names if name not in ("model-dir", "report", "job-name-file")}
    check_accuracy(read["metrics"])
    check_accuracy(read["results"])
    shown = read["mlpipeline-metrics"]
    assert set(shown) == {"metrics"}
    check_accuracy({metric["name"]: metric["numberValue"] for metric in shown["metrics"]})
    assert {metric["format"] for metric in shown["metrics"]} <= {"RAW", "PERCENTAGE"}
    assert read["mlpipeline-ui-metadata"]["version"] == 1
    assert all({"type", "source"} <= set(output) for output in read["mlpipeline-ui-metadata"]["outputs"])
    assert read["mlpipeline-ui-metadata"]["outputs"]
    assert "<html" in (tmp_path / "out/report/data").read_text(encoding="utf-8")
    assert (tmp_path / "out/job-name-file/data").read_text(encoding="utf-8").strip()


def test_sample_trains_on_a_data_folder_with_given_parameters(trainstep, python_of, tmp_path):
    import subprocess

    subprocess.run([python_of("job"), SAMPLES / "data/make_digits.py", tmp_path / "digits"], check=True, capture_output=True)
    parameters = {"train_dataset_dir": "train_dataset_dir", "model_dir": "model_dir", "epochs": 3, "batch_size": "32"}
    for version in ("v1", "v2"):
        done = trainstep(
            *("run", "--cluster", "local", "--python", python_of("job"), "--train-dataset-dir", tmp_path / "digits"),
            *("--train-specification", f"@{SAMPLES / 'job' / f'train_specification.{version}.yaml'}", "--train-parameters", parameters),
            *("--model-dir", tmp_path / version),
            check=0,
        )
        assert "epoch=3/3" in done.stdout + done.stderr and "epoch=4" not in done.stdout + done.stderr
        assert (tmp_path / version / "model.joblib").is_file()


def test_samples_print_what_metric_collectors_read(trainstep, python_of, tmp_path):
    done = trainstep(
        *("run", "--cluster", "local", "--python", python_of("job"), "--train-parameters", {"epochs": 2}),
        *("--train-specification", f"@{SAMPLES / 'job/train_specification.v1.yaml'}", "--metrics", tmp_path / "metrics.json"),
        check=0,
    )
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "epoch=2/2 " in line]
    assert len(lines) == 1
    values = dict(part.split("=") for part in lines[0][lines[0].index("epoch=") :].split())
    metrics = read_json(tmp_path / "metrics.json")
    assert json.loads(values["accuracy"]) == pytest.approx(metrics["accuracy"], abs=1e-4)
