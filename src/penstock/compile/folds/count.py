"""count: the sum of weights of the rows that count."""

from __future__ import annotations

from penstock.compile.folds.fold import State


class Count:
    """count(*), count(a), count(a, b), with FILTER."""

    states: tuple[tuple[str, str], ...] = (("n", "BIGINT"),)
    nets_values = False

    def fill(self, argument: str) -> tuple[str, ...]:
        return (f"count({argument})",)

    def delta(self, argument: str, weight: str) -> tuple[tuple[str, str], ...]:
        return (("n", f"coalesce(sum(CASE WHEN {argument} IS NOT NULL THEN {weight} END), 0)"),)

    def fold(self, old: State, delta: State) -> tuple[str, ...]:
        return (f"coalesce({old('n')}, 0) + {delta('n')}",)

    def final(self, state: State) -> str:
        return state("n")

    def stale(self, old: State, delta: State) -> str | None:
        return None
