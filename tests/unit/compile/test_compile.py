"""Lowering, column pruning, admission and the choice of folds, on bound trees made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bound_queries import BY_TITLE, CASES, Build, Case, expression, read, same
from penstock.compile.bound import BoundAggregate, BoundFilter, BoundJoin, BoundProject
from penstock.compile.passes.lower import operator_tree
from penstock.compile.plan import compile_query
from penstock.compile.stored import COUNT, SHOWN
from penstock.errors import KeyColumnMissing
from penstock.operators.aggregate import Aggregate
from penstock.operators.delta_query import DeltaQuery, LeafKind, Moment
from penstock.operators.inner_join import InnerJoin
from penstock.operators.operator import Operator
from penstock.operators.scan import Scan


def nodes(operator: Operator) -> list[Operator]:
    return [operator, *(each for child in operator.children for each in nodes(child))]


def root(title: str) -> Operator:
    operator = BY_TITLE[title].plan.store.root
    assert operator is not None
    return operator


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_every_source_has_a_term(case: Case) -> None:
    query = DeltaQuery(moved=frozenset(source.id for source in case.bound.sources))
    last = case.plan.store.change(query)
    leaves = [leaf for step in (*query.steps, last) for leaf in step.leaves]
    read_ids = {leaf.source.id for leaf in leaves if leaf.source is not None}
    assert read_ids == {source.id for source in case.bound.sources}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_unmoved_sources_are_read_at_one_moment(case: Case) -> None:
    query = DeltaQuery(moved=frozenset({"t"}))
    last = case.plan.store.change(query)
    for step in (*query.steps, last):
        for leaf in step.leaves:
            if leaf.source is not None and leaf.source.id == "u":
                assert leaf.kind is LeafKind.AT
                assert leaf.moment is Moment.AFTER


def test_joins_are_flattened_into_one() -> None:
    joins = [node for node in nodes(root("inner join of four")) if isinstance(node, InnerJoin)]
    assert [len(join.inputs) for join in joins] == [4]


def test_a_filter_above_a_join_becomes_a_condition() -> None:
    build = Build()
    (left, t), (right, u) = build.scan("t"), build.scan("u")
    joined = BoundJoin(left, right, ())
    tree = operator_tree(BoundFilter(joined, (expression("({} = {})", "BOOLEAN", t["k"], u["k"]),)))
    assert isinstance(tree, InnerJoin)
    assert len(tree.conditions) == 1


def test_distinct_is_an_aggregate_without_calls() -> None:
    aggregate = next(node for node in nodes(root("distinct")) if isinstance(node, Aggregate))
    assert (aggregate.name, aggregate.calls) == ("distinct", ())


def test_a_column_selected_twice_is_one_column() -> None:
    build = Build()
    scan, t = build.scan("t")
    tree = operator_tree(BoundProject(scan, (same(t["k"]), same(t["k"]))))
    assert len(tree.columns) == 1


def test_only_columns_in_use_are_read() -> None:
    scans = [node for node in nodes(root("inner join")) if isinstance(node, Scan)]
    assert [[name for name, _ in scan.read] for scan in scans] == [["k", "v"], ["k", "w"]]


def test_a_row_keeps_one_column_to_be_counted_by() -> None:
    build = Build()
    scan, _ = build.scan("t")
    assert len(operator_tree(scan).pruned(frozenset()).columns) == 1


@pytest.mark.parametrize(
    ("title", "strategy"),
    [
        ("filter and project", "bag"),
        ("union all", "bag"),
        ("folded groups", "folded groups"),
        ("folded extremes", "folded groups"),
        ("recomputed groups", "recomputed groups"),
        ("global aggregate, recomputed", "recomputed groups"),
        ("distinct", "folded groups"),
        ("declared key", "declared key"),
        ("join with an aggregate", "bag"),
    ],
)
def test_strategy(title: str, strategy: str) -> None:
    assert BY_TITLE[title].plan.store.strategy == strategy


def test_hidden_columns_of_folded_groups() -> None:
    store = BY_TITLE["folded groups"].plan.store
    hidden = {column.name: column.type for column in store.columns if column.visible is None}
    assert hidden[COUNT] == "BIGINT"
    assert hidden["__ps_s2_s"] == "DECIMAL(38,0)"
    assert hidden["__ps_s4_s"] == "DECIMAL(37,2)"
    assert not store.has_hidden_rows
    assert SHOWN in {column.name for column in BY_TITLE["having"].plan.store.columns}


def _grouped(function: str, text: str, type_: str, argument: str) -> str:
    """The strategy of one call over a column of a given type."""
    build = Build()
    scan, t = build.scan("t")
    column = replace(t["v"], type=argument)
    scan = replace(scan, columns=(("g", t["g"]), ("v", column)))
    call = build.call(function, text, type_, column)
    items = (same(t["g"]), build.item("c", read(call[1])))
    tree = BoundProject(BoundAggregate(scan, (same(t["g"]),), (call,)), items)
    return compile_query(build.query(tree, (t["g"], items[1][1]))).store.strategy


@pytest.mark.parametrize(
    ("function", "text", "result", "argument", "folded"),
    [
        ("Sum", "sum({})", "BIGINT", "TINYINT", True),
        ("Sum", "sum({})", "DECIMAL(37,2)", "DECIMAL(27,20)", True),
        ("Sum", "sum({})", "DECIMAL(38,2)", "DECIMAL(29,2)", True),
        ("Sum", "sum({})", "DECIMAL(38,6)", "DECIMAL(38,6)", True),
        ("Sum", "sum({})", "DECIMAL(38,7)", "DECIMAL(38,7)", False),
        ("Sum", "sum({})", "DOUBLE", "DOUBLE", False),
        ("Sum", "try_sum({})", "BIGINT", "INT", False),
        ("Average", "avg({})", "DOUBLE", "BIGINT", True),
        ("Average", "avg({})", "DOUBLE", "DOUBLE", False),
        ("Average", "avg({})", "DECIMAL(16,6)", "DECIMAL(12,2)", True),
        ("Average", "avg({})", "DECIMAL(30,6)", "DECIMAL(26,2)", False),
        ("Min", "min({})", "TIMESTAMP", "TIMESTAMP", True),
        ("Max", "max({})", "DOUBLE", "DOUBLE", False),
        ("Max", "max({})", "STRING COLLATE UTF8_LCASE", "STRING COLLATE UTF8_LCASE", False),
        ("Max", "max({})", "STRUCT<a: DOUBLE>", "STRUCT<a: DOUBLE>", False),
        ("CollectList", "collect_list({})", "ARRAY<INT>", "INT", False),
    ],
)
def test_folds_are_chosen_by_type(function: str, text: str, result: str, argument: str, folded: bool) -> None:
    assert (_grouped(function, text, result, argument) == "folded groups") is folded


def _nested(function: str, text: str, type_: str, argument: str) -> str | None:
    """Why an aggregate of one call below a join is refused."""
    build = Build()
    scan, t = build.scan("t")
    column = replace(t["v"], type=argument)
    scan = replace(scan, columns=(("k", t["k"]), ("v", column)))
    call = build.call(function, text, type_, column)
    items = (same(t["k"]), build.item("c", read(call[1])))
    grouped = BoundProject(BoundAggregate(scan, (same(t["k"]),), (call,)), items)
    other, u = build.scan("u")
    tree = BoundJoin(grouped, other, (expression("({} = {})", "BOOLEAN", t["k"], u["k"]),))
    refused = compile_query(build.query(BoundProject(tree, (same(items[1][1]),)), (items[1][1],))).refused
    return refused.reason if refused else None


@pytest.mark.parametrize(
    ("function", "text", "type_", "argument", "reason"),
    [
        ("Sum", "sum({})", "BIGINT", "INT", None),
        ("Max", "max({})", "STRING", "STRING", None),
        ("Average", "avg({})", "DOUBLE", "INT", None),
        ("Average", "avg({})", "DOUBLE", "BIGINT", "ORDER_DEPENDENT"),
        ("Sum", "sum({})", "DOUBLE", "DOUBLE", "ORDER_DEPENDENT"),
        ("Max", "max({})", "DOUBLE", "DOUBLE", "ORDER_DEPENDENT"),
        ("CollectList", "collect_list({})", "ARRAY<INT>", "INT", "ORDER_DEPENDENT"),
    ],
)
def test_below_another_operator_only_reproducible_calls_are_admitted(
    function: str, text: str, type_: str, argument: str, reason: str | None
) -> None:
    assert _nested(function, text, type_, argument) == reason


@pytest.mark.parametrize(
    ("type_", "reason"), [("VARIANT", "NOT_COMPARABLE"), ("STRING COLLATE UTF8_LCASE", "COLLATION")]
)
def test_rows_that_cannot_be_told_apart_are_refused(type_: str, reason: str) -> None:
    build = Build()
    scan, t = build.scan("t")
    column = replace(t["v"], type=type_)
    refused = compile_query(build.query(replace(scan, columns=(("v", column),)), (column,))).refused
    assert refused is not None
    assert refused.reason == reason


def test_a_key_that_the_query_does_not_return_is_an_error() -> None:
    with pytest.raises(KeyColumnMissing, match="KEY names"):
        compile_query(BY_TITLE["declared key"].bound, ("nothing",))


def test_a_plan_tells_its_passes_and_what_each_left() -> None:
    assert BY_TITLE["inner join"].plan.passes == (
        ("lower", "operators: 4, columns read: 7"),
        ("prune_columns", "operators: 4, columns read: 4"),
        ("admit", "operators: 4, columns read: 4"),
        ("choose_store", "stored as bag"),
    )


def test_a_refused_query_does_not_reach_the_next_pass() -> None:
    build = Build()
    scan, t = build.scan("t")
    column = replace(t["v"], type="VARIANT")
    plan = compile_query(build.query(replace(scan, columns=(("v", column),)), (column,)))
    assert [name for name, _ in plan.passes] == ["lower", "prune_columns", "admit"]
    assert plan.passes[-1][1] == "NOT_COMPARABLE: v is of type VARIANT"
