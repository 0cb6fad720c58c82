"""The newest instant that several tables can show together.

    every base table that two of them share, at one version for both; each as new as that allows

A table can show several states, newest first, each with the version of every base table behind it. Versions only fall
along that way, so there is one best answer, and this finds it: go back wherever a table is ahead of another, and no
further.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar


class State(Protocol):
    """What a table can show."""

    @property
    def bases(self) -> Mapping[str, int]:
        """Base table → version."""


S = TypeVar("S", bound=State)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two tables that cannot be shown together: one has no state with this base table as old as the other needs it.

    Without `base`, the first has no state at all.
    """

    ahead: str
    base: str | None = None
    behind: str | None = None


def common_instant(tables: Mapping[str, Iterable[S]]) -> dict[str, S] | Disagreement:
    """The newest agreeing states of all tables, or why there are none; of each table only as many are asked for."""
    coming = {name: iter(states) for name, states in tables.items()}
    at: dict[str, S] = {}
    for name, states in coming.items():
        first = next(states, None)
        if first is None:
            return Disagreement(name)
        at[name] = first
    while True:
        oldest: dict[str, tuple[int, str]] = {}
        for name, state in at.items():
            for base, version in state.bases.items():
                oldest[base] = min(oldest.get(base, (version, name)), (version, name))
        ahead = {name: found for name, state in at.items() if (found := _too_new(state, oldest)) is not None}
        if not ahead:
            return at
        for name, base in ahead.items():
            older = next((state for state in coming[name] if _too_new(state, oldest) is None), None)
            if older is None:
                return Disagreement(name, base, oldest[base][1])
            at[name] = older


def _too_new(state: State, oldest: Mapping[str, tuple[int, str]]) -> str | None:
    return next(
        (base for base, version in sorted(state.bases.items()) if version > oldest.get(base, (version, ""))[0]), None
    )
