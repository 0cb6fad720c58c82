"""Narrowing: which inputs are read within which keys, and how many steps that takes."""

from __future__ import annotations

from bound_queries import BY_TITLE, expression
from penstock.operators.aggregate import Aggregate
from penstock.operators.delta_query import STORED, DeltaQuery, LeafKind, Moment, Step, Within
from penstock.operators.expression import Attribute, Expression
from penstock.operators.filter import Filter
from penstock.operators.inner_join import InnerJoin
from penstock.operators.narrow import Equalities, narrow, narrow_each, reaches
from penstock.operators.operator import KeyRange, Operator
from penstock.operators.project import Project
from penstock.operators.scan import Scan
from penstock.operators.source import Source
from penstock.operators.union_all import UnionAll


def column(number: int, name: str, type_: str = "BIGINT") -> Attribute:
    return Attribute(number, name, type_, True)


def scan(table: str, *columns: Attribute) -> Scan:
    return Scan(Source(table, table, f"/{table}"), tuple((each.name, each) for each in columns))


def equal(left: Attribute, right: Attribute, sign: str = "=") -> Expression:
    return expression(f"({{}} {sign} {{}})", "BOOLEAN", left, right)


def within(step: Step) -> dict[str, tuple[Within, ...]]:
    """What each leaf of a statement is narrowed by."""
    return {leaf.source.id: leaf.within for leaf in step.leaves if leaf.kind is LeafKind.AT and leaf.source is not None}


LINE, COUNT, ORDER, PERSON, BUYER, NAME = (
    column(n, name) for n, name in enumerate(["o", "n", "o", "c", "c", "name"], 1)
)
LINES, ORDERS, PEOPLE = scan("lines", LINE, COUNT), scan("orders", ORDER, BUYER), scan("people", PERSON, NAME)
CHAIN = InnerJoin((LINES, ORDERS, PEOPLE), (equal(LINE, ORDER), equal(BUYER, PERSON)))
ALL = frozenset({("lines", "o"), ("orders", "o"), ("orders", "c"), ("people", "c")})


def written(
    operator: Operator, prunable: frozenset[tuple[str, str]], moved: frozenset[str] = frozenset({"lines"})
) -> tuple[list[str], dict[str, tuple[Within, ...]]]:
    """The collected statements, and what the last one is narrowed by."""
    query = DeltaQuery(moved=moved, prunable=prunable)
    delta = operator.delta(query)
    last = query.statement("delta", f"SELECT * FROM {delta}", [delta], "")
    return [step.sql for step in query.steps], within(last)


def test_without_large_sources_no_step_is_spent() -> None:
    steps, narrowed = written(CHAIN, frozenset())
    assert (steps, narrowed) == ([], {"orders": (), "people": ()})


def test_the_first_hop_takes_its_keys_from_the_delta() -> None:
    steps, narrowed = written(CHAIN, frozenset({("orders", "o")}))
    assert steps == [
        "WITH `__ps_scan_1` AS (\n  SELECT `o` AS `o_1`, `n` AS `n_2`, `__ps_weight` FROM `__ps_changes_lines_1`\n)\n"
        "SELECT DISTINCT `o_1` FROM `__ps_scan_1` WHERE `o_1` IS NOT NULL"
    ]
    assert narrowed == {"orders": (Within("o", "__ps_step_1", "o_1"),), "people": ()}


def test_the_second_hop_takes_its_keys_from_the_first() -> None:
    steps, narrowed = written(CHAIN, ALL)
    assert len(steps) == 2
    assert steps[1].endswith("SELECT DISTINCT `c_5` FROM `__ps_join_3` WHERE `c_5` IS NOT NULL")
    assert "`__ps_scan_1`\n  JOIN `__ps_scan_2` ON (`o_1` = `o_3`)" in steps[1]
    assert narrowed == {
        "orders": (Within("o", "__ps_step_1", "o_1"),),
        "people": (Within("c", "__ps_step_2", "c_5"),),
    }


def test_a_hop_does_not_read_a_large_input_whole() -> None:
    # Orders are large, but not in the order of o: joining them only to find keys would read them all, twice.
    steps, narrowed = written(CHAIN, frozenset({("orders", "c"), ("people", "c")}))
    assert (steps, narrowed) == ([], {"orders": (), "people": ()})
    # Small ones may be read twice.
    steps, narrowed = written(CHAIN, frozenset({("people", "c")}))
    assert len(steps) == 1
    assert narrowed == {"orders": (), "people": (Within("c", "__ps_step_1", "c_5"),)}


def test_equality_reaches_further_than_a_condition() -> None:
    a, b, c = column(11, "k"), column(12, "k"), column(13, "k")
    star = InnerJoin((scan("a", a), scan("b", b), scan("c", c)), (equal(a, b), equal(b, c)))
    steps, narrowed = written(star, frozenset({("b", "k"), ("c", "k")}), frozenset({"a"}))
    assert len(steps) == 1
    assert narrowed["b"] == narrowed["c"] == (Within("k", "__ps_step_1", "k_11"),)


def test_one_step_serves_all_inputs_joined_to_a_delta() -> None:
    query = DeltaQuery(moved=frozenset({"orders"}), prunable=ALL)
    delta = ORDERS.delta(query)
    lines, people = narrow_each(query, delta, ORDERS.columns, CHAIN.conditions, [LINES, PEOPLE])
    assert lines == (KeyRange(LINE.id, "__ps_step_1", "o_3"),)
    assert people == (KeyRange(PERSON.id, "__ps_step_1", "c_5"),)
    assert len(query.steps) == 1


