"""A thousand changed rows while the table grows: seconds per refresh over rows in the table."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.cell import REFRESH, Cell
from benchmarks.plots.svg import COLOURS, Drawing, LogAxis, log_range

WIDTH, HEIGHT = 860, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 210, 56, 62


def slopes(cells: Sequence[Cell]) -> Drawing | None:
    """Both axes are logarithmic: a flat line is a cost that does not follow the table."""
    found = [cell for cell in cells if cell.workload == "slope" and cell.has(REFRESH)]
    sizes = sorted({cell.rows for cell in found})
    if len(sizes) < 2:
        return None
    shapes = list(dict.fromkeys(cell.part for cell in found))
    drawing = Drawing(WIDTH, HEIGHT, "Seconds per refresh of 1,000 changed rows, over the size of the table")
    drawing.text(LEFT, 24, "1,000 changed rows, growing table", size=16, bold=True)
    drawing.text(LEFT, 42, "median seconds per refresh; both axes logarithmic", size=12)
    times = [cell.median(REFRESH) for cell in found]
    low, high = log_range(times, min(times) / 1.5, max(times) * 1.5)
    up = LogAxis(low, high, HEIGHT - BOTTOM, TOP)
    along = LogAxis(sizes[0], sizes[-1], LEFT + 40, WIDTH - RIGHT - 40)
    for value in up.ticks():
        drawing.line(LEFT, up.place(value), WIDTH - RIGHT, up.place(value), faint=True)
        drawing.text(LEFT - 8, up.place(value) + 4, f"{value:g} s", "end", 12)
    for rows in sizes:
        drawing.line(along.place(rows), TOP, along.place(rows), HEIGHT - BOTTOM, faint=True)
        label = next(cell.size for cell in found if cell.rows == rows)
        drawing.text(along.place(rows), HEIGHT - BOTTOM + 20, label, "middle", 12, bold=True)
    for place, shape in enumerate(shapes):
        colour = COLOURS[place % len(COLOURS)]
        line = sorted((cell for cell in found if cell.part == shape), key=lambda cell: cell.rows)
        drawing.path([(along.place(cell.rows), up.place(cell.median(REFRESH))) for cell in line], colour)
        for cell in line:
            about = f"{shape}, {cell.size}: {cell.median(REFRESH):.2f} s"
            drawing.dot(along.place(cell.rows), up.place(cell.median(REFRESH)), colour, 4.5, about)
    drawing.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "rows in the table", "middle")
    drawing.upright(18, (TOP + HEIGHT - BOTTOM) / 2, "seconds")
    entries = [(_with_slope(found, shape), COLOURS[place % len(COLOURS)]) for place, shape in enumerate(shapes)]
    drawing.legend(WIDTH - RIGHT + 16, TOP + 14, entries)
    return drawing


def _with_slope(cells: Sequence[Cell], shape: str) -> str:
    line = sorted((cell for cell in cells if cell.part == shape), key=lambda cell: cell.rows)
    return f"{shape} ({line[-1].median(REFRESH) / line[0].median(REFRESH):.2f}×)"
