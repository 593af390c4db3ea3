# SPDX-License-Identifier: Apache-2.0
"""The inputs of a step that are passed as **inputs, under their common names (specs/interface.json, docs/reference.md)."""
from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any, TypedDict, Union

from ._values import plain_value, refused

Object = Mapping[str, Any]
Path = Union[str, "os.PathLike[str]"]


class Inputs(TypedDict, total=False):
    """All are optional; quantities as in Kubernetes."""

    train_dataset_dir: Path  # folder or file with the training data
    validation_dataset_dir: Path
    train_mount: str  # where data is mounted in the training pods
    model_name: str  # part of the job's name: lower-case letters, digits, dashes
    base_image: str  # image of the training pods, overriding the specification's
    node_selector: Union[str, Mapping[str, str]]
    pvc_name: str  # claim with the data of the training pods
    pvc_size: str
    cpus: Union[str, int, float]  # of each replica
    gpus: Union[str, int]
    memory: str
    tensorboard_s3_address: str
    cluster_configuration_secret: str
    job_options: Object  # everything else: environment, volumes, limits, …


def text(name: str, value: Any) -> str:
    """Returns a value as text for the program. None and {} count as not given. InputError: the program would receive a different value, or none."""
    plain = plain_value(name, os.fsdecode(value) if isinstance(value, os.PathLike) else value)
    if plain is None or plain == {}:
        return ""
    return plain if isinstance(plain, str) else json.dumps(plain)


def path(name: str, value: Path) -> pathlib.Path:
    """Returns the absolute path. InputError: not a valid path."""
    try:
        return pathlib.Path(value).resolve()
    except (TypeError, ValueError) as problem:
        raise refused(name, f"expected a path, got {value!a} ({problem})") from None
    except OSError as problem:
        why = "the working directory no longer exists; change to another one" if _nowhere() else problem.strerror
        raise refused(name, f"{os.fspath(value)}: {why}") from None


def _nowhere() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False
