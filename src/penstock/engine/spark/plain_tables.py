"""CREATE TABLE for Spark: a Delta table with a change feed, whatever the session's defaults say.

    USING, STORED AS, ROW FORMAT    say otherwise, and are obeyed
    delta.enableChangeDataFeed      written out as a property, likewise
    LIKE                            the format of the table that it is like; of a view, Delta
    CLONE                           as Delta clones
    LOCATION with a Delta table     that table, as it is: nothing is written to it
    a table of another catalog      that catalog knows its own formats: the statement goes on as it is written

Only the statement is changed, never the session, which others use at the same time. What a script between BEGIN and END
or an EXECUTE IMMEDIATE creates goes by the session.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.engine.failures.silence import unlogged
from penstock.engine.spark.catalyst import Catalyst, node_kind

_FEED: Final = "delta.enableChangeDataFeed"
_OWN: Final = "spark_catalog"
_CREATES: Final = frozenset({"CreateTable", "CreateTableAsSelect", "ReplaceTable", "ReplaceTableAsSelect"})


def create_table(spark: SparkSession, statement: str) -> DataFrame:
    """Run a CREATE or REPLACE TABLE."""
    catalyst = Catalyst(spark)
    try:
        with unlogged():
            parsed = catalyst.parse_plan(statement)
    except PySparkException:
        # It says where the mistake is.
        return spark.sql(statement)
    plan = catalyst.identified(parsed)
    if plan is not None and _is_of_another_catalog(catalyst, plan):
        return spark.sql(statement)
    if plan is not None and node_kind(plan) in _CREATES:
        return catalyst.frame(_created(catalyst, plan))
    if plan is not None and node_kind(plan) == "CreateTableLike":
        return catalyst.frame(_like(catalyst, plan))
    return spark.sql(statement)


def _is_of_another_catalog(catalyst: Catalyst, plan: Any) -> bool:
    """True if the table is to be made in a catalog that is not Spark's own: the one in use, or one that is named."""
    if node_kind(plan) not in {*_CREATES, "CreateTableLike"} or node_kind(plan.name()) != "UnresolvedIdentifier":
        return False
    manager = catalyst.session.sessionState().catalogManager()
    first, *more = [str(part) for part in catalyst.items(plan.name().nameParts())]
    with unlogged():
        named = bool(more) and bool(manager.isCatalogRegistered(first))
    return (first if named else str(manager.currentCatalog().name())).lower() != _OWN


def _created(catalyst: Catalyst, plan: Any) -> Any:
    spec = plan.tableSpec()
    if spec.serde().isDefined() or not _may_be_delta(spec.provider()):
        return plan
    changed = {"provider": catalyst.some("delta")}
    if not (node_kind(plan) == "CreateTable" and _is_there(catalyst, plan.name(), spec.location())):
        changed["properties"] = _with_feed(catalyst, spec.properties())
    return _copy(plan, tableSpec=_copy(spec, **changed))


def _like(catalyst: Catalyst, plan: Any) -> Any:
    if plan.serdeInfo().isDefined() or not _may_be_delta(plan.provider()):
        return plan
    if plan.provider().isEmpty() and not _is_like_delta(catalyst, plan.source()):
        return plan
    return _copy(plan, provider=catalyst.some("delta"), properties=_with_feed(catalyst, plan.properties()))


def _may_be_delta(provider: Any) -> bool:
    return bool(provider.isEmpty()) or str(provider.get()).lower() == "delta"


def _is_like_delta(catalyst: Catalyst, source: Any) -> bool:
    """True for a Delta table, and for a view, which has no format."""
    if node_kind(source) != "UnresolvedTableOrView":
        return False
    try:
        with unlogged():
            held = catalyst.table(source.multipartIdentifier())
    except PySparkException:
        # There is no such table, which Spark says.
        return False
    provider = held.provider()
    return str(held.tableType().name()) == "VIEW" or (provider.isDefined() and str(provider.get()).lower() == "delta")


def _is_there(catalyst: Catalyst, name: Any, location: Any) -> bool:
    """True if a folder that is given has a Delta table."""
    parts = [] if node_kind(name) != "UnresolvedIdentifier" else catalyst.items(name.nameParts())
    path = str(location.get()) if location.isDefined() else str(parts[-1]) if len(parts) == 2 else ""
    if "/" not in path:
        return False
    return bool(catalyst.jvm.io.delta.tables.DeltaTable.isDeltaTable(catalyst.session, path))


def _with_feed(catalyst: Catalyst, properties: Any) -> Any:
    written = {str(name).lower() for name in catalyst.items(properties.keys().toSeq())}
    return properties if _FEED.lower() in written else properties.updated(_FEED, "true")


def _copy(node: Any, **changed: Any) -> Any:
    """A case class with other values in some of its fields."""
    fields = [
        changed.get(str(node.productElementName(index)), node.productElement(index))
        for index in range(node.productArity())
    ]
    return node.copy(*fields)
