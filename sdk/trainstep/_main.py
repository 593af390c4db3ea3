# SPDX-License-Identifier: Apache-2.0
"""What a function's program begins with when it is started. Its text goes into the specification, behind the function: it may use nothing but Python."""


def _trainstep_main(function, types, outputs, returned, single):  # type: ignore
    """Calls the function with what the command line says, and writes what it returns.

    The command line: `name text` for each input and output that is given, then `----output-paths` and one path for each returned value.
    types: input → its type; outputs: names of paths to write; returned: (name, type) of each returned value; single: it is one value, not a tuple.
    """
    import json
    import os
    import sys

    def read(kind, text):  # type: ignore
        if kind == "Boolean":
            return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[text.strip().lower()]
        if kind in ("JsonObject", "JsonArray"):
            return json.loads(text)
        return int(text) if kind == "Integer" else float(text) if kind == "Float" else text

    words = sys.argv[1:]
    at = words.index("----output-paths") if returned else len(words)
    arguments = dict(zip(words[:at:2], words[1:at:2]))
    for name, text in arguments.items():
        if name in outputs:
            os.makedirs(os.path.dirname(os.path.abspath(text)), exist_ok=True)
        else:
            arguments[name] = read(types[name], text)
    values = function(**arguments)
    if single:
        values = (values,)
    if returned and len(values) != len(returned):
        raise TypeError("%s returned %d values, declared are %d" % (function.__name__, len(values), len(returned)))
    for (name, kind), value, path in zip(returned, values if returned else (), words[at + 1 :]):
        if value is None:
            raise TypeError("%s returned None for %s, declared as %s" % (function.__name__, name, kind or "a value"))
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(value if isinstance(value, str) else json.dumps(value))
