# SPDX-License-Identifier: Apache-2.0
"""A function as a training program: its specification, what the program gets, and what is refused before anything starts."""
import builtins
import json
import linecache
import subprocess
import sys
import textwrap
import types

import pytest
from conftest import ROOT, read_json

sys.path.insert(0, str(ROOT / "sdk"))

import trainstep as sdk  # noqa: E402

PREAMBLE = "import functools, math, typing\nfrom typing import *\nimport trainstep as sdk\nfrom trainstep import InputPath, OutputPath\n"


@pytest.fixture
def function(tmp_path):
    """function("def train(…): …") → it, as a module of that text has it."""

    def define(text, name="train", first="", file="program.py"):
        path = tmp_path / file
        path.write_text(first + PREAMBLE + textwrap.dedent(text), encoding="utf-8")
        linecache.checkcache(str(path))
        module = {"__name__": "program"}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module)
        return module[name]

    return define


@pytest.fixture
def trained(trainstep, tmp_path):
    """trained(specification, parameters) → the results of a run on this machine."""

    def run(specification, parameters=None, *words, check=0, python=sys.executable):
        (tmp_path / "specification").write_text(specification, encoding="utf-8")
        words = [*words, "--train-specification", f"@{tmp_path}/specification", "--train-parameters", parameters or {}]
        done = trainstep("run", "--cluster", "local", "--python", python, "--results", tmp_path / "results.json", *words, check=check)
        return done if check else read_json(tmp_path / "results.json")

    return run


EVERY_TYPE = """
    class Outcome(NamedTuple):
        text: str
        number: float
        whole: int
        truth: bool
        list_: list
        object_: Dict[str, int]

    def train(
        model_dir: OutputPath("Model"), data: InputPath("Dataset"), text: str, number: float, whole: int, truth: bool, list_: List[int], object_: dict,
        more: InputPath = None, perhaps: Optional[int] = None, default: int = 7, plain=0.5,
    ) -> Outcome:
        '''Trains.

        Not of interest.'''
        import os

        os.makedirs(model_dir)
        with open(os.path.join(model_dir, "model.txt"), "w") as file:
            file.write(open(data).read())
        assert (more, perhaps, default, plain) == (None, None, 7, 0.5), (more, perhaps, default, plain)
        return text, number, whole, truth, list_, object_
"""
VALUES = {"text": '\\"quotes" é\n$HOME', "number": 1e-7, "whole": -3, "truth": False, "list_": [1, 2], "object_": {"a": 1}}


def test_every_type_survives_a_round_trip(function, trained, tmp_path):
    (tmp_path / "data").write_text("the data")
    words = ["--train-dataset-dir", tmp_path / "data", "--model-dir", tmp_path / "model"]
    results = trained(sdk.train_specification(function(EVERY_TYPE)), {**VALUES, "data": "train_dataset_dir"}, *words)
    assert {name: results[name] for name in VALUES} == VALUES
    assert (tmp_path / "model/model.txt").read_text() == "the data"


def test_component_matches_the_declaration_of_the_function(function):
    component = json.loads(sdk.train_specification(function(EVERY_TYPE), base_image="image:1"))
    assert (component["name"], component["description"]) == ("Train", "Trains.")
    assert component["implementation"]["container"]["image"] == "image:1"
    assert {port["name"]: port.get("type") for port in component["inputs"]} == {
        "data": "Dataset", "text": "String", "number": "Float", "whole": "Integer", "truth": "Boolean", "list_": "JsonArray", "object_": "JsonObject",
        "more": None, "perhaps": "Integer", "default": "Integer", "plain": "Float",
    }
    assert [port["name"] for port in component["inputs"] if port.get("optional")] == ["more", "perhaps", "default", "plain"]
    assert [port["name"] for port in component["outputs"]] == ["model_dir", *VALUES]


def test_annotations_as_texts_are_understood(function, trained):
    train = function("def train(whole: 'int | None' = None, of: 'list[int]' = [], data: 'InputPath' = None) -> 'int':\n    return whole\n")
    assert trained(sdk.train_specification(train), {"whole": 2}) == {"Output": 2}


FUTURE = "from __future__ import annotations\n"
INNER = """
    def train(
        shapes: List[Tuple[int, int]] = None,  # größer
        data: "InputPath" = None, names: Dict[
            str, "typing.Any"] = None, epochs: int = 1) -> Optional[str]:  # not computed
        from decimal import Decimal
        import functools

        @functools.singledispatch
        def size(value):
            return "any"

        @size.register
        def _(value: Decimal): return "decimal"

        def inner(rate: float, more: "int" = 0) -> Decimal: pass

        class Net:
            depth: Decimal = 2

        return repr((size(Decimal(1)), inner.__annotations__, Net.__annotations__, train.__annotations__["epochs"]))
"""


