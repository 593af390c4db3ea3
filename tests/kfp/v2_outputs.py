# SPDX-License-Identifier: Apache-2.0
"""What the launcher of KFP 2 reads after a container's success, and what it refuses."""
import json
import pathlib

_TRUE, _FALSE = ("1", "t", "T", "TRUE", "true", "True"), ("0", "f", "F", "FALSE", "false", "False")
_ARTIFACT_FIELDS = {"name", "type", "uri", "metadata", "customPath", "custom_path"}


def read_outputs(definitions: dict, wanted: dict, run_id: str):
    """(parameters, artifacts) of a task. ValueError: the launcher would fail the step."""
    said = _executor_output(pathlib.Path(wanted["outputFile"]))
    parameters = {}
    for name, definition in definitions.get("parameters", {}).items():
        if name in said["parameterValues"]:
            parameters[name] = said["parameterValues"][name]
            continue
        file = pathlib.Path(wanted["parameters"][name]["outputFile"])
        if not file.is_file():
            raise ValueError(f"output parameter {name}: {file} is no file")
        parameters[name] = parsed(definition["parameterType"], file.read_bytes().decode(), name)
    artifacts = {}
    for name in definitions.get("artifacts", {}):
        artifacts[name] = _merged(wanted["artifacts"][name]["artifacts"][0], said["artifacts"].get(name), run_id)
    return parameters, artifacts


def parsed(kind: str, text: str, name: str):
    if kind == "STRING":
        return text
    if kind in ("NUMBER_INTEGER", "NUMBER_DOUBLE"):
        return int(text.strip()) if kind == "NUMBER_INTEGER" else float(text.strip())
    if kind == "BOOLEAN":
        if text.strip() not in _TRUE + _FALSE:
            raise ValueError(f"output parameter {name}: {text!r} is no boolean")
        return text.strip() in _TRUE
    value = json.loads(text)
    if not isinstance(value, {"LIST": list, "STRUCT": dict}[kind]):
        raise ValueError(f"output parameter {name}: {text!r} is no {kind}")
    return value


def _executor_output(file: pathlib.Path) -> dict:
    if not file.exists():
        return {"parameterValues": {}, "artifacts": {}}
    said = json.loads(file.read_bytes(), parse_constant=_no_number)
    unknown = set(said) - {"parameterValues", "parameter_values", "artifacts"}
    if unknown:
        raise ValueError(f"{file}: unknown field {unknown}")
    return {"parameterValues": said.get("parameterValues", said.get("parameter_values", {})), "artifacts": said.get("artifacts", {})}


def _no_number(text):
    raise ValueError(f"{text} is no JSON")


def _merged(artifact: dict, said, run_id: str) -> dict:
    merged = {**artifact, "metadata": dict(artifact["metadata"])}
    if not said or not said["artifacts"]:
        return merged
    if set(said) - {"artifacts"}:
        raise ValueError(f"artifact {artifact['name']}: unknown field in {said}")
    first = said["artifacts"][0]
    if set(first) - _ARTIFACT_FIELDS:
        raise ValueError(f"artifact {artifact['name']}: unknown field in {first}")
    for key, value in first.get("metadata", {}).items():
        if value is None:
            raise ValueError(f"artifact {artifact['name']}: metadata {key} is null")
        merged["metadata"][key] = value
    if first.get("uri"):
        merged["uri"] = first["uri"]
        if first["uri"].startswith(("gs://", "s3://", "minio://")) and f"/{run_id}/" not in first["uri"]:
            raise ValueError(f"artifact {artifact['name']}: {first['uri']} is not below the run's root")
    return merged
