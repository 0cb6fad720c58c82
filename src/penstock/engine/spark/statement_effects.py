"""What a statement for Spark does to which names and folders, as Spark's own parser reads it.

Nothing is analysed and no name is looked up, so an effect says what was written: `parts` of a name, or a folder. Only
the target counts, never what is read. A statement that is not known here and works on something counts as a change of
it: the harmless ones are listed, not the others. What only runs or is only known later (an IDENTIFIER(…) or EXECUTE
IMMEDIATE of a script's own variable) has no effects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.engine.failures.silence import unlogged
from penstock.engine.spark.catalyst import Catalyst, node_kind


class Effect(StrEnum):
    """What is done to a target."""

    CREATE = "create"
    REPLACE = "replace"
    DROP = "drop"
    RENAME = "rename"
    MOVE = "move"
    """It stands for another folder from then on."""
    WRITE = "write"
    ALTER = "alter"
    CACHE = "cache"
    """Its rows of this moment are kept in memory and shown from then on."""
    LAY_OUT = "lay out"
    """Its files are written anew or removed; no row changes."""


@dataclass(frozen=True, slots=True)
class Target:
    """One effect and what it is done to: a name in `parts`, or a `folder`, or the schema that `parts` name."""

    effect: Effect
    parts: tuple[str, ...] = ()
    folder: str | None = None
    is_schema: bool = False
    beside: tuple[str, ...] = ()
    """The name whose schema completes this one: a table that is renamed stays in its schema."""


_WRAPPERS: Final = frozenset({"UnresolvedWith", "Union"})
_LOGICAL: Final = "org.apache.spark.sql.catalyst.plans.logical"
_PARTS_OF_SCRIPT: Final = (f"{_LOGICAL}.CompoundPlanStatement", f"{_LOGICAL}.ExceptionHandler")

_HARMLESS: Final = frozenset(
    {
        # Of notes, which any user may change.
        "SetTableProperties",
        "UnsetTableProperties",
        "SetViewProperties",
        "UnsetViewProperties",
        "CommentOnTable",
        "DeltaGenerateCommand",
        # Of what Spark remembers of a table.
        "AnalyzeTable",
        "AnalyzeColumn",
        "RefreshTable",
        "RefreshFunction",
        "UncacheTable",
        # Only reported.
        "DescribeRelation",
        "DescribeColumn",
        "DescribeDeltaHistory",
        "DescribeDeltaDetailCommand",
        "ShowTableProperties",
        "ShowCreateTable",
        "ShowColumns",
        "ShowPartitions",
        "ShowTablePartition",
        # Of functions and variables, which have names of their own.
        "CreateUserDefinedFunction",
        "CreateFunction",
        "DropFunction",
        "DescribeFunction",
        "CreateVariable",
        "DropVariable",
        "SetVariable",
    }
)

_DEEDS: Final = {
    "CreateTable": Effect.CREATE,
    "CreateTableAsSelect": Effect.CREATE,
    "CreateTableLike": Effect.CREATE,
    "CreateView": Effect.CREATE,
    "CreateMetricView": Effect.CREATE,
    "ReplaceTable": Effect.REPLACE,
    "ReplaceTableAsSelect": Effect.REPLACE,
    "DropTable": Effect.DROP,
    "DropView": Effect.DROP,
    "SetTableLocation": Effect.MOVE,
    "TruncateTable": Effect.WRITE,
    "TruncatePartition": Effect.WRITE,
    "LoadData": Effect.WRITE,
    "OptimizeTableCommand": Effect.LAY_OUT,
    "DeltaReorgTable": Effect.LAY_OUT,
    "VacuumTableCommand": Effect.LAY_OUT,
}

_RELATIONS: Final = {
    "InsertIntoStatement": "table",
    "OverwriteByExpression": "table",
    "OverwritePartitionsDynamic": "table",
    "AppendData": "table",
    "UpdateTable": "table",
    "DeleteFromTable": "table",
    "MergeIntoTable": "targetTable",
    "RestoreTableStatement": "table",
    "CacheTable": "table",
}


def read_targets(spark: SparkSession, statement: str) -> list[Target]:
    """What a statement, or a script between BEGIN and END, does to what; nothing if Spark cannot read it."""
    catalyst = Catalyst(spark)
    try:
        with unlogged():
            return list(_of_text(catalyst, statement))
    except (PySparkException, Py4JError):
        # Running it reports the error; of a script, PySpark does not know all of Spark's errors.
        return []


def _of_text(catalyst: Catalyst, statement: str) -> Iterator[Target]:
    return _of(catalyst, catalyst.parse_plan(statement))


def _of(catalyst: Catalyst, node: Any) -> Iterator[Target]:
    kind = node_kind(node)
    if kind in _WRAPPERS:
        for child in catalyst.items(node.children()):
            yield from _of(catalyst, child)
    elif kind == "SingleStatement":
        yield from _of(catalyst, node.parsedPlan())
    elif any(catalyst.is_a(node, part) for part in _PARTS_OF_SCRIPT):
        for index in range(node.productArity()):
            for part in _plans(catalyst, node.productElement(index)):
                yield from _of(catalyst, part)
    elif kind == "PlanWithUnresolvedIdentifier":
        plan = catalyst.identified(node)
        if plan is not None:
            yield from _of(catalyst, plan)
    elif kind == "UnresolvedExecuteImmediate":
        text = catalyst.constant(node.sqlStmtStr())
        if text is not None:
            yield from _of_text(catalyst, text)
    elif kind not in _HARMLESS:
        yield from _of_command(catalyst, kind, node)


def _plans(catalyst: Catalyst, value: Any) -> Iterator[Any]:
    """The statements in one field of a script's part: a plan, an optional one, or several."""
    if catalyst.is_a(value, "scala.collection.immutable.Seq"):
        for each in catalyst.items(value):
            yield from _plans(catalyst, each)
    elif catalyst.is_a(value, "scala.Some"):
        yield from _plans(catalyst, value.get())
    elif any(catalyst.is_a(value, part) for part in _PARTS_OF_SCRIPT):
        yield value


