# SPDX-License-Identifier: Apache-2.0
"""The end of a function's program. Its source is copied into the specification, after the function:
it may use only the standard library of Python 3.7 or later."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _trainstep_main(
    function: Callable[..., Any], types: dict[str, str], outputs: list[str], returned: list[tuple[str, str, bool]], single: bool
) -> None:
    """Calls the function with the arguments of the command line and writes its returned values.

    The command line: `name text` for each input and output that is given, then `----output-paths` and one path for each returned value.
    types: input → its type; outputs: names of paths to write; returned: for each returned value (name, type, optional: None
    is allowed, and then nothing is written); single: one value is returned, not a tuple.
    Type Undeclared: a value that is not short JSON is reported and written as null. Other values are converted to the declared
    type if that loses nothing; failing would lose the training.
    """
    import json
    import numbers
    import os
    import sys
    from collections.abc import Mapping, Sequence

    def read(kind: str, text: str) -> Any:
        if kind == "Boolean":
            return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[text.strip().lower()]
        if kind in ("JsonObject", "JsonArray"):
            return json.loads(text)
        return int(text) if kind == "Integer" else float(text) if kind == "Float" else text

    def short_json(value: Any) -> str:
        try:
            text = json.dumps(plain(value, 1000))
            if len(text) <= 1000:
                return text
        except Exception:  # conversion methods of arbitrary objects may raise anything
            pass
        print(
            "the value returned by %s, a %s, is not in the results: it is not JSON of at most 1000 characters; declare its type, as in `-> float`"
            % (function.__name__, type(value).__name__)
        )
        return "null"

    def plain(value: Any, most: float = float("inf"), where: str = "it") -> Any:
        """Converts the value to JSON types, including numbers and arrays of NumPy, PyTorch and TensorFlow. `most`: maximum number of members."""
        if value is None or isinstance(value, (str, bool, int, float)):
            return value
        if isinstance(value, numbers.Real):
            return int(value) if isinstance(value, numbers.Integral) else float(value)
        if isinstance(value, Mapping):
            if len(value) <= most:
                return {plain(key) if hasattr(key, "item") else key: plain(of, most, "%s[%r]" % (where, key)) for key, of in value.items()}
        elif isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
            if len(value) <= most:
                return [plain(of, most, "%s[%d]" % (where, at)) for at, of in enumerate(value)]
        else:
            size = 1
            for length in getattr(value, "shape", ()):
                size *= length
            for how in ("tolist", "numpy", "item"):
                if size <= most and hasattr(value, how):
                    return plain(getattr(value, how)(), most, where)
        raise TypeError("%s is a %s, which JSON cannot represent" % (where, type(value).__name__))

    def single_value(kind: str, value: Any) -> Any:
        if not hasattr(value, "item") and hasattr(value, "numpy"):  # TensorFlow's
            value = value.numpy()
        if getattr(value, "mask", False) is not False and getattr(value, "count", lambda: 1)() == 0:
            raise ValueError("it is masked and has no value")
        if hasattr(value, "item"):  # also of an array that has one element
            value = value.item()
        if kind == "Float":
            return float(value)
        if isinstance(value, str):
            return value
        whole = int(value)
        if whole != value or (kind == "Boolean" and whole not in (0, 1)):
            raise ValueError("it is %r" % (value,))
        if not -(2**63) <= whole < 2**64:  # the step reads no others
            raise ValueError("it has %d bits, and at most 64 are possible; declare it as str, and return str(…)" % whole.bit_length())
        return whole == 1 if kind == "Boolean" else whole

    def write(kind: str, value: Any) -> str:
        if kind == "Undeclared":
            return short_json(value)
        if kind == "String" and hasattr(value, "__fspath__"):
            return os.fsdecode(value)
        value = single_value(kind, value) if kind in ("Boolean", "Integer", "Float") else plain(value)
        return value if isinstance(value, str) else json.dumps(value)

    def folder_of(path: str) -> None:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)

    words = sys.argv[1:]
    at = words.index("----output-paths") if returned else len(words)
    given = dict(zip(words[:at:2], words[1:at:2]))
    for name in outputs:
        folder_of(given[name])
    values = function(**{name: text if name in outputs else read(types[name], text) for name, text in given.items()})
    if single:
        values = (values,)
    elif returned:
        names = [name for name, _, _ in returned]
        by_name = values._asdict() if hasattr(values, "_asdict") else values
        if isinstance(by_name, dict) and sorted(by_name) == sorted(names):
            values = [by_name[name] for name in names]
        elif isinstance(values, (str, bytes, set, frozenset, dict)):
            raise TypeError("%s returned a %s, but declares %s" % (function.__name__, type(values).__name__, ", ".join(names)))
    if returned and len(values) != len(returned):
        raise TypeError("%s returned %d values, but declares %d" % (function.__name__, len(values), len(returned)))
    for (name, kind, optional), value, path in zip(returned, values if returned else (), words[at + 1 :]):
        if value is None and optional:
            print("%s returned None for %s: no value is written" % (function.__name__, name))
            continue
        if value is None and kind != "Undeclared":
            raise TypeError("%s returned None for %s, declared as %s" % (function.__name__, name, kind or "a value"))
        try:
            text = write(kind, value)
        except Exception as problem:
            found = (function.__name__, type(value).__name__, name, kind, problem)
            raise TypeError("%s returned a %s for %s, declared as %s: %s" % found) from problem
        folder_of(path)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
