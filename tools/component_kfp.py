# SPDX-License-Identifier: Apache-2.0
"""Generates component/component.yaml from specs/interface.json: one file that both SDKs load, call and compile; and
component/train-model-job/component.yaml, with the differences for calls of that component (docs/adr/0027-a-component-file-for-train-model-job.md).

Every input is optional, including train_specification: the SDK 1.8 moves required inputs to the front, which would break calls with positional arguments
(the two data sets first, as in published notebooks). The program reports what is missing. Each input is in an `if`, because backends handle omitted inputs
differently; with an executor input the program reads nothing else.
"""
import json
import textwrap

HEAD = """\
# Made by tools/make_component.py from specs/interface.json.
# SPDX-License-Identifier: Apache-2.0
"""
TYPES = {"path": None, "specification": "String", "object": "JsonObject", "selector": "String", "text": "String"}


def quoted(text: str) -> str:
    """A YAML scalar; JSON strings are valid ones."""
    return json.dumps(text, ensure_ascii=False)


def sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith("…") else ".")


def folded(indent: str, key: str, text: str) -> list:
    """A member whose text is wrapped; YAML reads it as one line."""
    lines = textwrap.wrap(text, 140, break_long_words=False, break_on_hyphens=False)
    return [f"{indent}{key}: >-", *(f"{indent}  {line}" for line in lines)]


def description(field: dict) -> str:
    parts = [sentence(field["help"]), field.get("more", ""), f"Example: {field['example']}" if "example" in field else ""]
    return " ".join(part for part in parts if part)


def flag_name(field: dict) -> str:
    return field.get("flag", field["name"].replace("_", "-"))


def of_component(interface: dict) -> list:
    return [field for field in interface["inputs"] if field.get("component", True)]


def is_optional(field: dict) -> bool:
    return field.get("optional", True)


def input_lines(field: dict) -> list:
    lines = [f"- name: {field['name']}"]
    kind = field.get("type", TYPES[field["shape"]])
    if kind:
        lines.append(f"  type: {kind}")
    lines += folded("  ", "description", description(field))
    if "default" in field:
        lines.append(f"  default: {quoted(field['default'])}")
    return [*lines, "  optional: true"] if is_optional(field) else lines


def output_lines(field: dict) -> list:
    kind = [f"  type: {field['type']}"] if "type" in field else []
    return [f"- name: {field['name']}", *kind, *folded("  ", "description", field["description"])]


def input_argument(field: dict) -> str:
    name, way = field["name"], "inputPath" if field["shape"] == "path" else "inputValue"
    if not is_optional(field):
        return f"    - --{flag_name(field)}\n    - {way}: {name}"
    return f"    - if: {{cond: {{isPresent: {name}}}, then: [--{flag_name(field)}, {{{way}: {name}}}]}}"


def changed(fields: list, changes: dict) -> list:
    """The fields with their differences applied; a null removes a member."""
    assert set(changes) <= {field["name"] for field in fields}
    merged = [field | changes.get(field["name"], {}) for field in fields]
    return [{key: value for key, value in field.items() if value is not None} for field in merged]


def train_model_job(interface: dict, image: str, base_image: str = "") -> str:
    other = interface["train_model_job"]
    inputs = changed(interface["inputs"], other["inputs"])
    if base_image:
        inputs = changed(inputs, {"base_image": {"default": base_image}})
    outputs = changed(interface["outputs"], other["outputs"])
    old = {"name": other["name"], "description": f"{interface['description']} {other['description']}", "inputs": inputs, "outputs": outputs}
    return component(old, image, ("--defaults-of", "train-model-job"))


def component(interface: dict, image: str, words: tuple = ()) -> str:
    note = (
        " KFP's cache skips a training whose inputs are the same as before; where it is to run nevertheless, say"
        ' task.set_caching_options(False) (SDK 2) or task.execution_options.caching_strategy.max_cache_staleness = "P0D" (SDK 1.8).'
    )
    lines = [
        f"name: {interface['name']}",
        *folded("", "description", interface["description"] + note),
        "inputs:",
        *(line for field in of_component(interface) for line in input_lines(field)),
        "outputs:",
        *(line for field in interface["outputs"] for line in output_lines(field)),
        "implementation:",
        "  container:",
        f"    image: {quoted(image)}",
        "    command: [/usr/local/bin/trainstep, run]",
        "    args:",
        "    - --executor-input",
        "    - executorInput: null",
        *(f"    - {word}" for word in words),
        *(input_argument(field) for field in of_component(interface)),
        *(line for field in interface["outputs"] for line in (f"    - --{flag_name(field)}", f"    - outputPath: {field['name']}")),
    ]
    return HEAD + "\n".join(lines) + "\n"
