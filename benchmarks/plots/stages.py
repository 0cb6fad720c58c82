"""Where the time goes: the stages of a refresh, one bar per cell."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.cell import Cell
from benchmarks.plots.svg import COLOURS, FAINT, Drawing

WIDTH = 860
LEFT, RIGHT, TOP, BAR, GAP = 300, 150, 60, 20, 9
FEW = 0.01
"""A stage that is nowhere more than this share of a bar is counted among the others."""
OTHER = "other"
WORKLOADS = ("few rows", "append", "large")


def stages(cells: Sequence[Cell]) -> Drawing | None:
    """Seconds, not shares: long bars are slow refreshes."""
    found = [cell for cell in cells if cell.workload in WORKLOADS and cell.stages]
    if not found:
        return None
    names = _names(found)
    height = TOP + len(found) * (BAR + GAP) + 48
    drawing = Drawing(WIDTH, height, "Seconds of each stage of a refresh")
    drawing.text(20, 24, "Where the time of a refresh goes", size=16, bold=True)
    drawing.text(20, 42, "median seconds per stage", size=12)
    longest = max(sum(cell.stages.values()) for cell in found)
    unit = (WIDTH - LEFT - RIGHT) / longest
    tick = _round_step(longest)
    value = 0.0
    while value <= longest:
        drawing.line(LEFT + value * unit, TOP - 8, LEFT + value * unit, height - 40, FAINT, faint=True)
        drawing.text(LEFT + value * unit, height - 22, f"{value:g} s", "middle", 12)
        value = round(value + tick, 6)
    for place, cell in enumerate(found):
        y = TOP + place * (BAR + GAP)
        drawing.text(LEFT - 10, y + 15, f"{cell.part}, {cell.size}, {_amount(cell)} {cell.spread}", "end", 11)
        x = float(LEFT)
        for name in names:
            seconds = _stage(cell, name, names)
            colour = FAINT if name == OTHER else COLOURS[names.index(name) % len(COLOURS)]
            drawing.box(x, y, seconds * unit, BAR, colour, f"{name}: {seconds:.3f} s")
            x += seconds * unit
        drawing.text(x + 6, y + 15, f"{sum(cell.stages.values()):.2f}", size=11)
    entries = [(name, FAINT if name == OTHER else COLOURS[place % len(COLOURS)]) for place, name in enumerate(names)]
    drawing.legend(WIDTH - RIGHT + 40, TOP + 12, entries)
    return drawing


def _names(cells: Sequence[Cell]) -> list[str]:
    """The stages that matter somewhere, in the order in which they run; the rest are others."""
    known = list(dict.fromkeys(name for cell in cells for name in cell.stages))
    total = {id(cell): sum(cell.stages.values()) for cell in cells}
    shares = {name: max(cell.stages.get(name, 0.0) / total[id(cell)] for cell in cells) for name in known}
    largest = sorted(known, key=lambda name: -shares[name])[: len(COLOURS)]
    kept = [name for name in known if shares[name] > FEW and name in largest]
    return kept if len(kept) == len(known) else [*kept, OTHER]


def _stage(cell: Cell, name: str, names: Sequence[str]) -> float:
    if name != OTHER:
        return cell.stages.get(name, 0.0)
    return sum(seconds for stage, seconds in cell.stages.items() if stage not in names)


def _amount(cell: Cell) -> str:
    return f"{cell.changed} rows" if cell.workload == "few rows" else cell.share


def _round_step(longest: float) -> float:
    steps = [step * 10.0**power for power in range(-4, 4) for step in (1, 2, 5)]
    return min((step for step in steps if longest / step <= 8), default=steps[-1])
