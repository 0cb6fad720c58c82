"""Work is bound to what changed: of large tables only files that can hold a touched key are read, and nothing is lost.

The tables are written by delta-rs, a commit per file, because a dozen of files costs Spark seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from penstock.engine.read import driver_read, pruning
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables
    from penstock.refresh.result import RefreshResult

FILES, ROWS = 12, 1200
FEED = {"delta.enableChangeDataFeed": "true"}
Columns = Mapping[str, tuple[pa.DataType, Callable[[int], Any]]]


@pytest.fixture(autouse=True)
def _small_tables_count_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "WORTH_ROWS", 1000)
    # Tables that really are large are read by Spark.
    monkeypatch.setattr(driver_read, "READ_ROWS", -1)


def make(ps: StreamTables, name: str, columns: Columns, properties: Mapping[str, str] = FEED) -> DeltaTable:
    """A table of many files in the order of the row number, from which every column is computed."""
    path = str(ps.path / "sources" / name)
    for first in range(0, ROWS, ROWS // FILES):
        write_deltalake(
            path, rows(columns, range(first, first + ROWS // FILES)), mode="append", configuration=properties
        )
    ps.spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{path}'")
    return DeltaTable(path)


def rows(columns: Columns, numbers: Any) -> pa.Table:
    return pa.table({name: pa.array([of(n) for n in numbers], kind) for name, (kind, of) in columns.items()})


def add(table: DeltaTable, *new: tuple[Any, ...]) -> None:
    names = [field.name for field in table.schema().fields]
    schema = pa.schema(table.schema().to_arrow())
    held = [dict(zip(names, row, strict=True)) for row in new]
    write_deltalake(table, pa.Table.from_pylist(held, schema=schema), mode="append")


def refreshed(ps: StreamTables, name: str = "st") -> RefreshResult:
    done = ps.refresh(name)
    assert_exact(ps, name, "INCREMENTAL", done)
    assert ps.history(name, 1)[0].rows_read == done.rows_read
    assert done.rows_read is not None
    assert done.rows_at_rest is not None
    return done


def share(done: RefreshResult) -> float:
    assert done.rows_read is not None
    assert done.rows_at_rest is not None
    return done.rows_read / done.rows_at_rest


def number(of: Callable[[int], int | None]) -> tuple[pa.DataType, Callable[[int], int | None]]:
    return pa.int64(), of


def test_a_join_reads_only_files_of_touched_keys(ps: StreamTables, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = make(ps, "facts", {"k": number(lambda n: None if n % 400 == 7 else n), "v": number(lambda n: n % 10)})
    names = make(
        ps, "names", {"k": number(lambda n: None if n % 400 == 8 else n), "name": (pa.string(), lambda n: f"n{n}")}
    )
    joins = [f"SELECT f.k, f.v, n.name FROM facts f JOIN names n ON f.k {sign} n.k" for sign in ("=", "<=>")]
    ps.create_stream_table("st", " UNION ALL ".join(joins), refresh_mode="INCREMENTAL")
    ps.create_stream_table("sums", "SELECT k, sum(v) AS s FROM facts GROUP BY k", refresh_mode="INCREMENTAL")
    add(facts, (3, 50), (1100, 50), (99999, 50), (None, 50))
    add(names, (100, "again"), (None, "nobody"))
    done = refreshed(ps)
    # Both joins read the files of the four keys; `<=>` reads those that hold NULL keys besides.
    assert share(done) < 0.7
    told = ps.explain("st").text(sql=True)
    assert "touched keys, to skip files: k" in told
    assert f"rows read: {done.rows_read:,} ({share(done):.2%} of rows at rest)" in told
    facts.update(predicate="k = 3 OR k IS NULL", updates={"v": "-1"})
    names.delete("k = 900 OR name = 'nobody'")
    # The stored rows, a single file, count as large too.
    monkeypatch.setattr(pruning, "WORTH_FILES", 1)
    monkeypatch.setattr(pruning, "WORTH_SHARE", 0)
    refreshed(ps, "sums")
    # Where nothing is worth collecting keys for, each join reads both tables whole.
    monkeypatch.setattr(pruning, "WORTH_ROWS", 10**9)
    assert share(refreshed(ps)) > 2


@pytest.mark.parametrize("on_driver", [True, False])
def test_a_key_may_be_longer_in_one_table_than_in_the_other(
    ps: StreamTables, monkeypatch: pytest.MonkeyPatch, on_driver: bool
) -> None:
    if on_driver:
        monkeypatch.setattr(driver_read, "READ_ROWS", 10**6)
    short = make(ps, "short", {"k": (pa.int32(), lambda n: n), "v": number(lambda n: n % 10)})
    long = make(ps, "long", {"k": number(lambda n: n), "name": (pa.string(), lambda n: f"n{n}")})
    ps.create_stream_table(
        "st", "SELECT s.k, v, name FROM short s JOIN long l ON s.k = l.k", refresh_mode="INCREMENTAL"
    )
    add(short, (3, 50), (1100, 50), (None, 50))
    assert share(refreshed(ps)) < 0.5
    # An update by delta-rs would be read by its whole files.
    long.delete("k = 700")
    add(long, (5, "again"), (2**40 + 5, "far"), (None, "nobody"), (700, "new"))
    done = refreshed(ps)
    # One key is no value of the shorter type, which on the driver means that the keys leave nothing out. The stored
    # rows are one file, half as many as lie at rest.
    assert on_driver or share(done) < 0.7


def test_keys_are_followed_from_table_to_table(ps: StreamTables) -> None:
    lines = make(ps, "lines", {"o": number(lambda n: n), "n": number(lambda n: n % 7)})
    make(ps, "orders", {"o": number(lambda n: n), "c": number(lambda n: (n + 300) % ROWS)})
    people = make(ps, "people", {"c": number(lambda n: n), "name": (pa.string(), lambda n: f"p{n}")})
    ps.create_stream_table(
        "st",
        "SELECT l.o, min(p.name) AS name FROM lines l JOIN orders o ON l.o = o.o JOIN people p ON o.c = p.c "
        "GROUP BY l.o",
        refresh_mode="INCREMENTAL",
    )
    add(lines, (5, 100), (1103, 100), (99999, 100), (None, 100))
    done = refreshed(ps)
    # The stored rows are one file, which is read whole.
    assert done.rows_read is not None
    assert done.rows_read - ROWS < 0.3 * 3 * ROWS
    people.delete("c = 700")
    add(people, (700, "zzz"))
    lines.delete("o = 1103 AND n <> 100")
    # The least name of a group is gone, so the group is computed anew, and the stored rows are read twice.
    done = refreshed(ps)
    assert done.rows_read is not None
    assert done.rows_read - 2 * ROWS < 0.5 * 3 * ROWS


START = datetime(2024, 10, 27, tzinfo=UTC) - timedelta(seconds=123456)
TYPES: Columns = {
    "l": (pa.int64(), lambda n: n),
    "i": (pa.int32(), lambda n: n - 600),
    "s": (pa.string(), lambda n: f"ž{n:06}'"),
    "d": (pa.date32(), lambda n: date(1500, 1, 1) + timedelta(days=100 * n)),
    "t": (pa.timestamp("us", "UTC"), lambda n: START + timedelta(seconds=60 * n, microseconds=123_456)),
    "n": (pa.timestamp("us"), lambda n: START.replace(tzinfo=None) + timedelta(seconds=60 * n, microseconds=999_999)),
    "m": (pa.decimal128(15, 2), lambda n: Decimal(n - 600) / 100),
}


def test_every_type_that_can_be_trusted_narrows(ps: StreamTables) -> None:
    a = make(ps, "a", TYPES)
    make(ps, "b", TYPES)
    query = " UNION ALL ".join(f"SELECT '{key}' AS x, b.l FROM a JOIN b ON a.{key} = b.{key}" for key in TYPES)
    ps.create_stream_table("st", query, refresh_mode="INCREMENTAL")
    add(a, *(tuple(of(n) for _, of in TYPES.values()) for n in (2, 1000)))
    done = refreshed(ps)
    assert done.rows_inserted == 2 * len(TYPES)
    # Seven times the two files of b that hold the keys, and a few change rows.
    assert done.rows_read is not None
    assert done.rows_read < len(TYPES) * 2 * (ROWS // FILES) + 100


@pytest.mark.slow
def test_tables_with_deletion_vectors_are_narrowed_by_deltas_own_reader(ps: StreamTables) -> None:
    facts = make(ps, "facts", {"k": number(lambda n: n), "v": number(lambda n: n % 10)})
    make(ps, "names", {"k": number(lambda n: n), "name": (pa.string(), lambda n: f"n{n}")}, {})
    ps.spark.sql("ALTER TABLE names SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    ps.spark.sql("DELETE FROM names WHERE k IN (50, 60, 1100)")
    ps.create_stream_table(
        "st", "SELECT f.k, f.v, n.name FROM facts f JOIN names n ON f.k = n.k", refresh_mode="INCREMENTAL"
    )
    add(facts, (49, 1), (50, 2), (1101, 3))
    done = refreshed(ps)
    assert done.rows_inserted == 2
    assert done.rows_read is not None
    # Two files of a hundred rows without the three that are deleted, and three change rows read twice.
    assert done.rows_read == 200 - 3 + 6
