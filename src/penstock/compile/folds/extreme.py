"""min and max: the stored extreme, replaced by a better value that comes, doubtful when a value at or beyond it leaves.

Values are netted before this, so that a value which came and left does not count. A group whose extreme may have left
is recomputed; ties make that recomputation find the same value again, which costs time and never exactness.
"""

from __future__ import annotations

from penstock.compile.folds.fold import State

FOLDED_TYPES = {
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "STRING",
    "DATE",
    "TIMESTAMP",
    "TIMESTAMP_NTZ",
    "BOOLEAN",
    "BINARY",
}
"""Types whose equal values are the same value, so that it does not matter which of them is kept."""


class Extreme:
    """min(x) or max(x)."""

    nets_values = True

    def __init__(self, type_: str, smallest: bool) -> None:
        self.states: tuple[tuple[str, str], ...] = (("m", type_),)
        self._function, self._pick = ("min", "least") if smallest else ("max", "greatest")
        self._beyond = "<=" if smallest else ">="

    def fill(self, argument: str) -> tuple[str, ...]:
        return (f"{self._function}({argument})",)

    def delta(self, argument: str, weight: str) -> tuple[tuple[str, str], ...]:
        return (
            ("came", f"{self._function}(CASE WHEN {weight} > 0 THEN {argument} END)"),
            ("left", f"{self._function}(CASE WHEN {weight} < 0 THEN {argument} END)"),
        )

    def fold(self, old: State, delta: State) -> tuple[str, ...]:
        return (f"{self._pick}({old('m')}, {delta('came')})",)

    def final(self, state: State) -> str:
        return state("m")

    def stale(self, old: State, delta: State) -> str | None:
        best = f"{self._pick}({old('m')}, {delta('came')})"
        return f"{delta('left')} IS NOT NULL AND ({best} IS NULL OR {delta('left')} {self._beyond} {best})"