def test_annotations_inside_are_what_they_were_where_the_function_was_defined(function, trained):
    train = function(INNER)
    assert trained(sdk.train_specification(train)) == {"Output": train()}
    assert "from __future__" not in sdk.train_specification(train)


def test_annotations_inside_are_texts_where_they_were(function, trained):
    train = function(INNER.replace("@size.register", "@size.register(Decimal)"), first=FUTURE)
    assert "'more': \"'int'\"" in train() and trained(sdk.train_specification(train)) == {"Output": train()}


HELPER = """
    def helper(x: math = None, *, y: "Absent" = 1):
        def inner(z: int, more: "int", *a: str, **b: float) -> int: pass

        class Inner:
            w: int

        return repr((inner.__annotations__, Inner.__annotations__))
"""
CALLER = """
    def train() -> str:
        def inner(x: int): pass

        return repr(inner.__annotations__) + helper()
"""


@pytest.mark.parametrize("first", ["", FUTURE])
@pytest.mark.parametrize("of_helper", ["", FUTURE])
def test_a_function_and_its_helpers_have_each_their_own_annotations(function, trained, first, of_helper):
    helper = function(HELPER, "helper", first=of_helper, file="helper.py")
    train = function(CALLER, first=first)
    text = sdk.train_specification(train, additional_funcs=[helper])
    train.__globals__["helper"] = helper
    assert trained(text) == {"Output": train()}


FIELDS = ["class Outcome(NamedTuple):\n    a: float\n    b: Optional[int]\n", "Outcome = NamedTuple('Outcome', [('a', 'float'), ('b', 'Optional[int]')])\n"]


@pytest.mark.parametrize("first", ["", FUTURE])
@pytest.mark.parametrize("outcome", FIELDS)
def test_annotations_inside_annotations_are_understood(function, trained, first, outcome):
    train = function(outcome + "def train(x: Optional['int'] = None) -> Outcome:\n    return 0.5, x\n", first=first)
    assert trained(sdk.train_specification(train), {"x": 2}) == {"a": 0.5, "b": 2}


def test_fields_are_understood_where_their_class_is_from(function, trained, monkeypatch):
    module = types.ModuleType("outcomes")
    exec("import typing\nWhole = int\nclass Outcome(typing.NamedTuple):\n    a: 'Whole'\n", module.__dict__)
    monkeypatch.setitem(sys.modules, "outcomes", module)
    train = function("import outcomes\ndef train() -> outcomes.Outcome:\n    return (2,)\n")
    assert trained(sdk.train_specification(train)) == {"a": 2}


NESTED = """
    def outer():
        def train() -> str:
            '''Trains,
          and says so.'''
            text = '''one
        two
          three'''
            if text:
                return text
        return train
    train = outer()
"""


def test_texts_of_a_nested_function_stay_as_they_are(function, trained):
    train = function(NESTED)
    assert train() == "one\n    two\n      three"
    assert trained(sdk.train_specification(train)) == {"Output": train()}


def test_only_texts_over_several_lines_need_their_indentation(function):
    from trainstep._source import loses_indentation

    assert loses_indentation(function(NESTED))
    assert not loses_indentation(function(NESTED.replace("\n        two\n          three", "")))


def test_defaults_that_are_not_finite_are_the_functions_own(function, trained):
    text = "def train(best: float = float('inf'), worst: float = -float('inf'), none: float = float('nan')) -> str:\n    return repr((best, worst, none))\n"
    specification = sdk.train_specification(function(text))
    assert trained(specification) == {"Output": "(inf, -inf, nan)"}
    assert trained(specification, {"best": "-Infinity", "worst": "NaN", "none": "+inf"}) == {"Output": "(-inf, nan, inf)"}


@pytest.mark.parametrize("text", ["def train():\n    display(1)\n", "def train(x=display): pass\n"])
def test_what_a_notebook_adds_to_python_is_from_outside(function, monkeypatch, text):
    monkeypatch.setattr(builtins, "display", lambda value: None, raising=False)
    with pytest.raises(sdk.SpecificationError, match="uses display"):
        sdk.train_specification(function(text))


def test_every_name_of_python_itself_is_there(function):
    """Of an interpreter with the module site, without what this one's tests have added."""
    names = subprocess.run([sys.executable, "-c", "print(*dir(__builtins__))"], capture_output=True, text=True, check=True).stdout.split()
    assert len(names) > 140
    sdk.train_specification(function(f"def train():\n    return [{', '.join(names)}]\n"))


