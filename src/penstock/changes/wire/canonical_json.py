"""JSON in one form only: the same value gives the same bytes, so that payloads can be compared by their hash.

Object keys are in byte order, without spaces; integers are exact at any size. A double that is a whole number up to
2⁵³ is written without a fraction: readers that keep every number as a double cannot distinguish `1.0` from `1`, and
what they pass on must have the same hash. Minus zero keeps its sign. NaN and the infinities, which JSON lacks, are the
words that Spark writes for them. Decimals are texts, dates and times ISO 8601, binary values base64.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from penstock.errors import InvalidChangeRecord

EXACT_DOUBLE: Final = 1 << 53
"""Up to here every whole number is a double."""

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


def canonical_json(value: Any) -> bytes:
    """The value as UTF-8.

    >>> canonical_json({"b": 1.0, "a": [2**64 - 1, None]})
    b'{"a":[18446744073709551615,null],"b":1}'
    """
    try:
        return _ENCODER.encode(_canonical(value))
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.EncodeError) as error:
        raise InvalidChangeRecord(why=f"it cannot be written as JSON: {error}") from error


def _canonical(value: Any) -> Any:
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return {key: _canonical(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(each) for each in value]
    return value


def _number(value: float) -> float | int | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    minus_zero = value == 0 and math.copysign(1, value) < 0
    if value.is_integer() and abs(value) <= EXACT_DOUBLE and not minus_zero:
        return int(value)
    return value
