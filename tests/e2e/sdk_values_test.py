# SPDX-License-Identifier: Apache-2.0
"""Values given in Python arrive unchanged, or are refused by name before anything starts."""
import collections
import decimal
import enum
import pathlib
import sys
import types
import typing

import pytest
from conftest import ROOT
from sdk_scripts import environment, script, start  # noqa: F401

sys.path.insert(0, str(ROOT / "sdk"))

import trainstep as sdk  # noqa: E402
from trainstep._jobs import jobs_of  # noqa: E402
from trainstep._values import for_struct, is_exact, plain_value  # noqa: E402


@pytest.fixture
def interpreter(program):
    return ["env", f"PYTHONPATH={ROOT}/sdk", f"TRAINSTEP={program}", "/usr/bin/python3", "-B"]


def circle():
    inside = {}
    inside["again"] = inside
    return inside


@pytest.mark.parametrize("value, message", [
    (10**20, r"^train_parameters\.x: expected an integer of at most 64 bits, got one of 67 bits; "),
    ({"a": [1, -(2**63) - 1]}, r"^train_parameters\.x\.a\[1\]: expected an integer of at most 64 bits"),
    ({"a": {1}}, r"^train_parameters\.x\.a: expected str, .*; got set$"),
    (b"x", r"^train_parameters\.x: expected str, .*; got bytes$"),
    (decimal.Decimal(1), r"^train_parameters\.x: .*; got decimal\.Decimal$"),
    (pathlib.PurePosixPath("x"), r"^train_parameters\.x: .*; got pathlib\.PurePosixPath$"),
    ({1: "a"}, r"^train_parameters\.x: expected str keys, as in JSON; got 1, int$"),
    ({b"token=hunter22": "a"}, r"^train_parameters\.x: expected str keys, as in JSON; got bytes$"),
    ({"token=hunter22": object()}, r"^train_parameters\.x\.token…: expected str, [^=]*; got object$"),
    ({"a": "b\ud800"}, r"^train_parameters\.x\.a: expected Unicode, got the unpaired surrogate '\\ud800'"),
    ({"\udfff": 1}, r"^train_parameters\.x: expected Unicode, got the unpaired surrogate '\\udfff'"),
    (circle(), r"^train_parameters\.x\.again.*…: nested deeper than 100 levels"),
])
def test_what_the_program_would_not_get_as_it_is_is_refused_by_its_place(tmp_path, value, message):
    def train(x: dict):
        print(x)

    for call in (sdk.run, sdk.submit):
        with pytest.raises(sdk.InputError, match=message):
            call(train, {"x": value}, folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name, value", [
    ("cpus", b"1"), ("base_image", 3j), ("job_options", {"environment": {"A": object()}}), ("train_dataset_dir", "x\udc80"),
    ("node_selector", {"a": {1}}),
    ("folder", "a\0b"), ("model_dir", "a\0b"), ("python", "a\0b"), ("python", "\ud800"), ("python", 5), ("folder", b"x"),
])
def test_inputs_and_places_are_refused_by_their_names(name, value):
    with pytest.raises((sdk.InputError, sdk.SpecificationError), match=f"^{name}(\\.environment\\.A|\\.a)?: expected "):
        sdk.run({"image": "none", "command": ["true"]}, **{name: value})


@pytest.mark.parametrize("value", [{}, None, "", {"a": 1}])
def test_an_unknown_argument_is_refused_whatever_its_value(tmp_path, value):
    for call in (sdk.run, sdk.submit):
        with pytest.raises(sdk.InputError, match="^unknown argument jobs_options; did you mean job_options\\?$"):
            call({"image": "none", "command": ["true"]}, folder=tmp_path / "run", jobs_options=value)
        with pytest.raises(sdk.InputError, match="^unknown argument record$"):
            call({"image": "none", "command": ["true"]}, folder=tmp_path / "run", record=value)
    assert not (tmp_path / "run").exists()


def test_results_can_be_members_of_a_set(tmp_path):
    one, same, other = (sdk.Result(run_id, tmp_path, 0, "job", None, {"loss": 0.5}, {}, None) for run_id in "aab")
    assert one == same and {one, same, other} == {one, other} and len({one, same, other}) == 2


