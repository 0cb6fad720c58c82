"""The operator matrix: each case bound by Spark and compiled, and what came out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from generate.operator_cases import CASES, SETUP
from generate.table import code, table
from penstock import api
from penstock.compile.plan import Plan, compile_query
from penstock.compile.store_groups import top_aggregate
from penstock.engine.spark.registry import current_schema
from penstock.engine.spark.result_settings import result_settings
from penstock.operators.delta_query import DeltaQuery, LeafKind
from penstock.operators.reproducible import reproducible

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = "reference/operators.md"


def started(folder: Path) -> str:
    """The page, with a Spark of its own."""
    with api.open(folder) as tables:
        return _page(tables)


def text(spark: SparkSession, folder: Path) -> str:
    """The page; the session's current schema must be empty."""
    return _page(api.open(folder, spark=spark))


def _page(tables: api.StreamTables) -> str:
    for statement in SETUP:
        tables.sql(statement)
    parts = [
        "# Operator matrix",
        "*Generated: every query below was bound by Spark and compiled; `docs/generate/operator_cases.py` has them.*",
        "**Stored as** says how result rows are kept. *bag*: rows with a multiplicity. *folded groups*: a row per "
        "group with "
        "hidden sums and counts, to which the delta is added. *recomputed groups*: a row per group, computed anew "
        "for the "
        "groups that a change touched. **Reads** says what a refresh reads when every source has changed: *changes* "
        "are "
        "the change rows of the interval, *before* and *after* the table at its two ends, *stored* the stream table "
        "itself. Files that cannot hold a touched key are skipped. **Exact**: *to the bit* means that the value is "
        "the one "
        "a full recomputation gives; *as computed* means that it may depend on the order in which Spark meets the "
        "rows, so a "
        "recomputation may differ in the last digits or in the order of a list.",
        "A query without a rule is FULL, with the reason code shown; see [reason codes](errors.md#reason-codes).",
    ]
    for title, cases in CASES:
        rows = [_row(tables, construct, query) for construct, query in cases]
        parts.append(f"## {title}\n\n" + table(["Construct", "Query", "Verdict", "Stored as", "Reads", "Exact"], rows))
    parts.append("## Rules\n\n" + table(["Operator", "Δ of its result"], sorted(_rules(tables))))
    return "\n\n".join(parts) + "\n"


def _plan(tables: api.StreamTables, query: str) -> Plan:
    spark = tables.spark
    settings = result_settings(spark)
    workspace = tables._warehouse.fresh_workspace(settings, current_schema(spark))
    return compile_query(workspace.bind(query), (), settings)


def _row(tables: api.StreamTables, construct: str, query: str) -> list[str]:
    plan = _plan(tables, query)
    if plan.refused is not None:
        return [construct, code(query), f"FULL {code(plan.refused.reason)}", "", "", ""]
    return [construct, code(query), "INCREMENTAL", plan.store.strategy, _reads(plan), _exactness(plan)]


def _reads(plan: Plan) -> str:
    query = DeltaQuery(moved=frozenset(source.id for source in plan.bound.sources))
    if not query.moved:
        return ""
    last = plan.store.change(query)
    found: dict[str, None] = {}
    for step in (*query.steps, last):
        for leaf in step.leaves:
            if leaf.kind is LeafKind.CHANGES and leaf.source is not None:
                found[f"{_short(leaf.source.name)} changes"] = None
            elif leaf.kind is LeafKind.AT and leaf.source is not None and leaf.moment is not None:
                found[f"{_short(leaf.source.name)} {leaf.moment.value}"] = None
            elif leaf.kind is LeafKind.STORED:
                found["stored"] = None
    return ", ".join(sorted(found, key=lambda each: (each == "stored", each)))


def _short(name: str) -> str:
    return name.rsplit(".", 1)[-1].strip("`")


def _exactness(plan: Plan) -> str:
    root = plan.store.root
    assert root is not None
    top = top_aggregate(root)
    exact = top is None or plan.store.strategy == "folded groups" or all(reproducible(call) for call, _ in top.calls)
    return "to the bit" if exact else "as computed"


def _rules(tables: api.StreamTables) -> set[tuple[str, str]]:
    found = set()
    for _, cases in CASES:
        for _, query in cases:
            store = _plan(tables, query).store
            if store.root is None:
                continue
            top = top_aggregate(store.root)
            for node in store.root.nodes():
                if node is top:
                    found.add((f"{node.name} at the top", f"{store.strategy}, against stored rows"))
                else:
                    found.add((node.name, node.rule))
    return found