def test_helpers_are_included(function, trained):
    text = "def helper(x):\n    return x + 1\n\ndef train(x: int = 1) -> int:\n    return helper(x)\n"
    train = function(text)
    with pytest.raises(sdk.SpecificationError, match="train uses helper from outside"):
        sdk.train_specification(train)
    assert trained(sdk.train_specification(train, additional_funcs=[train.__globals__["helper"]])) == {"Output": 2}


def test_non_finite_numbers_are_returned(function, trained):
    train = function("def train() -> float:\n    from fractions import Fraction\n    return Fraction(1, 4)\n")
    assert trained(sdk.train_specification(train)) == {"Output": 0.25}


ARRAY = """
    import collections, pathlib, types
    class Array:  # as numpy's and PyTorch's
        def __init__(self, value):
            self.value, self.shape = value, (len(value),) if isinstance(value, list) else ()
        def tolist(self):
            return self.value
        def item(self):
            return self.value[0] if self.shape == (1,) else self.value
    class Tensor:  # as TensorFlow's
        def __init__(self, value):
            self.value = value
        def numpy(self):
            return Array(self.value)
"""


@pytest.mark.parametrize("kind, value, taken", [
    ("bool", "Array(True)", True), ("bool", "Tensor([False])", False), ("bool", "1", True), ("bool", "0.0", False), ("bool", "'yes'", True),
    ("int", "Array(3)", 3), ("int", "Array([3])", 3), ("int", "Tensor(3.0)", 3), ("int", "True", 1), ("int", "'3'", 3),
    ("float", "Array([0.5])", 0.5), ("float", "Tensor(0.5)", 0.5), ("float", "'0.5'", 0.5),
    ("dict", "{'a': Array(0.5), 'b': {'c': [Array(True)]}, Array(3): (Tensor([1]), None)}", {"a": 0.5, "b": {"c": [True]}, "3": [[1], None]}),
    ("dict", "types.MappingProxyType({'a': Array([0.5, 1.5])})", {"a": [0.5, 1.5]}),
    ("list", "Array([0.5])", [0.5]), ("list", "(Array(1), Tensor([2, 3]))", [1, [2, 3]]), ("list", "collections.deque(range(2))", [0, 1]),
    ("str", "Array(5)", "5"), ("str", "pathlib.PurePath('a/b')", "a/b"),
])
def test_a_returned_value_is_taken_as_the_type_that_is_declared(function, trained, kind, value, taken):
    results = trained(sdk.train_specification(function(f"def train() -> {kind}:{ARRAY}\n    return {value}\n")))
    assert results == {"Output": taken} and type(results["Output"]) is type(taken)


@pytest.mark.parametrize("kind, value, message", [
    ("int", "3.5", "a float for Output, declared as Integer: it is 3.5"),
    ("bool", "Array(2)", "a Array for Output, declared as Boolean: it is 2"),
    ("float", "Array([1, 2])", "a Array for Output, declared as Float: "),
    ("dict", "{'a': [1, {2}]}", "a dict for Output, declared as JsonObject: it['a'][1] is a set, which JSON cannot represent"),
    ("list", "Array([b'1'])", "a Array for Output, declared as JsonArray: it[0] is a bytes, which JSON cannot represent"),
])
def test_a_returned_value_that_has_not_its_type_is_named(function, trained, kind, value, message):
    done = trained(sdk.train_specification(function(f"def train() -> {kind}:{ARRAY}\n    return {value}\n")), check=1)
    assert f"TypeError: train returned {message}" in done.stdout


def test_numbers_and_arrays_of_numpy_and_pytorch_are_returned(function, trained, python_of):
    train = function("""
    class Outcome(NamedTuple):
        good: bool
        best: int
        loss: float
        scores: dict
        curve: list

    def train() -> Outcome:
        import numpy
        import torch

        loss = torch.nn.Parameter(torch.tensor([0.25]))
        scores = {numpy.int64(3): numpy.float32(0.5), "rates": torch.tensor([[1.0, 2.0]]), "wide": numpy.longdouble(2), "good": torch.tensor(True)}
        return numpy.mean([1.0, 2.0]) > 0.9, numpy.argmax([1, 2]), loss, scores, numpy.array([0.5])
    """)
    results = trained(sdk.train_specification(train), python=python_of("pytorch"))
    scores = {"3": 0.5, "rates": [[1.0, 2.0]], "wide": 2.0, "good": True}
    assert results == {"good": True, "best": 1, "loss": 0.25, "scores": scores, "curve": [0.5]}


