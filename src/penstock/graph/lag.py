"""Target lag: how old the rows of a stream table may get.

    effective(t) = own lag                                   if t has one
                 = min over consumers c of effective(c)      if t is DOWNSTREAM
                 = the smallest lag allowed                  if it has no consumer

One pass against the direction of data resolves every table. An explicit lag is never overridden.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Final

from penstock.errors import InvalidTargetLag
from penstock.graph.dag import StreamGraph
from penstock.graph.order import topological_order

DOWNSTREAM: Final = "DOWNSTREAM"

_LARGEST: Final = timedelta(days=36_500)
_USUAL: Final = tuple(timedelta(seconds=each) for each in (60, 300, 3600, 86_400, 604_800))
_UNITS: Final[Mapping[str, int]] = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_SPELLINGS: Final[Mapping[str, int]] = {
    **_UNITS,
    **{f"{unit}s": seconds for unit, seconds in _UNITS.items()},
    **{unit[0]: seconds for unit, seconds in _UNITS.items()},
    **{"sec": 1, "secs": 1, "min": 60, "mins": 60, "hr": 3600, "hrs": 3600},
}
_TERM: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]+)\s*,?")


def parse_target_lag(value: str | timedelta | None, minimum: timedelta = timedelta(0)) -> timedelta | None:
    """A target lag as a duration; None = DOWNSTREAM. `InvalidTargetLag` unless it is positive and at least `minimum`.

    >>> parse_target_lag("1 hour 30 minutes") == parse_target_lag("90m")
    True
    >>> parse_target_lag("downstream") is None
    True
    """
    if value is None:
        return None
    if isinstance(value, timedelta):
        lag = value
    elif isinstance(value, str):
        if value.strip().upper() == DOWNSTREAM:
            return None
        lag = _parse(value, minimum)
    else:
        raise _refused(value, f"it is {type(value).__name__}, not text or a timedelta", minimum)
    shown = value if isinstance(value, str) else str(value)
    if lag <= timedelta(0):
        raise _refused(shown, "it is zero" if not lag else "it is negative", minimum)
    if lag < minimum:
        why = f"the smallest allowed is {format_lag(minimum)} (setting min_target_lag_seconds)"
        raise _refused(shown, why, minimum)
    if lag > _LARGEST:
        raise _refused(shown, f"the largest allowed is {format_lag(_LARGEST)}", minimum)
    return lag


def suggested_lags(minimum: timedelta) -> list[str]:
    """A few lags that are accepted where `minimum` is the smallest.

    >>> suggested_lags(timedelta(seconds=60)), suggested_lags(timedelta(seconds=90))
    (['1 minute', '5 minutes', '1 hour'], ['1 minute 30 seconds', '5 minutes', '1 hour'])
    """
    allowed = [each for each in _USUAL if each > minimum]
    first = max(minimum, _USUAL[0])
    return [format_lag(each) for each in (first, *(each for each in allowed if each > first))][:3]


def _refused(value: object, why: str, minimum: timedelta) -> InvalidTargetLag:
    *others, last = (f"'{each}'" for each in suggested_lags(minimum))
    return InvalidTargetLag(value=value, why=why, examples=f"{', '.join(others)} or {last}")


def _parse(text: str, minimum: timedelta) -> timedelta:
    lowered = text.strip().lower()
    if lowered.startswith("-"):
        raise _refused(text, "it is negative", minimum)
    seconds = Decimal(0)
    at = 0
    while at < len(lowered):
        term = _TERM.match(lowered, at)
        if term is None:
            raise _refused(text, f"expected a number and a unit at {lowered[at:].strip()!r}", minimum)
        if term[2] not in _SPELLINGS:
            raise _refused(text, f"{term[2]!r} is not a unit of time", minimum)
        seconds += Decimal(term[1]) * _SPELLINGS[term[2]]
        at = term.end()
    if at == 0:
        raise _refused(text, "it is empty", minimum)
    # Compared as a number, because a timedelta cannot even hold it.
    if seconds > _LARGEST.total_seconds():
        raise _refused(text, f"the largest allowed is {format_lag(_LARGEST)}", minimum)
    return timedelta(microseconds=int(seconds * 1_000_000))


def format_lag(lag: timedelta | None) -> str:
    """A lag as text that `parse_target_lag` reads back to the same value.

    >>> format_lag(timedelta(seconds=5400)), format_lag(None)
    ('1 hour 30 minutes', 'DOWNSTREAM')
    """
    if lag is None:
        return DOWNSTREAM
    rest = lag
    parts: list[str] = []
    for unit in ("day", "hour", "minute"):
        number, rest = divmod(rest, timedelta(seconds=_UNITS[unit]))
        if number:
            parts.append(f"{number} {unit}" + ("s" if number != 1 else ""))
    if rest or not parts:
        seconds = Decimal(rest // timedelta(microseconds=1)) / 1_000_000
        parts.append(f"{seconds.normalize():f} second" + ("s" if seconds != 1 else ""))
    return " ".join(parts)


@dataclass(frozen=True, slots=True)
class EffectiveLag:
    """The lag a stream table is really held to."""

    lag: timedelta
    from_consumer: str | None = None
    """The consumer that a DOWNSTREAM table takes its lag from."""
    warnings: tuple[str, ...] = ()


def resolve_lags(graph: StreamGraph, minimum: timedelta) -> dict[str, EffectiveLag]:
    """The effective lag of every stream table, by node key."""
    effective: dict[str, EffectiveLag] = {}
    order = [node for node in topological_order(graph) if node.is_stream_table]
    for node in reversed(order):
        if node.target_lag is not None:
            effective[node.key] = EffectiveLag(node.target_lag)
            continue
        consumers = graph.sorted_consumers(node.key)
        if not consumers:
            warning = f"{node.name} is DOWNSTREAM but nothing reads it: it is kept within {format_lag(minimum)}"
            effective[node.key] = EffectiveLag(minimum, warnings=(warning,))
            continue
        tightest = min(consumers, key=lambda consumer: effective[consumer.key].lag)
        effective[node.key] = EffectiveLag(effective[tightest.key].lag, from_consumer=tightest.name)
    for node in order:
        held = effective[node.key]
        warnings = held.warnings + _slower_upstreams(graph, node.key, effective)
        effective[node.key] = EffectiveLag(held.lag, held.from_consumer, warnings)
    return effective


def _slower_upstreams(graph: StreamGraph, key: str, effective: Mapping[str, EffectiveLag]) -> tuple[str, ...]:
    asked = effective[key].lag
    slower = sorted(
        (graph.nodes[source].name, effective[source].lag)
        for source in graph.sources[key]
        if source in effective and effective[source].lag > asked
    )
    # A due consumer pulls its upstreams, so the promise is kept, at a price that the upstream's owner did not ask for.
    return tuple(
        f"{graph.nodes[key].name} asks for {format_lag(asked)}, so {name} ({format_lag(lag)}) is refreshed as often"
        for name, lag in slower
    )
