"""Which rows satisfy a condition, with Spark's meaning of it.

Binding checks every name and type against the schema once; what is bound cannot fail on a row. Logic is three-valued:
a comparison with NULL is NULL, AND and OR are Kleene's, and a row is kept only where the whole condition is true.
Comparisons widen as `common_type` says and order as `spark_order` says; text is never turned into a number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import reduce
from itertools import combinations
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.changes.filter.common_type import cast, cast_scalar, common_type
from penstock.changes.filter.like_pattern import like_regex
from penstock.changes.filter.moments import in_utc, is_utc, read_date, read_timestamp, read_zone
from penstock.changes.filter.predicate import (
    And,
    Column,
    Compare,
    Constant,
    InList,
    IsNull,
    IsTruth,
    Like,
    LocalTimestamp,
    Not,
    Or,
    Predicate,
)
from penstock.changes.filter.spark_order import compare, is_any_of
from penstock.changes.filter.sql_types import PLAIN, sql_name
from penstock.errors import InvalidFilter

_NULL = pa.scalar(None, pa.bool_())
_FALSE = pa.scalar(False)
_KINDS = "Compare values of one kind: numbers with numbers, text with text, moments with moments."


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A condition bound to a schema; `columns` are the ones it reads."""

    columns: tuple[str, ...]
    evaluate: Callable[[pa.Table], Any]

    def mask(self, rows: pa.Table) -> pa.BooleanArray:
        """True for every row that satisfies the condition, else false; never NULL."""
        kept = pc.coalesce(self.evaluate(rows), _FALSE)
        if isinstance(kept, pa.Scalar):
            return pa.repeat(kept, rows.num_rows)
        return kept.combine_chunks() if isinstance(kept, pa.ChunkedArray) else kept


def bind_filter(predicate: Predicate, schema: pa.Schema, zone: str | None = None) -> RowFilter:
    """Bind a condition to `schema`, or raise InvalidFilter.

    `zone` is the session time zone in which timestamps without an offset are read. Without it they are refused.
    """
    binder = _Binder(schema, zone)
    evaluate = binder.truth(predicate)
    return RowFilter(tuple(binder.read), evaluate)


@dataclass(frozen=True, slots=True)
class _Bound:
    """An expression with its type; `constant` is set for literals, `about` names it in messages."""

    kind: Any
    about: str
    values: Callable[[pa.Table], Any]
    constant: Any = None


def _constant(value: Any, about: str) -> _Bound:
    return _Bound(value.type, about, lambda _: value, value)


