"""The query that computes a delta, as it is being written: named relations, leaves, and earlier steps.

A relation is one SELECT; equal text gets one name, so that shared parts are written once. A leaf is a relation that the
engine supplies: a source at one end of the interval, a source's changes, the stored rows, or the rows an earlier step
collected. A step ends where touched keys are collected; a later step sees them as a leaf. Equal steps run once.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from penstock.names import HIDDEN, quote
from penstock.operators.source import Source

STORED = f"{HIDDEN}stored"
"""What stands for the stored rows where a source's id is asked for."""


class Moment(StrEnum):
    """The two ends of the interval."""

    BEFORE = "before"
    AFTER = "after"


class LeafKind(StrEnum):
    """What the engine has to supply under a leaf's name."""

    AT = "at"
    CHANGES = "changes"
    STORED = "stored"
    COLLECTED = "collected"
    CLOCK = "clock"


@dataclass(frozen=True, slots=True)
class Within:
    """A column whose values all occur in a column that an earlier step collected: files outside can be skipped."""

    column: str
    step: str
    collected: str


@dataclass(frozen=True, slots=True)
class Leaf:
    """A relation that the engine supplies under `name`, with these columns in this order."""

    name: str
    kind: LeafKind
    columns: tuple[str, ...]
    source: Source | None = None
    moment: Moment | None = None
    within: tuple[Within, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One statement of a delta program; its rows are collected under `name`."""

    name: str
    sql: str
    leaves: tuple[Leaf, ...]
    purpose: str


@dataclass
class DeltaQuery:
    """Writes one delta program for an interval in which the sources in `moved` changed."""

    moved: frozenset[str]
    clock: bool = False
    """The data timestamp moved."""
    netted: bool = False
    """Consolidate after every join, so that no expression sees a row that exists at neither end."""
    prunable: Container[tuple[str, str]] = frozenset()
    """(source id, column): knowing values of this column would spare reading a good part of a large source."""
    steps: list[Step] = field(default_factory=list)
    _relations: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)
    _leaves: dict[str, Leaf] = field(default_factory=dict)
    _collected: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)

    def copy(self) -> DeltaQuery:
        """The same program, to be continued apart from this one."""
        return replace(
            self,
            steps=list(self.steps),
            _relations=dict(self._relations),
            _names=dict(self._names),
            _leaves=dict(self._leaves),
            _collected=dict(self._collected),
        )

    def relation(self, kind: str, sql: str, uses: Iterable[str]) -> str:
        """Name a SELECT; `uses` are the relations it reads."""
        if sql not in self._names:
            name = f"{HIDDEN}{kind}_{len(self._names) + 1}"
            self._names[sql] = name
            self._relations[name] = (sql, tuple(uses))
        return self._names[sql]

    def leaf(self, leaf: Leaf) -> str:
        """Register a leaf; the same request gets the same name."""
        for held in self._leaves.values():
            if (held.kind, held.columns, held.source, held.moment, held.within) == (
                leaf.kind,
                leaf.columns,
                leaf.source,
                leaf.moment,
                leaf.within,
            ) and leaf.kind is not LeafKind.COLLECTED:
                return held.name
        self._leaves[leaf.name] = leaf
        return leaf.name

    def fresh_leaf_name(self, kind: str, hint: str) -> str:
        """A leaf name that says what it is."""
        slug = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in hint.lower())
        return f"{HIDDEN}{kind}_{slug[-30:].strip('_')}_{len(self._leaves) + 1}"

    def collect(self, sql: str, uses: Iterable[str], columns: tuple[str, ...], purpose: str) -> str:
        """End a step: collect the rows of `sql`; returns the name under which later steps read them."""
        held = self._collected.get((sql, columns))
        if held is not None:
            return held
        name = f"{HIDDEN}step_{len(self.steps) + 1}"
        self.steps.append(self.statement(name, sql, uses, purpose))
        self._collected[sql, columns] = self.leaf(Leaf(name, LeafKind.COLLECTED, columns))
        return name

    def statement(self, name: str, sql: str, uses: Iterable[str], purpose: str) -> Step:
        """A statement with exactly the relations and leaves that `sql` reaches."""
        reached: dict[str, None] = {}
        leaves: dict[str, Leaf] = {}

        def reach(relation: str) -> None:
            if relation in self._leaves:
                leaves[relation] = self._leaves[relation]
            elif relation not in reached:
                for used in self._relations[relation][1]:
                    reach(used)
                reached[relation] = None

        for used in uses:
            reach(used)
        ctes = ",\n".join(f"{quote(each)} AS (\n  {self._relations[each][0]}\n)" for each in reached)
        text = f"WITH {ctes}\n{sql}" if ctes else sql
        return Step(name, text, tuple(leaves.values()), purpose)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Every leaf asked for so far."""
        return tuple(self._leaves.values())
