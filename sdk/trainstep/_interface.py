# SPDX-License-Identifier: Apache-2.0
"""Converts a function's annotations to inputs and outputs of a Kubeflow Pipelines component (component.yaml of kfp 1.8)."""
from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import json
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Optional, Union

from ._source import returns_value
from ._values import plain_value
from .errors import InputError, SpecificationError

TYPES: dict[Any, str] = {str: "String", int: "Integer", float: "Float", bool: "Boolean", dict: "JsonObject", list: "JsonArray"}
ANY = "Undeclared"  # type of a returned value without annotation: JSON, null for None
_GENERIC: dict[Any, Any] = { collections.abc.Mapping: dict, collections.abc.MutableMapping: dict, collections.abc.Sequence: list}
_STRANGE: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**", inspect.Parameter.POSITIONAL_ONLY: ""}


class InputPath(str):
    """`data: InputPath`, or `data: InputPath("Dataset")`: the parameter is the path of a file or folder to read."""


class OutputPath(str):
    """`model_dir: OutputPath`, or `model_dir: OutputPath("Model")`: the path of a file or folder to write."""


@dataclasses.dataclass(frozen=True)
class Port:
    """An input or output. type: as named by Kubeflow Pipelines; default: as text, or None."""

    name: str
    type: str  # "" for a path of any type
    path: bool = False
    optional: bool = False
    default: Optional[str] = None

    def declared(self) -> dict[str, Any]:
        """As an item of a component's `inputs` or `outputs`."""
        item: dict[str, Any] = {"name": self.name}
        if self.type:
            item["type"] = self.type
        if self.default is not None:
            item["default"] = self.default
        if self.optional:
            item["optional"] = True
        return item

    def returned(self) -> dict[str, Any]:
        """As an item of a component's `outputs`, which has no `optional` field: an annotation is used instead."""
        item = dataclasses.replace(self, optional=False).declared()
        return {**item, "annotations": {"optional": True}} if self.optional else item


@dataclasses.dataclass(frozen=True)
class Interface:
    """inputs: values and paths to read; outputs: paths to write; returned: what the function returns; single: it is one value, not a tuple of them."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    returned: tuple[Port, ...]
    single: bool


def interface_of(function: Callable[..., Any], known: Optional[Mapping[str, Any]] = None) -> Interface:
    """`known`: parameter → its annotation, where the function has none. SpecificationError: a parameter or annotation that components do not support."""
    signature = inspect.signature(function)
    inputs, outputs = [], []
    for parameter in signature.parameters.values():
        if parameter.kind in _STRANGE:
            raise SpecificationError(f"{function.__name__}({_STRANGE[parameter.kind]}{parameter.name}): parameters are passed by name; list each one")
        annotation = resolved(parameter.annotation, function)
        if annotation is inspect.Parameter.empty:
            annotation = (known or {}).get(parameter.name, _type_of_default(parameter.default))
        if _path_class(annotation) == "OutputPath":
            outputs.append(Port(parameter.name, _path_type(annotation), path=True))
        else:
            inputs.append(_input(function.__name__, parameter, annotation))
    returned, single = _returned(function, resolved(signature.return_annotation, function))
    names = [port.name for port in (*outputs, *returned)]
    if len(set(names)) != len(names):
        raise SpecificationError(f"{function.__name__}: an output and a returned value have the same name: {', '.join(names)}")
    return Interface(tuple(inputs), tuple(outputs), returned, single)


def resolved(annotation: Any, function: Callable[..., Any], among: Optional[Mapping[str, Any]] = None) -> Any:
    """Evaluates an annotation that is a string, as all are with `from __future__ import annotations`.

    Nested strings are evaluated, too: Optional["int"], the fields of a NamedTuple. `among`: names known in addition to the function's globals.
    """
    if isinstance(annotation, (InputPath, OutputPath)):
        return annotation
    if typing.get_origin(annotation) is Union:
        return Union[tuple(resolved(member, function, among) for member in typing.get_args(annotation))]
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        return annotation
    try:
        return resolved(eval(annotation, {**(among or {}), **function.__globals__}), function, among)
    except Exception as problem:
        raise SpecificationError(f"{function.__name__}: the annotation {annotation} cannot be evaluated: {problem}") from None


def is_of_kfp(annotation: Any) -> bool:
    """Whether only the KFP SDK can interpret the annotation: Input[Dataset], Output[Model], InputTextFile(), …; both SDKs' path types are supported here."""
    if _path_class(annotation):
        return False
    parts = (annotation, type(annotation), *typing.get_args(annotation), *getattr(annotation, "__metadata__", ()))
    return any(str(getattr(part, "__module__", "")).split(".")[0] == "kfp" for part in parts)