@pytest.mark.parametrize("value", ["numpy.ma.masked", "numpy.ma.array([1.5], mask=[True])"])
def test_a_masked_value_is_not_a_number(function, trained, python_of, value):
    train = function(f"""
    def train() -> float:
        import numpy
        return {value}
    """)
    with pytest.raises(AssertionError, match="for Output, declared as Float: it is masked and has no value"):
        trained(sdk.train_specification(train), python=python_of("pytorch"))


def test_what_is_not_masked_is_a_number(function, trained, python_of):
    train = function("""
    def train() -> float:
        import numpy
        return numpy.ma.array([1.5], mask=[False])
    """)
    assert trained(sdk.train_specification(train), python=python_of("pytorch")) == {"Output": 1.5}


UNDECLARED = {
    "a number": ("return 5", "5"),
    "infinity": ("return float('inf')", "Infinity"),
    "a text": ("return 'a\\n\\u00e9'", '"a\\n\\u00e9"'),
    "what nests": ("return {'a': [1, None, (2.5, True)]}", '{"a": [1, null, [2.5, true]]}'),
    "in a branch": ("for _ in range(2):\n        if True:\n            return 1", "1"),
    "nothing after all": ("return print('nothing')", "null"),
    "numbers that are nothing to JSON": (f"pass{ARRAY}\n    return [Array(1), Array([1, 2]), Tensor(0.5)]", "[1, [1, 2], 0.5]"),
}


LARGE = "type('Array', (), {'shape': (2, 1000), 'tolist': lambda self: [print('was a list')]})()"


@pytest.mark.parametrize("body, text", UNDECLARED.values(), ids=UNDECLARED)
def test_a_returned_value_without_a_type_is_json_in_the_results(function, trained, body, text):
    assert trained(sdk.train_specification(function(f"def train():\n    {body}\n"))) == {"Output": text}


@pytest.mark.parametrize("value", ["object()", "'x' * 1001", "{(1, 2): 3}", "{1, 2}", "range(10**12)", f"[{LARGE}]"])
def test_an_untyped_returned_value_that_is_not_json_is_reported_and_not_an_error(function, trainstep, tmp_path, value):
    text = sdk.train_specification(function(f"def train():\n    return {value}\n"))
    words = ["--python", sys.executable, "--results", tmp_path / "results.json", "--train-specification", text]
    done = trainstep("run", "--cluster", "local", *words, check=0)
    assert "the value returned by train, a" in done.stdout and "is not in the results" in done.stdout and "was a list" not in done.stdout
    assert read_json(tmp_path / "results.json") == {"Output": "null"}


@pytest.mark.parametrize("body", ["return", "return None", "def inner():\n        return 1\n    inner()", "print([x for x in '1'], (lambda: 1)())"])
def test_a_function_that_returns_nothing_has_no_returned_value(function, body):
    assert json.loads(sdk.train_specification(function(f"def train():\n    {body}\n")))["outputs"] == []
    assert json.loads(sdk.train_specification(function("def train() -> None:\n    return print('said')\n")))["outputs"] == []


def test_returning_nothing_of_what_is_declared_fails(function, trained):
    done = trained(sdk.train_specification(function("def train() -> float:\n    pass\n")), check=1)
    assert "train returned None for Output, declared as Float" in done.stdout


@pytest.mark.parametrize("first", ["", FUTURE])
@pytest.mark.parametrize("kind, value", [
    ("Optional[float]", 0.5), ("'Optional[float]'", 0.5), ("Union[None, int]", 3), ("'int | None'", 3), ("Optional[str]", "None"), ("Optional[dict]", {"a": None}),
])
def test_none_is_accepted_for_an_optional_value_and_omitted(function, trained, first, kind, value):
    train = function(f"def train(good: bool) -> {kind}:\n    return {value!r} if good else None\n", first=first)
    specification = sdk.train_specification(train)
    assert [trained(specification, {"good": good}) for good in (True, False)] == [{"Output": value}, {"Output": None}]


def test_only_optional_fields_may_be_none(function, trained, trainstep, tmp_path):
    train = function("""
    class Outcome(NamedTuple):
        best: Optional[float]
        epochs: int
        note: "str | None"

    def train(model_dir: OutputPath, epochs: Optional[int] = None) -> Outcome:
        open(model_dir, "w").write("model")
        return None, epochs, None
    """)
    specification = sdk.train_specification(train)
    notes = {port["name"]: port.get("annotations") for port in json.loads(specification)["outputs"]}
    assert notes == {"model_dir": None, "best": {"optional": True}, "epochs": None, "note": {"optional": True}}
    results = trained(specification, {"epochs": 3}, "--model-dir", tmp_path / "model")
    assert results == {"model_dir": str(tmp_path / "model"), "best": None, "epochs": 3, "note": None}
    assert "train returned None for epochs, declared as Integer" in trained(specification, {}, check=1).stdout


