"""One cell of the results: what was measured, every counted time of every contender, whether the rows were right."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

REFRESH, RECOMPUTE, MERGE, APPEND = "refresh", "recompute", "merge", "append"
AUTO, FULL = "auto", "full"
"""Names of contenders. `refresh` is a stream table in mode INCREMENTAL, `auto` and `full` are the other two modes."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One query at one size under one kind of change."""

    workload: str
    part: str
    """The query shape, or whatever else this workload is made of."""
    size: str
    """The nominal size, such as 10M."""
    rows: int
    changed: int
    """Rows that each turn changes."""
    spread: str
    """clustered, scattered, or nothing."""
    seconds: Mapping[str, Sequence[float]]
    """Counted times by contender, in the order of the turns."""
    exact: bool | None = None
    """None: there are no rows to check, or they are not checked yet."""
    stages: Mapping[str, float] = field(default_factory=dict)
    """Median seconds of each stage of the refresh."""
    facts: Mapping[str, int | float | str] = field(default_factory=dict)

    def has(self, *contenders: str) -> bool:
        """True if all of them were timed."""
        return all(self.seconds.get(contender) for contender in contenders)

    def median(self, contender: str) -> float:
        """Median seconds of a contender."""
        return statistics.median(self.seconds[contender])

    def ratio(self, slower: str, faster: str = REFRESH) -> float:
        """How many times longer one contender takes than another, by medians."""
        return self.median(slower) / self.median(faster)

    @property
    def share(self) -> str:
        """Changed rows as a share of all rows, or their number where it is a fixed one."""
        percent = 100 * self.changed / self.rows if self.rows else 0.0
        return f"{percent:.3g}%"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        data = asdict(self)
        data["seconds"] = {name: [round(each, 5) for each in times] for name, times in self.seconds.items()}
        data["stages"] = {name: round(each, 5) for name, each in self.stages.items()}
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Cell:
        """The inverse of `to_json`."""
        return cls(**data)
