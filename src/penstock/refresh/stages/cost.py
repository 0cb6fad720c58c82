"""What a refresh would cost, incrementally and in full, and which of the two to do. Pure: past runs in, choice out.

    estimate(mode)  =  prior(mode, size)  ×  how much longer than the prior past runs of that mode really took

A run took what history says, from its beginning to its end. Past runs count the more the newer they are and the more
like the present one in size; the first run of a process pays for starting, which its prior knows, and hardly counts. If
all recorded recomputations are first runs, what they took beyond the longest start counts as work: to take a long
recomputation for a cheap one is the mistake that costs most. Runs of other stream tables speak for one that has few of
its own, the more operators they share. So before any run the prior alone speaks, and after a few it is only a shape.
Where more rows changed than there are, applying the changes cannot be less work than recomputing, whatever was
estimated. The mode that loses is tried again now and then, if it is close and the time spent on such probes stays
within a share of all.
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

FEW = 10
"""With fewer runs, nothing is probed and others are asked."""

_PRIOR_WEIGHT = 0.2
_OTHERS_WEIGHT = 0.1
_COLD_WEIGHT = 0.05
_AGEING = 0.85
_PROBE_AFTER = 20
_PROBE_WITHIN = 2.0

_HANDFUL = 1_000
"""With fewer change rows both modes take what starting them takes, and the estimates decide."""

# Seconds, as measured on two cores in a process that has warmed up: for starting, per row, per byte on disk.
_STATEMENT = 0.12
_FULL_START = 0.15
_OPERATOR = 0.05
_CHANGED = (1.5e-6, 1e-8)
_REPLACED = 3e-6
_IN_SPARK = 10.0
"""How much dearer a changed row is once the changes are too many for the driver."""
_READ = (0.12e-6, 0.5e-8)
_WRITTEN = (0.15e-6, 0.8e-8)
_LOOKED_THROUGH = (0.03e-6, 0.1e-8)
_COLD_START = 2.0
"""How much longer the first run of its kind takes in a process."""
_LONGEST_START = 8.0
"""How much of a first run can be for starting, on a machine that has other work too."""
_TOUCHED = 20_000
"""Stored rows that are looked through for one changed row in the worst case: those of its file."""


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
    changed_bytes: int = 0
    at_rest_bytes: int = 0
    stored_bytes: int = 0
    """The same three on disk."""
    operators: frozenset[str] = frozenset()
    """What the query consists of."""
    driver_rows: int = 200_000
    """Change rows that are worked on by the driver; more are Spark's."""

    @property
    def on_driver(self) -> bool:
        """True if the changes are few enough for the driver."""
        return self.changed <= self.driver_rows

    @property
    def outgrown(self) -> bool:
        """True if more rows changed than there are."""
        return self.changed > max(self.at_rest, _HANDFUL)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds that a refresh in one mode would take in a process that has warmed up, and what says so."""

    seconds: float
    runs: int
    """Past runs of this stream table."""
    others: int = 0
    """Past runs of others."""
    last: float | None = None
    """What its newest run took, as history has it."""
    only_first: bool = False
    """Every run was its process's first."""
    learned: bool = True
    """Past runs count."""

    def __str__(self) -> str:
        if not self.learned:
            source = "by sizes alone"
        elif self.last is None:
            source = "not tried yet"
            if self.others:
                source += f", {_counted(self.others)} of other stream tables"
        else:
            first = " as the first of its process" if self.only_first else ""
            newest = "which" if self.runs == 1 else "the last"
            source = f"from {_counted(self.runs)}, {newest} took {self.last:.2f} s{first}"
        return f"{self.seconds:.2f} s ({source})"


