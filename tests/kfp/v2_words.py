# SPDX-License-Identifier: Apache-2.0
"""How the backends of KFP 2 expand a container's words: placeholders in the driver (since 2.17) and in the launcher.

  2.5      the launcher replaces all keys in random order, {{$}} among them
  2.14     the launcher replaces {{$}} first, then the other keys; conditional placeholders stay literal
  2.17.0   the driver resolves before defaults are known: an omitted input used alone fails the task, and an artifact never counts as present
  2.17.1   the driver resolves against defaults, and sees artifacts
"""
import decimal
import json
import re

GENERATIONS = ("2.5", "2.14", "2.17.0", "2.17.1")
BEFORE_2_15 = ("2.5", "2.14")
_INPUT = re.compile(r"\{\{\$\.inputs\.parameters\['([^']+)'\]\}\}")


class DriverFailed(Exception):
    """A placeholder that the driver cannot resolve."""


def whole_numbers(value):
    """As protojson prints them: every number is a double, 2.0 is 2."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [whole_numbers(item) for item in value]
    if isinstance(value, dict):
        return {key: whole_numbers(item) for key, item in value.items()}
    return value


def text_of(value) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format(decimal.Decimal(repr(value)), "f")  # decimal, without an exponent
    return json.dumps(value, ensure_ascii=False)


def keys(executor_input: dict) -> dict:
    """All that the launcher knows besides {{$}}."""
    inputs, outputs = executor_input["inputs"], executor_input["outputs"]
    known = {f"{{{{$.inputs.parameters['{name}']}}}}": text_of(value) for name, value in inputs["parameterValues"].items()}
    known |= {f"{{{{$.outputs.parameters['{name}'].output_file}}}}": p["outputFile"] for name, p in outputs["parameters"].items()}
    for side, artifacts in (("inputs", inputs["artifacts"]), ("outputs", outputs["artifacts"])):
        for name, entry in artifacts.items():
            known[f"{{{{$.{side}.artifacts['{name}'].uri}}}}"] = entry["artifacts"][0]["uri"]
            known[f"{{{{$.{side}.artifacts['{name}'].path}}}}"] = entry["artifacts"][0]["customPath"]
    return known


def by_launcher(generation: str, words: list, executor_input: dict, random) -> list:
    known = keys(executor_input)
    whole = {"{{$}}": json.dumps(executor_input, ensure_ascii=False)}
    others = list(known.items())
    random.shuffle(others)
    order = [*whole.items(), *others]
    if generation == "2.5":
        random.shuffle(order)
    result = [words[0].replace("{{$}}", whole["{{$}}"])]
    for word in words[1:]:
        for key, text in order:
            word = word.replace(key, text)
        result.append(word)
    return result


def by_driver(generation: str, words: list, inputs: dict, defaults: dict) -> list:
    if generation in BEFORE_2_15:
        return list(words)
    values = inputs["parameterValues"] if generation == "2.17.0" else {**defaults, **inputs["parameterValues"]}
    present = set(values) | (set() if generation == "2.17.0" else set(inputs["artifacts"]))
    result = []
    for word in words:
        result += _conditional(word, values, present) if word.startswith('{"IfPresent":') else [_resolved(word, values)]
    return result


def _conditional(word: str, values: dict, present: set) -> list:
    branch = json.loads(word)["IfPresent"]
    chosen = branch["Then"] if branch["InputName"] in present else branch.get("Else", [])
    return [_resolved(item, values) for item in ([chosen] if isinstance(chosen, str) else chosen)]


def _resolved(word: str, values: dict) -> str:
    if "$.outputs" in word:  # left to the launcher
        return word

    def value(found):
        if found[1] not in values:
            raise DriverFailed(f"parameter {found[1]} not found in executor input")
        return text_of(values[found[1]])

    return _INPUT.sub(value, word)