def test_traceback_shows_the_functions_own_lines(function, trained):
    done = trained(sdk.train_specification(function("def train():\n    nothing = 0\n    1 / nothing\n")), check=1)
    assert "in train" in done.stdout and "    1 / nothing" in done.stdout and "ZeroDivisionError" in done.stdout


@pytest.mark.parametrize("above, name", [
    ("from statistics import fmean as sum\n", "sum"),
    ("def open(path):\n    return 1\n", "open"),
    ("from math import *\n", "pow"),
])
def test_a_name_that_hides_pythons_own_is_from_outside(function, above, name):
    train = function(f"def train(x: list):\n    return {name}(x, 2)\n", first=above)
    with pytest.raises(sdk.SpecificationError, match=f"train uses {name} from outside"):
        sdk.train_specification(train)
    with pytest.raises(sdk.SpecificationError, match=f"a default uses {name}"):
        sdk.train_specification(function(f"def train(x: int = {name}):\n    return 1\n", first=above))


@pytest.mark.parametrize("old, new", [
    ("def train(x: int = 3):\n    return x\n", "def train(x: int = 9):\n    return x + 1\n"),
    ("def train():\n    return 1 + len('a')\n", "def train():\n    return 1 - len('a')\n"),
    ("def train():\n    return 1\n", "seed = 4\n\n\ndef train():\n    return 1\n"),
    ("def train():\n    return [x for x in (1, 2)]\n", "def train():\n    return [x for x in (1, 3)]\n"),
])
def test_a_source_that_has_changed_since_is_not_the_functions(function, tmp_path, old, new):
    train = function(old)
    (tmp_path / "program.py").write_text(PREAMBLE + new, encoding="utf-8")
    with pytest.raises(sdk.SpecificationError, match="train(:| is not| has)"):
        sdk.train_specification(train)


OLD = "def train():\n    return 1\n"


@pytest.mark.parametrize("new", [
    "\n\n" + OLD,
    "",
    "a = (\n",
    OLD.replace("def train", "def other"),
    "@staticmethod\n" + OLD,
    "get_ipython()\nget_ipython()\n" + OLD,
    '"""\n\n"""\n' + OLD,
    "one = 1\ndef other(): pass\n" + OLD,
])
def test_a_file_changed_since_is_reported_whatever_it_contains_now(function, tmp_path, new):
    train = function("x = 1\n" + OLD)
    (tmp_path / "program.py").write_text(PREAMBLE + new, encoding="utf-8")
    with pytest.raises(sdk.SpecificationError, match="train: .*program.py has changed since it was defined there; import its module again, or restart"):
        sdk.train_specification(train)


CLASSES = """
class Outcome(NamedTuple):
    x: int

class Other(NamedTuple):
    x: int

Number = float
"""


@pytest.mark.parametrize("first", ["", "from __future__ import annotations\n"], ids=["values", "texts"])
@pytest.mark.parametrize("old, new", [
    ("a: int = 2", "a: int = 5"),
    ("a: int = 2", "a: int = True"),
    ("a: int", "a: int = 2"),
    ("a: int = 2", "a: int"),
    ("a: float = float('inf')", "a: float = -float('inf')"),
    ("a: list = [1, 2]", "a: list = [1, 3]"),
    ("a: dict = {'a': [1.0]}", "a: dict = {'a': [1]}"),
    ("*, a: int = 2", "*, a: int = 5"),
    ("*, a: int", "*, a: int = 5"),
    ("a: int", "*, a: int"),
    ("a: int", "a: float"),
    ("a=2", "a: float = 2"),
    ("a: int = 2", "a: Number = 2"),
    ("a: int = 2", "a: Optional[int] = 2"),
    ("a: List[int]", "a: List[float]"),
    ("a: InputPath('A')", "a: InputPath('B')"),
    ("a: InputPath", "a: OutputPath"),
    ("a: int) -> (str", "a: int) -> (float"),
    ("a: int) -> (str", "a: int) -> (None"),
    ("a: int) -> (Outcome", "a: int) -> (Other"),
    ("a: int) -> (NamedTuple('O', [('x', int)])", "a: int) -> (NamedTuple('O', [('x', str)])"),
])
def test_a_declaration_that_has_changed_since_is_not_the_functions(function, tmp_path, first, old, new):
    def text(parameters):
        return f"{CLASSES}\ndef train({parameters}):\n    return 1\n"

    train = function(text(old), first=first)
    path = tmp_path / "program.py"
    path.write_text(first + PREAMBLE + text(new), encoding="utf-8")
    message = "^train: .*program.py(;| has changed since it was defined there;) import its module again, or restart the kernel$"
    with pytest.raises(sdk.SpecificationError, match=message):
        sdk.train_specification(train)
    helper = function("def other(): return 1\n", "other", file="other.py")
    with pytest.raises(sdk.SpecificationError, match=message):
        sdk.train_specification(helper, additional_funcs=[train])


