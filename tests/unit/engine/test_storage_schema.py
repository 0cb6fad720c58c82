from __future__ import annotations

import decimal
from datetime import datetime

import pyarrow as pa
import pytest

from penstock.engine.delta.storage_schema import arrow_schema, conform, holds, nullable, same_columns
from penstock.errors import InternalError
from stored import MAP, SAMPLES, schema, table


def one(kind: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field("c", kind)])


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (pa.array(["a", None], pa.large_string()), pa.string()),
        (pa.array(["a", None], pa.string_view()), pa.string()),
        (pa.array(["a", None]).dictionary_encode(), pa.string()),
        (pa.array([b"a"], pa.binary_view()), pa.binary()),
        (pa.nulls(2), pa.decimal128(38, 18)),
        (pa.array([datetime(2024, 1, 1)], pa.timestamp("ns")), pa.timestamp("us")),
        (pa.array([1], pa.timestamp("us", "America/New_York")), pa.timestamp("us", "UTC")),
        (pa.array([["a"]], pa.large_list(pa.large_string())), pa.list_(pa.field("element", pa.string()))),
        (pa.array([{"a": "x"}], pa.struct([("a", pa.string_view())])), pa.struct([("a", pa.string())])),
    ],
)
def test_casts_that_lose_nothing_are_made(given: pa.Array, wanted: pa.DataType) -> None:
    assert conform(pa.table({"c": given}), one(wanted)).schema == one(wanted)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (pa.array([decimal.Decimal("1.555")], pa.decimal128(12, 3)), pa.decimal128(10, 2)),
        (pa.array([decimal.Decimal("1.55")], pa.decimal128(10, 2)), pa.decimal128(12, 2)),
        (pa.array([1], pa.int32()), pa.int64()),
        (pa.array([1.0], pa.float64()), pa.float32()),
        (pa.array([0], pa.timestamp("us")), pa.timestamp("us", "UTC")),
        (pa.array([0], pa.timestamp("us", "UTC")), pa.timestamp("us")),
        (pa.array([1], pa.timestamp("ns")), pa.timestamp("us")),
        (pa.array([{"b": 1}]), pa.struct([("a", pa.int64())])),
        (pa.array([1]), pa.string()),
    ],
)
def test_everything_else_is_refused(given: pa.Array, wanted: pa.DataType) -> None:
    with pytest.raises(InternalError):
        conform(pa.table({"c": given}), one(wanted))


def test_columns_are_put_in_order_but_never_added_or_dropped() -> None:
    target = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    assert conform(pa.table({"b": [1], "a": [2]}), target).column_names == ["a", "b"]
    for wrong in (pa.table({"a": [1]}), pa.table({"a": [1], "b": [1], "c": [1]})):
        with pytest.raises(InternalError):
            conform(wrong, target)


def test_every_storable_type_has_an_arrow_form() -> None:
    text = schema(**{name: kind for name, (kind, _) in SAMPLES.items()})
    row = {name: values[0] for name, (_, values) in SAMPLES.items()}
    assert conform(table(text, [row]), arrow_schema(text)).num_rows == 1


def test_nullability_and_comments_do_not_make_other_columns() -> None:
    strict = schema(a="long", m=MAP).replace('"nullable": true', '"nullable": false')
    assert strict != schema(a="long", m=MAP)
    assert same_columns(strict, nullable(strict))
    assert not same_columns(schema(a="long", b="long"), schema(b="long", a="long"))


def test_a_type_is_found_however_deep_it_lies() -> None:
    assert holds(MAP, "timestamp_ntz")
    assert not holds(MAP, "variant")
