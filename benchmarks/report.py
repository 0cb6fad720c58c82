"""A run as text: tables of cells per workload, the asked figures, the losses. The same rows for terminal and page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from benchmarks.cell import MERGE, RECOMPUTE, REFRESH, Cell
from benchmarks.results import Run
from benchmarks.targets import losses

NAMES = {REFRESH: "refresh", RECOMPUTE: "recompute", MERGE: "MERGE", "auto": "AUTO", "full": "FULL"}


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: int
    """The first columns that are words, not numbers."""

    def markdown(self) -> str:
        """The table for a page."""
        rule = ["---"] * self.texts + ["---:"] * (len(self.head) - self.texts)
        lines = [self.head, rule, *self.rows]
        return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def sheets(cells: Sequence[Cell]) -> list[Sheet]:
    """One table per workload, in the order of the cells."""
    ordered = sorted(cells, key=lambda cell: _first_place(cells, cell.workload))
    return [_sheet(workload, list(group)) for workload, group in groupby(ordered, key=lambda cell: cell.workload)]


def figures(run: Run) -> Sheet:
    """The asked figures."""
    rows = tuple((each.figure, each.asked, each.measured, each.word) for each in run.verdicts)
    return Sheet("Asked figures", ("figure", "asked", "measured", "reached"), rows, 4)


def markdown(run: Run) -> str:
    """The whole run as a page of its own."""
    parts = [f"# Benchmarks of {run.at:%Y-%m-%d %H:%M} UTC", machine_text(run), _section(figures(run))]
    parts += [_section(sheet) for sheet in sheets(run.cells)]
    parts.append(losses_text(run))
    if run.memory:
        parts.append("## Memory of the driver, in megabytes\n\n" + memory_text(run))
    if run.skipped:
        parts.append("## Left out, because the time was up\n\n" + "\n".join(f"- {label}" for label in run.skipped))
    if run.failed:
        parts.append("## Failed\n\n" + "\n".join(f"- {what}" for what in run.failed))
    return "\n\n".join(parts) + "\n"


def machine_text(run: Run) -> str:
    """The machine, in a sentence."""
    at = run.machine
    load = ", ".join(str(each) for each in at["load_average"])
    scale = "" if run.scale == 1 else f" **Sizes were multiplied by {run.scale:g}: the times mean nothing.**"
    return (
        f"{at['cpus']} processors ({at['cpu']}), {at['memory_gb']} GB of memory, load average {load} at the end; "
        f"{at['platform']}; Python {at['python']}, Java {at['java']}, Spark {at['spark']} with "
        f"{at['driver_memory']} for the driver, Delta {at['delta']}, delta-rs {at['deltalake']}. "
        f"The run took {run.seconds / 60:.0f} minutes.{scale}"
    )


def losses_text(run: Run) -> str:
    """Where Penstock is slower than a peer."""
    told = losses(run.cells)
    return "## Losses\n\n" + ("\n".join(f"- {loss}" for loss in told) if told else "None in this run.")


def memory_text(run: Run) -> str:
    """Memory after everything else."""
    return "\n".join(f"- {name.replace('_', ' ')}: {amount:,}" for name, amount in run.memory.items())


def _section(sheet: Sheet) -> str:
    return f"## {sheet.title}\n\n{sheet.markdown()}"


def _sheet(workload: str, cells: list[Cell]) -> Sheet:
    """Median seconds of every contender, and how much longer each takes than the refresh."""
    names = list(dict.fromkeys(name for cell in cells for name in cell.seconds))
    compared = [name for name in names if name != names[0]]
    head = ["what", "rows", "changed", *(f"{NAMES.get(name, name)} s" for name in names)]
    head += [f"{NAMES.get(name, name)} ÷ {NAMES.get(names[0], names[0])}" for name in compared]
    counted = any("rows_read" in cell.facts for cell in cells)
    head += ["rows read"] if counted else []
    rows = tuple(
        (
            cell.part,
            cell.size,
            f"{cell.changed:,} {cell.spread}".strip(),
            *(_seconds(cell, name) for name in names),
            *(f"{cell.ratio(name, names[0]):.2f}" if cell.has(name, names[0]) else "–" for name in compared),
            *([_count(cell.facts.get("rows_read"))] if counted else []),
            str(cell.facts.get("actions of refresh", "")),
            {True: "exact", False: "DIFFERS", None: ""}[cell.exact],
        )
        for cell in cells
    )
    return Sheet(workload, (*head, "action", "rows checked"), rows, 1)


def _seconds(cell: Cell, name: str) -> str:
    if not cell.has(name):
        return "–"
    median = cell.median(name)
    return f"{median:.4f}" if median < 0.1 else f"{median:.2f}"


def _count(rows: int | float | str | None) -> str:
    return "–" if rows is None else f"{rows:,}"


def _first_place(cells: Sequence[Cell], workload: str) -> int:
    return next(place for place, cell in enumerate(cells) if cell.workload == workload)