@pytest.mark.parametrize("first", ["", "from __future__ import annotations\n"], ids=["values", "texts"])
@pytest.mark.parametrize("parameters", [
    "a: Number = 0.5, b: 'Number' = 1e400, c: Optional['int'] = None, d: \"Optional[Number]\" = float('nan')) -> (Outcome",
    "a: List[int] = [10**3, -(2)], b: dict = {'a': (1, {2, 3})}, c: Dict[str, float] = dict(a=1.0), *, d: str = 'a' 'b' * 2) -> ('Outcome'",
    "a: Annotated[int, 'x'] = int('3'), b: OutputPath('Model') = None, c: Optional[InputPath] = None) -> (NamedTuple('O', [('x', int), ('y', 'float')])",
    "a: list = list(range(3)), b: str = 'a'.upper(), c: int = id(object()), d: list = sorted({3, 2})) -> (None",
])
def test_a_declaration_that_has_not_changed_since_is_what_it_was(function, first, parameters):
    """A class of the same name may have been defined again, in another cell."""
    train = function(f"{CLASSES}\ndef train({parameters}):\n    return 1\n", first=first)
    train.__globals__["Outcome"] = type("Outcome", (), {"__module__": "program"})
    from trainstep._source import source_of

    assert source_of(train)


def test_a_file_that_has_not_changed_since_is_what_it_was(function):
    """A constant set may have another order each time that it is made."""
    sets = [[f"{a}{b}" for b in "abcde"] for a in range(100)]
    train = function("def train(x: str):\n    return (" + ", ".join(f"x in {{{', '.join(map(repr, some))}}}" for some in sets) + ")\n")
    assert sdk.train_specification(train)


@pytest.mark.parametrize("source", [
    "def train(a: int = 7) -> str:\n    return ('%d'\n            % a)\n",
    'def train(a: int = 7) -> str:\n    return """\n%matplotlib\n!ls"""[:0] + str(a)\n',
    "def train(a: int = 7) -> str:\n    # get_ipython() is not here\n    return str(a)\n",
])
def test_text_that_only_resembles_a_notebook_command_is_accepted(function, trained, source):
    assert trained(sdk.train_specification(function(source))) == {"Output": "7"}


@pytest.mark.parametrize("source", [
    "def train() -> int:\n    class Net:\n        depth = 2\n        width = depth + 1\n    return Net.width\n",
    "def train() -> int:\n    import math\n    return sum(len(str(x)) for x in range(3) if math.floor(x) >= 0)\n",
    "def train() -> int:\n    def inner(n):\n        return 1 if n == 0 else inner(n - 1)\n    return inner(3) + 2\n",
    "def train(x: int = 3) -> int:\n    return x if x == 3 else train(3)\n",
    "def train() -> int:\n    from dataclasses import dataclass\n    @dataclass\n    class A:\n        x: int = 3\n    return A().x\n",
    "def train() -> int:\n    import typing\n    class A(typing.NamedTuple):\n        x: int = 3\n    return A().x\n",
    "def train() -> int:\n    class A:\n        if True:\n            x: int = 3\n        class B:\n            y: int\n    return A.x\n",
    "def train() -> int:\n    class A:\n        x: int\n        y = __qualname__, __module__, __name__, list(__annotations__ or 'x')\n"
    "        def of(self): return __class__\n    return len(A.y) - 1\n",
    "def train() -> int:\n    def begin(x):\n        global START\n        START = x\n    def work(i):\n        return START + i\n    begin(2)\n    return work(1)\n",
    "STEPS = 7\ndef train() -> int:\n    global STEPS\n    STEPS = 2\n    STEPS += 1\n    return STEPS\n",
    "def train() -> int:\n    global math\n    import math\n    def inner():\n        return math.floor(3.5)\n    return inner()\n",
])
def test_names_assigned_by_the_function_are_not_foreign(function, trained, source):
    assert trained(sdk.train_specification(function(source))) == {"Output": 3}


