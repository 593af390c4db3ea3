# SPDX-License-Identifier: Apache-2.0
"""The inputs of a step that are passed as **inputs, under their common names (specs/interface.json, docs/reference.md)."""
from __future__ import annotations

import difflib
import json
import os
import pathlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Union

from ._values import plain_value, refused
from .errors import InputError

Object = Mapping[str, Any]
Path = Union[str, "os.PathLike[str]"]
_SHORTENED = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


class Inputs(TypedDict, total=False):
    """All are optional; quantities as in Kubernetes."""

    train_dataset_dir: Path  # folder or file with the training data; in a cluster also an address, s3://bucket/data
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


def check_names(given: Iterable[str]) -> None:
    """InputError: a name is not that of an input."""
    for name in given:
        if name not in Inputs.__annotations__:
            near = difflib.get_close_matches(name, Inputs.__annotations__, 1)
            raise InputError(f"unknown argument {name}{f'; did you mean {near[0]}?' if near else ''}", 2)


def text(name: str, value: Any) -> str:
    """Returns a value as text for the program. None and {} count as not given. InputError: the program would receive a different value, or none."""
    plain = plain_value(name, path_text(name, value) if isinstance(value, os.PathLike) else value)
    if plain is None or plain == {}:
        return ""
    return plain if isinstance(plain, str) else json.dumps(plain)


def path_text(name: str, value: os.PathLike[str]) -> str:
    """Returns the text of a path. InputError: it was made from an address, and pathlib has removed a slash."""
    said = os.fsdecode(value)
    if _SHORTENED.match(said):
        raise refused(name, f"{said} is an address that pathlib has shortened; pass a str, or for a file of this name an absolute path")
    return said


def path(name: str, value: Path) -> Union[str, pathlib.Path]:
    """Returns the absolute path, or an address unchanged: the program decides whether it accepts one. InputError: neither."""
    if isinstance(value, str) and "://" in value:  # as the program recognises an address
        return value
    try:
        return pathlib.Path(path_text(name, value) if isinstance(value, os.PathLike) else value).resolve()
    except (TypeError, ValueError) as problem:
        raise refused(name, f"expected a path, got {value!a} ({problem})") from None
    except OSError as problem:
        why = "the working directory no longer exists; change to another one" if _nowhere() else problem.strerror
        raise refused(name, f"{os.fspath(value)}: {why}") from None


def folder_path(value: Path) -> pathlib.Path:
    """Returns the absolute path of a run's folder. InputError: not a path of this machine."""
    found = path("folder", value)
    if isinstance(found, str):
        raise refused("folder", f"{found} is an address, but the folder of a run is on this machine; use a path")
    return found


def _nowhere() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False
