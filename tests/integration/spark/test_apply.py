"""Both appliers, one meaning: the same changes give the same table and the same netted change feed, commit by commit.

Every history runs on two tables, one per applier, and against a model in plain Python. Rows are compared by bits, as
bags, read by Spark.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import penstock.engine.write.apply_delta_rs as apply_delta_rs
from penstock.engine.write.apply import Applier, Change, ChangeKind
from penstock.engine.write.merge_predicate import OP
from penstock.engine.write.storage import Storage
from penstock.engine.write.table_properties import Layout, layout_of
from penstock.names import WEIGHT, quote
from stored import ID, NAN, SAMPLES, Model, apply_now, bag, bits, schema, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APPLIERS: tuple[Applier, ...] = ("delta-rs", "spark")
ADDED = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}


class Twins:
    """The same stream table twice, written by delta-rs and by Spark, with the model of both."""

    def __init__(self, spark: SparkSession, folder: Path, schema_json: str, key: tuple[str, ...] | None) -> None:
        self.spark = spark
        self.model = Model(schema_json, key)
        self.schemas = [schema_json]
        self.net: dict[int, Counter[Any]] = {}
        self.tables: dict[Applier, Storage] = {
            applier: Storage.create(folder / f"by {applier}", Layout(schema_json, key), {"penstock.id": ID})
            for applier in APPLIERS
        }

    def apply(
        self, kind: ChangeKind, rows: list[dict[str, Any]], *, schema_json: str | None = None, frame: bool = False
    ) -> None:
        """Commit one change to both; as a DataFrame to Spark's if `frame`."""
        net = self.model.apply(kind, rows, schema_json)
        self.schemas.append(self.model.schema_json)
        arrow = table(self.model.schema_json, rows, with_op=kind in ("keyed", "bag"))
        for applier, storage in self.tables.items():
            given: Any = arrow
            if frame and applier == "spark":
                from penstock.engine.write.apply_spark import spark_schema

                wanted = spark_schema(self.model.schema_json)
                given = self.spark.createDataFrame(
                    arrow, wanted.add(OP, "string") if OP in arrow.column_names else wanted
                )
            done = apply_now(storage, Change(kind, given), applier, spark=self.spark, schema_json=schema_json)
            assert done.applier == applier
            assert done.rows_written == len(rows)
            self.net[done.version] = net

    def check(self) -> None:
        """Both tables hold the model's rows, and each commit's changes net to what the model says it did."""
        for applier, storage in self.tables.items():
            rows = self.spark.read.format("delta").load(storage.path).toArrow()
            assert bag(rows, self.model.schema_json) == self.model.state(), applier
            assert storage.pin().damaged is None
            if len(set(self.schemas)) == 1:
                assert self.changes(storage) == {version: net for version, net in self.net.items() if net}, applier

    def changes(self, storage: Storage) -> dict[int, Counter[Any]]:
        """Version → net change, from the change feed as Spark reads it."""
        feed = (
            self.spark.read.format("delta")
            .option("readChangeFeed", "true")
            .option("startingVersion", min(self.net))
            .load(storage.path)
            .drop("_commit_timestamp")
            .toArrow()
        )
        versions, kinds = feed["_commit_version"].to_pylist(), feed["_change_type"].to_pylist()
        rows = apply_delta_rs.conform(
            feed.drop_columns(["_commit_version", "_change_type"]), apply_delta_rs.arrow_schema(self.model.schema_json)
        ).to_pylist()
        found: dict[int, Counter[Any]] = {}
        for version, kind, row in zip(versions, kinds, rows, strict=True):
            found.setdefault(version, Counter())[bits(row)] += ADDED[kind]
        netted = {
            version: Counter({row: weight for row, weight in change.items() if weight})
            for version, change in found.items()
        }
        return {version: change for version, change in netted.items() if change}


KEYED = schema(
    **{
        "a.b": "long",
        'c".d': "string",
        "at": "timestamp",
        "f": "double",
        "total": "decimal(38,18)",
        "__ps_count": "long",
    }
)
BAG = schema(**{"k": "integer", "x": "double", "s": "string", "day": "timestamp_ntz", WEIGHT: "long"})


