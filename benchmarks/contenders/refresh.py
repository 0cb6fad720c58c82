"""A refresh of a stream table."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass, field

import penstock
from benchmarks.contenders.contender import Contender
from penstock.refresh.result import RefreshResult


@dataclass
class Refresh(Contender):
    """`ps.refresh` of one stream table."""

    ps: penstock.StreamTables
    table: str
    upstream: tuple[str, ...] = ()
    """Stream tables that it pulls along."""
    results: list[RefreshResult] = field(default_factory=list, init=False)
    """Of the counted turns."""
    _last: RefreshResult | None = field(default=None, init=False)

    def run(self) -> None:
        """Refresh it."""
        self._last = self.ps.refresh(self.table)

    def count(self, seconds: float) -> None:
        """Keep the report of this turn too."""
        super().count(seconds)
        if self._last is not None:
            self.results.append(self._last)

    def exact(self) -> bool:
        """Audit: the query is run again at the stored versions and compared, as bags."""
        return all(self.ps.audit(table).exact for table in (*self.upstream, self.table))

    @property
    def stages(self) -> dict[str, float]:
        """Median seconds per stage."""
        names = dict.fromkeys(stage for result in self.results for stage in result.timings)
        return {stage: statistics.median(result.timings.get(stage, 0.0) for result in self.results) for stage in names}

    @property
    def actions(self) -> str:
        """What was done in the counted turns, most often first.

        A stream table that fell back to another action than asked for is seen here.
        """
        counted = Counter(result.action.value for result in self.results).most_common()
        return ", ".join(f"{action} {times}×" if len(counted) > 1 else action for action, times in counted)

    @property
    def rows_read(self) -> int | None:
        """Median rows read, if the logs of all tables count rows."""
        read = [result.rows_read for result in self.results if result.rows_read is not None]
        return round(statistics.median(read)) if read else None
