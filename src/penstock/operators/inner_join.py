"""Inner join of any number of inputs, cross joins and self-joins included.

    Δ(R¹ ⋈ … ⋈ Rⁿ)  =  Σᵢ  R¹₀ ⋈ … ⋈ Rⁱ⁻¹₀ ⋈ ΔRⁱ ⋈ Rⁱ⁺¹₁ ⋈ … ⋈ Rⁿ₁          weights multiply

Inputs before the changed one are read at the start of the interval, inputs after it at the end; the sum telescopes to
J₁ − J₀, so it is exact when several inputs change at once. Each term starts at its delta and joins outwards, so that
every step of it stays as small as the change; where an input is large, the keys found so far narrow what is read of it
(`narrow.py`). NULL keys never match: conditions are the query's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from penstock.names import WEIGHT, quote
from penstock.operators.consolidate import consolidate
from penstock.operators.delta_query import DeltaQuery, Moment
from penstock.operators.expression import Attribute, Expression, columns_read
from penstock.operators.narrow import Equalities, equality, narrow, narrow_each, reached_rows, worth
from penstock.operators.operator import KeyRange, Operator, column_list

HOPS = 2
"""How often a term may collect keys from inputs that it joined on the way; each time costs a Spark job."""


@dataclass(frozen=True, slots=True)
class InnerJoin(Operator):
    """Inputs joined by the conjunction of all conditions."""

    inputs: tuple[Operator, ...]
    conditions: tuple[Expression, ...]

    name = "inner join"
    rule = "each changed input joined outwards with the others, before at the start, after at the end"

    @property
    def columns(self) -> tuple[Attribute, ...]:
        return tuple(attribute for each in self.inputs for attribute in each.columns)

    @property
    def children(self) -> tuple[Operator, ...]:
        return self.inputs

    def at(self, query: DeltaQuery, moment: Moment, within: tuple[KeyRange, ...] = ()) -> str:
        spread = self.equal().spread(within) if within else ()
        ranges = [_for(each, spread) for each in self.inputs]
        order = list(range(len(self.inputs)))
        first = next((index for index in order if ranges[index]), None)
        outwards = order if first is None else sorted(self._outwards(first), key=lambda index: not ranges[index])
        front = _Front(query, self, lambda _: moment)
        for index in outwards:
            front.read(index, ranges[index], from_outside=True)
        return self.joined(query, front.relations(), order, delta=None)

    def delta(self, query: DeltaQuery) -> str:
        terms = []
        for index, changed in enumerate(self.inputs):
            if changed.moved(query):
                terms.append(self._term(query, index))
        sql = "\n  UNION ALL\n  ".join(f"SELECT {column_list(self.columns, True)} FROM {quote(term)}" for term in terms)
        joined = terms[0] if len(terms) == 1 else query.relation("join", sql, terms)
        return consolidate(query, joined, self.columns) if query.netted else joined

    def _term(self, query: DeltaQuery, index: int) -> str:
        changed, order = self.inputs[index], self._outwards(index)
        front = _Front(query, self, lambda other: Moment.BEFORE if other < index else Moment.AFTER)
        front.start(index, changed.delta(query))
        others = [self.inputs[other] for other in order[1:]]
        near = narrow_each(query, front.held[index], changed.columns, self.conditions, others)
        for other, ranges in zip(order[1:], near, strict=True):
            front.read(other, ranges)
        return self.joined(query, front.relations(), order, delta=index)

    def pruned(self, wanted: frozenset[int]) -> Operator:
        reads = wanted | columns_read(*self.conditions)
        return replace(self, inputs=tuple(each.pruned(reads) for each in self.inputs))

    def joined(self, query: DeltaQuery, relations: list[str], order: list[int], delta: int | None) -> str:
        """The inputs in `order`, which may be some of them, joined by the conditions among them."""
        weight = f", {quote(relations[delta])}.{quote(WEIGHT)}" if delta is not None else ""
        text = f"SELECT {column_list(self.columns_of(order))}{weight}\n  FROM {quote(relations[order[0]])}"
        # A relation that occurs twice (a CTE joined with itself would, were its columns not renamed) keeps one name.
        seen: set[int] = {attribute.id for attribute in self.inputs[order[0]].columns}
        pending = list(self.conditions)
        first = [each for each in pending if each.reads <= seen]
        pending = [each for each in pending if each not in first]
        for index in order[1:]:
            seen |= {attribute.id for attribute in self.inputs[index].columns}
            ready = [each for each in pending if each.reads <= seen]
            pending = [each for each in pending if each not in ready]
            clause = " AND ".join(each.render(self.by_id) for each in ready)
            text += (
                f"\n  JOIN {quote(relations[index])} ON {clause}"
                if ready
                else f"\n  CROSS JOIN {quote(relations[index])}"
            )
        if first:
            text += "\n  WHERE " + " AND ".join(each.render(self.by_id) for each in first)
        return query.relation("join", text, [relations[index] for index in sorted(order)])

    def columns_of(self, indexes: Iterable[int]) -> tuple[Attribute, ...]:
        """The columns of some of the inputs."""
        return tuple(attribute for index in sorted(indexes) for attribute in self.inputs[index].columns)

    def equal(self) -> Equalities:
        """Which columns the conditions make equal."""
        return Equalities(self.conditions, self.columns)

    def _outwards(self, start: int) -> list[int]:
        """The inputs in an order in which each, where possible, shares a condition with one before it."""
        home = {attribute.id: index for index, each in enumerate(self.inputs) for attribute in each.columns}
        links = [{home[held] for held in condition.reads} for condition in self.conditions]
        order = [start]
        left = [index for index in range(len(self.inputs)) if index != start]
        while left:
            reached = set(order)
            near = [index for index in left if any(index in link and link & reached for link in links)]
            closest = [index for index in near if any(index in link and link <= reached | {index} for link in links)]
            order.append((closest or near or left)[0])
            left.remove(order[-1])
        return order

    def detail(self) -> str:
        return " AND ".join(each.render(self.by_id) for each in self.conditions) or "every pair"


@dataclass
class _Front:
    """The inputs of one term as they are read, one after the other, each narrowed by those before it where it pays."""

    query: DeltaQuery
    join: InnerJoin
    moment: Callable[[int], Moment]
    held: dict[int, str] = field(default_factory=dict)
    given: dict[int, tuple[KeyRange, ...]] = field(default_factory=dict)
    """The ranges of inputs that are narrowed from outside."""
    ways: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Inputs of which little is read, each with the inputs that lead to it from what is known to be touched."""
    hops: int = HOPS

    def start(self, index: int, delta: str) -> None:
        """Begin at a delta."""
        self.held[index] = delta
        self.ways[index] = (index,)

    def read(self, index: int, ranges: tuple[KeyRange, ...], from_outside: bool = False) -> None:
        """Read an input within ranges; without any, within the keys of inputs that lead to it."""
        if from_outside and ranges:
            self.given[index] = ranges
            self.ways[index] = (index,)
        elif self.query.prunable != frozenset():
            ranges = ranges or self._hop(index)
            before = next((held for held, _ in self._links(index)), None)
            if before is not None and (ranges or not self._large(index)):
                self.ways[index] = (*self.ways[before], index)
        self.held[index] = self.join.inputs[index].at(self.query, self.moment(index), ranges)

    def relations(self) -> list[str]:
        """What was read, in the order of the inputs."""
        return [self.held[index] for index in sorted(self.held)]

    def _hop(self, index: int) -> tuple[KeyRange, ...]:
        """Narrow an input that touches nothing known by the keys of one that does."""
        operator = self.join.inputs[index]
        worthy = (held for held, attribute in self._links(index) if worth(self.query, operator, attribute))
        before = next(worthy, None) if self.hops else None
        if before is None:
            return ()
        self.hops -= 1
        way = self.ways[before]
        return narrow(self.query, self._partial(way), self.join.columns_of(way), self.join.conditions, operator)

    def _partial(self, way: tuple[int, ...]) -> str:
        """The join of the inputs on a way, as far as they are touched."""
        rows = dict(self.held)
        for index in way:
            columns = self.join.inputs[index].columns
            rows[index] = reached_rows(self.query, rows[index], columns, self.given.get(index, ()))
        if len(way) == 1:
            return rows[way[0]]
        relations = [rows.get(index, "") for index in range(len(self.join.inputs))]
        return self.join.joined(self.query, relations, list(way), delta=None)

    def _links(self, index: int) -> Iterator[tuple[int, int]]:
        """Inputs with a way, and the column of this input that a condition itself makes equal to one of theirs."""
        columns = self.join.inputs[index].by_id
        for held in self.ways:
            theirs = self.join.inputs[held].by_id
            for pair in filter(None, map(equality, self.join.conditions)):
                if pair.left in columns and pair.right in theirs:
                    yield held, pair.left
                elif pair.right in columns and pair.left in theirs:
                    yield held, pair.right

    def _large(self, index: int) -> bool:
        trial = DeltaQuery(moved=self.query.moved)
        self.join.inputs[index].at(trial, Moment.AFTER)
        return any(
            (leaf.source.id, column) in self.query.prunable
            for leaf in trial.leaves
            if leaf.source is not None
            for column in leaf.columns
        )


def _for(operator: Operator, within: tuple[KeyRange, ...]) -> tuple[KeyRange, ...]:
    return tuple(each for each in within if each.attribute in operator.by_id)