@dataclass(frozen=True, slots=True)
class Choice:
    """Both estimates, the mode that AUTO takes, and why."""

    incremental: Estimate
    full: Estimate
    action: Action
    probe: bool = False
    outgrown: str = ""
    """That more rows changed than there are, if that decided."""

    @property
    def why(self) -> str:
        """The two estimates in words."""
        both = f"incremental {self.incremental}, full {self.full}"
        if self.outgrown:
            return f"{self.outgrown}; {both}"
        return f"{both}; trying the one that seems slower" if self.probe else both

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "action": self.action.value,
            "probe": self.probe,
            "incremental_seconds": round(self.incremental.seconds, 4),
            "incremental_runs": self.incremental.runs,
            "incremental_last_seconds": _rounded(self.incremental.last),
            "full_seconds": round(self.full.seconds, 4),
            "full_runs": self.full.runs,
            "full_last_seconds": _rounded(self.full.last),
        }


@dataclass(frozen=True, slots=True)
class PastRun:
    """One past run, with what it had to do."""

    action: Action
    size: Size
    seconds: float
    cold: bool
    """It was its process's first of this kind."""
    probe: bool


def choose(
    size: Size,
    history: Sequence[RefreshRecord],
    probe_percent: int,
    others: Sequence[RefreshRecord] = (),
    learn: bool = True,
) -> Choice:
    """The cheaper mode for this size, by the newest effective runs (newest first) of this stream table and others.

    Without `learn`, by the priors alone, and nothing is probed.
    """
    runs, borrowed = _runs(history, size), _runs([record for record in others if record.operators], size)
    incremental = _estimate(Action.INCREMENTAL, size, runs, borrowed, learn)
    full = _estimate(Action.FULL, size, runs, borrowed, learn)
    if size.outgrown:
        outgrown = f"{size.changed:,} rows changed, more than the {size.at_rest:,} that there are"
        return Choice(incremental, full, Action.FULL, outgrown=outgrown)
    better = Action.INCREMENTAL if incremental.seconds <= full.seconds else Action.FULL
    other = Action.FULL if better is Action.INCREMENTAL else Action.INCREMENTAL
    winner, loser = (incremental, full) if better is Action.INCREMENTAL else (full, incremental)
    if learn and _worth_a_probe(winner, loser, other, runs, probe_percent):
        return Choice(incremental, full, other, probe=True)
    return Choice(incremental, full, better)


def prior(action: Action, size: Size, cold: bool = False) -> float:
    """Seconds as they are guessed before any run; `cold` in a process that has not run it before."""
    if cold:
        return _COLD_START + prior(action, size)
    if action is Action.INCREMENTAL:
        touched = min(1.0, size.changed * _TOUCHED / max(1, size.stored))
        # How many stored rows a row of the sources stands for: all of it in a projection, hardly any in an aggregate.
        replaced = size.changed * min(1.0, size.stored / max(1, size.at_rest))
        changing = _work(_CHANGED, size.changed, size.changed_bytes) + _REPLACED * replaced
        looking = touched * _work(_LOOKED_THROUGH, size.stored, size.stored_bytes)
        return size.statements * _STATEMENT + changing * (1.0 if size.on_driver else _IN_SPARK) + looking
    reading = _work(_READ, size.at_rest, size.at_rest_bytes)
    return _FULL_START + len(size.operators) * _OPERATOR + reading + _work(_WRITTEN, size.stored, size.stored_bytes)


def _work(seconds: tuple[float, float], rows: int, size: int) -> float:
    return seconds[0] * rows + seconds[1] * size


