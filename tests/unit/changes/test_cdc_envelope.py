"""Envelopes: the exact bytes, what is absent and what is null, and the same bytes for batches."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzing import mutated, thorough
from penstock.changes.wire.cdc_envelope import CdcEnvelope, CdcSource
from penstock.changes.wire.envelope_batch import envelopes
from penstock.errors import InvalidChange, UnreadableChange

SOURCE = CdcSource("laminardb", "default", "orders", 42)
AT = 1706140800000
GOLDEN = (
    b'{"op":"c","ts_ms":1706140800000,"source":{"name":"laminardb","db":"default","table":"orders","sequence":42},'
    b'"after":{"amount":100,"id":1}}'
)


def test_cdc_envelope_debezium_compatible() -> None:
    told = CdcEnvelope.insert({"amount": 100, "id": 1}, SOURCE, AT).to_json()
    assert told == GOLDEN
    assert b'"before"' not in told


def test_the_four_kinds_to_the_byte() -> None:
    front = b'"ts_ms":1,"source":{"name":"p","db":"d","table":"t","sequence":7}'
    source = CdcSource("p", "d", "t", 7)
    assert CdcEnvelope.insert({"x": 1}, source, 1).to_json() == b'{"op":"c",' + front + b',"after":{"x":1}}'
    assert CdcEnvelope.read({"x": 1}, source, 1).to_json() == b'{"op":"r",' + front + b',"after":{"x":1}}'
    assert CdcEnvelope.delete({"x": 1}, source, 1).to_json() == b'{"op":"d",' + front + b',"before":{"x":1}}'
    assert (
        CdcEnvelope.update({"x": 1}, {"x": None}, source, 1).to_json()
        == b'{"op":"u",' + front + b',"before":{"x":1},"after":{"x":null}}'
    )


def test_weights() -> None:
    row = {"x": 1}
    made = [
        CdcEnvelope.insert(row, SOURCE, AT),
        CdcEnvelope.read(row, SOURCE, AT),
        CdcEnvelope.delete(row, SOURCE, AT),
        CdcEnvelope.update(row, row, SOURCE, AT),
    ]
    assert [each.weight() for each in made] == [1, 1, -1, 0]


def test_the_golden_sample_is_read() -> None:
    assert CdcEnvelope.from_json(GOLDEN) == CdcEnvelope.insert({"amount": 100, "id": 1}, SOURCE, AT)


def test_what_is_missing_and_what_is_unknown() -> None:
    """Debezium writes null for no image, and more keys than these; the sequence may be missing."""
    read = CdcEnvelope.from_json(
        '{"before":null,"after":{"id":1},"op":"c","ts_ms":5,"ts_us":5000,"transaction":null,'
        '"source":{"version":"3.3","name":"n","db":"d","schema":"s","table":"t"}}'
    )
    assert read == CdcEnvelope.insert({"id": 1}, CdcSource("n", "d", "t", 0), 5)


def test_an_update_from_elsewhere_may_lack_its_before_image() -> None:
    data = GOLDEN.replace(b'"op":"c"', b'"op":"u"')
    assert CdcEnvelope.from_json(data).before is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff",
        GOLDEN[:-1],
        GOLDEN + b"x",
        GOLDEN.replace(b'"c"', b'"t"'),
        GOLDEN.replace(b'"c"', b'"d"'),
        GOLDEN.replace(b'"c"', b"1"),
        GOLDEN.replace(b'"after"', b'"before"'),
        GOLDEN.replace(b"1706140800000", b'"1706140800000"'),
        GOLDEN.replace(b"1706140800000", b"9223372036854775808"),
        GOLDEN.replace(b"42", b"-1"),
        GOLDEN.replace(b"42", b"18446744073709551616"),
        GOLDEN.replace(b'{"amount":100,"id":1}', b"[1]"),
        GOLDEN.replace(b"100", b"[" * 100_000),
    ],
    ids=lambda data: data[:12].hex() + str(len(data)),
)
def test_what_is_no_envelope_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableChange, match="an envelope"):
        CdcEnvelope.from_json(data)


@thorough
@given(st.binary(max_size=200))
def test_any_bytes_are_an_envelope_or_refused(data: bytes) -> None:
    with pytest.raises(UnreadableChange):
        CdcEnvelope.from_json(data)


@thorough
@given(mutated(GOLDEN))
def test_a_mutated_envelope_is_an_envelope_or_refused(data: bytes) -> None:
    try:
        read = CdcEnvelope.from_json(data)
    except UnreadableChange:
        return
    assert CdcEnvelope.from_json(read.to_json()) == read


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
ROWS = st.dictionaries(st.text(), VALUES, max_size=4)


@given(ROWS, ROWS, st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1))
def test_envelopes_as_json_and_back(before: dict[str, Any], after: dict[str, Any], at: int, sequence: int) -> None:
    source = CdcSource("n", "d", "t", sequence)
    for envelope in (
        CdcEnvelope.insert(after, source, at),
        CdcEnvelope.update(before, after, source, at),
        CdcEnvelope.delete(before, source, at),
        CdcEnvelope.read(after, source, at),
    ):
        told = envelope.to_json()
        assert CdcEnvelope.from_json(told) == envelope
        assert list(json.loads(told)) == ["op", "ts_ms", "source"] + [
            key for key in ("before", "after") if getattr(envelope, key) is not None
        ]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (2**63 - 1, 2**63 - 1),
        (Decimal("0.10"), "0.10"),
        (Decimal("0E-18"), "0.000000000000000000"),
        (date(2024, 1, 2), "2024-01-02"),
        (time(1, 2, 3), "01:02:03.000000"),
        (datetime(2024, 1, 2, 3, 4, 5, 6, UTC), "2024-01-02T03:04:05.000006Z"),
        (datetime(2024, 1, 2, 3, tzinfo=timezone(timedelta(hours=2))), "2024-01-02T01:00:00.000000Z"),
        (datetime(2024, 1, 2, 3), "2024-01-02T03:00:00.000000"),
        (b"\x00\xff", "AP8="),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        ([Decimal("1.0"), None, math.nan], ["1.0", None, "NaN"]),
        ({"a": {"b": Decimal("1.0")}, 5: 1.5}, {"a": {"b": "1.0"}, "5": 1.5}),
        (None, None),
    ],
)
def test_how_values_look(value: Any, told: Any) -> None:
    assert json.loads(CdcEnvelope.insert({"x": value}, SOURCE, AT).to_json())["after"] == {"x": told}


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(InvalidChange, match="object"):
        CdcEnvelope.insert({"x": object()}, SOURCE, AT).to_json()


def test_an_envelope_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(InvalidChange, match="with a before and no after"):
        CdcEnvelope("c", AT, SOURCE, before={"x": 1})
    with pytest.raises(InvalidChange, match="no sign"):
        CdcSource("n", "d", "t", -1)


TABLE = pa.table(
    {
        "id": pa.array([1, None, 2**63 - 1]),
        "whole": pa.array([1, 2, 3], pa.int32()),
        "d": pa.array([Decimal("0.10"), None, Decimal("0")], pa.decimal128(38, 18)),
        "f": pa.array([1.5, math.nan, None]),
        "g": pa.array([1.5, 2.5, None], pa.float32()),
        "odd `name`\n": pa.array(['"quoted"', None, "ü\n"]),
        "ts": pa.array([datetime(2024, 1, 2, tzinfo=UTC), None, datetime(1960, 1, 1, 0, 0, 0, 1, UTC)]),
        "zone": pa.array([0, None, 1], pa.timestamp("us", "Europe/Berlin")),
        "ntz": pa.array([datetime(2024, 1, 2), None, datetime(1, 1, 1)], pa.timestamp("us")),
        "day": pa.array([date(2024, 1, 2), None, date(1, 1, 1)]),
        "time": pa.array([time(1, 2, 3), None, time(0, 0, 0, 1)]),
        "bytes": pa.array([b"\x00", None, b""]),
        "flag": pa.array([True, None, False]),
        "list": pa.array([[Decimal("1.0")], None, []], pa.list_(pa.decimal128(3, 1))),
        "struct": pa.array([{"a": 1, "b": math.inf}, None, {"a": None, "b": 0.5}]),
        "map": pa.array([[("k", b"v")], None, []], pa.map_(pa.string(), pa.binary())),
        "few": pa.array([Decimal("0E-3"), None, Decimal("0E-3")], pa.decimal128(9, 8)).dictionary_encode(),
        "nothing": pa.nulls(3),
    }
)


def one_by_one(row: dict[str, Any]) -> dict[str, Any]:
    """What only the type tells of a Python value: a map comes out of Arrow as pairs."""
    return row | {"map": None if row["map"] is None else dict(row["map"])}


def test_a_batch_has_the_bytes_of_its_rows() -> None:
    rows = [one_by_one(row) for row in TABLE.to_pylist()]
    backwards = rows[::-1]
    reverse = TABLE.take([2, 1, 0])
    places = [CdcSource("laminardb", "default", "orders", 42 + at) for at in range(3)]
    assert envelopes(SOURCE, AT, after=TABLE) == [
        CdcEnvelope.insert(row, place, AT).to_json() for row, place in zip(rows, places, strict=True)
    ]
    assert envelopes(SOURCE, AT, after=TABLE, snapshot=True) == [
        CdcEnvelope.read(row, place, AT).to_json() for row, place in zip(rows, places, strict=True)
    ]
    assert envelopes(SOURCE, AT, before=TABLE) == [
        CdcEnvelope.delete(row, place, AT).to_json() for row, place in zip(rows, places, strict=True)
    ]
    assert envelopes(SOURCE, AT, before=TABLE, after=reverse) == [
        CdcEnvelope.update(old, new, place, AT).to_json()
        for old, new, place in zip(rows, backwards, places, strict=True)
    ]


@given(st.lists(st.tuples(st.text(), st.none() | st.integers(-(2**63), 2**63 - 1), st.floats()), min_size=1))
def test_any_batch_has_the_bytes_of_its_rows(rows: list[tuple[str, int | None, float]]) -> None:
    names = ("text", "whole", "part")
    types = (pa.string(), pa.int64(), pa.float64())
    columns = zip(*rows, strict=True)
    table = pa.table({name: pa.array(each, kind) for name, each, kind in zip(names, columns, types, strict=True)})
    assert envelopes(SOURCE, AT, after=table) == [
        CdcEnvelope.insert(
            dict(zip(names, row, strict=True)), CdcSource("laminardb", "default", "orders", 42 + at), AT
        ).to_json()
        for at, row in enumerate(rows)
    ]


def test_no_rows_are_no_envelopes() -> None:
    assert envelopes(SOURCE, AT) == envelopes(SOURCE, AT, after=TABLE.slice(0, 0)) == []


def test_updates_of_different_length_are_refused() -> None:
    with pytest.raises(InvalidChange, match="from 3 to 2 rows"):
        envelopes(SOURCE, AT, before=TABLE, after=TABLE.slice(1))
