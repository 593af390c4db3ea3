# SPDX-License-Identifier: Apache-2.0
"""What the launcher of KFP 2 reads after a container's success, and what it refuses; and what it copies to and from the object store."""
import json
import pathlib
import shutil

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


def key_of(artifact: dict) -> str:
    """minio://bucket/key → bucket/key"""
    return artifact["uri"].partition("://")[2]


def upload(artifact: dict, store: dict) -> list:
    """As UploadBlob of the launcher: a file, or a folder's files one by one; other objects below stay. → its warnings."""
    path, key = pathlib.Path(artifact["customPath"]), key_of(artifact)
    if not path.exists():
        return [f'Local filepath "{path}" does not exist']
    for file in [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file()):
        store[key if file == path else f"{key}/{file.relative_to(path).as_posix()}"] = file.read_bytes()
    return []


def download(artifact: dict, store: dict) -> None:
    """Every object at the address or below it, in a pod that has nothing of another's."""
    path, key = pathlib.Path(artifact["customPath"]), key_of(artifact)
    shutil.rmtree(path, ignore_errors=True)
    path.unlink(missing_ok=True)
    for name, content in store.items():
        if name == key or name.startswith(key + "/"):
            file = path / name[len(key) + 1 :] if name != key else path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


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
