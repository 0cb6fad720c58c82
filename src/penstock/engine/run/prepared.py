"""Statements planned once and run many times, over rows that are on the driver.

    run(statement, rows)  =  the statement over these rows, whatever rows it was planned with

Analysing, optimising and planning a statement costs Spark more than running it over a small delta. So a statement is
planned over placeholders of one row; for each run only the scans in the physical plan are exchanged for ones that
hold the new rows. Every placeholder is one partition and joins do not broadcast (`tuning`), so that the whole
statement is one task. A statement with a subquery inside an expression is planned anew each time, because Spark plans
such a subquery later, out of reach.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.serializers import ArrowStreamSerializer
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from penstock.engine.spark.catalyst import Catalyst, node_kind
from penstock.recently_used import RecentlyUsed

STATEMENTS_KEPT = 64


@dataclass(frozen=True, slots=True)
class LocalRows:
    """Rows on the driver, with the types that they have in Spark."""

    schema: StructType
    table: pa.Table


@dataclass(frozen=True, slots=True)
class _Planned:
    """A statement's plans, and which of its scans stand for which relation."""

    logical: Any
    physical: Any
    schema: StructType
    scans: tuple[tuple[str, Any], ...]


class PreparedStatements:
    """The statements of one session that were planned already, the most recently used ones kept."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._catalyst = Catalyst(spark)
        self._held: RecentlyUsed[object, tuple[_Planned | None]] = RecentlyUsed(STATEMENTS_KEPT)
        """Statement → its plans, or None if it has none that can be kept."""
        jvm = self._catalyst.jvm
        self._execution = jvm.org.apache.spark.sql.execution
        self._single = self._catalyst.module(jvm.org.apache.spark.sql.catalyst.plans.physical, "SinglePartition")
        self._row_tag = self._catalyst.class_tag("org.apache.spark.sql.catalyst.InternalRow")
        self._few = self._catalyst.some(self._catalyst.logical.OneRowRelation().stats())

    def frame(self, sql: str, relations: Mapping[str, LocalRows]) -> DataFrame | None:
        """The statement over these rows, as a DataFrame ready to run; None if it cannot be kept."""
        key = sql, tuple((name, rows.schema.json()) for name, rows in relations.items())
        held = self._held.get(key)
        if held is None:
            held = (self._plan(sql, relations),)
            self._held.put(key, held)
        (planned,) = held
        return None if planned is None else self._over(planned, relations)

    def _plan(self, sql: str, relations: Mapping[str, LocalRows]) -> _Planned | None:
        catalyst = self._catalyst
        names: dict[int, str] = {}
        for name, rows in relations.items():
            nothing = self._rdd(catalyst.seq([]))
            names[nothing.id()] = name
            catalyst.frame(
                self._execution.LogicalRDD(
                    catalyst.attributes(rows.schema.json()),
                    nothing,
                    self._single,
                    catalyst.seq([]),
                    False,
                    catalyst.none,
                    catalyst.session,
                    self._few,
                    catalyst.none,
                )
            ).createOrReplaceTempView(name)
        frame = self._spark.sql(sql)
        execution = frame._jdf.queryExecution()
        if catalyst.contains(execution.optimizedPlan(), "PLAN_EXPRESSION"):
            return None
        physical = self._in_one_partition(execution.sparkPlan())
        leaves = [leaf for leaf in catalyst.items(physical.collectLeaves()) if node_kind(leaf) == "RDDScanExec"]
        scans = tuple((names[leaf.rdd().id()], leaf) for leaf in leaves if leaf.rdd().id() in names)
        return _Planned(execution.optimizedPlan(), physical, frame.schema, scans)

    def _in_one_partition(self, plan: Any) -> Any:
        """The plan with its joins marked as the single partition that they are.

        Of an inner join Spark says that it is partitioned as either side is, and of a full one nothing; both make it
        shuffle one partition into one.
        """
        catalyst = self._catalyst
        children = catalyst.items(plan.children())
        if not children:
            return plan
        marked = plan.withNewChildren(catalyst.seq(self._in_one_partition(child) for child in children))
        return self._execution.CoalesceExec(1, marked) if node_kind(marked).endswith("JoinExec") else marked

    def _over(self, planned: _Planned, relations: Mapping[str, LocalRows]) -> DataFrame:
        catalyst, jvm = self._catalyst, self._catalyst.jvm
        needed = {name for name, _ in planned.scans}
        filled = {name: self._scanned(rows) for name, rows in relations.items() if name in needed}
        exchange = jvm.java.util.HashMap()
        for name, scan in planned.scans:
            exchange.put(
                scan,
                self._execution.RDDScanExec(
                    scan.output(), filled[name], scan.name(), self._single, scan.outputOrdering(), catalyst.none
                ),
            )
        # A Scala map is a partial function, which is what a tree is transformed with.
        physical = planned.physical.transformUp(catalyst.as_scala(exchange))
        frame = catalyst.frame(self._execution.adaptive.LogicalQueryStage(planned.logical, physical))
        frame._schema = planned.schema
        return frame

    def _scanned(self, rows: LocalRows) -> Any:
        """The rows as an RDD of one partition, which decodes them where they are needed."""
        spark, jvm = self._spark, self._catalyst.jvm
        table = rows.table.cast(to_arrow_schema(rows.schema, timezone="UTC")).combine_chunks()
        if not table.num_rows:
            return self._rdd(self._catalyst.seq([]))
        batches = spark.sparkContext._serialize_to_jvm(
            table.to_batches(),
            ArrowStreamSerializer(),
            jvm.PythonSQLUtils.readArrowStreamFromFile,
            jvm.ArrowIteratorServer,
        )
        made = jvm.PythonSQLUtils.toDataFrame(batches, rows.schema.json(), spark._jsparkSession)
        return made.queryExecution().logical().rdd()

    def _rdd(self, rows: Any) -> Any:
        return self._spark.sparkContext._jsc.sc().parallelize(rows, 1, self._row_tag)
