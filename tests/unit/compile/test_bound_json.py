"""Bound trees as JSON: whatever the binder can say comes back as it was."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import get_args

import pytest

from bound_queries import BY_TITLE, Build, Case, expression
from penstock.compile.bound import Bound, BoundFilter, BoundNode, BoundQuery, Refused
from penstock.operators.expression import Comparison
from penstock.testing.bound_json import decode, encode, readable
from penstock.testing.recorded_bindings import RecordedBindings
from recorded_queries import FOLDER, SCHEMAS


def through_json(query: BoundQuery) -> BoundQuery:
    return decode(json.loads(readable(encode(query))))


@pytest.mark.parametrize("case", BY_TITLE.values(), ids=lambda case: case.title)
def test_a_query_comes_back(case: Case) -> None:
    assert through_json(case.bound) == case.bound


def test_every_node_occurs() -> None:
    found = {
        type(node)
        for case in BY_TITLE.values()
        if isinstance(case.bound.tree, BoundNode)
        for node in case.bound.tree.nodes()
    }
    assert found == set(get_args(Bound))


def test_a_refused_query_comes_back() -> None:
    refused = Refused("SAMPLE", "TABLESAMPLE (10 PERCENT) at line 1", "Choose rows by a condition.")
    query = replace(BY_TITLE["distinct"].bound, tree=refused, functions=(("twice", ""),), views=(("v", "SELECT 1"),))
    assert through_json(query) == query


@pytest.mark.parametrize("values", [(1, 2), (True,), (Decimal("1.50"),), ("a", "ä"), ()])
def test_what_a_condition_compares_with_comes_back(values: tuple[bool | int | Decimal | str, ...]) -> None:
    build = Build()
    scan, t = build.scan("t")
    condition = replace(expression("({} = 1)", "BOOLEAN", t["v"]), comparison=Comparison("IN", values), written="v = 1")
    query = build.query(BoundFilter(scan, (condition,)), (t["v"],))
    back = through_json(query)
    assert back == query
    assert isinstance(back.tree, BoundFilter)
    compared, written = back.tree.conditions[0].comparison, back.tree.conditions[0].written
    assert compared is not None
    assert [type(each) for each in compared.values] == [type(each) for each in values]
    assert written == "v = 1"


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_recorded_query_is_written_as_it_was_read(name: str) -> None:
    held = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))["queries"]
    recorded = RecordedBindings.read(FOLDER / f"{name}.json")
    assert [encode(recorded.bind(each["text"])) for each in held] == [each["bound"] for each in held]


def test_a_query_that_is_not_recorded_is_not_bound() -> None:
    with pytest.raises(KeyError):
        RecordedBindings.read(FOLDER / "shapes.json").bind("SELECT 1")
