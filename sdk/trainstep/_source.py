# SPDX-License-Identifier: Apache-2.0
"""Extracts the source of a function that runs elsewhere, and checks here that it is self-contained."""
from __future__ import annotations

import __future__

import ast
import inspect
import re
import textwrap
import tokenize
import types
from collections.abc import Callable, Iterator
from typing import Any, Union

from ._declared import difference, is_builtin
from .errors import SpecificationError

Function = Callable[..., Any]
_Definition = Union[ast.FunctionDef, ast.AsyncFunctionDef]


def source_of(function: Function, known: frozenset[str] = frozenset(), texts: bool = False) -> str:
    """Returns the source of a function, wrapped in `if True:` if it is indented. `known`: names of its helpers, which will be available, too.

    Its own annotations, which may refer to names that exist only here, become strings and are not evaluated. Those inside it are unchanged.
    texts: it will run with `from __future__ import annotations`.
    SpecificationError: it is not a plain function, its source is not available, or it needs something that exists only here.
    """
    _check_sort(function)
    name = function.__name__
    try:
        _check_code(function)
        text = _at_top_level(inspect.getsource(function))
    except (OSError, TypeError, SyntaxError, tokenize.TokenError) as problem:
        if function.__code__.co_filename == "<timed exec>":  # IPython's
            raise SpecificationError(f"{name}: its source cannot be read, as its cell starts with %%time; define it in another cell or in a file") from None
        raise SpecificationError(
            f"{name}: its source cannot be read ({problem}); define it in a file, or in a cell without a cell magic such as %%time"
        ) from None
    _check_magic(name, text)
    definition = _definition(name, text)
    if definition.decorator_list:
        raise SpecificationError(f"{name} has decorators, which would not be available where it trains; pass the plain function")
    outside = function.__globals__
    _check_declaration(function, definition)
    _check_defaults(definition, outside)
    missing = sorted(set(_foreign_names(function.__code__, outside)) - _own_globals(function.__code__) - known - {name})
    if missing:
        raise SpecificationError(
            f"{name} uses {', '.join(missing)} from outside the function, which will not be available where it trains; import modules inside the function, "
            "pass values as parameters, and name functions in additional_funcs"
        )
    if not texts:
        text = _quoted(text, _annotations(definition) if annotations_are_texts(function) else _own_annotations(definition, outside))
    return text.rstrip() + "\n"


def annotations_are_texts(function: Any) -> bool:
    """Whether it was defined with `from __future__ import annotations`, the only such import that matters in Python 3."""
    return bool(getattr(getattr(function, "__code__", None), "co_flags", 0) & __future__.annotations.compiler_flag)


def text_of_main(function: Function) -> str:
    """The source of a function of this package, which may run with or without `from __future__ import annotations`."""
    text = inspect.getsource(function)
    return _quoted(text, _annotations(_definition(function.__name__, text)))


def _annotations(*parts: ast.AST) -> list[ast.expr]:
    """All annotations in the given nodes."""
    nodes = (node for part in parts for node in ast.walk(part))
    return [found for node in nodes for found in (getattr(node, "annotation", None), getattr(node, "returns", None)) if isinstance(found, ast.expr)]


def _own_annotations(definition: _Definition, outside: dict[str, Any]) -> list[ast.expr]:
    """The annotations of its parameters and return value, except those that can be evaluated anywhere: strings, None, builtin types."""
    found = [*_annotations(definition.args), *([definition.returns] if definition.returns else [])]
    return [of for of in found if not isinstance(of, ast.Constant) and not (isinstance(of, ast.Name) and is_builtin(of.id, outside))]


def _quoted(text: str, annotations: list[ast.expr]) -> str:
    """Replaces the annotations with strings, as `from __future__ import annotations` does."""
    lines = [line.encode() for line in text.split("\n")]  # as Python counts columns
    for of in sorted(annotations, key=lambda of: (of.lineno, of.col_offset), reverse=True):
        first, last = of.lineno - 1, (of.end_lineno or of.lineno) - 1
        lines[first : last + 1] = [lines[first][: of.col_offset] + repr(ast.unparse(of)).encode() + lines[last][of.end_col_offset :]]
    return b"\n".join(lines).decode()


