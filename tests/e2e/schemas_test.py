# SPDX-License-Identifier: Apache-2.0
"""specs/: the schemas are valid, the program accepts their examples, and both refuse their counter-examples (x-invalid)."""
import concurrent.futures
import copy
import json
import os
import re
import subprocess

import jsonschema
import pytest
import yaml
from conftest import ROOT, SAMPLES, read_json
from surroundings import clean_environment

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


# What takes the place of each value of an example, by its type: what may just be meant, and what may not.
OTHER_TYPES = (None, True, 3, 2.5, "x", [], {}, [3], [None], {"a": []})
TEXTS = (
    *("", " ", "A B", "a\nb", "a:b", "a/b", "/x", "/x:y", "/", "/trainstep/x", "../x", "a/../b", "-x", "a..b", "x" * 64, "x" * 254, "ä", "1A", "a=b", "a.b/c"),
    *("true", "False", "0", "1", "3", "1.0", "2.5", "-1", "500m", "64", "1GB", "1Gi", "10m", "1h30", "1h30m", "1000001", "10001", "1025"),
)
NUMBERS = (0, 1, -1, 2.0, 64, 179, 180, 1024, 1025, 10_000, 10_001, 1_000_000, 1_000_001, 1_048_575, 1_048_576, 315_360_000, 315_360_001, 1e300)
# What the program refuses though the schema does not, because a schema cannot say it: a part of the message, and the reason.
BEYOND_SCHEMAS = {
    "distribution_specification": {
        "slots are too few": "compares two numbers",
        "is less than the": "compares two numbers",
        "not between": "compares two numbers",
        "bytes; write a unit": "a pattern cannot compare a size with 1Mi",
    },
    "job_options": {
        "bytes; write a unit": "a pattern cannot compare a size with 1Mi",
        "is shorter than 3m": "a pattern cannot compare a duration with another one",
        "replicas.Main: job_options.volumes": "an object for one type is compared with that for all",
        "is already used by": "compares two volumes",
        "is already the name of": "compares two volumes",
        "does not apply to the manifest": "depends on the manifest",
        "but the patch makes it": "depends on the manifest",
        "it identifies the job": "depends on the manifest",
        "job_options.logs: ": "depends on the type of the job",
        "replica type": "depends on the type of the job",
        "does not support": "depends on the type of the job",
        ".regex: ": "RE2 compiles it",
        "also defines": "compares two names",
    },
    "node_selector": {},
    "train_specification": {
        "train_parameters.": "a value is missing, or does not fit the declared type",
        ".default: ": "compares a value with the declared type",
        "declare": "compares names",
        "no argument passes": "compares names",
        "placeholder": "is the syntax of a text",
        "condition": "is the syntax of a text",
    },
}


def constants(schema):
    """All lists of an enum in the schema."""
    if isinstance(schema, dict):
        if "enum" in schema:
            yield schema["enum"]
        schema = list(schema.values())
    for member in schema if isinstance(schema, list) else ():
        yield from constants(member)


def places(value, path=()):
    yield path, value
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield from places(member, (*path, key))


def replaced(document, path, value):
    if not path:
        return value
    result = copy.deepcopy(document)
    at = result
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return result


def others(value, enums):
    """What to put in place of a value."""
    yield from OTHER_TYPES
    if isinstance(value, str):
        yield from TEXTS
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield from NUMBERS
    for enum in enums:
        if value in enum:
            yield from enum
    if isinstance(value, dict):
        yield {**value, "qqqqqqqqqqqqqqqqqqqq": 1}
        yield from ({key: member for key, member in value.items() if key != gone} for gone in value)
        yield from ({**value, key: member} for key in ("", "a b", "-a", "a/b/c", "Example.com/a", "1A", "x" * 64) for member in ("x", 3))
    if isinstance(value, list):
        yield from ([*value, other] for other in (None, "", "x", 3, {}))


def documents(name):
    """The examples with one value replaced, each place once."""
    enums, seen, made = list(constants(SCHEMAS[name])), set(), {}
    for example in SCHEMAS[name]["examples"]:
        if not isinstance(example, dict) or "deploymentSpec" in example:
            continue  # the text of node_selector; the structure of KFP's pipeline_spec.proto, which the schema leaves open
        parts = [{key: member} for key, member in example.items()] if name == "job_options" else [example]
        for part in parts:
            part.pop("component", None)  # needs a specification with several executors
            for path, value in places(part):
                place = (*(0 if isinstance(key, int) else key for key in path), example.get("distribution_type"))
                if place in seen or (len(path) > 1 and path[0] in ("patch", "affinity", "gang")):
                    continue
                seen.add(place)
                for other in others(value, enums):
                    document = replaced(part, path, other)
                    made[json.dumps(document)] = document
    return list(made.values())


def without_absent(value):
    """null and the empty string mean "not given" (specs/README.md)."""
    absent = lambda member: member is None or (isinstance(member, str) and not member.strip())
    if isinstance(value, dict):
        return {key: without_absent(member) for key, member in value.items() if not absent(member)}
    return [without_absent(member) for member in value if not absent(member)] if isinstance(value, list) else value


def refusal(program, name, value):
    """What the program says of the value of an input; None: it accepts it."""
    # As an object: in the text of a node_selector each value stays as it is written, numbers included.
    parameters = {"train_specification": json.dumps(PROGRAM), "node_selector": value}
    words = ("--executor-input", {"inputs": {"parameterValues": parameters}}) if name == "node_selector" else CALLS[name](value)
    words = [word if isinstance(word, str) else json.dumps(word) for word in words]
    done = subprocess.run([program, "render", *words], env=clean_environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, 2), done.stderr
    return done.stderr.strip() if done.returncode == 2 else None


@pytest.mark.parametrize("name", BEYOND_SCHEMAS)
def test_schema_and_program_accept_the_same_values(program, name):
    accepts = lambda document: validator(name).is_valid(document)
    cases = [document for document in documents(name) if isinstance(document, dict)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        refusals = list(pool.map(lambda document: refusal(program, name, document), cases))
    differences = []
    for document, refused in zip(cases, refusals):
        beyond = [part for part in BEYOND_SCHEMAS[name] if refused and part in refused]
        if refused is None and not accepts(document) and not accepts(without_absent(document)):
            differences.append(f"only the program accepts {json.dumps(document)}")
        elif refused is not None and accepts(document) and not beyond:
            differences.append(f"only the schema accepts {json.dumps(document)}: {refused}")
    assert not differences, "\n".join(differences)


def defaults(schema, path=()):
    for key, member in schema.get("properties", {}).items():
        if "default" in member:
            yield (*path, key), member["default"]
        yield from defaults(member, (*path, key))


@pytest.mark.parametrize("name", ["distribution_specification", "job_options"])
def test_a_default_of_the_schema_is_the_programs(trainstep, name):
    types = {"elastic": "PyTorch", "mpi_implementation": "MPI", "mpirun_arguments": "MPI"}
    render = lambda value: re.sub(r".*spec-hash.*", "", trainstep("render", *CALLS[name](value), "--run-id", "run", check=0).stdout)
    for path, default in defaults(SCHEMAS[name]):
        base = {"distribution_type": types[path[0]]} if path[0] in types else {}
        given = default
        for key in reversed(path):
            given = {key: given}
        assert render({**base, **given}) == render({**base, **({"elastic": {}} if path[0] == "elastic" else {})}), path


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
