# SPDX-License-Identifier: Apache-2.0
"""IR and expected results of the Kubeflow Pipelines SDK 2: oracle_v2.py FOLDER.

The executor input and the command line are those of kfp.local, created by its own functions, because kfp.local itself supports neither
input artifacts nor container components; the outputs are read by kfp.local as well.
"""
import pathlib
import sys
import tempfile

import cases
import oracle
import styles_v2
import yaml
from google.protobuf import json_format
from kfp import compiler, dsl
from kfp.local import executor_input_utils, executor_output_utils, placeholder_utils
from kfp.pipeline_spec import pipeline_spec_pb2


def make_specs(folder: pathlib.Path) -> None:
    for name, what in styles_v2.specifications().items():
        compiler.Compiler().compile(what, str(folder / name))


def step_of(document):
    """The one component of a document, its container, and what the one task of the pipeline sets."""
    specification = json_format.ParseDict(
        {key: value for key, value in document.items() if key != "deploymentSpec"}, pipeline_spec_pb2.PipelineSpec()
    )
    (component,) = specification.components.values()
    (executor,) = document["deploymentSpec"]["executors"].values()
    (task,) = document["root"]["dag"]["tasks"].values()
    set_by_task = {}
    for name, source in task.get("inputs", {}).get("parameters", {}).items():
        if "runtimeValue" in source:
            set_by_task[name] = source["runtimeValue"]["constant"]
        else:
            root = document["root"]["inputDefinitions"]["parameters"][source["componentInputParameter"]]
            if "defaultValue" in root:
                set_by_task[name] = root["defaultValue"]
    return component, executor["container"], set_by_task


def arguments_of(case, component, set_by_task):
    arguments = {**set_by_task, **case.values}
    for name, path in case.data.items():
        schema = component.input_definitions.artifacts[name].artifact_type.schema_title
        classes = {c.schema_title: c for c in (dsl.Artifact, dsl.Dataset)}
        arguments[name] = classes[schema](name=name, uri=str(path), metadata={})
    return arguments


def leave_out_omitted(component, arguments):
    """kfp.local sends null for an omitted optional input and fails when that is an integer; a real backend leaves it out."""
    parameters = component.input_definitions.parameters
    for name in [n for n, p in parameters.items() if n not in arguments and not p.HasField("default_value")]:
        del parameters[name]


def expect(case, folder: str) -> None:
    document = next(yaml.safe_load_all(pathlib.Path(folder, "specs", case.spec).read_text(encoding="utf-8")))
    if not isinstance(document, dict):
        return oracle.write_expected(folder, case, 1, {}, {})
    component, container, set_by_task = step_of(document)
    arguments = arguments_of(case, component, set_by_task)
    leave_out_omitted(component, arguments)
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        message = executor_input_utils.construct_executor_input(component, arguments, str(work), block_input_artifact=False)
        command = placeholder_utils.replace_placeholders(
            container["command"] + container.get("args", []),
            executor_input_utils.executor_input_to_dict(message, component),
            *("pipeline", "task", str(work), "0"),
        )
        code = oracle.run(command, work, {variable["name"]: variable["value"] for variable in container.get("env", [])})
        read = {}
        if code == 0:
            read = executor_output_utils.get_outputs_for_task(message, component)
        artifacts = {name: value for name, value in read.items() if isinstance(value, dsl.Artifact)}
        outputs = {name: oracle.tree(work / name) for name in artifacts}
        if "echo" in read:
            outputs["echo"] = read.pop("echo")
        results = {name: value for name, value in read.items() if name not in artifacts}
        metadata = {name: value.metadata for name, value in artifacts.items() if value.metadata}
    oracle.write_expected(folder, case, code, outputs, results, metadata)


if __name__ == "__main__":
    specs = pathlib.Path(sys.argv[1], "specs")
    specs.mkdir(parents=True, exist_ok=True)
    make_specs(specs)
    for one in cases.of("v2"):
        expect(one, sys.argv[1])
