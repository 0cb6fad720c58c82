"""A query over its sources with the columns that they had when it was defined.

    SELECT * FROM src      means for good what it meant at CREATE, whatever src has become

A definition remembers the columns behind every name that its text reads. Where such a name shows others now, in another
order or in other letters, the query is analysed over a projection to the remembered ones. So no star grows or shrinks,
no USING or NATURAL join matches by another column, and no new column makes an old name ambiguous. A remembered column
that is not there any more stands as an error in that projection; the query goes on if nothing uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.engine.spark.catalyst import Catalyst, node_kind
from penstock.engine.spark.python_query import frame_of, is_python
from penstock.errors import QueryInvalid
from penstock.names import TableName, quote

Reads = Mapping[str, tuple[tuple[str, str], ...]]
"""A name as the query writes it → the columns behind it, each with its type."""

_GONE = "__ps_gone_"


def columns_read_by_name(spark: SparkSession, query: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """What the names in a query's text show now. A query in Python has no text: its function sees what is there."""
    if is_python(query):
        return {}
    catalyst = Catalyst(spark)
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for name, node in _relations(catalyst, _parsed(catalyst, query)).items():
        output = catalyst.items(catalyst.analyse(node).output())
        found[name] = tuple((str(each.name()), str(each.dataType().sql())) for each in output)
    return found


def names_read(spark: SparkSession, query: str) -> list[tuple[str, ...]]:
    """The names of tables and views that a query's text reads, in the parts in which they are written."""
    catalyst = Catalyst(spark)
    relations = _relations(catalyst, _parsed(catalyst, query)).values()
    return [tuple(str(part) for part in catalyst.items(each.multipartIdentifier())) for each in relations]


def frame_as_defined(
    spark: SparkSession, query: str, reads: Reads, instead: Mapping[TableName, DataFrame] = MappingProxyType({})
) -> DataFrame:
    """The query as a DataFrame, analysed and not run; QueryInvalid if it uses a remembered column that is gone.

    A view in `instead` is taken for that frame.
    """
    # A session keeps what it found under the name of a table of plain files, which may be another table by now.
    spark._jsparkSession.sessionState().catalog().invalidateAllCachedTables()
    if not reads:
        return frame_of(spark, query)
    catalyst = Catalyst(spark)
    parsed = _parsed(catalyst, query)
    gone: list[tuple[str, str]] = []
    changed: dict[str, tuple[Any, Any, list[tuple[str, str]]]] = {}
    for name, node in _relations(catalyst, parsed).items():
        analysed = catalyst.analyse(node)
        view = _view(analysed)
        other = None if view is None else instead.get(view)
        names = [str(each.name()) for each in catalyst.items(analysed.output())] if other is None else other.columns
        if name in reads and (other is not None or names != [column for column, _ in reads[name]]):
            below = node if other is None else catalyst.analyzed(other)
            changed[name] = analysed.identifier(), below, _as_remembered(name, reads[name], names, gone)
    if not changed:
        return frame_of(spark, query)

    def projected(node: Any) -> Any:
        name = _name(catalyst, node) if node_kind(node) == "UnresolvedRelation" else ""
        if name not in changed:
            return None
        identifier, below, items = changed[name]
        columns = [catalyst.alias(catalyst.parse_expression(text), column) for column, text in items]
        return catalyst.logical.SubqueryAlias(identifier, catalyst.logical.Project(catalyst.seq(columns), below))

    frame = catalyst.frame(catalyst.rewrite(parsed, projected))
    if gone:
        _check_unused(catalyst, frame, gone)
    return frame


def _as_remembered(
    name: str, held: Iterable[tuple[str, str]], names: Iterable[str], gone: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Each remembered column with what stands for it among the columns `names`; what is not there joins the `gone`."""
    present = {each.lower(): each for each in names}
    items = []
    for column, type_ in held:
        if column.lower() in present:
            items.append((column, quote(present[column.lower()])))
        else:
            items.append((column, f"CAST(raise_error('{_GONE}{len(gone)}.') AS {type_})"))
            gone.append((column, name))
    return items


def _check_unused(catalyst: Catalyst, frame: DataFrame, gone: list[tuple[str, str]]) -> None:
    """Spark leaves out what nothing uses; what is left of the errors is used."""
    left: list[str] = []

    def look(expression: Any) -> None:
        if node_kind(expression) == "RaiseError":
            left.append(str(expression.toString()))

    try:
        catalyst.rewrite_expressions(frame._jdf.queryExecution().optimizedPlan(), look)
    except PySparkException as evaluated:
        # A condition over nothing else is tried out at once.
        left.append(str(evaluated))
    used = [f"{column} of {name}" for place, (column, name) in enumerate(gone) if f"{_GONE}{place}." in "".join(left)]
    if used:
        columns, are = ("columns", "are") if len(used) > 1 else ("column", "is")
        raise QueryInvalid(
            why=f"it uses the {columns} {', '.join(used)}, which {are} not there any more",
            fix="Bring it back, or give another query: ALTER STREAM TABLE … AS …",
        )


def _view(analysed: Any) -> TableName | None:
    """The view that a relation shows, if it is one of Spark's catalog."""
    below = analysed.child() if node_kind(analysed) == "SubqueryAlias" else analysed
    if node_kind(below) != "View" or below.isTempView():
        return None
    return TableName.parse(str(below.desc().identifier().quotedString()))


def _parsed(catalyst: Catalyst, query: str) -> Any:
    """The query's parsed plan, in which a relation's name is that of a table or view and not of a WITH."""
    plan = catalyst.rewrite(catalyst.parse_plan(query), catalyst.identified)
    return catalyst.analysis_rule("CTESubstitution").apply(plan)


def _relations(catalyst: Catalyst, plan: Any) -> dict[str, Any]:
    """The names that a parsed plan reads, each with a node that does."""
    found: dict[str, Any] = {}

    def look(node: Any) -> None:
        if node_kind(node) == "UnresolvedRelation":
            found.setdefault(_name(catalyst, node), node)

    catalyst.rewrite(plan, look)
    return found


def _name(catalyst: Catalyst, relation: Any) -> str:
    return ".".join(quote(str(part)) for part in catalyst.items(relation.multipartIdentifier()))
