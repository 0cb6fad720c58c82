"""Every query shape of `shapes.py` is exact after every round, and incremental unless it says why not."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from shapes import SETS, WORLDS, Shape, World

from penstock.errors import QueryFailed
from penstock.testing.by_rules import create_by_rules
from small_tables import Bench, SmallTable, bench

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOOD = {"INCREMENTAL", "NO_DATA"}
Outcome = dict[str, list[str]]
"""Shape → what was wrong with it, round by round."""


@pytest.fixture(scope="module")
def outcome_of(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[World], Outcome]:
    """Runs a world once, when the first of its shapes asks."""
    done: dict[str, Outcome] = {}

    def outcome(world: World) -> Outcome:
        if world.name not in done:
            # Should the world itself break, its shapes must not try again one by one.
            done[world.name] = {shape.name: ["the history could not be run"] for shape in world.shapes}
            tables = [SmallTable.parse(text) for text in world.tables]
            with bench(spark, tmp_path_factory.mktemp(world.name), tables) as at:
                done[world.name] = live_through(at, world)
        return done[world.name]

    return outcome


def live_through(at: Bench, world: World) -> Outcome:
    """The whole history of a world; a shape that raised is left out from then on."""
    wrong: Outcome = {shape.name: [] for shape in world.shapes}
    raised = set()

    def attempt(shape: Shape, when: str, refresh: bool) -> None:
        if shape.name in raised:
            return
        try:
            if refresh:
                wrong[shape.name] += judged(at, shape, when)
            else:
                create_by_rules(at.ps, shape.table, shape.query)
            if found := difference(at, shape):
                wrong[shape.name].append(f"{when}: {found}")
        except Exception as error:
            raised.add(shape.name)
            wrong[shape.name].append(f"{when}: {type(error).__name__}: {error}")

    for statement in world.first:
        at.run(statement)
    for shape in world.shapes:
        attempt(shape, "first fill", refresh=False)
    for number, statements in enumerate(world.rounds, 1):
        for statement in statements:
            at.run(statement)
        for shape in world.shapes:
            if not shape.last_only or number == len(world.rounds):
                attempt(shape, f"round {number}", refresh=True)
    return wrong


def judged(at: Bench, shape: Shape, when: str) -> list[str]:
    """Refresh it; was that the right action?"""
    done = at.ps.refresh(shape.table)
    if str(done.action) in GOOD or (str(done.action), done.reason_code) == ("FULL", shape.full):
        return []
    return [f"{when}: {done.action}, {done.reason_code}: {done.reason}"]


def difference(at: Bench, shape: Shape) -> str | None:
    """What the stream table has and lacks, if its answer is not exact."""
    found = at.difference(shape.table, shape.plain)
    if found is None or shape.digits is None:
        return found
    bags = [rounded(bag, shape.digits) for bag in (at.plain(shape.plain), at.stored(shape.table))]
    return None if bags[0] == bags[1] else found


def rounded(bag: Counter[Any], digits: int) -> Counter[Any]:
    """Doubles, which the bag holds as bytes, to so many digits."""
    near: Counter[Any] = Counter()
    for row, copies in bag.items():
        near[
            tuple(f"{struct.unpack('>d', each)[0]:.{digits}g}" if isinstance(each, bytes) else each for each in row)
        ] += copies
    return near


@pytest.mark.parametrize(
    ("world", "shape"),
    [
        pytest.param(world, shape, id=shape.name, marks=[pytest.mark.slow] if world is SETS else [])
        for world in WORLDS
        for shape in world.shapes
    ],
)
def test_shape(world: World, shape: Shape, outcome_of: Callable[[World], Outcome]) -> None:
    wrong = outcome_of(world)[shape.name]
    assert not wrong, f"{shape.query}\n" + "\n".join(wrong)


def test_a_second_row_in_a_scalar_subquery_is_the_users_error(spark: SparkSession, tmp_path: Path) -> None:
    """Shape 27 with two rows: the refresh fails as the query does, the rows stay, and mending the data mends it."""
    tables = [SmallTable.parse("dept (id INT, v INT)"), SmallTable.parse("boss (d INT, name STRING)")]
    query = "SELECT id, v, (SELECT name FROM boss WHERE boss.d = dept.id) AS boss FROM dept"
    with bench(spark, tmp_path, tables) as at:
        at.run("INSERT INTO dept VALUES (1, 10), (2, 20)")
        at.run("INSERT INTO boss VALUES (1, 'ann'), (3, 'cat')")
        create_by_rules(at.ps, "bosses", query)
        before = at.stored("bosses")
        # Two rows for a department that is not there hurt nobody.
        at.run("INSERT INTO boss VALUES (3, 'dan')")
        at.ps.refresh("bosses")
        assert at.difference("bosses", query) is None
        at.run("INSERT INTO boss VALUES (1, 'bob')")
        with pytest.raises(QueryFailed):
            at.ps.refresh("bosses")
        assert at.stored("bosses") == before
        at.run("DELETE FROM boss WHERE name = 'ann'")
        at.ps.refresh("bosses")
        assert at.difference("bosses", query) is None