def _at_top_level(text: str) -> str:
    """Wraps indented source in `if True:`. Removing the indentation would change the lines of multi-line strings."""
    return f"if True:\n{text}" if text[:1] in " \t" else text


def _check_sort(function: Any) -> None:
    """Accepts only plain functions defined with `def name(…):`."""
    if inspect.ismethod(function):
        raise SpecificationError(f"{function.__qualname__} is a method: its object would not be available; write a function")
    if not isinstance(function, types.FunctionType):
        hint = "; pass the function, and its arguments in train_parameters" if hasattr(function, "func") else ""
        raise SpecificationError(f"expected a function, got {type(function).__name__}{hint}")
    name = function.__name__
    if name == "<lambda>":
        raise SpecificationError("a lambda is not supported; write `def train(…):`")
    if hasattr(function, "__wrapped__"):
        raise SpecificationError(f"{name} wraps another function, which would train in its place; pass the plain function")
    if name != function.__code__.co_name:
        raise SpecificationError(f"{function.__code__.co_name} is named {name}, unlike its `def`; do not change its __name__")
    if function.__closure__:
        names = ", ".join(function.__code__.co_freevars)
        raise SpecificationError(f"{name} uses {names} of the enclosing function, which will not be available where it trains; pass them as parameters")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise SpecificationError(f"{name} would start only when awaited or iterated over; write a plain `def`")


def _check_magic(name: str, text: str) -> None:
    """Rejects notebook commands, as written or as rewritten by IPython."""
    lines = text.split("\n")
    try:
        found = [node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name) and node.id == "get_ipython"]
    except (SyntaxError, ValueError):
        found = [number for number, line in enumerate(lines, 1) if line.lstrip().startswith(("%", "!"))]
    if found:
        command = re.split(r"[\s=]", lines[found[0] - 1].strip(), maxsplit=1)[0]  # its arguments may be secrets: login --token …
        raise SpecificationError(f"{name} contains a notebook command, which works only in a notebook: {command} …")


def _check_code(function: Function) -> None:
    """Checks that the file still has the code of the function: inspect reads the file again, while an imported function does not change."""
    code, futures = function.__code__, sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
    changed = f"{function.__name__}: {code.co_filename} has changed since it was defined there; import its module again, or restart the kernel"
    try:  # the whole file: imports above may change how the function is compiled
        module = compile("".join(inspect.findsource(function)[0]), code.co_filename, "exec", code.co_flags & futures, dont_inherit=True)
    except OSError as problem:
        if "out of bounds" in str(problem):
            raise SpecificationError(changed) from None
        raise
    except (SyntaxError, ValueError):  # a cell with notebook commands; cells do not change
        return
    rewritten = any(name.startswith("@py") for inner in _with_inner(code) for name in inner.co_varnames)  # pytest rewrites assertions
    here = [inner for inner in _with_inner(module) if (inner.co_name, inner.co_firstlineno) == (code.co_name, code.co_firstlineno)]
    if not rewritten and not any(_is_same(found, code) for found in here):
        raise SpecificationError(changed)


def _check_declaration(function: Function, definition: _Definition) -> None:
    """Checks that the function has the defaults and annotations of its source."""
    found = difference(function, definition)
    if found:
        file = function.__code__.co_filename
        raise SpecificationError(f"{function.__name__}: {found} is not the one in {file}; import its module again, or restart the kernel")


def check_current(function: Function) -> None:
    """SpecificationError: the file with the source of the function has changed since it was defined."""
    _check_code(function)
    _check_declaration(function, _definition(function.__name__, _at_top_level(inspect.getsource(function))))