def a_keyed_row(chance: random.Random) -> dict[str, Any]:
    return {
        "a.b": chance.choice([None, 1, 2, 3, 50, -7]),
        'c".d': chance.choice([None, "", "it's", "ž\U0001f600", "${x}\\"]),
        "at": chance.choice([None, datetime(2024, 5, 1, 12, 0, 0, 123456, UTC), datetime(1900, 1, 1, tzinfo=UTC)]),
        "f": chance.choice([None, NAN, -0.0, 0.0, 1.5]),
        "total": chance.choice([None, Decimal("12345678901234567890.123456789012345678"), Decimal("0.5")]),
        "__ps_count": chance.randrange(3),
    }


def a_bag_value(chance: random.Random) -> dict[str, Any]:
    return {
        "k": chance.choice([None, 1, 2]),
        "x": chance.choice([None, NAN, 0.0, -0.0]),
        "s": chance.choice([None, "a"]),
        "day": chance.choice([None, datetime(2024, 3, 31, 2, 30, 0, 1)]),
    }


def test_keyed_histories(spark: SparkSession, tmp_path: Path) -> None:
    chance = random.Random(1)
    twins = Twins(spark, tmp_path, KEYED, ("a.b", 'c".d', "at"))
    for step in range(3):
        wanted = {twins.model._identity(row, "keyed"): row for row in (a_keyed_row(chance) for _ in range(25))}
        there = {twins.model._identity(row, "keyed") for row in twins.model.rows}
        rows = [
            {**row, OP: "d" if identity in there and chance.random() < 0.4 else "u"} for identity, row in wanted.items()
        ]
        twins.apply("keyed", rows, frame=step == 1)
    twins.check()
    assert any(row["a.b"] is None for row in twins.model.rows)


def test_bag_histories(spark: SparkSession, tmp_path: Path) -> None:
    """Blind appends pile up physical rows; a retraction deletes them all and puts back what is left, bit by bit."""
    chance = random.Random(2)
    twins = Twins(spark, tmp_path, BAG, None)
    twins.apply("append", [{**a_bag_value(chance), WEIGHT: chance.randrange(1, 3)} for _ in range(30)])
    twins.apply("append", [{**a_bag_value(chance), WEIGHT: 1} for _ in range(30)], frame=True)
    for step in range(2):
        values = {twins.model._identity(row, "bag"): row for row in chance.sample(twins.model.rows, 12)}
        rows = []
        for identity, value in values.items():
            held: Counter[Any] = Counter()
            for row in twins.model.rows:
                if twins.model._identity(row, "bag") == identity:
                    held[bits(row["x"])] += row[WEIGHT]
            rows.append({**value, WEIGHT: 0, OP: "d"})
            zeros = [0.0, -0.0] if value["x"] == 0.0 else [value["x"]]
            rows += [
                {**value, "x": zero, WEIGHT: held[bits(zero)] - 1, OP: "i"} for zero in zeros if held[bits(zero)] > 1
            ]
        rows += [{"k": 99, "x": -0.0, "s": None, "day": None, WEIGHT: 2, OP: "i"}]
        twins.apply("bag", rows, frame=step == 1)
    twins.check()


def test_control_a_retraction_that_forgets_blindly_appended_rows_is_caught(spark: SparkSession, tmp_path: Path) -> None:
    twins = Twins(spark, tmp_path, BAG, None)
    value = {"k": 1, "x": 1.5, "s": None, "day": None}
    for _ in range(2):
        twins.apply("append", [{**value, WEIGHT: 1}])
    right = apply_delta_rs.match

    def wrong(key: tuple[str, ...], fields: Any, dialect: Any) -> str:
        return f'{right(key, fields, dialect)} AND (t."{WEIGHT}" > 1)'

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apply_delta_rs, "match", wrong)
        net = twins.model.apply("bag", [{**value, WEIGHT: 0, OP: "d"}, {**value, WEIGHT: 1, OP: "i"}])
        rows = [{**value, WEIGHT: 0, OP: "d"}, {**value, WEIGHT: 1, OP: "i"}]
        done = apply_now(twins.tables["delta-rs"], Change("bag", table(BAG, rows, with_op=True)))
        twins.net[done.version] = net
    del twins.tables["spark"]
    with pytest.raises(AssertionError):
        twins.check()


