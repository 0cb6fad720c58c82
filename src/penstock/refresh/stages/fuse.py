"""The fuse: a scheduled refresh is not carried out when far more changed than usual.

    blown  ⇔  pending > factor · largest delta of the last runs   and   pending > FLOOR

A mistaken mass update is easier to undo in its source alone than in everything computed from it. A refresh asked for by
hand has no fuse.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.catalog.model import Action, StreamTableMeta
from penstock.catalog.reader import CatalogReader
from penstock.errors import FuseBlown
from penstock.refresh.stages.survey import Surveyed
from penstock.settings import Settings

FLOOR: Final = 100_000
"""Fewer rows are never abnormal."""

RUNS: Final = 20
"""How many runs show what is usual; fewer than three show nothing."""


def check_fuse(catalog: CatalogReader, settings: Settings, meta: StreamTableMeta, surveyed: Surveyed) -> None:
    """`FuseBlown` if this refresh would apply an abnormal number of changes."""
    if not settings.max_change_ratio or surveyed.before is None:
        return
    pending = sum(change.rows_estimate for change in surveyed.change_sets.values())
    runs = catalog.effective_runs(meta.id, RUNS)
    usual = largest(run.delta_rows for run in runs if run.action is Action.INCREMENTAL)
    if usual is not None and is_blown(pending, usual, settings.max_change_ratio):
        raise FuseBlown(name=meta.name, pending=f"{pending:,}", usual=f"{usual:,}", factor=settings.max_change_ratio)


def largest(deltas: Iterable[int | None]) -> int | None:
    """The largest delta of the runs; None if there are too few to tell."""
    known = [delta for delta in deltas if delta is not None]
    return max(known) if len(known) >= 3 else None


def is_blown(pending: int, usual: int, factor: int) -> bool:
    """Whether that many pending changes are abnormal.

    >>> is_blown(5_000_000, 10_000, 100), is_blown(90_000, 10, 100)
    (True, False)
    """
    return pending > FLOOR and pending > factor * max(usual, 1)
