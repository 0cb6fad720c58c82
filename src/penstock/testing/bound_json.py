"""Bound trees as JSON, so that a test can keep what Spark bound.

    decode(encode(q))  ==  q          for every bound query, whatever nodes it has

The type hints of the dataclasses say how each field is written, so a new bound node needs nothing here. A dataclass is
the list of its fields, without the defaults at its end; where a field may hold one of several, its class name comes
first. A column is `[id, name, type, nullable]`, an expression `[parts, type, nullable]`, where a number among the parts
is a column's id.
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import Decimal
from enum import StrEnum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from penstock.compile.bound import BoundQuery

_WIDTH = 160


def encode(query: BoundQuery) -> list[Any]:
    """The query as lists, strings, numbers and None."""
    written = _encode(BoundQuery, query)
    assert isinstance(written, list)
    return written


def decode(written: list[Any]) -> BoundQuery:
    """The query that was written."""
    query = _decode(BoundQuery, written)
    assert isinstance(query, BoundQuery)
    return query


def readable(written: Any, indent: str = "") -> str:
    """JSON with one part per line, except for parts that fit on a line."""
    line = json.dumps(written, ensure_ascii=False)
    if len(indent) + len(line) <= _WIDTH or not written or not isinstance(written, list | dict):
        return line
    deeper = indent + " "
    if isinstance(written, dict):
        parts = [f"{json.dumps(name)}: {readable(held, deeper)}" for name, held in written.items()]
        return "{\n" + ",\n".join(deeper + part for part in parts) + f"\n{indent}}}"
    return "[\n" + ",\n".join(deeper + readable(held, deeper) for held in written) + f"\n{indent}]"


def _encode(hint: Any, value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, tuple):
        return [_encode(inner, held) for inner, held in zip(_elements(hint, len(value)), value, strict=True)]
    if not is_dataclass(value):
        return value
    kept = list(_fields(value.__class__))
    while kept and kept[-1][0].default is not MISSING and getattr(value, kept[-1][0].name) == kept[-1][0].default:
        kept.pop()
    listed = [_encode(inner, getattr(value, field.name)) for field, inner in kept]
    return [value.__class__.__name__, *listed] if len(_classes(hint)) > 1 else listed


def _decode(hint: Any, written: Any) -> Any:
    if isinstance(written, dict):
        return Decimal(written["decimal"])
    if not isinstance(written, list):
        return hint(written) if isinstance(hint, type) and issubclass(hint, StrEnum) else written
    classes = _classes(hint)
    if not classes:
        elements = _elements(hint, len(written))
        return tuple(_decode(inner, held) for inner, held in zip(elements, written, strict=True))
    if len(classes) == 1:
        (held,) = classes.values()
    else:
        held, written = classes[written[0]], written[1:]
    return held(*(_decode(inner, value) for (_, inner), value in zip(_fields(held), written, strict=False)))


@cache
def _fields(held: type) -> tuple[tuple[Field[Any], Any], ...]:
    hints = get_type_hints(held)
    return tuple((field, hints[field.name]) for field in fields(held))


def _classes(hint: Any) -> dict[str, type]:
    """The dataclasses that a value of this type can be of, by name."""
    return {each.__name__: each for each in _choices(hint) if isinstance(each, type) and is_dataclass(each)}


def _choices(hint: Any) -> Iterator[Any]:
    if get_origin(hint) in {Union, types.UnionType}:
        yield from get_args(hint)
    else:
        yield hint


def _elements(hint: Any, count: int) -> list[Any]:
    """The types of a tuple's elements."""
    inner = next(get_args(each) for each in _choices(hint) if get_origin(each) is tuple)
    return [inner[0]] * count if inner[1:] == (...,) else list(inner)
