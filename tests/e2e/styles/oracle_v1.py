# SPDX-License-Identifier: Apache-2.0
"""Component texts and expected results of the Kubeflow Pipelines SDK 1.8: oracle_v1.py FOLDER.

The command line is the SDK's own: kfp.components resolves it as for a step of a pipeline, with defaults filled in.
"""
import inspect
import json
import pathlib
import sys
import tempfile

import cases
import describe
import notebook_v1
import oracle
import styles_v1
from kfp import components

CONVERT = {"Integer": int, "Float": float, "Boolean": lambda text: text == "True", "JsonArray": json.loads, "JsonObject": json.loads}


def make_specs(folder: pathlib.Path) -> None:
    helpers = inspect.getsource(describe.describe) + "\n\n" + inspect.getsource(describe.echo_into)
    functions = [f for f in vars(styles_v1).values() if inspect.isfunction(f) and f.__module__ == styles_v1.__name__]
    for function in [*functions, notebook_v1.train_model]:
        text = components.func_to_component_text(
            function, base_image="python:3.11", packages_to_install=styles_v1.PACKAGES.get(function.__name__), extra_code=helpers
        )
        (folder / f"{function.__name__}.v1.yaml").write_text(text, encoding="utf-8")


def resolve(case, component, work: pathlib.Path):
    """The command line of a step, as the SDK's compiler and Argo would make it together."""
    arguments = {i.name: i.default for i in component.inputs or [] if i.default is not None}
    arguments.update(case.values)
    arguments.update({name: str(path) for name, path in case.data.items()})
    serializers = {i.name: i.type for i in component.inputs or []}
    arguments = {
        name: value if value is None or name in case.data else components._components.serialize_value(value, serializers[name])
        for name, value in arguments.items()
    }
    return components._components._resolve_command_line_and_paths(
        component,
        arguments,
        input_path_generator=lambda name: str(case.data[name]),
        output_path_generator=lambda name: str(work / name / "data"),
        argument_serializer=lambda value, _: value,
    )


def expect(case, folder: str) -> None:
    component = components.load_component_from_file(str(pathlib.Path(folder, "specs", case.spec))).component_spec
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        line = resolve(case, component, work)
        code = oracle.run(line.command + line.args, work, component.implementation.container.env)
        outputs = {output.name: oracle.tree(work / output.name / "data") for output in component.outputs or []}
    # The SDK writes returned values as text into files; typed as declared they are the results.
    values = {o.name: CONVERT.get(o.type, str)(outputs[o.name]) for o in component.outputs or [] if o.name in case.returned and not code}
    oracle.write_expected(folder, case, code, {n: v for n, v in outputs.items() if n not in case.returned}, values)


if __name__ == "__main__":
    specs = pathlib.Path(sys.argv[1], "specs")
    specs.mkdir(parents=True, exist_ok=True)
    make_specs(specs)
    handwritten = oracle.HERE / "specs/handwritten.v1.yaml"
    if specs != handwritten.parent:
        (specs / handwritten.name).write_bytes(handwritten.read_bytes())
    for one in cases.of("v1"):
        expect(one, sys.argv[1])