class _Binder:
    def __init__(self, schema: pa.Schema, zone: str | None) -> None:
        self.schema = schema
        self.zone = zone
        self.read: dict[str, None] = {}

    def truth(self, node: Predicate) -> Callable[[pa.Table], Any]:
        """The value of `node` for each row; it must be a BOOLEAN."""
        bound = self.bind(node)
        if pa.types.is_null(bound.kind):
            return lambda _: _NULL
        if not pa.types.is_boolean(bound.kind):
            raise _mismatch(bound, "BOOLEAN")
        return bound.values

    def bind(self, node: Predicate) -> _Bound:
        match node:
            case Column():
                return self.column(node.name)
            case Constant():
                return _constant(node.value, _sql_text(node.value))
            case LocalTimestamp():
                return _constant(self.instant(node.at), f"TIMESTAMP '{node.at}'")
        return _Bound(pa.bool_(), "the condition", self.condition(node))

    def condition(self, node: Compare | InList | Like | IsNull | IsTruth | Not | And | Or) -> Callable[[pa.Table], Any]:
        match node:
            case Compare():
                return self.comparison(node)
            case InList():
                return self.in_list(node)
            case Like():
                return self.like(node)
            case IsNull():
                tested = self.bind(node.operand).values
                return lambda rows: pc.is_null(tested(rows))
            case IsTruth(truth=True):
                operand = self.truth(node.operand)
                return lambda rows: pc.coalesce(operand(rows), _FALSE)
            case IsTruth():
                operand = self.truth(node.operand)
                return lambda rows: pc.coalesce(pc.invert(operand(rows)), _FALSE)
            case Not():
                operand = self.truth(node.operand)
                return lambda rows: pc.invert(operand(rows))
            case And():
                parts = [self.truth(part) for part in node.parts]
                return lambda rows: reduce(pc.and_kleene, (part(rows) for part in parts))
            case Or():
                parts = [self.truth(part) for part in node.parts]
                return lambda rows: reduce(pc.or_kleene, (part(rows) for part in parts))

    def column(self, name: str) -> _Bound:
        found = [field for field in self.schema if field.name.lower() == name.lower()]
        if not found:
            raise InvalidFilter(
                why=f"column not found: {name}", fix=f"Columns: {', '.join(self.schema.names)}. Quote odd names with `."
            )
        if len(found) > 1:
            both = " and ".join(field.name for field in found)
            raise InvalidFilter(
                why=f"invalid filter expression: {name} may be {both}", fix="Rename one of the two columns."
            )
        (field,) = found
        self.read[field.name] = None
        return _Bound(field.type, f"column {field.name}", lambda rows: rows.column(field.name))

    def comparison(self, node: Compare) -> Callable[[pa.Table], Any]:
        left, right = self.bind(node.left), self.bind(node.right)
        left, right = self.read_text(left, right.kind), self.read_text(right, left.kind)
        _refuse_out_of_reach(node.operator, left, right)
        _refuse_out_of_reach(node.operator, right, left)
        kinds = [_own_digits(left, right.kind), _own_digits(right, left.kind)]
        first, second = self.widen([left, right], kinds)
        return lambda rows: compare(node.operator, first(rows), second(rows))

    def in_list(self, node: InList) -> Callable[[pa.Table], Any]:
        operand = self.bind(node.operand)
        options = [self.read_text(self.bind(option), operand.kind) for option in node.options]
        members = [operand, *options]
        tested, *widened = self.widen(members, [member.kind for member in members])
        empty = pa.table({})
        constants = [
            widen(empty) for widen, option in zip(widened, options, strict=True) if option.constant is not None
        ]
        columns = [widen for widen, option in zip(widened, options, strict=True) if option.constant is None]
        listed = pa.array([constant.as_py() for constant in constants], constants[0].type) if constants else None

        def evaluate(rows: pa.Table) -> Any:
            values = tested(rows)
            hits = [compare("=", values, column(rows)) for column in columns]
            if listed is not None:
                array = pa.array([values.as_py()], values.type) if isinstance(values, pa.Scalar) else values
                unknown = pc.is_null(array) if listed.null_count == 0 else pa.repeat(True, len(array))
                hit = pc.or_kleene(is_any_of(array, listed), pc.if_else(unknown, _NULL, _FALSE))
                hits.append(hit[0] if isinstance(values, pa.Scalar) else hit)
            return reduce(pc.or_kleene, hits)

        return evaluate

    def like(self, node: Like) -> Callable[[pa.Table], Any]:
        operand = self.bind(node.operand)
        regex = like_regex(node.pattern, node.escape)
        if pa.types.is_null(operand.kind):
            return lambda _: _NULL
        text = pa.large_string()
        if common_type([operand.kind], utc=False) != text:
            raise _mismatch(operand, "STRING")
        tested = _widened(operand, text)
        return lambda rows: pc.match_substring_regex(tested(rows), regex)

    def widen(self, members: Sequence[_Bound], kinds: Sequence[Any]) -> list[Callable[[pa.Table], Any]]:
        """Every member in the common type of `kinds`, which are the members' types."""
        kind = common_type(kinds, utc=is_utc(self.zone))
        if kind is None:
            raise self.no_common_type(members)
        return [_widened(member, kind) for member in members]

    def no_common_type(self, members: Sequence[_Bound]) -> InvalidFilter:
        for member in members:
            if common_type([member.kind], utc=True) is None:
                return InvalidFilter(
                    why=f"invalid filter expression: {member.about} is {sql_name(member.kind)} and cannot be compared",
                    fix="Use IS NULL or IS NOT NULL, or leave the column out of the condition.",
                )
        pairs = list(combinations(members, 2))
        first, other = next(
            (pair for pair in pairs if common_type([one.kind for one in pair], utc=is_utc(self.zone)) is None),
            # Each pair would do, all of them together need too many digits.
            pairs[0],
        )
        blamed, expected = (other, first) if first.constant is not None and other.constant is None else (first, other)
        fix = _KINDS
        if all(pa.types.is_temporal(one.kind) for one in (blamed, expected)):
            fix = (
                "Outside UTC these meet only through the rules of a time zone; compare with a literal of the same type."
            )
        elif all(pa.types.is_decimal(one.kind) or pa.types.is_integer(one.kind) for one in (blamed, expected)):
            fix = "Both together need more than 38 digits, so that Spark would round; compare with a shorter number."
        return _mismatch(blamed, sql_name(expected.kind), fix)

    def read_text(self, bound: _Bound, kind: Any) -> _Bound:
        """A text literal that is compared with a date or a timestamp, read as one; anything else as it is."""
        if bound.constant is None or not pa.types.is_string(bound.kind):
            return bound
        text = bound.constant.as_py()
        read: date | datetime | None
        if pa.types.is_date32(kind):
            read = read_date(text)
            return bound if read is None else _constant(pa.scalar(read, pa.date32()), bound.about)
        if not pa.types.is_timestamp(kind):
            return bound
        read = read_timestamp(text)
        if read is None or (kind.tz is None and read.tzinfo):
            return bound
        value = pa.scalar(read, PLAIN["TIMESTAMP_NTZ"]) if kind.tz is None else self.instant(read)
        return _constant(value, bound.about)

    def instant(self, at: datetime) -> Any:
        if at.tzinfo is None:
            zone = read_zone(self.zone) if self.zone else None
            if zone is None:
                raise InvalidFilter(
                    why=f"invalid filter expression: '{at}' has no offset, and no time zone is known to read it in",
                    fix=f"Write the offset, as in TIMESTAMP '{at}+00:00'.",
                )
            at = at.replace(tzinfo=zone)
        instant = in_utc(at)
        if instant is None:
            raise InvalidFilter(
                why=f"invalid filter expression: {at} lies outside the years 1 to 9999 of UTC",
                fix="Compare with a moment between 0001-01-02 and 9999-12-30.",
            )
        return pa.scalar(instant, PLAIN["TIMESTAMP"])


