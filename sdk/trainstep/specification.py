# SPDX-License-Identifier: Apache-2.0
"""A function → `train_specification`, the text of a component of Kubeflow Pipelines, which pipelines take as well as the program does."""
from __future__ import annotations

import base64
import builtins
import inspect
import json
import os
import pathlib
import shlex
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Optional, Union

from . import _main
from ._interface import InputPath, Interface, OutputPath, interface_of, is_of_kfp, resolved
from ._source import annotations_are_texts, names_in, source_of, text_of_main
from ._values import plain_value, refused, type_name
from .errors import SpecificationError

__all__ = ["InputPath", "OutputPath", "Specification", "specification_text", "train_specification"]

Function = Callable[..., Any]
Specification = Union[Function, str, "os.PathLike[str]", Mapping[str, Any]]

# As the SDK 1.8 writes it: the program knows the form, and installs locally only what is missing.
_START = 'program_path=$(mktemp)\nprintf "%s" "$0" > "$program_path"\npython3 -u "$program_path" "$@"\n'


def default_image() -> str:
    """The official image with this very Python, whose syntax the function is written in."""
    return f"python:{sys.version_info[0]}.{sys.version_info[1]}"


def train_specification(
    func: Function,
    *,
    base_image: Optional[str] = None,
    packages_to_install: Sequence[str] = (),
    additional_funcs: Sequence[Function] = (),
) -> str:
    """The text of a component that runs `func`, and nothing else of this file or notebook.

    Parameters are str, int, float, bool, dict or list, InputPath or OutputPath – this package's, or either KFP SDK's. A returned value, or the fields
    of a returned NamedTuple, stand in the step's results. With artifacts of KFP's SDK 2 (`Input[Dataset]`, `Output[Model]`) it is that SDK that
    writes the specification; no other function needs a KFP SDK, here or where it trains.

    `func` may also be a component of the installed KFP SDK, which is then written as it is.

    base_image: python:X.Y of this interpreter by default. packages_to_install: what pip shall install before it begins, unless it is there.
    additional_funcs: functions that `func` calls.
    SpecificationError: the function needs something that will not be there, or has a parameter that no component can have.
    """
    return function_text(func, base_image, packages_to_install, additional_funcs)


def function_text(
    func: Function,
    base_image: Optional[str],
    packages_to_install: Sequence[str],
    additional_funcs: Sequence[Function],
    known: Optional[Mapping[str, Any]] = None,
) -> str:
    """As train_specification; `known`: parameter → its annotation, where the function has none."""
    if hasattr(func, "component_spec"):
        return _component_text(func, base_image, packages_to_install, additional_funcs)
    packages = [packages_to_install] if isinstance(packages_to_install, str) else _members("packages_to_install", packages_to_install, str)
    additional_funcs = _members("additional_funcs", additional_funcs, types.FunctionType)
    helpers = _names_of(func, additional_funcs)
    if _needs_sdk(func):
        from . import _kfp

        return _kfp.specification(func, base_image or default_image(), packages, list(additional_funcs))
    texts = all(map(annotations_are_texts, (func, *additional_funcs)))
    source = "\n\n".join(source_of(function, helpers, texts) for function in (*additional_funcs, func))
    _check_names((func, *additional_funcs))
    interface = interface_of(func, known)
    component = {
        "name": func.__name__.replace("_", " ").strip().capitalize(),
        "inputs": [port.declared() for port in interface.inputs],
        "outputs": [*(port.declared() for port in interface.outputs), *(port.returned() for port in interface.returned)],
        "implementation": {
            "container": {
                "image": base_image or default_image(),
                "command": [*_install(packages), "sh", "-ec", _START, _program(func.__name__, source, texts, interface)],
                "args": _arguments(interface),
            }
        },
    }
    described = inspect.getdoc(func)
    if described:
        component["description"] = described.partition("\n")[0]
    return _unicode(func.__name__, json.dumps(component, indent=1, ensure_ascii=False) + "\n")


def _names_of(func: Function, helpers: Sequence[types.FunctionType]) -> frozenset[str]:
    """Each helper is the one that goes by its name for whoever calls it."""
    names: dict[str, types.FunctionType] = {}
    for helper in helpers:
        name = helper.__name__
        if names.setdefault(name, helper) is not helper:
            raise SpecificationError(f"additional_funcs: two functions are named {name}")
    callers: list[Any] = [func, *helpers]
    for caller in callers:
        around = getattr(caller, "__globals__", {})
        for name, helper in names.items():
            if name in getattr(getattr(caller, "__code__", None), "co_names", ()) and around.get(name, helper) is not helper:
                raise SpecificationError(f"additional_funcs: the {name} that {caller.__name__} calls is another function")
    return frozenset(names)


def _check_names(functions: Iterable[Function]) -> None:
    """They stand beside what calls them, which would take them for Python's own."""
    needed = names_in(_main._trainstep_main.__code__) & frozenset(dir(builtins))
    for function in functions:
        if function.__name__ == _main._trainstep_main.__name__:
            raise SpecificationError(f"{function.__name__} has the name of the function that calls it; rename it")
        if function.__name__ in needed:
            raise SpecificationError(f"{function.__name__} has the name of a function of Python's own, which the generated program calls; rename it")


