"""One refresh of one stream table while it is under way, and how long each of its stages took."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from penstock.catalog.model import StreamTableMeta
from penstock.names import Frontier
from penstock.refresh.stages.pin import Redefine
from penstock.refresh.stages.survey import Surveyed


@dataclass
class Attempt:
    """One refresh of one stream table at work."""

    meta: StreamTableMeta
    wanted: Redefine | None = None
    """Gives the definition that this refresh is to put in place of the stored one, together with its rows."""
    refresh_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    timings: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)
    ended: float | None = None

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.timings[stage] = self.timings.get(stage, 0.0) + time.perf_counter() - began

    @property
    def seconds(self) -> float:
        return (time.perf_counter() if self.ended is None else self.ended) - self.started


@dataclass(frozen=True)
class Quiet:
    """A stream table to which nothing happened between its frontier and the pins."""

    attempt: Attempt
    surveyed: Surveyed
    before: Frontier
    version: int | None
    """The storage version that shows it."""
