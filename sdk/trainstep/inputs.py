# SPDX-License-Identifier: Apache-2.0
"""The inputs of a step that are no arguments of their own, by the names that they have everywhere (specs/interface.json, docs/reference.md)."""
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
    """All optional; quantities as Kubernetes writes them."""

    train_dataset_dir: Path  # folder or file with the training data
    validation_dataset_dir: Path
    train_mount: str  # where data lie in the training pods
    model_name: str  # part of the job's name: small letters, digits, dashes
    base_image: str  # image of the training pods instead of the specification's own
    node_selector: Union[str, Mapping[str, str]]
    pvc_name: str  # claim that holds the data of the training pods
    pvc_size: str
    cpus: Union[str, int, float]  # of each replica
    gpus: Union[str, int]
    memory: str
    tensorboard_s3_address: str
    cluster_configuration_secret: str
    job_options: Object  # everything else: environment, volumes, limits, …


def text(name: str, value: Any) -> str:
    """A value as the program reads it. None and {} are "not given". InputError: the program would get another value, or none."""
    plain = plain_value(name, os.fsdecode(value) if isinstance(value, os.PathLike) else value)
    if plain is None or plain == {}:
        return ""
    return plain if isinstance(plain, str) else json.dumps(plain)


def path(name: str, value: Path) -> pathlib.Path:
    """Absolute. InputError: it is none."""
    try:
        return pathlib.Path(value).resolve()
    except (TypeError, ValueError) as problem:
        raise refused(name, f"expected a path; got {value!a} ({problem})") from None
    except OSError as problem:
        why = "the working directory no longer exists; change to another one" if _nowhere() else problem.strerror
        raise refused(name, f"{os.fspath(value)}: {why}") from None


def _nowhere() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False
