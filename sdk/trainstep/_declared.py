# SPDX-License-Identifier: Apache-2.0
"""Whether a function still has the defaults and annotations of its source: they are not part of its code."""
from __future__ import annotations

import ast
import builtins
import inspect
import re
import typing
from collections.abc import Callable, Sequence
from typing import Any, Union

# Names that every program has besides builtins: constants, names added by the module site, and module attributes.
_CONSTANTS = frozenset(
    "None True False Ellipsis NotImplemented __debug__ exit quit copyright credits license help __name__ __doc__ __package__ __spec__ __loader__".split()
)
# Calls of these have the same value each time, and change nothing.
_PURE = frozenset(
    "abs bool bytes chr complex dict divmod float frozenset int len list max min ord pow range repr round set sorted str sum tuple".split()
)
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # of an object, in its repr()


def is_builtin(name: str, outside: dict[str, Any]) -> bool:
    """Whether it is a builtin that `outside`, the names of the function's module, does not redefine. Names that a notebook or shell adds
    (display, get_ipython, _) are in this interpreter's builtins, too, and do not count."""
    if name in _CONSTANTS:
        return True
    found = getattr(builtins, name, None)
    return getattr(found, "__module__", None) in ("builtins", "io", "_io") and outside.get(name, found) is found


def difference(function: Callable[..., Any], definition: Union[ast.FunctionDef, ast.AsyncFunctionDef]) -> str:
    """What certainly differs between the function and its definition: "the default of epochs"; "" if nothing does. An expression that may have another
    value each time, or whose names are not known here, is not compared."""
    try:
        of = inspect.signature(function)
    except Exception:  # from Python 3.14 on annotations are evaluated here
        return ""
    given, outside = definition.args, getattr(function, "__globals__", {})
    places = [*given.posonlyargs, *given.args]
    defaults: list[Any] = [*[None] * (len(places) - len(given.defaults)), *given.defaults, *given.kw_defaults]
    for argument, default in zip([*places, *given.kwonlyargs], defaults):
        parameter = of.parameters[argument.arg]
        if not _may_be_default(default, parameter.default, outside):
            return f"the default of {argument.arg}"
        if not _may_annotate(argument.annotation, parameter.annotation, outside):
            return f"the annotation of {argument.arg}"
    return "" if _may_annotate(definition.returns, of.return_annotation, outside) else "the annotation of its return value"


def _may_be_default(expression: Union[ast.expr, None], default: Any, outside: dict[str, Any]) -> bool:
    if expression is None or default is inspect.Parameter.empty:
        return expression is None and default is inspect.Parameter.empty
    try:
        return not _is_pure(expression, outside) or _is_equal(_evaluated(expression, {}), default)
    except Exception:  # importing the module again would raise it
        return False


def _is_pure(expression: ast.expr, outside: dict[str, Any]) -> bool:
    """Whether it may be evaluated here: literals, operators, and calls of builtins without effects."""
    nodes = list(ast.walk(expression))
    names = [node.id for node in nodes if isinstance(node, ast.Name)]
    odd = (ast.Attribute, ast.Lambda, ast.Await, ast.Yield, ast.YieldFrom)
    return not any(isinstance(node, odd) for node in nodes) and all(name in _PURE and is_builtin(name, outside) for name in names)


def _evaluated(expression: ast.expr, names: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(expression), "<declaration>", "eval", dont_inherit=True), dict(names))


def _is_equal(one: Any, other: Any) -> bool:
    """Whether two values have the same types and members, in the same order. NaN equals itself, and 0.0 is not -0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return len(one) == len(other) and all(map(_is_equal, [*one, *one.values()], [*other, *other.values()]))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_is_equal, one, other))
    if isinstance(one, (set, frozenset)):  # their order depends on insertion
        return sorted(map(repr, one)) == sorted(map(repr, other))
    return repr(one) == repr(other)


def _may_annotate(expression: Union[ast.expr, None], annotation: Any, outside: dict[str, Any]) -> bool:
    """Whether the annotation of the function may be the value of the expression, or its text (`from __future__ import annotations`)."""
    if expression is None or annotation is inspect.Parameter.empty:
        return expression is None and annotation is inspect.Parameter.empty
    try:
        if type(annotation) is str and not (isinstance(expression, ast.Constant) and expression.value == annotation):
            return ast.dump(ast.parse(annotation, mode="eval").body) == ast.dump(expression)
        made = any(isinstance(node, ast.Call) for node in ast.walk(expression))
        return _is_alike(_evaluated(expression, outside), annotation, made)
    except Exception:  # names of an enclosing function or a class, or removed since
        return True


def _is_alike(one: Any, other: Any, made: bool) -> bool:
    """Whether two annotations are equal, or have been by the time of their definition: a class may have been defined again since. `made`: the
    expression makes its classes itself, so their fields are compared."""
    one, other = (type(None) if annotation is None else annotation for annotation in (one, other))
    if one is other:
        return True
    if isinstance(one, type) and isinstance(other, type) and not typing.get_args(one):
        return _name(one) == _name(other) and (not made or _are_alike(_fields(one), _fields(other), made))
    if typing.get_origin(one) or typing.get_origin(other):
        origins = typing.get_origin(one), typing.get_origin(other)
        return _is_alike(*origins, made) and _are_alike(typing.get_args(one), typing.get_args(other), made)
    if type(one) is not type(other):
        return False
    # Most objects without an equality of their own are told apart by their members.
    return bool(one == other) or (_ADDRESS.sub("", repr(one)) == _ADDRESS.sub("", repr(other)) and _are_alike(_members(one), _members(other), made))


def _are_alike(some: Sequence[Any], others: Sequence[Any], made: bool) -> bool:
    return len(some) == len(others) and all(_is_alike(one, other, made) for one, other in zip(some, others))


def _name(kind: type) -> tuple[str, str]:
    return kind.__module__, kind.__qualname__


def _fields(kind: type) -> list[Any]:
    """Names and annotations of a NamedTuple."""
    found = getattr(kind, "__annotations__", {}) if hasattr(kind, "_fields") else {}
    return [*found, *found.values()]


def _members(of: Any) -> list[Any]:
    found = getattr(of, "__dict__", {})
    return [*found, *found.values()]
