# SPDX-License-Identifier: Apache-2.0
"""Converts Python values to JSON exactly; anything else is rejected with its location, such as train_parameters.rates[2]."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .errors import InputError

_DEEPEST = 100
_LONGEST = 120
_WHOLE = range(-(2**63), 2**64)  # of the program
_EXACT = 2**53  # integers up to this are exact as doubles


def plain_value(where: str, value: Any, known_later: Callable[[Any], bool] = lambda value: False) -> Any:
    """Returns `value` as dict, list, str, int, float, bool or None. `known_later`: recognises
    values that are kept unchanged because they are known only at run time.

    InputError: it contains a value that the program would receive differently or not at all.
    """
    return _plain(where, value, known_later, 0)


def _plain(where: str, value: Any, known_later: Callable[[Any], bool], depth: int) -> Any:
    if value is None or isinstance(value, bool) or known_later(value):
        return value
    if isinstance(value, str):
        return _text(where, str.__str__(value))
    if isinstance(value, int):
        return _whole_number(where, int(value))
    if isinstance(value, float):
        return float(value)
    if depth > _DEEPEST:
        raise refused(where, f"nested deeper than {_DEEPEST} levels, or contains itself")
    if isinstance(value, Mapping):
        members = ((_key(where, key), member) for key, member in value.items())
        return {key: _plain(f"{where}.{key}", member, known_later, depth + 1) for key, member in members}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return [_plain(f"{where}[{at}]", member, known_later, depth + 1) for at, member in enumerate(value)]
    raise refused(where, f"expected str, int, float, bool, dict, list or None; got {type_name(value)}")


def refused(where: str, message: str) -> InputError:
    place, equals, _ = where.partition("=")  # the text after "=" in a key may be a secret: TOKEN=…
    return InputError(f"{where if len(where) <= _LONGEST and not equals else place[:_LONGEST] + '…'}: {message}", 2)


def type_name(value: Any) -> str:
    """The qualified name of the type: "numpy.int64", "bytes"."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _key(where: str, key: Any) -> str:
    if not isinstance(key, str):
        shown = f"{key!r}, " if isinstance(key, (int, float)) else ""  # other types may contain a secret
        raise refused(where, f"expected str keys, as in JSON; got {shown}{type_name(key)}")
    return _text(where, str.__str__(key))


def _text(where: str, value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as problem:
        raise refused(where, f"expected Unicode, got the unpaired surrogate {ascii(value[problem.start])}") from None
    return value


def _whole_number(where: str, value: int) -> int:
    if value not in _WHOLE:
        raise refused(where, f"expected an integer of at most 64 bits, got one of {value.bit_length()} bits; use a str parameter")
    return value


def for_struct(where: str, value: Any) -> None:
    """Checks a value for KFP SDK 2, whose backend stores the numbers of a dictionary as doubles and writes their shortest round-trip form.

    `value`: as returned by plain_value(). InputError: a number would change, or a member is not supported.
    """
    if isinstance(value, dict):
        for key, member in value.items():
            for_struct(f"{where}.{key}", member)
    elif isinstance(value, list):
        for at, member in enumerate(value):
            for_struct(f"{where}[{at}]", member)
    elif value is None:
        raise refused(where, "expected a value: KFP's SDK 2 does not support None in a dictionary; omit it")
    elif not is_exact(value):
        raise refused(
            where,
            f"{value} would change: KFP's SDK 2 supports only finite doubles and integers up to 2**53; "
            'pass it as a string, or the whole parameter as JSON (json.dumps(…))',
        )


def is_exact(value: Any) -> bool:
    """Whether a number survives conversion to a double and its shortest text; True for other values."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return True
    if isinstance(value, int):
        return abs(value) <= _EXACT
    if not math.isfinite(value):
        return False
    import decimal

    # From 1e21 on the backend writes a float with an exponent; below that as an integer whose last digits may differ.
    return abs(value) <= _EXACT or abs(value) >= 1e21 or decimal.Decimal(repr(value)) == decimal.Decimal(value)
