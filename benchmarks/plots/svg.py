"""Plain SVG: a drawing is a list of shapes. Colours are of middle brightness, legible on light and on dark ground."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

INK, FAINT = "#6b7684", "#8b95a3"
COLOURS = ("#2f7fd1", "#e07b39", "#2a9d76", "#9a6fd0", "#d1566e", "#b8952a", "#4aa3b5")
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"


@dataclass
class Drawing:
    """A picture of a given size; places are pixels from its upper left corner."""

    width: int
    height: int
    title: str
    """Read out instead of the picture."""
    _shapes: list[str] = field(default_factory=list)

    def line(
        self, x1: float, y1: float, x2: float, y2: float, colour: str = FAINT, width: float = 1, faint: bool = False
    ) -> None:
        """A straight line; a faint one belongs to a grid."""
        opacity = ' stroke-opacity="0.35"' if faint else ""
        self._shapes.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{colour}" stroke-width="{width:g}"{opacity}/>'
        )

    def path(self, points: Sequence[tuple[float, float]], colour: str, width: float = 2.5) -> None:
        """A line through points."""
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._shapes.append(
            f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="{width:g}" '
            f'stroke-linejoin="round" stroke-linecap="round"/>'
        )

    def dot(self, x: float, y: float, colour: str, radius: float = 4, about: str = "") -> None:
        """A point; `about` shows under the pointer."""
        self._shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}">{_tip(about)}</circle>')

    def box(self, x: float, y: float, width: float, height: float, colour: str, about: str = "") -> None:
        """A filled rectangle."""
        self._shapes.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}" rx="2" '
            f'fill="{colour}">{_tip(about)}</rect>'
        )

    def text(self, x: float, y: float, words: str, anchor: str = "start", size: float = 13, bold: bool = False) -> None:
        """Words; `anchor` is start, middle or end."""
        weight = ' font-weight="600"' if bold else ""
        self._shapes.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:g}"{weight}>{escape(words)}</text>'
        )

    def upright(self, x: float, y: float, words: str, size: float = 13) -> None:
        """Words that run upwards, for a vertical axis; the place is their middle."""
        self._shapes.append(
            f'<text transform="translate({x:.1f} {y:.1f}) rotate(-90)" text-anchor="middle" '
            f'font-size="{size:g}">{escape(words)}</text>'
        )

    def legend(self, x: float, y: float, entries: Sequence[tuple[str, str]], gap: float = 22) -> None:
        """Names with their colours, one below the other."""
        for place, (name, colour) in enumerate(entries):
            self.box(x, y + place * gap - 10, 12, 12, colour)
            self.text(x + 18, y + place * gap, name)

    def svg(self) -> str:
        """The file's text."""
        shapes = "\n".join(self._shapes)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img" aria-label="{escape(self.title)}" '
            f'font-family="{FONT}" fill="{INK}">\n<title>{escape(self.title)}</title>\n{shapes}\n</svg>\n'
        )


def _tip(about: str) -> str:
    return f"<title>{escape(about)}</title>" if about else ""


@dataclass(frozen=True, slots=True)
class LogAxis:
    """Values by their logarithm, between two places; `low` is at `start`."""

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """Where a value lies.

        >>> LogAxis(1, 100, 0, 200).place(10)
        100.0
        """
        share = (math.log10(value) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round values within the range: 1, 2, 5 of every power of ten if they are few, else the powers alone.

        >>> LogAxis(0.5, 20, 0, 1).ticks()
        [0.5, 1.0, 2.0, 5.0, 10.0, 20.0]
        """
        exponents = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        steps = (1, 2, 5) if len(exponents) <= 4 else (1,)
        found = [float(f"{step}e{exponent}") for exponent in exponents for step in steps]
        return [value for value in found if self.low * 0.999 <= value <= self.high * 1.001]


def log_range(values: Sequence[float], least: float, most: float) -> tuple[float, float]:
    """The least range of round values around all values that also has `least` and `most` in it.

    >>> log_range([0.7, 33], 1, 10)
    (0.5, 50.0)
    """
    low, high = min([*values, least]), max([*values, most])
    rounds = [float(f"{step}e{exponent}") for exponent in range(-6, 9) for step in (1, 2, 5)]
    return max(value for value in rounds if value <= low), min(value for value in rounds if value >= high)
