#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Generates files from specs/interface.json, the only list of a step's inputs and outputs:
make_component.py [--check | --image IMAGE [--base-image IMAGE] FOLDER].

  component/component.yaml            for the KFP SDKs 1.8 and 2
  component/train-model-job/          the same for calls of the Python component, for the SDK 1.8
  component/argo/*.yaml               WorkflowTemplate and ClusterWorkflowTemplate
  src/step/fields.cpp                 the rows of the program's flags
  specs/executor_input.schema.json    the parameters of the executor input
  docs/reference.md                   every input and output, also from the schemas

Without arguments, the files of this repository. --check only lists outdated files. --image writes the files for pipelines into FOLDER, with that image in
them; --base-image is the default image in which calls of the Python component train. Needs only Python.
"""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import component_argo  # noqa: E402
import component_kfp  # noqa: E402
import component_reference  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
STAND_INS = str.maketrans({"→": "->", "…": "...", "–": "-", "’": "'", "“": '"', "”": '"', "×": "x", "≥": ">=", "≤": "<="})
TYPES = {  # what the program accepts for an input, by its type
    "path": ["string", "null"],
    "text": ["string", "number", "boolean", "null"],
    "object": ["object", "string", "null"],
    "selector": ["object", "string", "null"],
    "specification": ["object", "string", "null"],
}


def version() -> str:
    return re.search(r"project\(trainstep VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)


def row(field: dict) -> str:
    default = field.get("default", "{}")
    help_text = (field["help"] if default == "{}" else f"{field['help']} ({default})").replace("\\", "\\\\").replace('"', '\\"')
    return f'      {{"{field["name"]}", {field.get("shape", "path")}, "{help_text}"}},\n'


def flags(text: str, interface: dict) -> str:
    """fields.cpp with its two tables regenerated."""
    for function, fields in (("input_fields", interface["inputs"]), ("output_fields", interface["outputs"])):
        rows = "".join(row(field) for field in fields)
        table = re.compile(rf"({function}\(\) \{{\n.*?fields\{{\n)(.*?)(  \}};\n)", re.DOTALL)
        text, count = table.subn(lambda found, rows=rows: found[1] + rows + found[3], text)
        assert count == 1, f"src/step/fields.cpp: no table of {function}()"
    return text


def schema(text: str, interface: dict) -> str:
    """executor_input.schema.json with its parameters regenerated."""
    rows = []
    for field in interface["inputs"]:
        member = {"type": TYPES[field["shape"]], "description": field["help"]}
        if "default" in field:
            member["default"] = field["default"]
        rows.append(f"            {json.dumps(field['name'])}: {json.dumps(member, ensure_ascii=False)}")
    table = re.compile(r'("parameterValues": \{\n.*?"properties": \{\n)(.*?)(\n          \},\n)', re.DOTALL)
    text, count = table.subn(lambda found: found[1] + ",\n".join(rows) + found[3], text, count=1)
    assert count == 1, "specs/executor_input.schema.json: no parameterValues"
    return text


def in_ascii(text: str) -> str:
    """KFP stores a component's texts in its database, whose character set may be ASCII only. UnicodeEncodeError: a character without a replacement."""
    return text.translate(STAND_INS).encode("ascii").decode("ascii")


def files_for_pipelines(interface: dict, image: str, base_image: str = "") -> dict:
    files = {
        "component.yaml": component_kfp.component(interface, image),
        "train-model-job/component.yaml": component_kfp.train_model_job(interface, image, base_image),
        "argo/workflow-template.yaml": component_argo.template(interface, image, "WorkflowTemplate"),
        "argo/cluster-workflow-template.yaml": component_argo.template(interface, image, "ClusterWorkflowTemplate"),
    }
    return {path: in_ascii(text) for path, text in files.items()}


def files_of_the_repository(interface: dict) -> dict:
    made = {f"component/{path}": text for path, text in files_for_pipelines(interface, f"trainstep:{version()}").items()}
    for path, change in (("src/step/fields.cpp", flags), ("specs/executor_input.schema.json", schema)):
        made[path] = change((ROOT / path).read_text(encoding="utf-8"), interface)
    made["docs/reference.md"] = component_reference.page(interface, component_reference.schemas_of(ROOT / "specs"))
    return made


def write(folder: pathlib.Path, files: dict) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def main(words: list) -> int:
    interface = json.loads((ROOT / "specs/interface.json").read_text(encoding="utf-8"))
    options = dict(zip(words[:-1:2], words[1::2]))
    if len(words) % 2 and words[:1] == ["--image"] and set(options) <= {"--image", "--base-image"}:
        write(pathlib.Path(words[-1]), files_for_pipelines(interface, options["--image"], options.get("--base-image", "")))
        return 0
    files = files_of_the_repository(interface)
    if words == ["--check"]:
        old = [path for path, text in files.items() if not (ROOT / path).exists() or (ROOT / path).read_text(encoding="utf-8") != text]
        for path in old:
            print(f"{path} is not what specs/ says: run tools/make_component.py", file=sys.stderr)
        return 1 if old else 0
    if words:
        print(__doc__, file=sys.stderr)
        return 2
    write(ROOT, files)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