REFUSED = {
    "a lambda": ("train = lambda: 1", "a lambda is not supported"),
    "a closure": ("def outer():\n    rate = 1\n    def train():\n        return rate\n    return train\ntrain = outer()", "train uses rate of the enclosing function"),
    "a method": ("class A:\n    def train(self): pass\ntrain = A().train", "A.train is a method"),
    "a builtin": ("train = len", "expected a function, got builtin_function_or_method"),
    "a class": ("class train: pass", "expected a function, got type"),
    "a partial": ("def f(x: int): pass\ntrain = functools.partial(f, 1)", "its arguments in train_parameters"),
    "a generator": ("def train():\n    yield 1", "write a plain `def`"),
    "a coroutine": ("async def train():\n    pass", "write a plain `def`"),
    "a decorated function": ("def d(f):\n    return f\n@d\ndef train(): pass", "train has decorators"),
    "a function that wraps another": ("def f(a: int): return a\n@functools.wraps(f)\ndef train(a: int): return -a", "f wraps another function"),
    "a function that was made to wrap another": ("def f(): pass\ndef train(): pass\nfunctools.update_wrapper(train, f); train.__name__ = 'train'", "train wraps another function"),
    "a name that the program around it needs": ("def isinstance(): pass\ntrain = isinstance", "isinstance has the name of a built-in function"),
    "a name that it was given later": ("def f(): pass\nf.__name__ = 'an evil name'\ntrain = f", "f is named an evil name"),
    "the name of what calls it": ("def _trainstep_main(): pass\ntrain = _trainstep_main", "_trainstep_main has the name of the function that calls it"),
    "a module from outside": ("def train():\n    print(math.pi)", "train uses math from outside the function.*import modules inside"),
    "a module used deep inside": ("def train():\n    def inner():\n        return [math.pi for _ in '1']", "train uses math"),
    "a value from outside": ("RATE = 1\ndef train():\n    print(RATE)", "train uses RATE"),
    "a value from outside that it changes": ("STEP = 0\ndef train():\n    global STEP\n    STEP += 1", "train uses STEP from outside"),
    "a value from outside that is changed deep inside": ("STEP = 0\ndef train():\n    def inner():\n        global STEP\n        STEP += 1\n    inner()", "train uses STEP"),
    "a default from outside": ("RATE = 1\ndef train(rate: int = RATE): pass", "a default uses RATE"),
    "any number of values": ("def train(*values: int): pass", r"train\(\*values\)"),
    "any names": ("def train(**values: int): pass", r"train\(\*\*values\)"),
    "a place instead of a name": ("def train(x: int, /): pass", "parameters are passed by name"),
    "no annotation": ("def train(epochs): pass", r"train\(epochs\): has no annotation; add its type, as in `epochs: int`"),
    "a type that no component has": ("def train(x: set): pass", "type set is not supported"),
    "a type that is not there": ("def train(x: 'Absent'): pass", "annotation Absent cannot be evaluated"),
    "a path with a default": ("def train(x: InputPath = '/data'): pass", "a path can only have the default None"),
    "two outputs of one name": ("def train(model: OutputPath) -> NamedTuple('O', [('model', str)]): pass", "have the same name"),
}


@pytest.mark.parametrize("text, message", REFUSED.values(), ids=REFUSED)
def test_refused_with_a_reason(function, text, message):
    with pytest.raises(sdk.SpecificationError, match=message):
        sdk.train_specification(function(text))


@pytest.mark.parametrize("name", ["int", "str", "open", "dict"])
def test_helper_with_the_name_of_a_function_that_the_program_calls_is_refused(function, name):
    helper = function(f"def {name}(x): return 99", name)
    with pytest.raises(sdk.SpecificationError, match=f"{name} has the name of a built-in function"):
        sdk.train_specification(function("def train(n: bool): return 1", file="other.py"), additional_funcs=[helper])


@pytest.mark.parametrize("line, shown", [
    ("get_ipython().system('nvidia-smi')", r"get_ipython\(\).system\('nvidia-smi'\)"),
    ("get_ipython().system('login --token hunter22')", r"get_ipython\(\).system\('login"),
    ("get_ipython().run_line_magic('env', 'HF_TOKEN=hunter22')", r"get_ipython\(\).run_line_magic\('env',"),
    ("get_ipython().system('HF_TOKEN=hunter22 login')", r"get_ipython\(\).system\('HF_TOKEN"),
])
def test_notebook_commands_are_refused_and_their_arguments_not_shown(function, line, shown):
    """IPython hands out a cell's source as it has rewritten it."""
    with pytest.raises(sdk.SpecificationError, match=f"notebook command, which works only in a notebook: {shown} …$"):
        sdk.train_specification(function(f"def train():\n    {line}\n"))


