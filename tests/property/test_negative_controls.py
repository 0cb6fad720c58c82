"""Deliberately wrong rules, each of which the checker must catch: a checker that cannot fail proves nothing.

Every control swaps one rule for the mistake that others have shipped, runs random histories over a query that leans on
the rule, and expects a difference soon. The same cases pass with the right rule, which is checked beside it.

Controls on reading and storing (NULL keys under a range predicate, NaN, wide decimals and microseconds in pruning,
change files mixed with file lists) are in tests/integration/spark and tests/unit/engine.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from bound_queries import BY_TITLE, SCHEMA, failing_pair
from penstock.compile import store_bag
from penstock.compile.folds.extreme import Extreme
from penstock.compile.folds.sum import Sum
from penstock.compile.passes import choose_store
from penstock.compile.store_bag import BagStore
from penstock.compile.stored import OP, Summary, collected_leaf
from penstock.names import WEIGHT, quote
from penstock.operators.consolidate import group_by_bits
from penstock.operators.delta_query import DeltaQuery, Moment, Step
from penstock.operators.inner_join import InnerJoin
from penstock.testing.duckdb_runner import Difference, run_history
from penstock.testing.strategies import History, Mutation, random_history, shrink

HISTORIES = 12
"""Within so many histories of 20 rounds a wrong rule must have shown itself."""

Patch = pytest.MonkeyPatch


TRANSIENT_MINIMUM = History(
    SCHEMA,
    {"t": ((1, "a", 0, None), (2, "a", 0, None)), "u": ((1, "a", 5), (2, "a", 9))},
    (
        (
            Mutation("t", "delete a row", "DELETE", (("k", 1),)),
            Mutation("u", "insert rows", "INSERT", rows=((1, "a", 0),)),
        ),
    ),
)
"""The new row of u meets the deleted row of t in both terms of the delta, with opposite weights, and nowhere else."""


def _histories() -> list[History]:
    return [TRANSIENT_MINIMUM, *(random_history(Random(seed), SCHEMA, rounds=20) for seed in range(HISTORIES))]


def _first_difference(title: str) -> tuple[History, Difference] | None:
    case = BY_TITLE[title]
    for history in _histories():
        try:
            run_history(case.plan, case.sql, history)
        except Difference as difference:
            return history, difference
    return None


def _join_without_second_term(patch: Patch) -> None:
    def delta(self: InnerJoin, query: DeltaQuery) -> str:
        index = next(place for place, each in enumerate(self.inputs) if each.moved(query))
        relations = [
            each.delta(query) if place == index else each.at(query, Moment.AFTER)
            for place, each in enumerate(self.inputs)
        ]
        return self.joined(query, relations, self._outwards(index), delta=index)

    patch.setattr(InnerJoin, "delta", delta)
    # The compiler itself refuses a delta that forgets a source; here the checker has to see it alone.
    patch.setattr(choose_store, "_check_every_source", lambda store, root: None)


def _join_with_both_sides_at_the_end(patch: Patch) -> None:
    def delta(self: InnerJoin, query: DeltaQuery) -> str:
        terms = []
        for index, changed in enumerate(self.inputs):
            if changed.moved(query):
                relations = [
                    changed.delta(query) if place == index else each.at(query, Moment.AFTER)
                    for place, each in enumerate(self.inputs)
                ]
                terms.append(self.joined(query, relations, self._outwards(index), delta=index))
        listed = ", ".join([*(each.sql for each in self.columns), quote(WEIGHT)])
        return query.relation(
            "join", " UNION ALL ".join(f"SELECT {listed} FROM {quote(term)}" for term in terms), terms
        )

    patch.setattr(InnerJoin, "delta", delta)


def _sum_without_count(patch: Patch) -> None:
    patch.setattr(Sum, "final", lambda self, state: f"CAST({state('s')} AS {self._result})")


def _plain_equality(patch: Patch) -> None:
    written = DeltaQuery.statement

    def statement(self: DeltaQuery, name: str, sql: str, uses: list[str], purpose: str) -> Step:
        step = written(self, name, sql, uses, purpose)
        return Step(step.name, step.sql.replace("<=>", "="), step.leaves, step.purpose)

    patch.setattr(DeltaQuery, "statement", statement)


def _first_row_consolidation(patch: Patch) -> None:
    def consolidate(query: DeltaQuery, delta: str, columns: tuple) -> str:  # type: ignore[type-arg]
        listed, weight = ", ".join(each.sql for each in columns), quote(WEIGHT)
        groups = group_by_bits([(each.sql, each.type) for each in columns])
        return query.relation(
            "net", f"SELECT {listed}, any_value({weight}) AS {weight} FROM {quote(delta)}{groups}", [delta]
        )

    patch.setattr(store_bag, "consolidate", consolidate)


def _one_retraction_takes_all(patch: Patch) -> None:
    def finish(self: BagStore, query: DeltaQuery, change: Summary, phase: int = 0) -> Step | None:
        if phase or change.least_weight is None or change.least_weight > 0:
            return None
        names = tuple(column.name for column in self.columns)
        changed, weight = collected_leaf(query, "__ps_changed", names), quote(WEIGHT)
        listed = ", ".join(quote(name) for name in names)
        op = f"CASE WHEN {weight} < 0 THEN 'd' ELSE 'i' END AS {quote(OP)}"
        return query.statement("resum", f"SELECT {listed}, {op} FROM {quote(changed)}", [changed], "blind")

    patch.setattr(BagStore, "finish", finish)


def _unnetted_minimum(patch: Patch) -> None:
    patch.setattr(Extreme, "nets_values", False)
    patch.setattr(Extreme, "stale", lambda self, old, delta: f"{delta('left')} = {old('m')}")


def _minimum_without_recomputation(patch: Patch) -> None:
    patch.setattr(Extreme, "stale", lambda self, old, delta: None)


CONTROLS: dict[str, tuple[Callable[[Patch], None], str]] = {
    "join without its second term": (_join_without_second_term, "inner join"),
    "join with both sides at the end": (_join_with_both_sides_at_the_end, "inner join"),
    "self-join without its second term": (_join_without_second_term, "self-join"),
    "sum without a count of values": (_sum_without_count, "folded groups"),
    "plain equality of group keys": (_plain_equality, "folded groups"),
    "plain equality of recomputed keys": (_plain_equality, "recomputed groups"),
    "plain equality of rows": (_plain_equality, "union all"),
    "first-row consolidation": (_first_row_consolidation, "inner join"),
    "blind append, then one retraction": (_one_retraction_takes_all, "union all"),
    "minimum over rows that are not netted": (_unnetted_minimum, "minimum over a join"),
    "minimum that is never recomputed": (_minimum_without_recomputation, "folded extremes"),
}


@pytest.mark.parametrize("name", CONTROLS)
def test_wrong_rule_is_caught(name: str, monkeypatch: Patch) -> None:
    wrong, title = CONTROLS[name]
    wrong(monkeypatch)
    assert _first_difference(title) is not None, f"{HISTORIES} histories did not tell {name} from the right rule"


@pytest.mark.parametrize("title", sorted({title for _, title in CONTROLS.values()}))
def test_right_rule_passes_the_same_histories(title: str) -> None:
    case = BY_TITLE[title]
    for history in _histories()[:3]:
        run_history(case.plan, case.sql, history)


def test_the_compiler_refuses_a_delta_that_forgets_a_source(monkeypatch: Patch) -> None:
    check = choose_store._check_every_source
    _join_without_second_term(monkeypatch)
    monkeypatch.setattr(choose_store, "_check_every_source", check)
    with pytest.raises(AssertionError, match=r"does not read the changes of \['default.u'\]"):
        _ = BY_TITLE["inner join"].plan


def test_a_caught_case_is_made_small(monkeypatch: Patch) -> None:
    _join_without_second_term(monkeypatch)
    case = BY_TITLE["inner join"]
    found = _first_difference("inner join")
    assert found is not None

    def fails(history: History) -> bool:
        try:
            run_history(case.plan, case.sql, history)
        except Difference:
            return True
        return False

    small = shrink(found[0], fails)
    assert fails(small)
    assert len(small.rounds) <= 2
    assert sum(len(rows) for rows in small.first.values()) + sum(len(each) for each in small.rounds) <= 5
    assert "-- round 1" in small.script(case.sql)


def test_a_pair_that_meets_only_in_between_raises_unless_netted() -> None:
    """t loses the row that a new row of u would divide by zero with: the delta's terms meet in it, the ends do not."""
    case = failing_pair()
    history = History(
        SCHEMA,
        {"t": ((1, "a", 5, None), (1, "a", 6, None)), "u": ((1, "a", 7),)},
        (
            (
                Mutation("t", "delete a row", "DELETE", (("v", 5),)),
                Mutation("u", "insert rows", "INSERT", rows=((1, "a", 5),)),
            ),
        ),
    )
    with pytest.raises(Exception, match="divided by zero") as raised:
        run_history(case.plan, case.sql, history)
    assert not isinstance(raised.value, Difference)
    assert run_history(case.plan, case.sql, history, netted=True) == 1
