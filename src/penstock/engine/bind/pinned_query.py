"""A query as its author wrote it, at a frontier.

The plan that Spark analysed stays as it is, subqueries included; only the tables at its leaves are replaced by their
state at given versions. No delta rule takes part. So a full refresh is possible for any query, and an audit is an
independent witness.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.engine.bind.deterministic_order import deterministic_order
from penstock.engine.bind.deterministic_sums import deterministic_sums
from penstock.engine.bind.pinned_clock import pin_clock
from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.read.listed_files import list_anew
from penstock.engine.read.scan import scan
from penstock.engine.spark.catalyst import Catalyst, node_kind
from penstock.engine.spark.columns_as_defined import Reads, frame_as_defined
from penstock.names import quote

Read = Callable[[str, Sequence[str]], DataFrame | None]
"""Folder of a Delta table and columns → its pinned rows, or None to leave the table as it is."""


def query_with(spark: SparkSession, query: str, reads: Reads, read: Read, moment: datetime | None) -> DataFrame:
    """The query over what `read` returns for each Delta table in it, with the clock at a moment."""
    catalyst = Catalyst(spark)
    plan = catalyst.analyzed(frame_as_defined(spark, query, reads))

    def replaced(node: Any) -> Any:
        if node_kind(node) != "LogicalRelation":
            return None
        path = catalyst.delta_path(node)
        if not path:
            list_anew(catalyst, node.relation())
            return None
        if node.relation().location().isTimeTravelQuery():
            return None
        attributes = catalyst.items(node.output())
        frame = read(path, [str(each.name()) for each in attributes])
        if frame is None:
            return None
        pinned = catalyst.analyzed(frame)
        aliases = [
            catalyst.alias(column, str(each.name()), each.exprId(), each.qualifier())
            for each, column in zip(attributes, catalyst.items(pinned.output()), strict=True)
        ]
        return catalyst.logical.Project(catalyst.seq(aliases), pinned)

    plan = pin_clock(catalyst, catalyst.rewrite(plan, replaced), moment)
    return catalyst.frame(deterministic_sums(catalyst, deterministic_order(catalyst, plan)))


def by_file_list(spark: SparkSession, versions: Mapping[str, tuple[DeltaLog, int]]) -> Read:
    """Read tables as pinned file lists; `versions` maps a normalised folder to its log and version."""

    def read(path: str, columns: Sequence[str]) -> DataFrame | None:
        held = versions.get(folder(path))
        return None if held is None else scan(spark, held[0].snapshot(held[1]), columns)

    return read


def by_delta(spark: SparkSession, versions: Mapping[str, tuple[DeltaLog, int]]) -> Read:
    """Read tables through Delta's own time travel; a column that the old version lacks is NULL."""

    def read(path: str, columns: Sequence[str]) -> DataFrame | None:
        held = versions.get(folder(path))
        if held is None:
            return None
        frame = spark.read.format("delta").option("versionAsOf", held[1]).load(path)
        known = {name.lower() for name in frame.columns}
        return frame.select(
            *(F.col(quote(name)) if name.lower() in known else F.lit(None).alias(name) for name in columns)
        )

    return read


def folder(path: str) -> str:
    """One spelling for one folder: no scheme for local files, no slash at the end."""
    plain = path.removeprefix("file:")
    return ("/" + plain.lstrip("/")).rstrip("/") if plain != path or path.startswith("/") else path.rstrip("/")


def same_folder(one: str, other: str) -> bool:
    """True if two paths lead to one folder."""
    one, other = folder(one), folder(other)
    return one == other or os.path.realpath(one) == os.path.realpath(other)