def test_unavailable_source_is_reported():
    module = {}
    exec("def train(): pass", module)
    with pytest.raises(sdk.SpecificationError, match="its source cannot be read.*define it in a file, or in a cell without a cell magic such as %%time"):
        sdk.train_specification(module["train"])


def test_function_of_a_cell_with_a_cell_magic_is_reported():
    """IPython compiles such a cell under this name, and keeps no source."""
    module = {}
    exec(compile("def train(): pass", "<timed exec>", "exec"), module)
    with pytest.raises(sdk.SpecificationError, match="^train: its source cannot be read, as its cell starts with %%time; define it in another cell or in a file$"):
        sdk.train_specification(module["train"])


def test_a_returned_integer_beyond_64_bits_is_named_as_one(function, trained):
    done = trained(sdk.train_specification(function("def train() -> int: return 10**30")), check=1)
    assert "train returned a int for Output, declared as Integer: it has 100 bits, and at most 64 are possible; declare it as str" in done.stdout
    assert trained(sdk.train_specification(function("def train() -> int: return 2**64 - 1"))) == {"Output": 2**64 - 1}


def test_specifications_with_more_than_ascii_go_through_pipelines_in_base64():
    """KFP's database may take nothing else."""
    from trainstep.kfp_task import _is_changed

    assert _is_changed("it costs 5 €") and _is_changed("$$") and not _is_changed("it costs $5")


def test_arguments_for_functions_are_rejected_with_any_other_specification():
    with pytest.raises(sdk.SpecificationError, match="require a plain function"):
        sdk.run({"image": "none", "command": ["true"]}, packages_to_install=["numpy"])


def test_packages_are_installed_only_where_they_are_missing(function, trained):
    """Here pip finds nothing: what is there needs no installation, what is not fails."""
    train = function("def train() -> int:\n    import pytest\n    return 1\n")
    assert trained(sdk.train_specification(train, packages_to_install=["pytest>=1,<100"])) == {"Output": 1}
    done = trained(sdk.train_specification(train, packages_to_install=["no-such-package"]), check=2)
    assert "the program requires Python packages that could not be installed: no-such-package" in done.stdout


def test_a_function_with_one_parameter_of_another_name_gets_all_parameters_in_it(function):
    from trainstep.training_client import arguments

    assert arguments(function("def train(config): pass"), {"epochs": 3}) == {"config": {"epochs": 3}}
    assert arguments(function("def train(config): pass"), {"config": {"epochs": 3}}) == {"config": {"epochs": 3}}
    assert arguments(function("def train(epochs, rate): pass"), {"epochs": 3}) == {"epochs": 3}


def test_inputs_are_those_of_the_interface():
    from trainstep.inputs import Inputs

    own = {"train_specification", "train_parameters", "distribution_specification"}
    assert set(Inputs.__annotations__) | own == {field["name"] for field in read_json(ROOT / "specs/interface.json")["inputs"] if field.get("component", True)}


OUTCOME = """
    class Outcome(NamedTuple):
        a: str
        b: str

    class Other(NamedTuple):
        b: str
        a: str

    def train() -> Outcome:
        {body}
"""


@pytest.mark.parametrize("returned", ['{"b": "2", "a": "1"}', '__import__("collections").namedtuple("Other", "b a")("2", "1")', '("1", "2")', '["1", "2"]'])
def test_returned_values_are_matched_by_name_if_they_have_names(function, trained, returned):
    assert trained(sdk.train_specification(function(OUTCOME.format(body=f"return {returned}")))) == {"a": "1", "b": "2"}


@pytest.mark.parametrize("returned", ['"ab"', '{"1", "2"}', '{"a": "1", "c": "2"}', 'b"ab"'])
def test_a_result_with_neither_names_nor_an_order_is_rejected(function, trained, returned):
    assert "declares a, b" in trained(sdk.train_specification(function(OUTCOME.format(body=f"return {returned}"))), check=1).stdout


def test_a_helper_is_the_one_that_is_called(function):
    train = function("""
    def helper():
        return 1

    def train() -> int:
        return helper()
    """)
    own = train.__globals__["helper"]
    other = types.FunctionType(own.__code__, {}, "helper")
    assert sdk.train_specification(train, additional_funcs=[own])
    with pytest.raises(sdk.SpecificationError, match="the helper that train calls is another function"):
        sdk.train_specification(train, additional_funcs=[other])
    with pytest.raises(sdk.SpecificationError, match="two functions are named helper"):
        sdk.train_specification(train, additional_funcs=[own, other])
