"""What a fold is: hidden states, how rows fill them, how a delta is added to them, and the value they stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

State = Callable[[str], str]
"""Suffix of a state or delta component → its SQL."""


class Fold(Protocol):
    """How one aggregate call is kept."""

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """Suffix and type of each hidden column."""

    @property
    def nets_values(self) -> bool:
        """True if transient argument values must cancel before the delta is taken."""

    def fill(self, argument: str) -> tuple[str, ...]:
        """Each state as an aggregate over plain rows."""

    def delta(self, argument: str, weight: str) -> tuple[tuple[str, str], ...]:
        """Components of the delta: suffix and an aggregate over weighted rows."""

    def fold(self, old: State, delta: State) -> tuple[str, ...]:
        """Each new state."""

    def final(self, state: State) -> str:
        """The visible value."""

    def stale(self, old: State, delta: State) -> str | None:
        """SQL that is true for a group whose new value cannot be folded."""
