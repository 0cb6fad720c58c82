"""The newest instant that tables can show together, against trying everything."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import pytest

from penstock.graph.instant import Disagreement, common_instant


@dataclass(frozen=True)
class Shown:
    bases: Mapping[str, int]


def states(*vectors: dict[str, int]) -> list[Shown]:
    return [Shown(vector) for vector in vectors]


def found(tables: dict[str, list[Shown]]) -> dict[str, Mapping[str, int]] | Disagreement:
    answer = common_instant(tables)
    return answer if isinstance(answer, Disagreement) else {name: state.bases for name, state in answer.items()}


def test_tables_that_agree_are_left_as_they_are() -> None:
    tables = {"one": states({"t": 3}, {"t": 2}), "other": states({"t": 3, "u": 9})}
    assert found(tables) == {"one": {"t": 3}, "other": {"t": 3, "u": 9}}


def test_a_table_goes_back_to_where_the_other_is() -> None:
    tables = {"one": states({"t": 5}, {"t": 4}, {"t": 3}), "other": states({"t": 4, "u": 9})}
    assert found(tables) == {"one": {"t": 4}, "other": {"t": 4, "u": 9}}


def test_going_back_for_one_base_may_mean_going_back_for_another() -> None:
    tables = {
        "one": states({"t": 5, "u": 5}, {"t": 4, "u": 4}),
        "two": states({"u": 5, "v": 5}, {"u": 4, "v": 4}),
        "three": states({"t": 4}),
    }
    assert found(tables) == {"one": {"t": 4, "u": 4}, "two": {"u": 4, "v": 4}, "three": {"t": 4}}


def test_tables_that_share_nothing_show_their_newest() -> None:
    assert found({"one": states({"t": 5}), "other": states({"u": 1})}) == {"one": {"t": 5}, "other": {"u": 1}}


def test_what_cannot_be_shown_together_is_named() -> None:
    assert found({"one": states({"t": 5}), "other": states({"t": 4})}) == Disagreement("one", "t", "other")
    assert found({"one": states({"t": 5}), "other": []}) == Disagreement("other")


@pytest.mark.parametrize("seed", range(200))
def test_the_answer_is_the_best_of_all(seed: int) -> None:
    chance = random.Random(seed)
    tables: dict[str, list[Shown]] = {}
    for name in "abc"[: chance.randrange(1, 4)]:
        at = {base: chance.randrange(3, 7) for base in chance.sample("tuv", chance.randrange(1, 4))}
        tables[name] = []
        for _ in range(chance.randrange(1, 6)):
            tables[name].append(Shown(dict(at)))
            at = {base: version - chance.randrange(3) for base, version in at.items()}
    agreeing = [
        places
        for places in product(*(range(len(held)) for held in tables.values()))
        if _agree([held[place].bases for held, place in zip(tables.values(), places, strict=True)])
    ]
    answer = common_instant(tables)
    if isinstance(answer, Disagreement):
        assert not agreeing
        return
    best = [min(places[table] for places in agreeing) for table in range(len(tables))]
    want = {name: held[place].bases for (name, held), place in zip(tables.items(), best, strict=True)}
    assert {name: state.bases for name, state in answer.items()} == want


def _agree(vectors: list[Mapping[str, int]]) -> bool:
    return all(one[base] == other[base] for one in vectors for other in vectors for base in one.keys() & other.keys())