def _widened(member: _Bound, kind: Any) -> Callable[[pa.Table], Any]:
    if member.constant is not None:
        value = cast_scalar(member.constant, kind)
        return lambda _: value
    return lambda rows: _cast_values(member.values(rows), kind)


def _cast_values(values: Any, kind: Any) -> Any:
    return cast_scalar(values, kind) if isinstance(values, pa.Scalar) else cast(values, kind)


def _own_digits(bound: _Bound, other: Any) -> Any:
    """The type of an operand; an integer literal beside a decimal is as long as its digits, as in Spark."""
    if bound.constant is None or not pa.types.is_integer(bound.kind) or not pa.types.is_decimal(other):
        return bound.kind
    value = bound.constant.as_py()
    return bound.kind if value is None else pa.decimal128(len(str(abs(value))), 0)


def _refuse_out_of_reach(operator: str, tested: _Bound, limit: _Bound) -> None:
    """Spark (4.2) takes `c < 9999999999999999999` over an integer for true, also where `c` is NULL; refuse it."""
    if limit.constant is None or not pa.types.is_decimal(limit.kind) or not pa.types.is_integer(tested.kind):
        return
    value = limit.constant.as_py()
    if value is not None and operator in {"<", "<=", ">", ">="} and not -(1 << 63) <= value < 1 << 63:
        raise InvalidFilter(
            why=f"invalid filter expression: {value} is out of reach of {tested.about}, a {sql_name(tested.kind)}",
            fix="Compare with a number that a BIGINT can hold, or write IS [NOT] NULL.",
        )


def _sql_text(value: Any) -> str:
    held = value.as_py()
    if held is None:
        return "NULL"
    return repr(held) if isinstance(held, str) else str(held)


def _mismatch(bound: _Bound, expected: str, fix: str = _KINDS) -> InvalidFilter:
    return InvalidFilter(why=f"type mismatch: {bound.about} is {sql_name(bound.kind)}, expected {expected}", fix=fix)
