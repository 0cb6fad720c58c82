"""The table of results: printed, and kept as JSON and Markdown."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.tpch.measure import Outcome
from benchmarks.tpch.queries import Query

RESULTS = Path(__file__).parent.parent / "results"
ORDERS_TICK, EVERY_TICK = "tick of orders", "tick of every table"
LITTLE = 0.2
"""A refresh that reads less than this of the rows at rest counts as reading little."""

_FOLLOWS = {"INCREMENTAL", "NO_DATA"}
"""Queries that read neither orders nor lines have nothing to do when only these change."""

HEADINGS = (
    "query",
    "action",
    "result",
    "read/rest",
    "refresh s",
    "recompute s",
    "faster",
    "| every table: read/rest",
    "refresh s",
    "faster",
)


@dataclass(frozen=True, slots=True)
class Line:
    """All that is known of one query."""

    query: Query
    refused: str | None
    """What the compiler said, if it did not take the query as INCREMENTAL."""
    outcomes: tuple[Outcome, ...]

    @property
    def action(self) -> str:
        """INCREMENTAL if every refresh was, or had nothing to do; else the first action that was not."""
        return next((each.action for each in self.outcomes if each.action not in _FOLLOWS), "INCREMENTAL")

    @property
    def exact(self) -> bool:
        """True if the table equalled its query after every refresh."""
        return bool(self.outcomes) and all(each.exact for each in self.outcomes)

    @property
    def good(self) -> bool:
        """What the exit code is about."""
        return self.exact and self.refused is None and self.action == "INCREMENTAL"

    def tick(self, after: str) -> Outcome | None:
        """The outcome of one of the two ticks."""
        return next((each for each in self.outcomes if each.after == after), None)

    def cells(self) -> tuple[str, ...]:
        """The line as text, in the order of HEADINGS."""
        orders, every = self.tick(ORDERS_TICK), self.tick(EVERY_TICK)
        result = "exact" if self.exact else "DIFFERS" if self.outcomes else "REFUSED"
        return (
            f"Q{self.query.number}",
            self.action if self.outcomes else "-",
            result,
            *(_ratio(orders), *_times(orders)),
            *(_ratio(every), _times(every)[0], _times(every)[2]),
        )


def _ratio(tick: Outcome | None) -> str:
    return "-" if tick is None or tick.read_ratio is None else f"{tick.read_ratio:.4f}"


def _times(tick: Outcome | None) -> tuple[str, str, str]:
    if tick is None or tick.action == "FAILED":
        return "-", "-", "-"
    return f"{tick.refresh_seconds:.2f}", f"{tick.recompute_seconds:.2f}", f"{tick.speedup:.1f}×"


def summary(lines: list[Line]) -> str:
    """One line that says how many are good."""
    incremental = sum(line.action == "INCREMENTAL" and line.refused is None and bool(line.outcomes) for line in lines)
    exact = sum(line.exact for line in lines)
    ratios = [tick.read_ratio for line in lines if (tick := line.tick(ORDERS_TICK)) is not None]
    little = sum(ratio is not None and ratio < LITTLE for ratio in ratios)
    counted = "" if any(ratio is not None for ratio in ratios) else " (rows read are not counted)"
    total = len(lines)
    return f"{incremental} of {total} incremental, {exact} of {total} exact, {little} read less than {LITTLE}{counted}"


def text(lines: list[Line]) -> str:
    """The table for a terminal."""
    rows = [HEADINGS, *(line.cells() for line in lines)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADINGS))]
    told = ["  ".join(_aligned(row[place], place, width) for place, width in enumerate(widths)) for row in rows]
    return "\n".join([*(line.rstrip() for line in told), "", summary(lines), *_troubles(lines)])


def markdown(lines: list[Line], title: str) -> str:
    """The table for a page."""
    rows = [
        " | ".join(heading.replace("| ", "") for heading in HEADINGS),
        " | ".join(["---"] * 3 + ["---:"] * (len(HEADINGS) - 3)),
        *(" | ".join(line.cells()) for line in lines),
    ]
    troubles = "".join(f"- {trouble}\n" for trouble in _troubles(lines))
    return f"# {title}\n\n{summary(lines)}\n\n" + "".join(f"| {row} |\n" for row in rows) + f"\n{troubles}"


def keep(lines: list[Line], scale: float, rounds: int) -> Path:
    """Write both files; returns the path of the Markdown one."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    stamp = datetime.now(UTC)
    path = RESULTS / f"tpch-{stamp:%Y%m%d-%H%M%S}.md"
    machine = {"cpus": os.cpu_count(), "python": platform.python_version(), "platform": platform.platform()}
    path.write_text(markdown(lines, f"TPC-H, scale factor {scale}, {rounds} rounds, {stamp:%Y-%m-%d}"), "utf-8")
    kept = {
        "at": stamp.isoformat(),
        "machine": machine,
        "scale": scale,
        "rounds": rounds,
        "summary": summary(lines),
        "queries": [
            {
                "query": line.query.name,
                "title": line.query.title,
                "refused": line.refused,
                "action": line.action,
                "exact": line.exact,
                "outcomes": [asdict(outcome) for outcome in line.outcomes],
            }
            for line in lines
        ],
    }
    path.with_suffix(".json").write_text(json.dumps(kept, indent=2), "utf-8")
    return path


def _aligned(cell: str, place: int, width: int) -> str:
    return cell.ljust(width) if place < 3 else cell.rjust(width)


def _troubles(lines: list[Line]) -> list[str]:
    told = [f"Q{line.query.number} refused: {line.refused}" for line in lines if line.refused]
    for line in lines:
        for each in line.outcomes:
            where = f"Q{line.query.number} after {each.after}: {each.action}"
            if not each.exact:
                told.append(f"{where}: {each.difference}; {each.reason}")
            elif each.action not in _FOLLOWS and line.refused is None:
                told.append(f"{where}: {each.reason}")
    return told
