"""The query that computes a delta, as it is being written: named relations, leaves, and earlier steps.

A relation is one SELECT; equal text gets one name, so that shared parts are written once. A leaf is a relation that the
engine supplies: a source at one end of the interval, a source's changes, the stored rows, or the rows an earlier step
collected. A step ends where touched keys are collected; a later step sees them as a leaf. Equal steps run once.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from penstock.names import HIDDEN, quote
from penstock.operators.expression import Comparison
from penstock.operators.source import Source

STORED = f"{HIDDEN}stored"
"""The id under which the stored rows go where a source has its id."""


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
class Plain:
    """A relation that is one leaf with columns renamed or left out, and rows filtered by comparisons."""

    leaf: str
    columns: Mapping[str, str]
    """Name of each column → the leaf's column that holds it."""
    where: tuple[tuple[str, Comparison], ...] = ()
    """Columns of the leaf, each with a comparison that must hold."""

    def named(self, columns: Iterable[tuple[str, str]]) -> Plain | None:
        """These columns under other names; each is given with the name that it gets. None if one is not there."""
        chosen = {name: self.columns.get(column) for column, name in columns}
        known = {name: column for name, column in chosen.items() if column is not None}
        return replace(self, columns=known) if len(known) == len(chosen) else None

    def filtered(self, conditions: Sequence[tuple[str, Comparison | None]]) -> Plain | None:
        """The rows for which these comparisons of columns hold as well; None if one is not known."""
        added = [(self.columns[column], held) for column, held in conditions if held is not None]
        return replace(self, where=(*self.where, *added)) if len(added) == len(conditions) else None


@dataclass(frozen=True, slots=True)
class PlainKeys:
    """A step that collects distinct values of columns of one leaf, and nothing else."""

    rows: Plain


@dataclass(frozen=True, slots=True)
class PlainChange:
    """A bag's change that is a leaf's change rows: equal rows merged, weights summed, zeros dropped."""

    rows: Plain


@dataclass(frozen=True, slots=True)
class BagTotals:
    """A step that adds a bag's change to the stored rows of the values that lost copies."""

    changed: str
    stored: str
    """Names of the two leaves."""
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One statement of a delta program; its rows are collected under `name`."""

    name: str
    sql: str
    leaves: tuple[Leaf, ...]
    purpose: str
    shortcut: PlainKeys | PlainChange | BagTotals | None = None
    """A form of the step that the driver can compute from the leaves alone."""


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
    _plain: dict[str, Plain] = field(default_factory=dict)
    """Relations that only rename, drop or filter columns of a leaf."""

    def copy(self) -> DeltaQuery:
        """The same program, to be continued apart from this one."""
        return replace(
            self,
            steps=list(self.steps),
            _relations=dict(self._relations),
            _names=dict(self._names),
            _leaves=dict(self._leaves),
            _collected=dict(self._collected),
            _plain=dict(self._plain),
        )

    def relation(self, kind: str, sql: str, uses: Iterable[str], plain: Plain | None = None) -> str:
        """Name a SELECT; `uses` are the relations it reads. `plain` is its simpler form, if it has one."""
        if sql not in self._names:
            name = f"{HIDDEN}{kind}_{len(self._names) + 1}"
            self._names[sql] = name
            self._relations[name] = (sql, tuple(uses))
            if plain is not None:
                self._plain[name] = plain
        return self._names[sql]

    def plain(self, relation: str) -> Plain | None:
        """The relation as one leaf with columns renamed and rows filtered, if it is no more than that."""
        return self._plain.get(relation)

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
        return self._collect(sql, tuple(uses), columns, purpose, None)

    def collect_distinct(
        self,
        relation: str,
        keys: Sequence[tuple[str, str]],
        purpose: str,
        never_null: Sequence[str] = (),
    ) -> str:
        """`collect` for the distinct values of expressions over a relation, each with the name it gets.

        `never_null` are expressions too; rows in which one of them is NULL do not count.
        """
        items = ", ".join(text if text == quote(name) else f"{text} AS {quote(name)}" for text, name in keys)
        where = " AND ".join(f"{text} IS NOT NULL" for text in never_null)
        sql = f"SELECT DISTINCT {items} FROM {quote(relation)}" + (f" WHERE {where}" if where else "")
        rows = self._plain.get(relation)
        if rows is not None:
            named = {quote(name): name for name in rows.columns}
            there = [(named.get(text, ""), Comparison("IS NOT NULL") if text in named else None) for text in never_null]
            rows = rows.filtered(there)
            rows = rows and rows.named((named.get(text, ""), name) for text, name in keys)
        plain = None if rows is None else PlainKeys(rows)
        return self._collect(sql, (relation,), tuple(name for _, name in keys), purpose, plain)

    def _collect(
        self, sql: str, uses: tuple[str, ...], columns: tuple[str, ...], purpose: str, plain: PlainKeys | None
    ) -> str:
        held = self._collected.get((sql, columns))
        if held is not None:
            return held
        name = f"{HIDDEN}step_{len(self.steps) + 1}"
        self.steps.append(replace(self.statement(name, sql, uses, purpose), shortcut=plain))
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