def _path_class(annotation: Any) -> str:
    """The name InputPath or OutputPath for such a class or instance, of this package or a KFP SDK, also if optional; otherwise ""."""
    annotation = _without_none(annotation)
    found = annotation if isinstance(annotation, type) else type(annotation)
    return found.__name__ if found.__name__ in ("InputPath", "OutputPath") else ""


def _path_type(annotation: Any) -> str:
    """Returns "Model" for OutputPath("Model") and OutputPath(Model), also of kfp; "" for OutputPath and OutputPath()."""
    annotation = _without_none(annotation)
    inner = str(annotation) if isinstance(annotation, (InputPath, OutputPath)) else getattr(annotation, "type", None)
    if inner is None or isinstance(annotation, type):
        return ""
    if isinstance(inner, str):
        return inner.removeprefix("system.").partition("@")[0]
    return TYPES.get(inner) or str(getattr(inner, "__name__", ""))


def _input(function: str, parameter: inspect.Parameter, annotation: Any) -> Port:
    path = _path_class(annotation) == "InputPath"
    kind = _path_type(annotation) if path else _value_type(f"{function}({parameter.name})", annotation)
    if parameter.default is inspect.Parameter.empty:
        return Port(parameter.name, kind, path)
    if path and parameter.default is not None:
        raise SpecificationError(f"{function}({parameter.name}): a path can only have the default None")
    return Port(parameter.name, kind, path, optional=True, default=_default(parameter.default))


def _default(value: Any) -> Optional[str]:
    """The default as shown in the component; None if text cannot express it, then Python's default applies."""
    try:
        said = plain_value("default", value)
        if said is None or isinstance(said, str):
            return said or None
        if not isinstance(said, (dict, list)):
            return str(said)
        return json.dumps(said, allow_nan=False) if _is_same(value, said) else None
    except (InputError, ValueError):
        return None


def _is_same(value: Any, said: Any) -> bool:
    """Whether the value survives JSON unchanged: a tuple becomes a list, and dictionary keys are sorted."""
    if type(value) is not type(said):
        return False
    if isinstance(said, dict):
        return list(value) == sorted(said) and all(_is_same(value[key], said[key]) for key in said)
    return not isinstance(said, list) or all(map(_is_same, value, said))


def _type_of_default(value: Any) -> Any:
    return type(value) if type(value) in TYPES else inspect.Parameter.empty


def _value_type(where: str, annotation: Any) -> str:
    annotation = _without_none(annotation)
    if annotation is inspect.Parameter.empty:
        raise SpecificationError(f"{where}: has no annotation; add its type, as in `{where.partition('(')[2].rstrip(')')}: int`")
    origin = typing.get_origin(annotation) or annotation
    kind = TYPES.get(_GENERIC.get(origin, origin)) if isinstance(origin, type) else None
    if kind is None:
        raise SpecificationError(
            f"{where}: type {getattr(annotation, '__name__', annotation)} is not supported; use str, int, float, bool, dict or list, "
            "or for parameters InputPath or OutputPath"
        )
    return kind


def _without_none(annotation: Any) -> Any:
    """Optional[X], X | None → X."""
    if typing.get_origin(annotation) in (Union, getattr(types, "UnionType", Union)):
        rest = [member for member in typing.get_args(annotation) if member is not type(None)]
        return rest[0] if len(rest) == 1 else annotation
    return annotation


def _returned(function: Callable[..., Any], annotation: Any) -> tuple[tuple[Port, ...], bool]:
    where = f"{function.__name__} → "
    if annotation is inspect.Signature.empty and returns_value(function):
        return (Port("Output", ANY),), True
    if annotation in (inspect.Signature.empty, None, type(None)):
        return (), False
    fields: Mapping[str, Any] = getattr(annotation, "__annotations__", {}) if hasattr(annotation, "_fields") else {}
    if fields:
        among = vars(sys.modules[annotation.__module__]) if annotation.__module__ in sys.modules else {}
        return tuple(_returned_port(name, where + name, resolved(kind, function, among)) for name, kind in fields.items()), False
    return (_returned_port("Output", where + "return", annotation),), True


def _returned_port(name: str, where: str, annotation: Any) -> Port:
    """A returned value; if it is Optional, None means that it is omitted."""
    return Port(name, _value_type(where, annotation), optional=_without_none(annotation) is not annotation)