def _members(name: str, given: Any, kind: type) -> list[Any]:
    if not isinstance(given, Iterable):
        raise SpecificationError(f"{name}: expected a list, got {type_name(given)}")
    members = list(given)
    for at, member in enumerate(members):
        if not isinstance(member, kind):
            raise SpecificationError(f"{name}[{at}]: expected a {kind.__name__}, got {type_name(member)}")
    return members


def _unicode(name: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        near = ascii(text[max(0, problem.start - 30) : problem.end])
        raise SpecificationError(f"{name}: {near} ends in an unpaired surrogate; write the character itself") from None
    return text


def specification_text(
    specification: Specification, base_image: Optional[str], packages_to_install: Sequence[str], additional_funcs: Sequence[Function]
) -> str:
    """Any of the forms in which a specification may be given, as text: function, component of a KFP SDK, text, file, image and command."""
    if isinstance(specification, (str, os.PathLike, Mapping)):
        _refuse_more(None, packages_to_install, additional_funcs)
        if isinstance(specification, os.PathLike):
            return _utf8(str(specification), pathlib.Path(specification).read_bytes())
        if isinstance(specification, str):
            return _unicode("train_specification", _decoded(specification))
        return json.dumps(plain_value("train_specification", specification))
    if hasattr(specification, "component_spec"):
        base_image = None  # the input of that name replaces the component's own
    return function_text(specification, base_image, packages_to_install, additional_funcs)


def refuse_lost_none(specification: Specification, parameters: Optional[Mapping[str, Any]]) -> None:
    """To a component None is "not given". InputError: one of `parameters` is None, and the function would get another default of its own instead."""
    function = getattr(specification, "python_func", specification)
    if not inspect.isfunction(function) or not isinstance(parameters, Mapping):
        return
    for name, parameter in inspect.signature(function).parameters.items():
        has_default = parameter.default is not None and parameter.default is not inspect.Parameter.empty
        if has_default and name in parameters and parameters[name] is None:
            raise refused(
                f"train_parameters.{name}",
                f'None is "not given", and {function.__name__} would get its default, {parameter.default!r}; make None the default, or pass an explicit value',
            )


def _component_text(
    component: Any, base_image: Optional[str], packages_to_install: Sequence[str], additional_funcs: Sequence[Function]
) -> str:
    from . import _kfp

    _refuse_more(base_image, packages_to_install, additional_funcs)
    return _kfp.component_text(component)


def _refuse_more(base_image: Optional[str], packages_to_install: Sequence[str], additional_funcs: Sequence[Function]) -> None:
    if base_image or packages_to_install or additional_funcs:
        raise SpecificationError("base_image, packages_to_install and additional_funcs require a plain function; this is a specification")


def _decoded(text: str) -> str:
    """base64:… as the program reads it. @FILE belongs to command lines: a text that came from elsewhere is to open no file here."""
    if text.startswith("base64:"):
        try:
            said = base64.b64decode("".join(text[len("base64:") :].split()), validate=True)
        except ValueError as problem:
            raise SpecificationError(f"train_specification: expected base64 after base64: ({problem})") from None
        return _utf8("train_specification", said)
    if text.startswith("@"):
        raise SpecificationError(f'a string is not read as a file; to pass the content of one, use pathlib.Path("{text[1:].partition(chr(10))[0]}")')
    return text


def _utf8(name: str, text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as problem:
        raise SpecificationError(f"{name}: expected UTF-8, got byte {text[problem.start]:#04x} at {problem.start}") from None


def _needs_sdk(func: Function) -> bool:
    if not inspect.isfunction(func):
        return False  # source_of says what is wrong
    return any(is_of_kfp(resolved(parameter.annotation, func)) for parameter in inspect.signature(func).parameters.values())


def _install(packages: list[str]) -> list[str]:
    if not packages:
        return []
    words = " ".join(f"'{package}'" if shlex.quote(package) == package else shlex.quote(package) for package in packages)
    pip = f"PIP_DISABLE_PIP_VERSION_CHECK=1 python3 -m pip install --quiet --no-warn-script-location {words}"
    return ["sh", "-c", f'({pip} || {pip} --user) && "$0" "$@"']


def _program(name: str, source: str, texts: bool, interface: Interface) -> str:
    """texts: all annotations are texts in it, as they are where its functions were defined."""
    call = [
        name,
        repr({port.name: "" if port.path else port.type for port in interface.inputs}),
        repr([port.name for port in interface.outputs]),
        repr([(port.name, port.type, port.optional) for port in interface.returned]),
        repr(interface.single),
    ]
    main = text_of_main(_main._trainstep_main)
    start = f'if __name__ == "__main__":  # not in processes that multiprocessing starts\n    _trainstep_main({", ".join(call)})'
    first = "from __future__ import annotations\n\n" if texts else ""
    return f"{first}{source}\n\n{main}\n\n{start}\n"


def _arguments(interface: Interface) -> list[Any]:
    words: list[Any] = []
    for port in interface.inputs:
        given: list[Any] = [port.name, {"inputPath" if port.path else "inputValue": port.name}]
        words += [{"if": {"cond": {"isPresent": port.name}, "then": given}}] if port.optional else given
    for port in interface.outputs:
        words += [port.name, {"outputPath": port.name}]
    if interface.returned:
        words += ["----output-paths", *({"outputPath": port.name} for port in interface.returned)]
    return words
