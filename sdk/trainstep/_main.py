# SPDX-License-Identifier: Apache-2.0
"""What a function's program ends with. Its text goes into the specification, behind the function: it may use nothing but Python, 3.7 or later."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _trainstep_main(
    function: Callable[..., Any], types: dict[str, str], outputs: list[str], returned: list[tuple[str, str]], single: bool
) -> None:
    """Calls the function with what the command line says, and writes what it returns.

    The command line: `name text` for each input and output that is given, then `----output-paths` and one path for each returned value.
    types: input → its type; outputs: names of paths to write; returned: (name, type) of each returned value; single: it is one value, not a tuple.
    Type Undeclared: what no short JSON can say is no reason to fail, but is said.
    """
    import json
    import operator
    import os
    import sys

    def read(kind: str, text: str) -> Any:
        if kind == "Boolean":
            return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[text.strip().lower()]
        if kind in ("JsonObject", "JsonArray"):
            return json.loads(text)
        return int(text) if kind == "Integer" else float(text) if kind == "Float" else text

    def short_json(value: Any) -> str:
        text = ""
        try:
            for part in json.JSONEncoder(default=lambda inner: inner.item()).iterencode(value):
                text += part
                if len(text) > 1000:
                    break
            else:
                return text
        except Exception:  # whatever an object of anybody's raises
            pass
        print(
            "what %s returned, a %s, does not stand in the results: it is no JSON of at most 1000 characters; declare its type, as in `-> float`"
            % (function.__name__, type(value).__name__)
        )
        return "null"

    def write(kind: str, value: Any) -> str:  # numpy's and PyTorch's numbers are no numbers to json
        if kind == "Undeclared":
            return short_json(value)
        if kind in ("Integer", "Float"):
            value = operator.index(value) if kind == "Integer" else float(value)
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
        names = [name for name, _ in returned]
        by_name = values._asdict() if hasattr(values, "_asdict") else values
        if isinstance(by_name, dict) and sorted(by_name) == sorted(names):
            values = [by_name[name] for name in names]
        elif isinstance(values, (str, bytes, set, frozenset, dict)):
            raise TypeError("%s returned a %s, declared are %s" % (function.__name__, type(values).__name__, ", ".join(names)))
    if returned and len(values) != len(returned):
        raise TypeError("%s returned %d values, declared are %d" % (function.__name__, len(values), len(returned)))
    for (name, kind), value, path in zip(returned, values if returned else (), words[at + 1 :]):
        if value is None and kind != "Undeclared":
            raise TypeError("%s returned None for %s, declared as %s" % (function.__name__, name, kind or "a value"))
        folder_of(path)
        with open(path, "w", encoding="utf-8") as file:
            file.write(write(kind, value))
