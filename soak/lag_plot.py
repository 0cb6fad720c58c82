"""The lag of every stream table over time, one strip each, with its target; and the memory below."""

from __future__ import annotations

from benchmarks.plots.svg import COLOURS, Drawing

from soak.samples import Samples

WIDTH, STRIP, LEFT, RIGHT, TOP = 900, 40, 190, 130, 60
OF_TARGET = 1.3
"""A strip is this many times as high as its target."""


def lag_plot(samples: Samples) -> Drawing:
    """The picture."""
    lines = sorted(samples.lines.values(), key=lambda line: (line.target, line.name))
    end = max((at for line in lines for at, _ in line.lags), default=1.0)
    height = TOP + STRIP * (len(lines) + 3) + 40
    drawing = Drawing(WIDTH, height, "Lag of every stream table over time, against its target")
    drawing.text(LEFT, 24, f"{len(lines)} stream tables under continuous writers", size=16, bold=True)
    drawing.text(LEFT, 42, "lag over time; the line above each strip is its target lag", size=12)

    def across(at: float) -> float:
        return LEFT + at / end * (WIDTH - LEFT - RIGHT)

    for place, line in enumerate(lines):
        bottom = TOP + STRIP * (place + 1) - 4
        target = bottom - (STRIP - 8) / OF_TARGET
        colour = COLOURS[place % len(COLOURS)]
        drawing.text(LEFT - 10, bottom - 8, line.name.split(".")[-1], "end", 12)
        drawing.line(LEFT, target, WIDTH - RIGHT, target, faint=True)
        drawing.path(
            [
                (across(at), bottom - min(lag / line.target, OF_TARGET) * (STRIP - 8) / OF_TARGET)
                for at, lag in line.lags
            ],
            colour,
            1.2,
        )
        drawing.text(WIDTH - RIGHT + 10, bottom - 8, f"{line.within:.1%} of {line.target:g} s", size=12)
    bottom = TOP + STRIP * (len(lines) + 2)
    entries: list[tuple[str, str]] = []
    most = max((used for _, kinds in samples.memory for used in kinds.values()), default=1)
    for place, kind in enumerate(samples.memory[0][1] if samples.memory else ()):
        colour = COLOURS[place]
        points = [(across(at), bottom - kinds[kind] / most * STRIP * 1.6) for at, kinds in samples.memory]
        drawing.path(points, colour, 1.8)
        entries.append((f"{kind} {samples.memory[-1][1][kind]:,} MB", colour))
    drawing.legend(WIDTH - RIGHT + 10, bottom - 36, entries, gap=18)
    drawing.text(LEFT - 10, bottom - 12, "memory", "end", 12)
    drawing.line(LEFT, bottom, WIDTH - RIGHT, bottom)
    for tenth in range(11):
        at = end * tenth / 10
        drawing.text(across(at), bottom + 18, f"{at / 60:.1f}", "middle", 11)
    drawing.text((LEFT + WIDTH - RIGHT) / 2, bottom + 36, "minutes", "middle", 12)
    return drawing