def test_the_same_request_shares_a_step() -> None:
    query = DeltaQuery(moved=frozenset({"lines"}), prunable=ALL)
    delta = LINES.delta(query)
    first = narrow(query, delta, LINES.columns, [equal(LINE, ORDER)], ORDERS)
    assert narrow(query, delta, LINES.columns, [equal(ORDER, LINE)], ORDERS) == first
    assert len(query.steps) == 1


def test_null_keys_are_collected_only_where_null_matches() -> None:
    query = DeltaQuery(moved=frozenset({"lines"}), prunable=ALL)
    delta = LINES.delta(query)
    narrow(query, delta, LINES.columns, [equal(LINE, ORDER, "<=>")], ORDERS)
    assert "IS NOT NULL" not in query.steps[0].sql


def test_only_types_with_trusted_statistics_and_one_type_on_both_sides_count() -> None:
    for left, right in [("DOUBLE", "DOUBLE"), ("BIGINT", "INT"), ("DECIMAL(16,2)", "DECIMAL(16,2)")]:
        a, b = column(21, "k", left), column(22, "k", right)
        query = DeltaQuery(moved=frozenset({"a"}), prunable=frozenset({("b", "k")}))
        delta = scan("a", a).delta(query)
        assert narrow(query, delta, [a], [equal(a, b)], scan("b", b)) == ()


def test_integers_of_two_lengths_count_where_the_shorter_one_is_cast() -> None:
    a, b = column(21, "k", "INT"), column(22, "k", "BIGINT")
    for text, columns in [("(CAST({} AS BIGINT) = {})", (a, b)), ("({} <=> CAST({} AS BIGINT))", (b, a))]:
        condition = expression(text, "BOOLEAN", *columns)
        assert Equalities([condition], [a, b]).of(a.id) == {a.id, b.id}
        assert Equalities([condition], [a, b]).never_null(b.id) == ("<=>" not in text)
    # Cutting one short, or going through another type, may make unequal values equal.
    for text, left, right in [
        ("(CAST({} AS INT) = {})", "BIGINT", "INT"),
        ("(CAST({} AS DATE) = {})", "STRING", "DATE"),
        ("(CAST({} AS BIGINT) = {})", "STRING", "BIGINT"),
        ("(CAST({} AS INT) = {})", "SMALLINT", "BIGINT"),
    ]:
        a, b = column(21, "k", left), column(22, "k", right)
        assert Equalities([expression(text, "BOOLEAN", a, b)], [a, b]).of(a.id) == {a.id}


def test_conditions_that_are_not_plain_equalities_are_passed_over() -> None:
    conditions = [
        expression("({} = ({} + 1L))", "BOOLEAN", LINE, ORDER),
        expression("({} < {})", "BOOLEAN", LINE, ORDER),
        expression("(({} = {}) OR ({} = {}))", "BOOLEAN", LINE, ORDER, BUYER, PERSON),
    ]
    assert Equalities(conditions, [LINE, ORDER, BUYER, PERSON]).of(LINE.id) == {LINE.id}


def test_a_range_reaches_through_bare_columns_only() -> None:
    query = DeltaQuery(moved=frozenset())
    shown, moved, total, out = column(31, "x"), column(32, "y"), column(33, "g"), column(34, "u")
    bare, shifted = Expression((LINE.id,), "BIGINT", True), expression("({} + 1L)", "BIGINT", LINE)
    project = Project(Filter(LINES, (expression("({} > 1)", "BOOLEAN", COUNT),)), ((bare, shown), (shifted, moved)))
    assert reaches(query, project, shown.id) == {("lines", "o")}
    assert reaches(query, project, moved.id) == frozenset()
    grouped = Aggregate(project, ((Expression((shown.id,), "BIGINT", True), total),), ())
    assert reaches(query, grouped, total.id) == {("lines", "o")}
    union = UnionAll((grouped, ORDERS), ((total,), (BUYER,)), (out,))
    assert reaches(query, union, out.id) == {("lines", "o"), ("orders", "c")}


def test_a_range_on_a_join_reaches_every_equal_column() -> None:
    query = DeltaQuery(moved=frozenset())
    assert reaches(query, CHAIN, LINE.id) == {("lines", "o"), ("orders", "o")}
    assert reaches(query, CHAIN, PERSON.id) == {("people", "c"), ("orders", "c")}


def test_a_join_read_within_keys_narrows_its_other_inputs() -> None:
    query = DeltaQuery(moved=frozenset(), prunable=ALL)
    keys = query.collect("SELECT 1L AS `k`", [], ("k",), "")
    joined = CHAIN.at(query, Moment.AFTER, (KeyRange(LINE.id, keys, "k"),))
    last = query.statement("at", f"SELECT * FROM {joined}", [joined], "")
    narrowed = within(last)
    assert narrowed["lines"] == narrowed["orders"] == (Within("o", "__ps_step_1", "k"),)
    assert narrowed["people"] == (Within("c", "__ps_step_2", "c_5"),)
    # A scan skips files only; the keys for the next are taken from the rows that lie within.
    assert "LEFT SEMI JOIN `__ps_step_1` k ON (k.`k` <=> r.`o_3`)" in query.steps[1].sql


def test_stored_groups_are_read_within_the_keys_of_the_delta() -> None:
    store = BY_TITLE["folded groups"].plan.store
    plain, narrowed = DeltaQuery(moved=frozenset({"t"})), DeltaQuery(frozenset({"t"}), prunable={(STORED, "g")})
    assert [leaf.within for leaf in store.change(plain).leaves if leaf.kind is LeafKind.STORED] == [()]
    last = store.change(narrowed)
    assert [step.purpose for step in narrowed.steps] == ["the delta of every touched group"]
    assert [leaf.within for leaf in last.leaves if leaf.kind is LeafKind.STORED] == [
        (Within("g", "__ps_step_1", "g_2"),)
    ]
