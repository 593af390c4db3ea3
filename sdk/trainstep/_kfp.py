# SPDX-License-Identifier: Apache-2.0
"""Specifications that require a KFP SDK: those of its components, and of functions that use its artifacts."""
from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Callable
from typing import Any

from ._values import for_struct
from .errors import InputError, SpecificationError

Function = Callable[..., Any]


def sdk_version() -> int:
    """The major version of the installed KFP SDK, 1 or 2. ImportError: it is not installed."""
    import kfp

    return int(str(kfp.__version__).partition(".")[0])


def specification(func: Function, base_image: str, packages: list[str], helpers: list[Function]) -> str:
    """Returns the specification of a function with annotations of the installed SDK."""
    _check_sources([func, *helpers])
    if sdk_version() >= 2:
        from kfp import dsl

        more = {"additional_funcs": helpers} if helpers else {}
        try:
            made = dsl.component(func, base_image=base_image, packages_to_install=packages, **more)
        except (TypeError, ValueError) as problem:
            raise SpecificationError(f"the KFP SDK does not accept {func.__name__}: {problem}") from problem
        return component_text(made)
    from kfp.components import func_to_component_text

    from ._source import source_of

    known = frozenset(helper.__name__ for helper in helpers)
    code = "\n".join(source_of(helper, known) for helper in helpers)
    return str(func_to_component_text(func, base_image=base_image, packages_to_install=packages, extra_code=code))


def _check_sources(functions: list[Function]) -> None:
    from ._source import check_current, loses_indentation

    for function in functions:
        check_current(function)
        if loses_indentation(function):
            raise SpecificationError(
                f"{function.__name__}: the KFP SDK would also remove the indentation in its strings; define it at the top level of a cell or file"
            )


def _check_defaults(interface: Any) -> None:
    """Checks that defaults can be represented by SDK 2, which stores all numbers as doubles."""
    for name, declared in (interface.inputs or {}).items():
        default = getattr(declared, "default", None)
        try:
            for_struct(name, 0 if default is None else default)
        except InputError as problem:
            raise SpecificationError(f"{interface.name}: the default of {problem}") from None


def component_text(component: Any) -> str:
    """Returns the specification of a component, as returned by @dsl.component (SDK 2), create_component_from_func (SDK 1.8) or load_component_from_…."""
    if hasattr(component.component_spec, "to_dict"):
        import json

        return json.dumps(component.component_spec.to_dict())
    _check_defaults(component.component_spec)
    from kfp import compiler

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "component.yaml")
        try:
            compiler.Compiler().compile(component, str(path))
        except Exception as problem:  # including protobuf's, for example for an infinite default
            raise SpecificationError(f"the KFP SDK cannot compile the component: {problem}") from problem
        return path.read_text(encoding="utf-8")