def test_the_single_row_of_a_global_aggregate(spark: SparkSession, tmp_path: Path) -> None:
    twins = Twins(spark, tmp_path, schema(n="long", total="double"), ())
    twins.apply("keyed", [{"n": 0, "total": None, OP: "u"}])
    twins.apply("keyed", [{"n": 3, "total": NAN, OP: "u"}])
    twins.check()


def test_overwrites(spark: SparkSession, tmp_path: Path) -> None:
    twins = Twins(spark, tmp_path, BAG, None)
    chance = random.Random(3)
    twins.apply("append", [{**a_bag_value(chance), WEIGHT: 1} for _ in range(5)])
    twins.apply("overwrite", [{**a_bag_value(chance), WEIGHT: 2} for _ in range(5)])
    twins.apply("overwrite", [])
    twins.check()


def test_an_overwrite_may_bring_other_columns(spark: SparkSession, tmp_path: Path) -> None:
    twins = Twins(spark, tmp_path, schema(k="long", **{WEIGHT: "long"}), None)
    twins.apply("append", [{"k": 1, WEIGHT: 1}])
    wide = schema(k="string", local="timestamp_ntz", amount="decimal(38,18)", **{WEIGHT: "long"})
    row = {"k": "a", "local": datetime(2020, 1, 1), "amount": Decimal("1.5"), WEIGHT: 1}
    twins.apply("overwrite", [row, row], schema_json=wide, frame=True)
    twins.apply("append", [row])
    twins.check()
    for storage in twins.tables.values():
        assert layout_of(storage.pin().handle).fields == Layout(wide, None).fields
        assert storage.configuration["penstock.id"] == ID
        assert storage.pin().not_fast is None


def every_type() -> Iterator[dict[str, Any]]:
    most = max(len(values) for _, values in SAMPLES.values())
    for place in range(most):
        yield {name: values[place % len(values)] for name, (_, values) in SAMPLES.items()}
    yield dict.fromkeys(SAMPLES)


TYPES = {name: kind for name, (kind, _) in SAMPLES.items()}


def test_every_type_as_payload(spark: SparkSession, tmp_path: Path) -> None:
    twins = Twins(spark, tmp_path, schema(id="long", **TYPES), ("id",))
    rows = list(every_type())
    twins.apply("keyed", [{"id": place, **row, OP: "u"} for place, row in enumerate(rows)])
    twins.apply("keyed", [{"id": place, **row, OP: "u"} for place, row in enumerate(reversed(rows))], frame=True)
    twins.check()


def test_every_type_compared_in_a_bag(spark: SparkSession, tmp_path: Path) -> None:
    twins = Twins(spark, tmp_path, schema(**TYPES, **{WEIGHT: "long"}), None)
    rows = [{**row, WEIGHT: 1} for row in every_type()]
    twins.apply("append", rows + rows)
    twins.apply("bag", [{**row, OP: "d"} for row in rows[1:]] + [{**rows[1], WEIGHT: 5, OP: "i"}])
    twins.check()
    assert len(twins.model.rows) == 3


def values_not_found(spark: SparkSession, path: str, columns: Iterable[str]) -> set[tuple[str, Any]]:
    """Every value that some filter for it does not find; each filter is a scan of its own, as skipping is per scan."""
    wanted = [(name, quote(name), SAMPLES[name][0], value) for name in columns for value in SAMPLES[name][1]]
    if "nested" in columns:
        inner: list[tuple[str, str, Any]] = [("x", "double", 1.5), ("x", "double", NAN)]
        inner += [("q", "decimal(38,18)", Decimal("-12345678901234567890.123456789012345678"))]
        wanted += [("nested", f"nested.{part}", kind, value) for part, kind, value in inner]
    asked = []
    for name, column, kind, value in wanted:
        if (text := as_sql(value)) is None:
            continue
        literal = f"CAST({text} AS {sql_type(kind)})"
        filters = [f"{column} = {literal}"]
        if name in ("double", "instant") or value != value:
            filters.append(f"{column} >= {literal} AND {column} <= {literal}")
        if value == 0.0 and isinstance(value, float):
            filters.append(f"{column} = -{literal}")
        asked += [((name, str(value)), condition) for condition in filters]
    found: set[int] = set()
    for start in range(0, len(asked), 40):
        scans = [
            f"SELECT {place} AS place FROM delta.`{path}` WHERE {condition}"
            for place, (_, condition) in enumerate(asked[start : start + 40], start)
        ]
        found |= {row.place for row in spark.sql(" UNION ALL ".join(scans)).collect()}
    return {value for place, (value, _) in enumerate(asked) if place not in found}