def _with_inner(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _with_inner(constant)


def _form(code: types.CodeType) -> tuple[Any, ...]:
    """What two equal code objects have in common besides their constants."""
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, len(code.co_consts)
    return code.co_code, code.co_names, code.co_varnames, counts


def _is_same(one: Any, other: Any) -> bool:
    """Whether two code objects, or their constants, are equal."""
    if isinstance(one, types.CodeType) and isinstance(other, types.CodeType):
        return _form(one) == _form(other) and all(map(_is_same, one.co_consts, other.co_consts))
    if isinstance(one, frozenset) and isinstance(other, frozenset):  # its order depends on insertion
        return sorted(map(repr, one)) == sorted(map(repr, other))
    return type(one) is type(other) and repr(one) == repr(other)


def _definition(name: str, text: str) -> _Definition:
    try:
        (definition,) = ast.parse(text).body
        if isinstance(definition, ast.If):
            (definition,) = definition.body
    except (SyntaxError, ValueError) as problem:
        raise SpecificationError(f"{name}: its source is not self-contained: {problem}") from None
    if not isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
        raise SpecificationError(f"{name} is not defined by its own `def`")
    return definition


def _check_defaults(definition: _Definition, outside: dict[str, Any]) -> None:
    """Checks that defaults use only builtins: they are evaluated when the program starts. Annotations are never evaluated."""
    defaults = [default for default in (*definition.args.defaults, *definition.args.kw_defaults) if default is not None]
    for default in defaults:
        for node in ast.walk(default):
            if isinstance(node, ast.Name) and not is_builtin(node.id, outside):
                raise SpecificationError(f"{definition.name}: a default uses {node.id}, which will not be available where it trains; write its value")


def returns_value(function: Function) -> bool:
    """Whether it has a `return` with a value other than None, not counting nested functions."""
    parts: list[ast.AST] = [*_definition(function.__name__, _at_top_level(inspect.getsource(function))).body]
    while parts:
        part = parts.pop()
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(part, ast.Return) and part.value is not None and not (isinstance(part.value, ast.Constant) and part.value.value is None):
            return True
        parts.extend(ast.iter_child_nodes(part))
    return False


def _own_globals(code: types.CodeType) -> set[str]:
    """Names that the function, or a nested one, declares `global` and assigns before reading: they are defined for later reads."""
    import dis

    own = set()
    for inner in _with_inner(code):
        first: dict[str, str] = {}
        for step in dis.get_instructions(inner):
            if step.opname.endswith("_GLOBAL"):
                first.setdefault(step.argval, step.opname)
        own |= {name for name, how in first.items() if how == "STORE_GLOBAL"}
    return own


def _foreign_names(code: types.CodeType, outside: dict[str, Any]) -> Iterator[str]:
    """Global names used by the function and its nested functions that are not builtins."""
    import dis

    instructions = [(step.opname, step.argval) for step in dis.get_instructions(code)]
    stored = {name for how, name in instructions if how == "STORE_NAME"}
    if "SETUP_ANNOTATIONS" in dict(instructions):  # a class with annotations, before Python 3.14
        stored.add("__annotations__")
    for how, name in instructions:
        if how in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS") and name not in stored and not is_builtin(name, outside):
            yield name
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType) and constant.co_name != "__annotate__":  # evaluated only when annotations are read
            yield from (name for name in _foreign_names(constant, outside) if name not in stored)


def names_in(code: types.CodeType) -> frozenset[str]:
    """All names used in the code, including attributes."""
    return frozenset(name for inner in _with_inner(code) for name in inner.co_names)


def loses_indentation(function: Function) -> bool:
    """Whether removing its indentation, as the KFP SDKs do, would change the function: it contains a multi-line string."""
    text = inspect.getsource(function)
    try:
        kept, lost = (_definition(function.__name__, form) for form in (_at_top_level(text), textwrap.dedent(text)))
    except SpecificationError:
        return True
    return _without_docstrings(kept) != _without_docstrings(lost)


def _without_docstrings(definition: _Definition) -> str:
    for node in ast.walk(definition):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            node.body[0] = ast.Pass()
    return ast.dump(definition)
