"""One form of JSON: equal values give equal bytes, and every value comes back (REDDB-30, 31)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.changes.wire.canonical_json import canonical_json
from penstock.errors import InvalidChangeRecord

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def test_keys_are_in_the_order_of_their_bytes_at_every_depth() -> None:
    value = {"b": {"é": 1, "z": 2}, "a": [{"\U00010000": 1, "\uffff": 2}], "B": 0}
    assert canonical_json(value) == '{"B":0,"a":[{"\uffff":2,"\U00010000":1}],"b":{"z":2,"é":1}}'.encode()


@given(st.lists(TEXTS, unique=True))
def test_any_keys_are_in_the_order_of_their_bytes(keys: list[str]) -> None:
    written = json.loads(
        canonical_json(dict.fromkeys(keys, 0)), object_pairs_hook=lambda pairs: [key for key, _ in pairs]
    )
    assert (written or []) == sorted(keys, key=lambda key: key.encode())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2**53 + 1, b"9007199254740993"),
        (2**64 - 1, b"18446744073709551615"),
        (-(2**63), b"-9223372036854775808"),
        (10**30, b"1" + b"0" * 30),
        (1.0, b"1"),
        (-3.0, b"-3"),
        (float(2**53), b"9007199254740992"),
        (1.5, b"1.5"),
        (-0.0, b"-0.0"),
        (0.0, b"0"),
        (float("nan"), b'"NaN"'),
        (float("inf"), b'"Infinity"'),
        (float("-inf"), b'"-Infinity"'),
        (Decimal("1.10"), b'"1.10"'),
        (datetime(2026, 3, 1, tzinfo=UTC), b'"2026-03-01T00:00:00Z"'),
        (b"\x00\xff", b'"AP8="'),
        (True, b"true"),
    ],
)
def test_single_values(value: Any, text: bytes) -> None:
    assert canonical_json(value) == text


@given(VALUES)
def test_values_come_back(value: Any) -> None:
    def finite(each: Any) -> Any:
        if isinstance(each, float) and each in (float("inf"), float("-inf")):
            return "Infinity" if each > 0 else "-Infinity"
        if isinstance(each, list):
            return [finite(one) for one in each]
        return {key: finite(one) for key, one in each.items()} if isinstance(each, dict) else each

    written = canonical_json(value)
    assert json.loads(written) == finite(value)
    assert canonical_json(json.loads(written)) == written


def circle() -> list[Any]:
    values: list[Any] = []
    values.append(values)
    return values


@pytest.mark.parametrize("value", ["\ud800", {1: 2}, object(), circle()], ids=["surrogate", "key", "object", "circle"])
def test_what_json_cannot_say_is_refused(value: Any) -> None:
    with pytest.raises(InvalidChangeRecord, match="cannot be written as JSON"):
        canonical_json(value)