def as_sql(value: Any) -> str | None:
    """The value as Spark SQL, or None if it cannot be compared by `=` in a filter."""
    match value:
        case bool() | int():
            return f"'{value}'"
        case float():
            return f"'{value}'".replace("inf", "Infinity").replace("nan", "NaN")
        case Decimal():
            return f"'{value:f}'"
        case str():
            from penstock.engine.read.sql_literals import text_literal

            return text_literal(value, "spark")
        case bytes():
            return f"X'{value.hex()}'"
        case datetime():
            return f"'{value.replace(tzinfo=None).isoformat(sep=' ')}{'+00:00' if value.tzinfo else ''}'"
        case list() | dict() | tuple() | None:
            return None
    return f"'{value}'"


def sql_type(kind: str) -> str:
    return {"byte": "TINYINT", "short": "SMALLINT", "integer": "INT", "long": "BIGINT"}.get(kind, kind)


def one_file_per_row(folder: Path, kind: ChangeKind) -> Storage:
    """Each row in a file of its own beside a plain one, so that bounds and dictionary decide whether it is read."""
    types = schema(id="long", **TYPES)
    storage = Storage.create(folder / kind, Layout(types, ("id",)), {"penstock.id": ID})
    plain = {
        "real": 0.25,
        "double": 0.25,
        "money": Decimal(1),
        "sum": Decimal(1),
        "wide": Decimal(1),
        "whole": Decimal(2),
    }
    plain["nested"] = {"x": 0.25, "q": Decimal(1), "at": None}
    for place, row in enumerate(every_type()):
        rows = [{"id": place, **row, OP: "u"}, {"id": -place - 1, **dict.fromkeys(SAMPLES), **plain, OP: "u"}]
        arrow = table(types, rows, with_op=True)
        apply_now(storage, Change(kind, arrow if kind == "keyed" else arrow.drop_columns([OP])))
    return storage


def test_every_value_appended_by_delta_rs_is_found_by_a_filter(spark: SparkSession, tmp_path: Path) -> None:
    assert values_not_found(spark, one_file_per_row(tmp_path, "append").path, SAMPLES) == set()


def test_every_number_merged_by_delta_rs_is_found_by_a_filter(spark: SparkSession, tmp_path: Path) -> None:
    assert (
        values_not_found(spark, one_file_per_row(tmp_path, "keyed").path, ("double", "sum", "whole", "nested")) == set()
    )


def test_control_default_statistics_lose_values(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply_delta_rs, "writer_properties", lambda fields: None)
    lost = values_not_found(spark, one_file_per_row(tmp_path, "append").path, ("double", "sum", "whole"))
    assert {("double", "nan"), ("double", "-0.0"), ("sum", "123456789012345678.91"), ("whole", "9" * 38)} <= lost


def test_appliers_take_turns_on_one_table(spark: SparkSession, tmp_path: Path) -> None:
    types = schema(k="long", f="double", d="decimal(38,18)")
    storage, model = Storage.create(tmp_path / "t", Layout(types, ("k",)), {"penstock.id": ID}), Model(types, ("k",))
    turns: tuple[Applier, ...] = ("delta-rs", "spark", "delta-rs")
    for place, applier in enumerate(turns):
        rows = [
            {"k": k, "f": NAN if k == place else -0.0, "d": Decimal(place), OP: "u"} for k in (None, place, place + 1)
        ]
        model.apply("keyed", rows)
        apply_now(storage, Change("keyed", table(types, rows, with_op=True)), applier, spark=spark)
    assert bag(spark.read.format("delta").load(storage.path).toArrow(), types) == model.state()
    history = spark.sql(f"DESCRIBE HISTORY delta.`{storage.path}`").select("version", "userMetadata").collect()
    assert all("refresh_id" in row.userMetadata for row in history if row.version > 0)
    assert pa.table(storage.pin().handle.to_pyarrow_table()).num_rows == len(model.rows)
