"""Literals of SQL text, with the value and the type that Spark gives them.

A literal that Spark would round, truncate or read in more than one way is refused: `LiteralRefused` says why.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.changes.filter.moments import in_utc, read_date, read_timestamp
from penstock.changes.filter.predicate import Constant, LocalTimestamp
from penstock.changes.filter.sql_types import PLAIN, sql_name

NUMBER = re.compile(
    r"(?P<digits>[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?P<exponent>[eE][+-]?[0-9]+)?(?P<suffix>BD|[LSYDF])?(?![\w.])", re.I
)
"""A number as Spark spells it."""

_INTEGERS = {"Y": pa.int8(), "S": pa.int16(), "L": pa.int64()}
_SYNONYMS = {
    "BYTE": "TINYINT", "SHORT": "SMALLINT", "INTEGER": "INT", "LONG": "BIGINT", "REAL": "FLOAT", "DEC": "DECIMAL",
    "NUMERIC": "DECIMAL", "TIMESTAMP_LTZ": "TIMESTAMP",
}  # fmt: skip
_CASTABLE = set(PLAIN) - {"VOID", "BINARY"}
_NUMERIC_TEXT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DECIMAL_TEXT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)")
_WHOLE_TEXT = re.compile(r"[+-]?[0-9]+")
_SPECIAL_TEXT = {"NaN", "Infinity", "-Infinity"}
_MAX_DIGITS = 38
_MAX_LENGTH = 400
_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


class LiteralRefused(Exception):
    """The literal has no value that can be relied on."""


def read_number(text: str, negative: bool = False) -> Constant:
    """The number that `text` spells, negative if a minus stands before it.

    >>> read_number("1.50").value.type, read_number("3000000000").value.type, read_number("1e3").value.type
    (Decimal128Type(decimal128(3, 2)), DataType(int64), DataType(double))
    """
    found = NUMBER.fullmatch(text)
    if found is None:
        raise LiteralRefused(f"{text} is not a number")
    if len(text) > _MAX_LENGTH:
        raise LiteralRefused("the number is too long")
    suffix = (found["suffix"] or "").upper()
    spelled = ("-" if negative else "") + found["digits"] + (found["exponent"] or "")
    if suffix in {"D", "F"} or (found["exponent"] and not suffix):
        return Constant(_float(spelled, pa.float32() if suffix == "F" else pa.float64()))
    if found["exponent"]:
        raise LiteralRefused(f"{text} has both an exponent and the ending {suffix}")
    value = Decimal(spelled)
    if "." in spelled or suffix == "BD":
        if suffix not in {"", "BD"}:
            raise LiteralRefused(f"{text} is not a whole number")
        return Constant(_decimal(value))
    whole = int(value)
    if suffix:
        return Constant(_integer(whole, _INTEGERS[suffix]))
    for kind in (pa.int32(), pa.int64()):
        if _fits(whole, kind):
            return Constant(pa.scalar(whole, kind))
    return Constant(_decimal(value))


def read_string(text: str) -> str:
    r"""The value of a string literal, given as it was written, quotes included.

    >>> read_string(r"'it\'s\t50\%'"), read_string("'it''s'"), read_string(r"r'\d'")
    ("it's\t50\\%", "it's", '\\d')
    """
    if text[0] in "rR":
        return text[2:-1]
    quote, inner = text[0], text[1:-1]
    parts: list[str] = []
    at = 0
    while at < len(inner):
        if inner[at] == quote:
            at += 1  # a doubled quote
        elif inner[at] == "\\":
            at += 1
            at, character = _escaped(inner, at)
            parts.append(character)
            continue
        parts.append(inner[at])
        at += 1
    return "".join(parts)


def _escaped(inner: str, at: int) -> tuple[int, str]:
    character = inner[at]
    if character == "u" and re.fullmatch(r"[0-9a-fA-F]{4}", inner[at + 1 : at + 5]):
        code = int(inner[at + 1 : at + 5], 16)
        if 0xD800 <= code < 0xE000:
            raise LiteralRefused("half of a surrogate pair is not a character")
        return at + 5, chr(code)
    if character in "uU" or (character.isdigit() and (character != "0" or inner[at + 1 : at + 2].isdigit())):
        raise LiteralRefused(f"the escape \\{inner[at : at + 3]} may be read in more than one way")
    return at + 1, _ESCAPES.get(character, character)


def type_named(name: str, sizes: tuple[int, ...]) -> Any:
    """The Arrow type of an SQL type that literals can be cast to."""
    name = _SYNONYMS.get(name, name)
    if name == "DECIMAL" and len(sizes) <= 2:
        precision, scale = (*sizes, *(10, 0)[len(sizes) :])
        if not (1 <= precision <= _MAX_DIGITS and 0 <= scale <= precision):
            raise LiteralRefused(f"DECIMAL({precision},{scale}) is not a type")
        return pa.decimal128(precision, scale)
    if name not in _CASTABLE or sizes:
        raise LiteralRefused(f"literals cannot be cast to {name}")
    return PLAIN[name]


def cast_literal(literal: Constant | LocalTimestamp, kind: Any) -> Constant | LocalTimestamp:
    """CAST(literal AS kind), if nothing is lost by it."""
    if isinstance(literal, LocalTimestamp):
        if kind == PLAIN["TIMESTAMP"]:
            return literal
        raise LiteralRefused(f"a TIMESTAMP without an offset cannot be cast to {sql_name(kind)} here")
    value, source = literal.value.as_py(), literal.value.type
    if value is None:
        return Constant(pa.scalar(None, kind))
    if source == kind:
        return literal
    if isinstance(value, str):
        return _from_text(value, kind)
    number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    if pa.types.is_integer(kind) and number and value == int(value):
        return Constant(_integer(int(value), kind))
    if pa.types.is_decimal(kind) and number:
        return Constant(_decimal(Decimal(value), kind))
    if pa.types.is_floating(kind) and (number or isinstance(value, float)):
        return Constant(_float(str(value), kind) if number else literal.value.cast(kind, safe=False))
    if pa.types.is_string(kind) and isinstance(value, int) and number:
        return Constant(pa.scalar(str(value)))
    raise LiteralRefused(f"{value} cannot be cast to {sql_name(kind)} here")


def _from_text(text: str, kind: Any) -> Constant | LocalTimestamp:
    refused = LiteralRefused(f"{text[:_MAX_LENGTH]!r} is not a plain {sql_name(kind)}")
    if len(text) > _MAX_LENGTH:
        raise refused
    types = pa.types
    if types.is_integer(kind) and _WHOLE_TEXT.fullmatch(text):
        return Constant(_integer(int(text), kind))
    if types.is_decimal(kind) and _DECIMAL_TEXT.fullmatch(text):
        return Constant(_decimal(Decimal(text), kind))
    if types.is_floating(kind) and text in _SPECIAL_TEXT:
        return Constant(pa.scalar(float(text), kind))
    if types.is_floating(kind) and _NUMERIC_TEXT.fullmatch(text):
        return Constant(_float(text, kind))
    if types.is_boolean(kind) and text.lower() in {"true", "false"}:
        return Constant(pa.scalar(text.lower() == "true"))
    if types.is_date32(kind) and (day := read_date(text)):
        return Constant(pa.scalar(day, kind))
    if types.is_timestamp(kind) and (at := read_timestamp(text)):
        if kind.tz is None and at.tzinfo is None:
            return Constant(pa.scalar(at, kind))
        if kind.tz and at.tzinfo:
            instant = in_utc(at)
            if instant is None:
                raise refused
            return Constant(pa.scalar(instant, kind))
        if kind.tz:
            return LocalTimestamp(at)
    raise refused


def _fits(value: int, kind: Any) -> bool:
    half: int = 1 << (kind.bit_width - 1)
    return -half <= value < half


def _integer(value: int, kind: Any) -> Any:
    if not _fits(value, kind):
        raise LiteralRefused(f"{value} is too large for {sql_name(kind)}")
    return pa.scalar(value, kind)


def _decimal(value: Decimal, kind: Any = None) -> Any:
    _, digits, exponent = value.as_tuple()
    scale = max(-int(exponent), 0)
    if kind is None:
        kind = pa.decimal128(min(max(len(digits), scale), _MAX_DIGITS), min(scale, _MAX_DIGITS))
    try:
        return pa.scalar(value, kind)
    except pa.ArrowInvalid:
        raise LiteralRefused(f"{value} has more digits than {sql_name(kind)}") from None


def _float(text: str, kind: Any) -> Any:
    # Arrow finds the nearest FLOAT of the text itself; by way of a double it could be the one beside it.
    value = pa.array([text]).cast(kind)[0]
    if not math.isfinite(value.as_py()):
        raise LiteralRefused(f"{text} is too large for {sql_name(kind)}")
    return value
