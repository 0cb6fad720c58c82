"""What a refresh would cost, incrementally and in full, and which of the two to do. Pure: past runs in, choice out.

    estimate(mode)  =  prior(mode, size)  ×  how much longer than the prior past runs of that mode really took

Past runs count the more the newer they are and the more like the present one in size; the first run of a process pays
for starting and hardly counts. So before any run the prior alone speaks, and after a few it is only a shape. The mode
that loses is tried again now and then, if it is close and the time spent on such probes stays within a share of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any

from penstock.catalog.model import Action, RefreshRecord

RUNS = 40
"""Past runs that are looked at."""

PROBE = "PROBE"
"""Reason code of a run in the mode that was estimated to be slower."""

_PRIOR_WEIGHT = 0.5
_COLD_WEIGHT = 0.05
_AGEING = 0.85
_PROBE_AFTER = 20
_PROBE_WITHIN = 2.0
_FEW = 10

# Seconds, as measured on two cores: for starting a statement, per changed row, per row read, per row written.
_STATEMENT = 0.12
_CHANGED_ROW = 8e-6
_READ_ROW = 0.25e-6
_WRITTEN_ROW = 0.4e-6
_REWRITTEN_ROW = 0.3e-6
_FULL_START = 0.5
_TOUCHED = 20_000
"""Stored rows that are rewritten for one changed row in the worst case: those of its file."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is to do."""

    changed: int
    """Change rows of all sources."""
    at_rest: int
    """Rows of all sources."""
    stored: int
    """Rows of the stream table."""
    statements: int = 1
    """Statements of the delta program."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds that a refresh in one mode would take, and how many past runs say so."""

    seconds: float
    runs: int

    def __str__(self) -> str:
        told = f"from {self.runs} run{'s' if self.runs != 1 else ''}" if self.runs else "not tried yet"
        return f"{self.seconds:.2f} s ({told})"


@dataclass(frozen=True, slots=True)
class Choice:
    """Both estimates, the mode that AUTO takes, and why."""

    incremental: Estimate
    full: Estimate
    action: Action
    probe: bool = False

    @property
    def why(self) -> str:
        """The two estimates in words."""
        both = f"incremental {self.incremental}, full {self.full}"
        return f"{both}; trying the one that seems slower" if self.probe else both

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "action": self.action.value,
            "probe": self.probe,
            "incremental_seconds": round(self.incremental.seconds, 4),
            "incremental_runs": self.incremental.runs,
            "full_seconds": round(self.full.seconds, 4),
            "full_runs": self.full.runs,
        }


@dataclass(frozen=True, slots=True)
class Run:
    """One past run, with what it had to do."""

    action: Action
    size: Size
    seconds: float
    cold: bool
    """It was its process's first of this kind."""
    probe: bool


def choose(size: Size, history: Sequence[RefreshRecord], probe_percent: int) -> Choice:
    """The cheaper mode for this size, by the newest effective runs (newest first)."""
    runs = _runs(history, size)
    incremental = _estimate(Action.INCREMENTAL, size, runs)
    full = _estimate(Action.FULL, size, runs)
    better = Action.INCREMENTAL if incremental.seconds <= full.seconds else Action.FULL
    other = Action.FULL if better is Action.INCREMENTAL else Action.INCREMENTAL
    winner, loser = (incremental, full) if better is Action.INCREMENTAL else (full, incremental)
    if _worth_a_probe(winner, loser, other, runs, probe_percent):
        return Choice(incremental, full, other, probe=True)
    return Choice(incremental, full, better)


def prior(action: Action, size: Size) -> float:
    """Seconds as they are guessed before any run."""
    if action is Action.INCREMENTAL:
        rewritten = min(size.stored, size.changed * _TOUCHED)
        return size.statements * _STATEMENT + size.changed * _CHANGED_ROW + rewritten * _REWRITTEN_ROW
    return _FULL_START + size.at_rest * _READ_ROW + size.stored * _WRITTEN_ROW


def _runs(history: Sequence[RefreshRecord], now: Size) -> list[Run]:
    """The records as runs, newest first; a rebuild is a full run. What a record does not say is taken as it is now."""
    oldest: dict[tuple[str | None, Action], str] = {}
    kinds = [Action.INCREMENTAL if record.action is Action.INCREMENTAL else Action.FULL for record in history]
    for record, kind in zip(history, kinds, strict=True):
        oldest[record.owner, kind] = record.refresh_id
    runs = []
    for record, kind in zip(history, kinds, strict=True):
        seconds = sum(record.timings.values())
        if seconds <= 0:
            continue
        at_rest = now.at_rest if record.rows_at_rest is None else record.rows_at_rest
        stored = now.stored if kind is Action.INCREMENTAL or record.rows_written is None else record.rows_written
        runs.append(
            Run(
                kind,
                Size(record.delta_rows or 0, at_rest, stored, now.statements),
                seconds,
                cold=oldest[record.owner, kind] == record.refresh_id,
                probe=(record.reason or "").startswith(PROBE),
            )
        )
    return runs


def _estimate(action: Action, size: Size, runs: Sequence[Run]) -> Estimate:
    total, weight, counted = 0.0, _PRIOR_WEIGHT, 0
    mine = [run for run in runs if run.action is action]
    for age, run in enumerate(mine):
        trust = _AGEING**age * _likeness(action, size, run.size) * (_COLD_WEIGHT if run.cold else 1.0)
        total += trust * log(run.seconds / prior(action, run.size))
        weight += trust
        counted += 1
    return Estimate(prior(action, size) * exp(total / weight), counted)


def _likeness(action: Action, size: Size, other: Size) -> float:
    """1 for the same amount of work, less the further apart they are."""
    here, there = (size.changed, other.changed) if action is Action.INCREMENTAL else (size.at_rest, other.at_rest)
    return exp(-abs(log((here + 1) / (there + 1))) / 2)


def _worth_a_probe(winner: Estimate, loser: Estimate, other: Action, runs: Sequence[Run], probe_percent: int) -> bool:
    if len(runs) < _FEW or loser.seconds > _PROBE_WITHIN * winner.seconds:
        return False
    if any(run.action is other and not run.cold for run in runs[:_PROBE_AFTER]):
        return False
    spent = sum(run.seconds for run in runs)
    probed = sum(run.seconds for run in runs if run.probe)
    return probed + loser.seconds - winner.seconds <= spent * probe_percent / 100
