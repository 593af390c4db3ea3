# SPDX-License-Identifier: Apache-2.0
"""Generates docs/reference.md: every input and output, with the descriptions of specs/interface.json and the JSON Schemas next to it."""
import json
import pathlib

OBJECTS = ("train_specification", "train_parameters", "distribution_specification", "job_options", "node_selector", "cluster_configuration_secret")
HEAD = """\
# Every input and output

Made by `tools/make_component.py` of [specs/](../specs/): what is wrong here is mended there. How values are given – as text, as a file, in base64 –, how
parameters are bound and what becomes of outputs says [inputs.md](inputs.md).
"""


def page(interface: dict, schemas: dict) -> str:
    """The whole page; schemas: name → schema, of each of OBJECTS."""
    parts = [HEAD, "## Inputs\n", inputs(interface["inputs"]), "## Outputs\n", outputs(interface["outputs"])]
    for name in OBJECTS:
        parts += [f"## {name}\n", section(schemas[name])]
    parts += ["## Values\n", values(schemas)]
    return "\n".join(parts)


def inputs(fields: list) -> str:
    rows = []
    for field in fields:
        name = f"[`{field['name']}`](#{field['name']})" if field["name"] in OBJECTS else f"`{field['name']}`"
        words = ". ".join(sentence(field[key]) for key in ("help", "more") if key in field)
        example = f"{words}. Example: `{field['example']}`" if field.get("example") and field["name"] not in OBJECTS else words
        rows.append((name, code(field.get("default")), example))
    return "Each is a flag of `trainstep run`, `render` and `check`: `model_name` is `--model-name`.\n\n" + table(("input", "default", ""), rows)


def outputs(fields: list) -> str:
    rows = []
    for field in fields:
        flag = field.get("flag", field["name"].replace("_", "-"))
        rows.append((f"`{field['name']}`", f"`--{flag}`", field.get("type", "–"), field["description"]))
    return table(("output", "flag", "type in KFP", ""), rows)


def section(schema: dict) -> str:
    text = sentence(schema["description"]) + ".\n\n" if "description" in schema else ""
    for form in schema.get("oneOf", [schema]):
        if "title" in form and form is not schema:
            text += f"**{sentence(form['title'])}**, {form['description']}.\n\n"
        rows = list(members("", form))
        if rows:
            text += table(("key", "value", "default", ""), rows) + "\n"
    shown = [example for example in schema.get("examples", []) if example]
    lines = "".join(json.dumps(example, ensure_ascii=False) + "\n" for example in shown)
    return f"{text}Examples, one in each line:\n\n```jsonl\n{lines}```\n"


def members(prefix: str, schema: dict):
    """A row for each key, and for those of the objects in it."""
    for key, member in schema.get("properties", {}).items():
        meaning = member.get("description", "")
        if key in schema.get("required", []):
            meaning = f"needed; {meaning}".rstrip("; ")
        nested = member.get("properties") if "$ref" not in member else None
        yield f"`{prefix}{key}`", kind(member), code(member.get("default")), meaning
        if nested:
            yield from members(f"{prefix}{key}.", member)


def kind(member: dict) -> str:
    """A short description of the allowed values."""
    if "$ref" in member:
        name = member["$ref"].rpartition("/")[2]
        return f"[{name}](#{name})"
    if "enum" in member:
        return ", ".join(code(value) for value in member["enum"])
    if "const" in member:
        return code(member["const"])
    if "anyOf" in member or "oneOf" in member:
        return " or ".join(dict.fromkeys(kind(one) for one in member.get("anyOf", member.get("oneOf"))))
    types = member.get("type", "any")
    if types == "array":
        return f"list of {kind(member.get('items', {}))}"
    if types == "object" and isinstance(member.get("additionalProperties"), dict):
        return f"object: name → {kind(member['additionalProperties'])}"
    return " or ".join({"string": "text", "array": "list", "null": "null"}.get(one, one) for one in ([types] if isinstance(types, str) else types))


def values(schemas: dict) -> str:
    """The types of values in the tables, without duplicates."""
    named = {name: one for schema in schemas.values() for name, one in schema.get("$defs", {}).items()}
    parts = []
    for name in sorted(named):
        parts.append(f"### {name}\n\n{sentence(named[name].get('description', ''))}.\n")
        rows = list(members("", named[name]))
        if rows:
            parts.append(table(("key", "value", "default", ""), rows))
    return "\n".join(parts)


def table(head: tuple, rows: list) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |\n" for line in lines)


def sentence(text: str) -> str:
    """With a capital letter, unless it begins with a name, and without its full stop."""
    first = text.split(" ", 1)[0]
    return (text[:1].upper() + text[1:] if first.rstrip(":,").isalpha() else text).rstrip(".")


def code(value) -> str:
    if value is None:
        return "–"
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def schemas_of(folder: pathlib.Path) -> dict:
    return {name: json.loads((folder / f"{name}.schema.json").read_text(encoding="utf-8")) for name in OBJECTS}
