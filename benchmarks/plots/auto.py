"""AUTO against both modes: three points per cell of the matrix."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.cell import AUTO, FULL, REFRESH, Cell
from benchmarks.plots.svg import COLOURS, FAINT, Drawing, LogAxis, log_range

WIDTH = 860
LEFT, RIGHT, TOP, LINE = 270, 150, 76, 17
POINTS = ((FULL, "FULL", COLOURS[1], 5.0), (REFRESH, "INCREMENTAL", COLOURS[0], 5.0), (AUTO, "AUTO", COLOURS[2], 3.0))


def auto(cells: Sequence[Cell]) -> Drawing | None:
    """AUTO should lie on the left one of the other two."""
    found = [cell for cell in cells if cell.workload == "matrix" and cell.has(AUTO, REFRESH, FULL)]
    if not found:
        return None
    height = TOP + len(found) * LINE + 40
    drawing = Drawing(WIDTH, height, "Seconds per refresh in the three modes")
    drawing.text(20, 24, "AUTO against INCREMENTAL and FULL", size=16, bold=True)
    drawing.text(20, 42, "median seconds per refresh, logarithmic; further left is faster", size=12)
    times = [cell.median(name) for cell in found for name, *_ in POINTS]
    low, high = log_range(times, min(times), max(times))
    axis = LogAxis(low, high, LEFT, WIDTH - RIGHT)
    for value in axis.ticks():
        drawing.line(axis.place(value), TOP - 12, axis.place(value), height - 36, FAINT, faint=True)
        drawing.text(axis.place(value), height - 18, f"{value:g} s", "middle", 12)
    for place, cell in enumerate(found):
        y = TOP + place * LINE
        drawing.text(LEFT - 12, y + 4, f"{cell.part}, {cell.size}, {cell.share}", "end", 11)
        ends = [axis.place(cell.median(name)) for name, *_ in POINTS]
        drawing.line(min(ends), y, max(ends), y, FAINT)
        for name, words, colour, radius in POINTS:
            about = f"{words}: {cell.median(name):.2f} s"
            drawing.dot(axis.place(cell.median(name)), y, colour, radius, about)
    drawing.legend(WIDTH - RIGHT + 26, TOP, [(words, colour) for _, words, colour, _ in POINTS])
    return drawing