def _of_command(catalyst: Catalyst, kind: str, node: Any) -> Iterator[Target]:
    if kind in _RELATIONS:
        effect = Effect.CACHE if kind == "CacheTable" else Effect.WRITE
        yield from _named(effect, _relation(getattr(node, _RELATIONS[kind])()), catalyst)
    elif kind == "InsertIntoDir":
        place = node.storage().locationUri()
        if place.isDefined():
            yield Target(Effect.WRITE, folder=str(place.get().getPath()))
    elif kind == "CloneTableStatement":
        effect = Effect.REPLACE if node.isReplaceCommand() else Effect.CREATE
        yield from _named(effect, _relation(node.target()), catalyst)
    elif kind == "ConvertToDeltaCommand":
        yield Target(Effect.ALTER, _identifier(node.tableIdentifier()))
    elif kind == "DropNamespace":
        # Without CASCADE Spark drops only what is empty.
        if node.cascade():
            yield Target(Effect.DROP, _strings(node.namespace().multipartIdentifier()), is_schema=True)
    elif kind == "RenameTable":
        for each in _named(Effect.RENAME, node.child(), catalyst):
            yield each
            yield Target(Effect.CREATE, _strings(node.newName()), beside=each.parts)
    elif kind in {"CreateViewCommand", "CreateTempViewUsing", "CacheTableAsSelect"}:
        yield from _temporary(catalyst, kind, node)
    else:
        yield from _of_target(catalyst, kind, node)


def _of_target(catalyst: Catalyst, kind: str, node: Any) -> Iterator[Target]:
    effect = _DEEDS.get(kind, Effect.ALTER)
    if kind in {"CreateView", "CreateMetricView"} and node.replace():
        effect = Effect.REPLACE
    children = node.children()
    # The first child is what it works on; a query or a table to be like comes after it.
    if children.size():
        yield from _named(effect, children.head(), catalyst)
    if kind in {"CreateTable", "CreateTableAsSelect", "ReplaceTable", "ReplaceTableAsSelect"}:
        place = node.tableSpec().location()
        if place.isDefined() and kind != "CreateTable":
            yield Target(Effect.WRITE, folder=str(place.get()))


def _named(effect: Effect, node: Any, catalyst: Catalyst) -> Iterator[Target]:
    match node_kind(node):
        case "UnresolvedIdentifier":
            yield Target(effect, _strings(node.nameParts()))
        case "UnresolvedTable" | "UnresolvedTableOrView" | "UnresolvedView" | "UnresolvedRelation":
            yield Target(effect, _strings(node.multipartIdentifier()))
        case "UnresolvedPathBasedDeltaTable" | "UnresolvedPathBasedTable":
            yield Target(effect, folder=str(node.path()))
        case "PlanWithUnresolvedIdentifier":
            plan = catalyst.identified(node)
            if plan is not None:
                yield from _named(effect, plan, catalyst)


def _temporary(catalyst: Catalyst, kind: str, node: Any) -> Iterator[Target]:
    if kind == "CreateViewCommand":
        in_session, parts = node_kind(node.viewType()) == "LocalTempView$", _identifier(node.name())
    elif kind == "CreateTempViewUsing":
        # `global` is a word of Python.
        in_session, parts = not getattr(node, "global")(), _identifier(node.tableIdent())
    else:
        name = node.tempViewName()
        text = name if isinstance(name, str) else catalyst.constant(name)
        in_session, parts = text is not None, () if text is None else (text,)
    if in_session:
        yield Target(Effect.CREATE, parts)


def _relation(node: Any) -> Any:
    """The relation below an alias or a moment in time."""
    while node_kind(node) in {"SubqueryAlias", "TimeTravel"}:
        node = node.relation() if node_kind(node) == "TimeTravel" else node.child()
    return node


def _identifier(name: Any) -> tuple[str, ...]:
    return _strings(name.nameParts())


def _strings(seq: Any) -> tuple[str, ...]:
    return tuple(str(seq.apply(index)) for index in range(seq.size()))
