"""avg: sum and count, divided at the end as Spark divides.

Integers: Spark adds doubles, so its answer is exact, whatever the order, while Σ|x| stays below 2⁵³; beyond that the
group is recomputed. Decimals: Spark rounds the quotient once, to four more digits. Ours is rounded first to `spare`
more digits; the second rounding then agrees as long as the count stays below 10^(spare − 4).
"""

from __future__ import annotations

from penstock.compile.folds.fold import State
from penstock.compile.folds.sum import Sum, weighted, wide
from penstock.operators.types import decimal


class Average:
    """avg over integers and decimals."""

    nets_values = False

    def __init__(self, type_: str, result: str) -> None:
        self._type, self._result = type_, result
        self._sum = Sum(type_, result)
        self._decimal = decimal(type_)
        # Digits after the point in sum / count, beyond the argument's own: see Spark's rule for decimal division.
        # The wider the count's type, the more; a count of 10 digits is the least that is of any use.
        self._count = f"DECIMAL({max(10, 27 - self._decimal[0])},0)" if self._decimal else ""
        self.spare = 28 - self._decimal[0] if self._decimal else 0
        bound = () if self._decimal else (("b", "DECIMAL(38,0)"),)
        self.states: tuple[tuple[str, str], ...] = (*self._sum.states, *bound)

    def fill(self, argument: str) -> tuple[str, ...]:
        bound = (f"coalesce(sum(abs(CAST({argument} AS DECIMAL(38,0)))), 0)",)
        return self._sum.fill(argument) if self._decimal else (*self._sum.fill(argument), *bound)

    def delta(self, argument: str, weight: str) -> tuple[tuple[str, str], ...]:
        size = weighted(f"abs(CAST({argument} AS DECIMAL(19,0)))", weight, "BIGINT")
        bound = (("b", f"coalesce(CAST(sum({size}) AS {wide('BIGINT')}), 0)"),)
        return self._sum.delta(argument, weight) if self._decimal else (*self._sum.delta(argument, weight), *bound)

    def fold(self, old: State, delta: State) -> tuple[str, ...]:
        return tuple(f"coalesce({old(suffix)}, 0) + {delta(suffix)}" for suffix, _ in self.states)

    def final(self, state: State) -> str:
        if self._decimal is None:
            quotient = f"CAST({state('s')} AS DOUBLE) / CAST({state('n')} AS DOUBLE)"
        else:
            precision, scale = self._decimal
            total = f"CAST({state('s')} AS DECIMAL({precision + 10},{scale}))"
            quotient = f"CAST({total} / CAST({state('n')} AS {self._count}) AS {self._result})"
        return f"CASE WHEN {state('n')} > 0 THEN {quotient} END"

    def stale(self, old: State, delta: State) -> str | None:
        if self._decimal is None:
            return f"coalesce({old('b')}, 0) + {delta('b')} >= 9007199254740992"
        return f"coalesce({old('n')}, 0) + {delta('n')} >= {10 ** (self.spare - 4)}"
