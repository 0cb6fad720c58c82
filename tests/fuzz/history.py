"""Random rows, and rounds in which several tables change at once.

Tables have no key that a query could use: `rid` only tells this module which row to take away. Every operation is made
from the rows that are there, so it touches at least one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from small_tables import Row, SmallTable, plain_literals

TABLES = tuple(
    map(
        SmallTable.parse,
        (
            "ta (rid INT, k INT, g STRING, v INT, d DECIMAL(8,2), b BOOLEAN)",
            "tb (rid INT, k INT, g STRING, w BIGINT, day DATE)",
            "tc (rid INT, k INT, v INT, x DOUBLE, s STRING)",
            "td (rid INT, k INT, g STRING, list ARRAY<INT>, pairs ARRAY<STRUCT<a: INT, b: STRING>>)",
            "te (rid INT, k INT)",
        ),
    )
)


@dataclass(frozen=True)
class Change:
    """What one round does to one table: rows with these ids go, then these rows come."""

    table: str
    gone: tuple[int, ...]
    come: tuple[Row, ...]

    def sql(self) -> list[str]:
        """The same as statements."""
        said = []
        if self.gone:
            said.append(f"DELETE FROM {self.table} WHERE rid IN ({', '.join(map(str, self.gone))})")
        if self.come:
            said.append(f"INSERT INTO {self.table} VALUES {plain_literals(self.come)}")
        return said


@dataclass(frozen=True)
class History:
    """First rows, then rounds."""

    first: dict[str, tuple[Row, ...]]
    rounds: tuple[tuple[Change, ...], ...]

    def of(self, tables: set[str]) -> History:
        """Only what happens to these tables."""
        rounds = tuple(tuple(change for change in each if change.table in tables) for each in self.rounds)
        return History({name: rows if name in tables else () for name, rows in self.first.items()}, rounds)


def random_history(random: Random, rounds: int = 4) -> History:
    """Small tables with NULLs and duplicates, and what happens to them."""
    ids = iter(range(1, 100_000))
    now: dict[str, list[Row]] = {}
    for table in TABLES:
        size = random.choice([0, 4, 8, 12, 16]) if table.name != "te" else random.choice([0, 1, 3])
        now[table.name] = _rows(random, table, size, ids)
    first = {name: tuple(rows) for name, rows in now.items()}
    done = []
    for _ in range(rounds):
        changes = []
        for table in random.sample(TABLES, random.choice([1, 2, 2, 3, 4, 5])):
            gone: list[Row] = []
            come: list[Row] = []
            for _ in range(random.choice([1, 1, 2, 3])):
                kept = [row for row in now[table.name] if row not in gone]
                more, new = _operation(random, table, kept, ids)
                gone += more
                come += new
            now[table.name] = [row for row in now[table.name] if row not in gone] + come
            changes.append(Change(table.name, tuple(row[0] for row in gone), tuple(come)))
        done.append(tuple(changes))
    return History(first, tuple(done))


def _rows(random: Random, table: SmallTable, size: int, ids: Iterator[int]) -> list[Row]:
    rows: list[Row] = []
    for _ in range(size):
        if rows and random.random() < 0.25:
            rows.append((next(ids), *random.choice(rows)[1:]))
        else:
            rows.append((next(ids), *(_value(random, *column) for column in table.columns[1:])))
    return rows


def _operation(random: Random, table: SmallTable, rows: list[Row], ids: Iterator[int]) -> tuple[list[Row], list[Row]]:
    """Rows that go and rows that come."""
    kinds = ["insert", "copy", "delete", "delete key", "update", "update", "move", "to NULL", "swap copies", "empty"]
    kind = random.choices(kinds, [4, 2, 3, 2, 4, 4, 3, 1, 1, 0.4])[0]
    if not rows or kind == "insert":
        return [], _rows(random, table, random.randint(1, 3), ids)
    row = random.choice(rows)
    alike = [each for each in rows if each[1] == row[1]]
    if kind == "copy":
        return [], [(next(ids), *row[1:]) for _ in range(random.randint(1, 2))]
    if kind == "delete":
        return random.sample(rows, min(len(rows), random.randint(1, 2))), []
    if kind == "delete key":
        return alike, []
    if kind == "empty":
        return rows, []
    if kind == "swap copies":
        # Deleted and inserted again: no row changes.
        return alike, [(next(ids), *each[1:]) for each in alike]
    place = random.randrange(1, len(row))
    if kind in {"move", "to NULL"}:
        place = random.choice([place for place, (name, _) in enumerate(table.columns) if name in {"k", "g"}])
    chosen = alike if random.random() < 0.2 else [row]
    value = None if kind == "to NULL" else _value(random, *table.columns[place], nulls=0.08)
    return chosen, [(next(ids), *each[1:place], value, *each[place + 1 :]) for each in chosen]


def _value(random: Random, name: str, kind: str, nulls: float = 0.15) -> Any:
    if random.random() < nulls:
        return None
    match kind:
        case "INT":
            return random.randint(0, 4) if name == "k" else random.randint(-4, 8)
        case "BIGINT":
            return random.choice([random.randint(-3, 9), random.randint(-(2**35), 2**35)])
        case "DECIMAL(8,2)":
            return Decimal(random.randint(-300, 900)).scaleb(-2)
        case "STRING":
            return random.choice("abc") if name == "g" else random.choice(["", "a", "b", "B", "ä", "o'x", " a"])
        case "BOOLEAN":
            return random.random() < 0.5
        case "DATE":
            return date(2024, 1, 30) + timedelta(days=random.choice([0, 1, 2, 3, 31]))
        case "DOUBLE":
            # Quarters add up exactly, in any order.
            return random.choice([-0.0, 0.0, float("nan"), *(number / 4 for number in range(-8, 13))])
        case "ARRAY<INT>":
            return [random.choice([None, 0, 1, 2, 3]) for _ in range(random.choice([0, 1, 2, 3]))]
    return [{"a": random.choice([None, 1, 2]), "b": random.choice("ab")} for _ in range(random.choice([0, 1, 2]))]


def fewer(history: History) -> Iterator[History]:
    """Histories with less in them, the largest cuts first."""
    rounds = history.rounds
    for place in reversed(range(len(rounds))):
        yield replace(history, rounds=rounds[:place] + rounds[place + 1 :])
    for place in range(len(rounds) - 1):
        yield replace(history, rounds=(*rounds[:place], rounds[place] + rounds[place + 1], *rounds[place + 2 :]))
    for name, rows in history.first.items():
        for size in sorted({len(rows), (len(rows) + 1) // 2, (len(rows) + 3) // 4, 1}, reverse=True):
            if size:
                for start in range(0, len(rows), size):
                    yield replace(history, first={**history.first, name: rows[:start] + rows[start + size :]})
    for number, changes in enumerate(rounds):
        for place, change in enumerate(changes):
            cuts = [()] + [
                (replace(change, gone=gone, come=come),)
                for gone, come in [
                    *((change.gone[:at] + change.gone[at + 1 :], change.come) for at in range(len(change.gone))),
                    *((change.gone, change.come[:at] + change.come[at + 1 :]) for at in range(len(change.come))),
                ]
            ]
            for cut in cuts:
                yield replace(
                    history,
                    rounds=(*rounds[:number], (*changes[:place], *cut, *changes[place + 1 :]), *rounds[number + 1 :]),
                )
