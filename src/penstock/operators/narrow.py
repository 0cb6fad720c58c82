"""Narrowing: the keys of a delta bound what is read of the other side of a join.

    ΔL ⋈ R  =  ΔL ⋈ (R ⋉ K)          K = join keys of ΔL

A step collects K. The operators of R pass K down as key ranges to the scans, which then skip files. The step costs a
Spark job, so the join takes it only where a range arrives at a column whose values divide the files of a large source
(`DeltaQuery.prunable`). A range leaves out only rows that no key matches; the join itself stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from penstock.names import quote
from penstock.operators.delta_query import DeltaQuery, Moment
from penstock.operators.expression import Attribute, Expression
from penstock.operators.operator import KeyRange, Operator, column_list
from penstock.operators.types import INTEGERS, rangeable

Ranges = tuple[KeyRange, ...]

_CAST_LEFT = re.compile(r" AS (\w+)\) (=|<=>) ")
_CAST_RIGHT = re.compile(r" AS (\w+)\)\)")


class Equalities:
    """Which columns a conjunction of conditions makes equal, through others too.

    Only columns of one type whose statistics can be trusted count, and integers of any length; every other condition
    is passed over.
    """

    def __init__(self, conditions: Iterable[Expression], columns: Iterable[Attribute]) -> None:
        types = {column.id: column.type for column in columns}
        self._classes: dict[int, set[int]] = {}
        self._strict: set[int] = set()
        for condition in conditions:
            pair = equality(condition)
            if pair is None or not pair.of_one_kind(types):
                continue
            left, right = pair.left, pair.right
            if not pair.null_safe:
                self._strict |= {left, right}
            if not rangeable(types[left]):
                continue
            merged = self._classes.get(left, {left}) | self._classes.get(right, {right})
            for each in merged:
                self._classes[each] = merged

    def of(self, attribute: int) -> frozenset[int]:
        """Every column equal to this one, itself included."""
        return frozenset(self._classes.get(attribute, {attribute}))

    def never_null(self, attribute: int) -> bool:
        """True if a row in which this column is NULL meets no other: it is compared by a plain `=`."""
        return not self._strict.isdisjoint(self.of(attribute))

    def spread(self, within: Ranges) -> Ranges:
        """The ranges, and the same ranges on every column that must be equal."""
        spread = dict.fromkeys(within)
        for each in within:
            for equal in sorted(self.of(each.attribute)):
                spread[KeyRange(equal, each.step, each.collected)] = None
        return tuple(spread)


@dataclass(frozen=True, slots=True)
class Equality:
    """The two columns that a condition compares."""

    left: int
    right: int
    null_safe: bool
    """NULL equals NULL."""
    lengthened: tuple[int, str] | None = None
    """The column that is cast first, and the type it is cast to."""

    def of_one_kind(self, types: Mapping[int, str]) -> bool:
        """True if both columns are of one type, or integers of which one is only made as long as the other."""
        left, right = types.get(self.left), types.get(self.right)
        if self.lengthened is None or left is None or right is None:
            return left is not None and left == right
        short, other = (left, right) if self.lengthened[0] == self.left else (right, left)
        return other == self.lengthened[1] and 0 < INTEGERS.get(short, 0) < INTEGERS.get(other, 0)


def equality(condition: Expression) -> Equality | None:
    """The two columns that a condition compares, one of them perhaps cast; None if it is anything else.

    >>> equality(Expression(("(", 3, " <=> ", 7, ")"), "BOOLEAN", False))
    Equality(left=3, right=7, null_safe=True, lengthened=None)
    >>> equality(Expression(("(CAST(", 3, " AS BIGINT) = ", 7, ")"), "BOOLEAN", True)).lengthened
    (3, 'BIGINT')
    >>> equality(Expression(("(", 3, " = (", 7, " + 1))"), "BOOLEAN", True)) is None
    True
    """
    match condition.parts:
        case ("(", int(left), " = " | " <=> " as sign, int(right), ")") | (
            int(left),
            " = " | " <=> " as sign,
            int(right),
        ):
            return Equality(left, right, sign == " <=> ")
        case ("(CAST(", int(left), str(between), int(right), ")") if cast := _CAST_LEFT.fullmatch(between):
            return Equality(left, right, cast[2] == "<=>", (left, cast[1]))
        case ("(", int(left), " = CAST(" | " <=> CAST(" as sign, int(right), str(after)) if (
            cast := _CAST_RIGHT.fullmatch(after)
        ):
            return Equality(left, right, sign == " <=> CAST(", (right, cast[1]))
    return None


def narrow(
    query: DeltaQuery, relation: str, columns: Sequence[Attribute], conditions: Iterable[Expression], other: Operator
) -> Ranges:
    """The ranges to read `other` within, if it is only joined with `relation`; () where that would not be worth a step.

    `relation` holds `columns`: a delta, or candidate rows. `conditions` is the join's conjunction. Rows of `other` that
    equal no row of `relation` may be left out, so this is not for a side whose unmatched rows count.
    """
    return narrow_each(query, relation, columns, conditions, [other])[0]


def narrow_each(
    query: DeltaQuery,
    relation: str,
    columns: Sequence[Attribute],
    conditions: Iterable[Expression],
    others: Sequence[Operator],
) -> tuple[Ranges, ...]:
    """`narrow` for several inputs of one inner join, with one step for all of them."""
    if query.prunable == frozenset():
        return ((),) * len(others)
    held = {column.id: column for column in columns}
    equal = Equalities(conditions, [*columns, *(column for other in others for column in other.columns)])

    def pairs_of(other: Operator, counts: Callable[[DeltaQuery, Operator, int], object]) -> dict[int, int]:
        return {
            attribute: equals[0]
            for attribute in other.by_id
            if (equals := sorted(equal.of(attribute) & held.keys())) and counts(query, other, attribute)
        }

    chosen = [pairs_of(other, worth) for other in others]
    if not any(chosen):
        return ((),) * len(others)
    # One step is taken anyway, so it may as well bound the inputs for which it would not have been.
    chosen = [pairs or pairs_of(other, reaches) for other, pairs in zip(others, chosen, strict=True)]
    keys = sorted({key for pairs in chosen for key in pairs.values()})
    step = collect_keys(
        query, relation, [held[key] for key in keys], [held[key] for key in keys if equal.never_null(key)]
    )
    return tuple(
        tuple(KeyRange(attribute, step, held[key].column) for attribute, key in pairs.items()) for pairs in chosen
    )


def collect_keys(
    query: DeltaQuery, relation: str, keys: Sequence[Attribute], never_null: Sequence[Attribute] = ()
) -> str:
    """Collect the distinct keys of a relation; the same request gets the same step."""
    names = ", ".join(key.name for key in keys)
    return query.collect_distinct(
        relation,
        [(key.sql, key.column) for key in keys],
        f"touched keys, to skip files: {names}",
        [key.sql for key in never_null],
    )


def worth(query: DeltaQuery, operator: Operator, attribute: int) -> bool:
    """True if a range on this column of the operator lets some scan below skip files."""
    return any(reached in query.prunable for reached in reaches(query, operator, attribute))


def reaches(query: DeltaQuery, operator: Operator, attribute: int) -> frozenset[tuple[str, str]]:
    """The (source id, column) pairs at which a range on this column would arrive, as the operators pass it on."""
    trial = DeltaQuery(moved=query.moved)
    operator.at(trial, Moment.AFTER, (KeyRange(attribute, "", ""),))
    return frozenset(
        (leaf.source.id, each.column) for leaf in trial.leaves if leaf.source is not None for each in leaf.within
    )


def reached_rows(query: DeltaQuery, relation: str, columns: Sequence[Attribute], within: Ranges) -> str:
    """The rows of a relation that lie within all ranges, exactly: a scan leaves out whole files only."""
    named = {column.id: column for column in columns}
    listed = column_list(columns, prefix="r.")
    for each in within:
        match = f"(k.{quote(each.collected)} <=> r.{named[each.attribute].sql})"
        sql = f"SELECT {listed} FROM {quote(relation)} r LEFT SEMI JOIN {quote(each.step)} k ON {match}"
        relation = query.relation("reached", sql, [relation, each.step])
    return relation
