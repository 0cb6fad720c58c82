"""sum: a wide decimal and the number of non-NULL arguments, so that an emptied sum is NULL and not 0.

Integers are summed as DECIMAL(38,0) and cast at the end, so that only the final value can overflow. A decimal is never
multiplied by a BIGINT weight: the product would not fit its type.
"""

from __future__ import annotations

from penstock.compile.folds.fold import State
from penstock.operators.types import INTEGERS, decimal


def summable(type_: str) -> bool:
    """True if weighted sums of the type are exact."""
    held = decimal(type_)
    return type_ in INTEGERS or (held is not None and held[0] <= 27)


def weighted(argument: str, weight: str, type_: str) -> str:
    """argument × weight, exactly."""
    if type_ in INTEGERS:
        return f"CAST({argument} AS DECIMAL(19,0)) * CAST({weight} AS DECIMAL(18,0))"
    bounded = f"IF(abs({weight}) > 999999999, raise_error('weight out of range'), {weight})"
    return (
        f"CASE {weight} WHEN 1 THEN {argument} WHEN -1 THEN -({argument}) "
        f"ELSE ({argument}) * CAST({bounded} AS DECIMAL(9,0)) END"
    )


def wide(type_: str) -> str:
    """The type in which sums of the type are kept: two of them are added without losing a digit."""
    held = decimal(type_)
    return f"DECIMAL(37,{held[1]})" if held else "DECIMAL(38,0)"


class Sum:
    """sum over integers, and over decimals of up to 27 digits."""

    nets_values = False

    def __init__(self, type_: str, result: str) -> None:
        self._type, self._result = type_, result
        self.states: tuple[tuple[str, str], ...] = (("n", "BIGINT"), ("s", wide(type_)))

    def fill(self, argument: str) -> tuple[str, ...]:
        return (f"count({argument})", f"coalesce(sum(CAST({argument} AS {wide(self._type)})), 0)")

    def delta(self, argument: str, weight: str) -> tuple[tuple[str, str], ...]:
        return (
            ("n", f"coalesce(sum(CASE WHEN {argument} IS NOT NULL THEN {weight} END), 0)"),
            ("s", f"coalesce(CAST(sum({weighted(argument, weight, self._type)}) AS {wide(self._type)}), 0)"),
        )

    def fold(self, old: State, delta: State) -> tuple[str, ...]:
        return (f"coalesce({old('n')}, 0) + {delta('n')}", f"coalesce({old('s')}, 0) + {delta('s')}")

    def final(self, state: State) -> str:
        return f"CASE WHEN {state('n')} > 0 THEN CAST({state('s')} AS {self._result}) END"

    def stale(self, old: State, delta: State) -> str | None:
        return None