def test_none_is_refused_where_another_default_would_take_its_place(tmp_path):
    def train(steps: typing.Optional[int] = 100, note: typing.Optional[str] = None):
        print(steps, note)

    for call in (sdk.run, sdk.submit):
        with pytest.raises(sdk.InputError, match=r'^train_parameters\.steps: None means "not given", so train would get its default, 100; '):
            call(train, {"steps": None, "note": None}, folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(sdk.InputError, match=r"^train_parameters\.steps: "):
        sdk.TrainingClient().create_job("job", train, parameters={"steps": None})


def test_none_is_nones_default(script):
    output = script("""
        from typing import Optional

        def train(rate: float, note: Optional[str] = None) -> str:
            return repr((rate, note))

        print(trainstep.run(train, {"rate": 0.5, "note": None}).results["Output"])
    """)
    assert output.endswith("(0.5, None)\n")


def test_numbers_and_dictionaries_arrive_as_they_are(script):
    output = script("""
        import types

        def train(whole: int, number: float, more: dict, names: list = [1]) -> str:
            return repr((whole, number, more, names))

        more = types.MappingProxyType({"a": (2**53 + 1, -(2**63), 2**64 - 1), "b": {"c": 1e-320}, "text": "{{inputs.parameters.x}}"})
        given = {"whole": 2**63 - 1, "number": 0.1 + 0.2, "more": more}
        print(trainstep.run(train, given).results["Output"] == repr((given["whole"], given["number"], {**more, "a": list(more["a"])}, [1])))
    """)
    assert output.endswith("True\n")


def test_subclasses_of_what_json_has_are_what_they_are_made_of():
    class Color(str, enum.Enum):
        RED = "red"

    class Size(enum.IntEnum):
        LARGE = 3

    given = collections.OrderedDict(z=Color.RED, a=(Size.LARGE, types.MappingProxyType({"b": True})))
    assert plain_value("x", given) == {"z": "red", "a": [3, {"b": True}]}
    assert [type(value) for value in plain_value("x", [Color.RED, Size.LARGE])] == [str, int]


@pytest.mark.parametrize("default", ['{1: "a"}', "10**30", r'"\ud800"', '{"a": 10**30}', '("x", {2: 3})', 'float("inf")', "[(1, 2)]", '{"b": [()], "a": 1}', '{"b": 1, "a": 2}'])
def test_default_that_text_does_not_say_is_pythons_own(script, default):
    kind = {"{": "dict", "1": "int", '"': "str", "(": "list", "[": "list", "f": "float"}[default[0]]
    output = script(f"""
        def train(x: {kind} = {default}) -> str:
            return ascii(x)

        print(trainstep.run(train).results["Output"] == ascii({default}))
    """)
    assert output.endswith("True\n")


def test_half_of_a_character_in_a_specification_is_refused(tmp_path):
    (tmp_path / "program.py").write_text('def train(x: str):\n    "half \\ud800"\n', encoding="utf-8")
    sys.path.insert(0, str(tmp_path))
    import program

    with pytest.raises(sdk.SpecificationError, match=r"^train: .*half \\ud800' ends in an unpaired surrogate"):
        sdk.train_specification(program.train)
    with pytest.raises(sdk.SpecificationError, match="^train_specification: .* an unpaired surrogate"):
        sdk.run("image: \ud800")


def test_what_a_specification_is_made_of_is_refused_by_its_name(tmp_path):
    def train():
        pass

    (tmp_path / "latin").write_bytes(b"image: \xe9")
    for message, call in {
        r"additional_funcs\[1\]: expected a function, got int": lambda: sdk.run(train, additional_funcs=[train, 5]),
        "additional_funcs: expected a list, got function": lambda: sdk.run(train, additional_funcs=train),
        r"packages_to_install\[0\]: expected a str, got int": lambda: sdk.run(train, packages_to_install=[5]),
        r"train_specification: expected base64 after base64: \(.*\)": lambda: sdk.run("base64:%%%"),
        "train_specification: expected UTF-8, got byte 0xff at 0": lambda: sdk.run("base64:/w=="),
        ".*latin: expected UTF-8, got byte 0xe9 at 7": lambda: sdk.run(tmp_path / "latin"),
    }.items():
        with pytest.raises(sdk.SpecificationError, match=f"^{message}$"):
            call()


def test_placeholders_of_the_sdks_are_refused_and_those_of_templates_are_texts(script):
    output = script("""
        def train(text: str) -> str:
            return text

        for text in ("{{inputs.parameters.x}} {{workflow.name}}", "{{$.inputs.parameters['x']}}"):
            assert trainstep.run(train, {"text": text}).results["Output"] == text
        for text in ("a {{channel:task=a;name=b;type=String;}}", "{{$.inputs.parameters['pipelinechannel--x']}}", "{{pipelineparam:op=a;name=b}}"):
            try:
                trainstep.run(train, {"text": text})
            except trainstep.InputError as refused:
                print("refused", "was not replaced with a value" in str(refused))
    """)
    assert output.count("refused True\n") == 3


@pytest.mark.parametrize("value, exact", [
    (2**53, True), (2**53 + 1, False), (-(2**53) - 1, False), (2**60, False), (True, True), ("x", True), (0.1, True), (1e-320, True), (1e18, True),
    (1e21, True), (2.0**60, False), (1e300, True), (float("nan"), False), (float("-inf"), False),
])
def test_numbers_that_survive_conversion_to_a_double_and_back(value, exact):
    assert is_exact(value) == exact
    if exact:
        for_struct("x", {"a": [value]})
    else:
        with pytest.raises(sdk.InputError, match=r"^x\.a\[0\]: .* would change: .*pass it as a string"):
            for_struct("x", {"a": [value]})


def test_rows_of_jobs_have_the_columns_of_their_header():
    header = f"{'RUN':<24} {'KIND':<10} {'JOB':<40} {'STATE':<11} SINCE\n"
    long = "a" * 60
    assert jobs_of(header + f"{long:<24} {'PyTorch':<10} {long:<40} {'running':<11} <none>\n") == [sdk.Job(long, "PyTorch", long, "running", "")]
    assert jobs_of(header) == [] and jobs_of("") == []
    for row in ("a b PyTorch job running 2026-01-01T00:00:00Z", "PyTorch job running 2026-01-01T00:00:00Z"):
        with pytest.raises(sdk.InfrastructureError, match=f"expected RUN, KIND, JOB, STATE and SINCE; got {row}"):
            jobs_of(f"{header}{row}\n")
