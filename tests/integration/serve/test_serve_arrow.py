"""The changelog as Arrow: read by pyarrow and by Polars, from a position or whole."""

from __future__ import annotations

import io
from typing import Any

import polars as pl
import pyarrow as pa
from serving import get, row

from penstock.testing.published import Published, PublishedTable

ARROW = "application/vnd.apache.arrow.stream"


def rows(body: bytes) -> list[tuple[Any, ...]]:
    with pa.ipc.open_stream(body) as reader:
        return [tuple(each.values()) for each in reader.read_all().to_pylist()]


EVERYTHING = [
    (1, "+I", 1, "east", 5),
    (2, "+I", 1, "west", 1),
    (3, "-D", -1, "west", 1),
    (4, "-U", -1, "east", 5),
    (4, "+U", 1, "east", 6),
]


def test_the_changelog_is_one_stream(port: int) -> None:
    got = get(port, "/tables/sales/arrow", since_lsn=0)
    assert (got.status, got.headers["content-type"], got.headers["penstock-next-lsn"]) == (200, ARROW, "4")
    assert rows(got.body) == EVERYTHING
    assert rows(get(port, "/tables/sales/arrow", since_lsn=2).body) == EVERYTHING[2:]


def test_polars_reads_it_too(port: int) -> None:
    frame = pl.read_ipc_stream(io.BytesIO(get(port, "/tables/sales/arrow", since_lsn=0).body))
    assert frame.columns == ["_lsn", "_op", "_weight", "region", "total"]
    # Weights are the truth: summed, they are the rows that there are now.
    now = frame.group_by("region", "total").agg(pl.col("_weight").sum()).filter(pl.col("_weight") != 0)
    assert now.rows() == [("east", 6, 1)]


def test_all_rows_and_then_what_follows(port: int, table: PublishedTable) -> None:
    got = get(port, "/tables/sales/arrow", start="snapshot")
    assert rows(got.body) == [(4, "r", 1, "east", 6)]
    table.commit(put=[row("north", 1)])
    assert rows(get(port, "/tables/sales/arrow", since_lsn=got.headers["penstock-next-lsn"]).body) == [
        (5, "+I", 1, "north", 1)
    ]


def test_nothing_new_is_a_stream_with_columns_and_no_rows(port: int) -> None:
    got = get(port, "/tables/sales/arrow", since_lsn=4, columns="total")
    with pa.ipc.open_stream(got.body) as reader:
        assert reader.schema.names == ["_lsn", "_op", "_weight", "total"]
        assert reader.read_all().num_rows == 0
    assert got.headers["penstock-next-lsn"] == "4"


def test_rows_and_columns_are_chosen(port: int) -> None:
    got = get(port, "/tables/sales/arrow", since_lsn=0, where="total < 5", columns="region")
    assert rows(got.body) == [(2, "+I", 1, "west"), (3, "-D", -1, "west")]
    assert rows(get(port, "/tables/sales/arrow", start="snapshot", where="total < 5").body) == []


def test_many_commits_are_many_batches_of_one_stream(port: int, table: PublishedTable) -> None:
    for number in range(10):
        table.commit(put=[row(f"r{each}", number) for each in range(100)])
    got = get(port, "/tables/sales/arrow", since_lsn=4)
    with pa.ipc.open_stream(got.body) as reader:
        batches = list(reader)
    assert len(batches) == 10
    assert got.headers["penstock-next-lsn"] == str(4 + 1000)


def test_a_page_can_be_arrow(port: int) -> None:
    got = get(port, "/tables/sales/changes", format="arrow", limit=3)
    assert (got.headers["penstock-next-lsn"], got.headers["penstock-more"]) == ("3", "true")
    assert rows(got.body) == EVERYTHING[:3]
    last = get(port, "/tables/sales/changes", format="arrow", since_lsn=4)
    assert (last.headers["penstock-more"], rows(last.body)) == ("false", [])


def test_every_type_arrives_as_it_is_stored(world: Published, port: int) -> None:
    from datetime import UTC, date, datetime
    from decimal import Decimal

    typed = world.keyed(
        "typed",
        {"id": "long", "money": "decimal(22,2)", "day": "date", "at": "timestamp", "data": "binary", "real": "double"},
        key=("id",),
    )
    value = {
        "id": 2**62,
        "money": Decimal("12345678901234567890.12"),
        "day": date(1, 1, 1),
        "at": datetime(2024, 3, 31, 1, 30, 0, 123456, tzinfo=UTC),
        "data": b"\x00\xff",
        "real": 0.1,
    }
    typed.commit(put=[value])
    (found,) = rows(get(port, "/tables/typed/arrow", since_lsn=0).body)
    assert dict(zip(value, found[3:], strict=True)) == value


def test_it_does_not_wait_for_what_comes(port: int) -> None:
    got = get(port, "/tables/sales/arrow")
    assert (got.status, got.condition) == (400, "INVALID_VALUE")
