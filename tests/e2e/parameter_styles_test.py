# SPDX-License-Identifier: Apache-2.0
"""Programs with every style of parameter receive from trainstep what the SDK's own executor passes for the same call.

styles/cases.py lists the calls, styles/expected/ has what the SDKs passed (written by styles/make_styles.py).
"""
import json

import cases
import oracle
import pytest
from conftest import read_json

STEP_OUTPUTS = ("model_dir", "results", "metrics")  # that every call asks for
VENV = {"v1": "kfp1", "v2": "kfp2"}


def whole(value):
    """Numbers inside lists and objects: kfp.local makes them all floats, real backends write whole ones as integers."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [whole(item) for item in value]
    if isinstance(value, dict):
        return {key: whole(item) for key, item in value.items()}
    return value


def word(text):
    """A word of a container's command line: JSON there is compared as JSON."""
    try:
        return whole(json.loads(text))
    except ValueError:
        return text


def comparable(got):
    """What version 2 of the SDK leaves open is made the same; a number that is a parameter itself keeps its type."""
    if not isinstance(got, dict):
        return whole(got)
    return {name: [word(w) for w in what] if name == "arguments" else of_one_parameter(what) for name, what in got.items()}


def of_one_parameter(what):
    if isinstance(what, dict) and set(what) <= {"int", "float"}:
        return what
    return whole(what) if isinstance(what, (list, dict)) else what


def as_text(value):
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)


def same(case, got, expected):
    if case.sdk == "v2":
        got, expected = comparable(got), comparable(expected)
    assert as_text(got) == as_text(expected)


def run(case, trainstep, python_of, tmp_path):
    arguments = ["run", "--cluster", "local", "--python", python_of(VENV[case.sdk]), "--run-dir", tmp_path / "run"]
    arguments += ["--train-specification", f"@{oracle.HERE / 'specs' / case.spec}", "--train-parameters", case.train_parameters]
    for formal, (name, _) in case.inputs.items():
        arguments += ["--" + name.replace("_", "-"), case.data[formal]]
    for name in STEP_OUTPUTS:
        arguments += ["--" + name.replace("_", "-"), tmp_path / "given" / name]
    return trainstep(*arguments)


def place(case, tmp_path, output):
    """Where the call puts an output of the program: one that is not mapped goes to the step's output of the same name, if there is one."""
    mapped = case.outputs.get(output) or (output if output in STEP_OUTPUTS else None)
    return tmp_path / "given" / mapped if mapped else tmp_path / "run" / "outputs" / output


@pytest.mark.parametrize("case", cases.V1 + cases.V2, ids=lambda case: case.name)
def test_program_receives_what_the_sdk_gives(case, trainstep, python_of, tmp_path):
    expected = read_json(oracle.HERE / "expected" / f"{case.name}.json")
    done = run(case, trainstep, python_of, tmp_path)
    if expected.get("fails"):
        # Version 1: the program itself refuses its command line. Version 2: the specification is no YAML.
        code, says = {"v1": (1, "expected one argument"), "v2": (2, "train_specification")}[case.sdk]
        assert done.returncode == code and says in done.stdout + done.stderr, done.stdout + done.stderr
        return
    assert done.returncode == 0, done.stdout + done.stderr
    for output, content in expected["outputs"].items():
        if content is None:
            continue  # an artifact that has only metadata
        got = oracle.tree(place(case, tmp_path, output))
        if output == "echo":
            assert got is not None, f"the program wrote no echo into {place(case, tmp_path, output)}"
            same(case, json.loads(got), content)
        else:
            assert got == content
    if expected["results"]:
        results = read_json(tmp_path / "given/results")
        same(case, {name: results.get(name) for name in expected["results"]}, expected["results"])
    if "metrics" in expected["metadata"]:
        metrics = read_json(tmp_path / "given/metrics")
        assert {name: metrics.get(name) for name in expected["metadata"]["metrics"]} == expected["metadata"]["metrics"]
