"""The delta program of every operator and way to store. Run `make golden` to rewrite the files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bound_queries import BY_TITLE, SCHEMA, Case
from penstock.compile.stored import Summary
from penstock.operators.delta_query import STORED, DeltaQuery, Moment, Step

REWRITE = os.environ.get("PENSTOCK_GOLDEN") == "rewrite" or os.environ.get("REWRITE_GOLDEN") == "1"
HERE = Path(__file__).parent
FILES = {
    "linear.sql": ["filter and project", "union all"],
    "inner_join.sql": ["inner join", "inner join of four", "self-join", "join with an aggregate"],
    "folded_groups.sql": ["folded groups", "folded extremes", "global aggregate", "having", "minimum over a join"],
    "recomputed_groups.sql": ["recomputed groups", "global aggregate, recomputed"],
    "nested_aggregate.sql": ["aggregate over aggregate", "distinct"],
    "declared_key.sql": ["declared key"],
    "one_sided_join.sql": ["left join", "full join", "semi join", "not in", "existence"],
    "window.sql": ["window", "window without partitions"],
    "first_rows.sql": ["first rows", "first rows after some", "first groups", "limit below an aggregate"],
    "generate.sql": ["generate"],
    "clock_and_constants.sql": ["condition on the clock", "join with constant rows"],
}
NARROWED = ["inner join", "minimum over a join", "folded groups"]
"""Shown once more as they are over sources and stored rows so large that every touched key is worth collecting."""


def program(case: Case, narrowed: bool = False) -> str:
    store = case.plan.store
    lines = [f"-- title: {case.title}", f"-- query: {case.sql}", f"-- stored as: {store.strategy}"]
    lines += [f"--   {column.name} {column.type}" for column in store.columns]
    fill = store.fill(DeltaQuery(moved=frozenset()), Moment.AFTER)
    lines += ["", f"-- fill: {fill.purpose}", f"{fill.sql};"]
    query = DeltaQuery(moved=frozenset(source.id for source in case.bound.sources), clock=True)
    if narrowed:
        columns = {(table.name, column.name) for table in SCHEMA.tables for column in table.columns}
        query.prunable = columns | {(STORED, column.name) for column in store.columns}
    last = store.change(query)
    for step in (*query.steps, last):
        lines += ["", f"-- {step.name}: {step.purpose}", *_within(step), f"{step.sql};"]
    done = len(query.steps)
    everything = Summary(rows=1, operations=frozenset("?"), least_weight=-1, inserted=0, deleted=0, updated=0)
    final = store.finish(query, everything)
    for step in (*query.steps[done:], *([final] if final is not None else [])):
        lines += ["", f"-- {step.name}: {step.purpose}", *_within(step), f"{step.sql};"]
    return "\n".join(lines) + "\n"


def _within(step: Step) -> list[str]:
    return [
        f"--   {leaf.name} within {', '.join(f'{each.column} in {each.step}.{each.collected}' for each in leaf.within)}"
        for leaf in step.leaves
        if leaf.within
    ]


@pytest.mark.parametrize("name", FILES)
def test_delta_sql(name: str) -> None:
    check(name, "\n".join(program(BY_TITLE[title]) for title in FILES[name]))


def test_narrowed_delta_sql() -> None:
    check("narrowed.sql", "\n".join(program(BY_TITLE[title], narrowed=True) for title in NARROWED))


def check(name: str, seen: str) -> None:
    path = HERE / name
    if REWRITE:
        path.write_text(seen, "utf-8")
    assert path.read_text("utf-8") == seen


def test_every_case_is_shown() -> None:
    assert sorted(title for titles in FILES.values() for title in titles) == sorted(BY_TITLE)
