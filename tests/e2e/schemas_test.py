# SPDX-License-Identifier: Apache-2.0
"""specs/: the schemas are valid, the program accepts their examples, and both refuse their counter-examples (x-invalid)."""
import json
import re

import jsonschema
import pytest
import yaml
from conftest import ROOT, SAMPLES, read_json

SPECS = sorted((ROOT / "specs").glob("*.schema.json"))
NAMES = [path.name.removesuffix(".schema.json") for path in SPECS]
SCHEMAS = dict(zip(NAMES, map(read_json, SPECS)))
PROGRAM = {"image": "python:3.11", "command": ["python3", "-c", "print(1)"]}
# A program with the parameters of the published notebooks.
NOTEBOOK = (ROOT / "tests/e2e/styles/specs/train_model.v1.yaml").read_text(encoding="utf-8")
PATHS = ("--train-dataset-dir", "/data/train", "--validation-dataset-dir", "/data/validation", "--model-dir", "/data/model")
# How `render` is asked with a value of each input.
CALLS = {
    "train_specification": lambda value: ("--train-specification", json.dumps(value)),
    "train_parameters": lambda value: ("--train-specification", NOTEBOOK, *PATHS, "--train-parameters", as_text(value)),
    "distribution_specification": lambda value: ("--train-specification", PROGRAM, "--distribution-specification", as_text(value)),
    "job_options": lambda value: ("--train-specification", PROGRAM, "--job-options", as_text(value)),
    "node_selector": lambda value: ("--train-specification", PROGRAM, "--node-selector", as_text(value)),
    "executor_input": lambda value: ("--executor-input", json.dumps(value)),
}


def as_text(value):
    return value if isinstance(value, str) else json.dumps(value)


def validator(name):
    return jsonschema.Draft202012Validator(SCHEMAS[name])


def cases(key, names):
    return [pytest.param(name, case, id=f"{name}-{number}") for name in names for number, case in enumerate(SCHEMAS[name][key])]


@pytest.mark.parametrize("name", NAMES)
def test_the_schema_is_valid_and_shows_what_fits_and_what_does_not(name):
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]["title"] and SCHEMAS[name]["description"]
    assert SCHEMAS[name]["examples"] and SCHEMAS[name]["x-invalid"]


@pytest.mark.parametrize("name, value", cases("examples", NAMES))
def test_an_example_fits_its_schema(name, value):
    validator(name).validate(value)


@pytest.mark.parametrize("name, case", cases("x-invalid", NAMES))
def test_a_counter_example_does_not_fit_its_schema(name, case):
    assert not validator(name).is_valid(case["value"])


@pytest.mark.parametrize("name", ["distribution_specification", "job_options"])
def test_every_key_has_an_example(name):
    shown = {key for example in SCHEMAS[name]["examples"] for key in example}
    assert shown == set(SCHEMAS[name]["properties"])


@pytest.mark.parametrize("name, value", cases("examples", CALLS))
def test_the_program_accepts_an_example(trainstep, name, value):
    if name == "job_options" and "component" in value:  # needs a specification with several executors
        value = {key: member for key, member in value.items() if key != "component"}
    assert trainstep("render", *CALLS[name](value), check=0).stdout.startswith("apiVersion: ")


@pytest.mark.parametrize("name, case", cases("x-invalid", CALLS))
def test_the_program_refuses_a_counter_example_by_name(trainstep, name, case):
    done = trainstep("render", *CALLS[name](case["value"]), check=2)
    assert case["message"] in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("name", ["distribution_specification", "job_options"])
def test_schema_and_program_know_the_same_keys(trainstep, name):
    done = trainstep("render", *CALLS[name]({"qqqqqqqqqqqqqqqqqqqq": 1}), check=2)
    (listed,) = re.findall(r"expected one of (.*)", done.stderr)
    assert set(listed.strip().split(", ")) == set(SCHEMAS[name]["properties"])


def test_schema_and_program_know_the_same_inputs(trainstep):
    listed = set(re.findall(r"^ +--([a-z0-9-]+)", trainstep("render", "--help", check=0).stdout, re.MULTILINE))
    inputs = SCHEMAS["executor_input"]["properties"]["inputs"]["properties"]["parameterValues"]["properties"]
    assert {name.replace("_", "-") for name in inputs} <= listed


@pytest.mark.parametrize("specification", sorted(SAMPLES.glob("*/train_specification.*.yaml")), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_the_samples_fit_the_schema_of_specifications(specification):
    validator("train_specification").validate(next(yaml.safe_load_all(specification.read_text(encoding="utf-8"))))


def test_the_outputs_of_a_run_fit_their_schemas(trainstep, tmp_path):
    program = {
        "image": "none",
        "command": ["python3", "-c", "import sys; print('epoch=1 accuracy=0.5 loss=nan'); open(sys.argv[1], 'w').write('text')"],
        "args": [{"outputPath": "note"}],
    }
    outputs = {name: tmp_path / name for name in ("metrics", "results", "mlpipeline_metrics", "mlpipeline_ui_metadata")}
    flags = [word for name, path in outputs.items() for word in (f"--{name.replace('_', '-')}", path)]
    trainstep("run", "--cluster", "local", "--train-specification", program, *flags, check=0)
    for name, path in outputs.items():
        validator(name).validate(read_json(path))
    assert read_json(outputs["metrics"]) == {"accuracy": 0.5}
    assert read_json(outputs["results"]) == {"note": "text"}


def test_the_executor_output_of_a_run_fits_its_schema(trainstep, tmp_path):
    program = {"image": "none", "command": ["python3", "-c", "print('accuracy=0.5')"]}
    artifact = lambda name: {"artifacts": [{"name": name, "uri": f"minio://bucket/run/task/uuid/{name}", "customPath": str(tmp_path / name)}]}
    executor_input = {
        "inputs": {"parameterValues": {"train_specification": json.dumps(program)}},
        "outputs": {
            "parameters": {name: {"outputFile": str(tmp_path / name)} for name in ("job_name", "results", "accuracy")},
            "artifacts": {name: artifact(name) for name in ("model_dir", "metrics", "report")},
            "outputFile": str(tmp_path / "output_metadata.json"),
        },
    }
    validator("executor_input").validate(executor_input)
    trainstep("run", "--cluster", "local", "--executor-input", executor_input, check=0)
    written = read_json(tmp_path / "output_metadata.json")
    validator("executor_output").validate(written)
    assert written["parameterValues"]["accuracy"] == 0.5
    assert written["artifacts"]["metrics"]["artifacts"][0]["metadata"] == {"accuracy": 0.5}
    assert (tmp_path / "accuracy").read_text() == "0.5"
    assert (tmp_path / "report").read_text().startswith("<!DOCTYPE html>")
