"""How much faster a refresh is than a recompute: one line per shape, from small tables to large ones."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.cell import FULL, RECOMPUTE, REFRESH, Cell
from benchmarks.plots.svg import COLOURS, FAINT, Drawing, LogAxis, log_range

WIDTH, HEIGHT = 860, 450
LEFT, RIGHT, TOP, BOTTOM = 70, 200, 56, 122


def speedups(cells: Sequence[Cell]) -> Drawing | None:
    """Every place on the horizontal axis is one size with one change."""
    found = [(cell, speedup) for cell in cells if (speedup := _speedup(cell)) is not None]
    columns = list(dict.fromkeys(_column(cell) for cell, _ in found))
    if not columns:
        return None
    columns.sort(key=lambda column: (_SIZES.index(column[0]) if column[0] in _SIZES else 0, column[2], column[1]))
    shapes = list(dict.fromkeys(cell.part for cell, _ in found))
    drawing = Drawing(WIDTH, HEIGHT, "How many times faster a refresh is than a recompute")
    drawing.text(LEFT, 24, "Recompute time ÷ refresh time", size=16, bold=True)
    drawing.text(LEFT, 42, "above 1 the refresh is faster; logarithmic", size=12)
    low, high = log_range([speedup for _, speedup in found], 0.5, 20)
    axis = LogAxis(low, high, HEIGHT - BOTTOM, TOP)
    step = (WIDTH - RIGHT - LEFT) / len(columns)
    for value in axis.ticks():
        place = axis.place(value)
        drawing.line(LEFT, place, WIDTH - RIGHT, place, width=2 if value == 1 else 1, faint=value != 1)
        drawing.text(LEFT - 8, place + 4, f"{value:g}×", "end", 12)
    for number, (size, percent, spread) in enumerate(columns):
        middle = LEFT + (number + 0.5) * step
        drawing.text(middle, HEIGHT - BOTTOM + 20, size, "middle", 12, bold=True)
        drawing.text(middle, HEIGHT - BOTTOM + 37, f"{percent:g}%", "middle", 12)
        drawing.upright(middle + 4, HEIGHT - BOTTOM + 70, spread, 11)
        if number:
            drawing.line(LEFT + number * step, TOP, LEFT + number * step, HEIGHT - BOTTOM, FAINT, faint=True)
    for place, shape in enumerate(shapes):
        colour = COLOURS[place % len(COLOURS)]
        for cell, speedup in found:
            if cell.part == shape:
                shift = (place - (len(shapes) - 1) / 2) * min(12.0, step / (len(shapes) + 1))
                x = LEFT + (columns.index(_column(cell)) + 0.5) * step + shift
                drawing.line(x, axis.place(1), x, axis.place(speedup), colour, 2)
                drawing.dot(x, axis.place(speedup), colour, 4.5, f"{shape}, {cell.size}, {cell.share}: {speedup:.1f}×")
    drawing.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "rows in the table, share changed per refresh", "middle")
    drawing.upright(18, (TOP + HEIGHT - BOTTOM) / 2, "times faster")
    drawing.legend(
        WIDTH - RIGHT + 22, TOP + 14, [(shape, COLOURS[place % len(COLOURS)]) for place, shape in enumerate(shapes)]
    )
    return drawing


_SIZES = ("10K", "100K", "1M", "10M")


def _speedup(cell: Cell) -> float | None:
    """Against recompute; the matrix of a short run has the mode FULL instead, which does the same work."""
    if cell.workload not in {"matrix", "large", "few rows"}:
        return None
    peer = next((name for name in (RECOMPUTE, FULL) if cell.has(REFRESH, name)), None)
    return cell.ratio(peer) if peer else None


def _column(cell: Cell) -> tuple[str, float, str]:
    return cell.size, float(f"{100 * cell.changed / cell.rows:.2g}"), cell.spread