def _runs(history: Sequence[RefreshRecord], now: Size) -> list[PastRun]:
    """The records as runs, newest first; a rebuild is a full run. What a record does not say is taken as it is now."""
    oldest: dict[tuple[str | None, int, Action], str] = {}
    kinds = [Action.INCREMENTAL if record.action is Action.INCREMENTAL else Action.FULL for record in history]
    for record, kind in zip(history, kinds, strict=True):
        oldest[record.owner, record.stream_table_id, kind] = record.refresh_id
    runs = []
    for record, kind in zip(history, kinds, strict=True):
        if not record.seconds:
            continue
        whole = kind is Action.FULL
        runs.append(
            PastRun(
                kind,
                Size(
                    changed=record.delta_rows or 0,
                    at_rest=_known(record.rows_at_rest, now.at_rest),
                    stored=_known(record.rows_written if whole else None, now.stored),
                    statements=now.statements,
                    changed_bytes=_known(record.delta_bytes, now.changed_bytes),
                    at_rest_bytes=_known(record.bytes_at_rest, now.at_rest_bytes),
                    stored_bytes=_known(record.bytes_written if whole else None, now.stored_bytes),
                    operators=frozenset(record.operators) or now.operators,
                    driver_rows=now.driver_rows,
                ),
                record.seconds,
                cold=oldest[record.owner, record.stream_table_id, kind] == record.refresh_id,
                probe=(record.reason or "").startswith(PROBE),
            )
        )
    return runs


def _known(recorded: int | None, otherwise: int) -> int:
    return otherwise if recorded is None else recorded


def _estimate(
    action: Action, size: Size, runs: Sequence[PastRun], borrowed: Sequence[PastRun], learn: bool
) -> Estimate:
    mine, theirs = ([run for run in each if run.action is action] for each in (runs, borrowed))
    total, weight = _evidence(action, size, mine)
    # Whatever others took matters the less the more is known of this one.
    lent, trust = _evidence(action, size, theirs)
    share = _OTHERS_WEIGHT / (1 + weight) ** 2
    ratio = (total + share * lent) / (weight + share * trust + _PRIOR_WEIGHT)
    last = mine[0].seconds if mine else None
    seconds = prior(action, size) * (exp(ratio) if learn else 1.0)
    return Estimate(seconds, len(mine), len(theirs), last, all(run.cold for run in mine), learn)


def _evidence(action: Action, size: Size, runs: Sequence[PastRun]) -> tuple[float, float]:
    """How much longer than the prior the runs took, as a sum of logarithms, and the weight of that sum."""
    total, weight = 0.0, 0.0
    only_first = all(run.cold for run in runs)
    for age, run in enumerate(runs):
        longer, trust = _lesson(action, run, only_first)
        trust *= _AGEING**age * _likeness(action, size, run.size)
        total += trust * longer
        weight += trust
    return total, weight


def _lesson(action: Action, run: PastRun, only_first: bool) -> tuple[float, float]:
    """How much longer than the prior one run took, as a logarithm, and how far it is to be believed."""
    if not run.cold:
        return log(run.seconds / prior(action, run.size)), 1.0
    worked = run.seconds - _LONGEST_START
    if only_first and action is Action.FULL and worked > prior(action, run.size):
        return log(worked / prior(action, run.size)), worked / run.seconds
    return log(run.seconds / prior(action, run.size, cold=True)), _COLD_WEIGHT


def _likeness(action: Action, size: Size, other: Size) -> float:
    """1 for the same amount of the same kind of work, less the further apart they are."""
    here, there = (size.changed, other.changed) if action is Action.INCREMENTAL else (size.at_rest, other.at_rest)
    either = size.operators | other.operators
    shared = len(size.operators & other.operators) / len(either) if either else 1.0
    return shared**2 * exp(-abs(log((here + 1) / (there + 1))) / 1.5)


def _worth_a_probe(
    winner: Estimate, loser: Estimate, other: Action, runs: Sequence[PastRun], probe_percent: int
) -> bool:
    if len(runs) < FEW or loser.seconds > _PROBE_WITHIN * winner.seconds:
        return False
    if any(run.action is other and not run.cold for run in runs[:_PROBE_AFTER]):
        return False
    spent = sum(run.seconds for run in runs)
    probed = sum(run.seconds for run in runs if run.probe)
    return probed + loser.seconds - winner.seconds <= spent * probe_percent / 100


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)


def _counted(runs: int) -> str:
    return f"{runs} run{'s' if runs != 1 else ''}"
