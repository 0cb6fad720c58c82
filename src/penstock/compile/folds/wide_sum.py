"""sum of decimals that fill their type: a running total that asks for a recomputation where it may overflow.

Two totals of 38 digits are added without loss as long as they have at most six digits after the point. Where the delta
or the new total overflows, or a change row stands for several rows, the group is recomputed; Spark then says whether
its own sum overflows.
"""

from __future__ import annotations

from penstock.compile.folds.fold import State
from penstock.operators.types import decimal


def widely_summable(type_: str) -> bool:
    """True if totals of the type can be kept in 38 digits without losing any behind the point."""
    held = decimal(type_)
    return held is not None and held[1] <= 6


class WideSum:
    """sum over decimals of 28 to 38 digits."""

    nets_values = False

    def __init__(self, type_: str, result: str) -> None:
        held = decimal(type_)
        assert held is not None
        self._total = f"DECIMAL(38,{held[1]})"
        self._result = result
        self.states: tuple[tuple[str, str], ...] = (("n", "BIGINT"), ("s", self._total))

    def fill(self, argument: str) -> tuple[str, ...]:
        return (f"count({argument})", f"coalesce(sum({argument}), 0)")

    def delta(self, argument: str, weight: str) -> tuple[tuple[str, str], ...]:
        signed = f"CASE {weight} WHEN 1 THEN {argument} WHEN -1 THEN -({argument}) END"
        counted = f"CASE WHEN {argument} IS NOT NULL THEN {weight} END"
        return (
            ("n", f"coalesce(sum({counted}), 0)"),
            ("s", f"CASE WHEN count({argument}) = 0 THEN 0 ELSE CAST(try_sum({signed}) AS {self._total}) END"),
            ("m", f"coalesce(max(abs({counted})), 0)"),
        )

    def fold(self, old: State, delta: State) -> tuple[str, ...]:
        return (f"coalesce({old('n')}, 0) + {delta('n')}", f"coalesce({self._sum(old, delta)}, 0)")

    def final(self, state: State) -> str:
        return f"CASE WHEN {state('n')} > 0 THEN CAST({state('s')} AS {self._result}) END"

    def stale(self, old: State, delta: State) -> str | None:
        return f"{delta('m')} > 1 OR {self._sum(old, delta)} IS NULL"

    def _sum(self, old: State, delta: State) -> str:
        return f"try_add(coalesce({old('s')}, CAST(0 AS {self._total})), {delta('s')})"
