"""The delta program of every operator and way to store. Run `make golden` to rewrite the files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bound_queries import BY_TITLE, Case
from penstock.compile.stored import Summary
from penstock.operators.delta_query import DeltaQuery, Moment

REWRITE = os.environ.get("PENSTOCK_GOLDEN") == "rewrite" or os.environ.get("REWRITE_GOLDEN") == "1"
HERE = Path(__file__).parent
FILES = {
    "linear.sql": ["filter and project", "union all"],
    "inner_join.sql": ["inner join", "inner join of four", "self-join", "join with an aggregate"],
    "folded_groups.sql": ["folded groups", "folded extremes", "global aggregate", "having", "minimum over a join"],
    "recomputed_groups.sql": ["recomputed groups", "global aggregate, recomputed"],
    "nested_aggregate.sql": ["aggregate over aggregate", "distinct"],
    "declared_key.sql": ["declared key"],
}


def program(case: Case) -> str:
    store = case.plan.store
    lines = [f"-- title: {case.title}", f"-- query: {case.sql}", f"-- stored as: {store.strategy}"]
    lines += [f"--   {column.name} {column.type}" for column in store.columns]
    fill = store.fill(DeltaQuery(moved=frozenset()), Moment.AFTER)
    lines += ["", f"-- fill: {fill.purpose}", f"{fill.sql};"]
    query = DeltaQuery(moved=frozenset(source.id for source in case.bound.sources))
    last = store.change(query)
    for step in (*query.steps, last):
        lines += ["", f"-- {step.name}: {step.purpose}", f"{step.sql};"]
    everything = Summary(rows=1, operations=frozenset("?"), least_weight=-1, inserted=0, deleted=0)
    final = store.finish(query, everything)
    if final is not None:
        lines += ["", f"-- {final.name}: {final.purpose}", f"{final.sql};"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", FILES)
def test_delta_sql(name: str) -> None:
    seen = "\n".join(program(BY_TITLE[title]) for title in FILES[name])
    path = HERE / name
    if REWRITE:
        path.write_text(seen, "utf-8")
    assert path.read_text("utf-8") == seen


def test_every_case_is_shown() -> None:
    assert sorted(title for titles in FILES.values() for title in titles) == sorted(BY_TITLE)
