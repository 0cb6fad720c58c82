"""`python -m benchmarks.page [FILE]`: the page of the documentation, with its pictures, from the newest results."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import report
from benchmarks.cell import Cell
from benchmarks.plots.auto import auto
from benchmarks.plots.slopes import slopes
from benchmarks.plots.speedups import speedups
from benchmarks.plots.stages import stages
from benchmarks.plots.svg import Drawing
from benchmarks.results import Run, newest

DOCS = Path(__file__).parent.parent / "docs"
PAGE = "benchmarks.md"
PICTURES: tuple[tuple[str, str, Callable[[Sequence[Cell]], Drawing | None]], ...] = (
    ("speedups", "Speed-up by shape and size", speedups),
    ("slopes", "Cost follows the change, not the table", slopes),
    ("stages", "Where the time goes", stages),
    ("auto", "AUTO against the better mode", auto),
)

METHOD = Path(__file__).parent / "method.md"


def text(run: Run, pictures: Sequence[tuple[str, str]]) -> str:
    """The page; pictures are file names with their headings."""
    parts = [
        "# Benchmarks",
        "What a refresh costs beside recomputing the query, and beside the `MERGE` that one would write by hand. "
        "Losses are here too.",
        f"Measured on {run.at:%Y-%m-%d}. {report.machine_text(run)}",
        "## Asked and reached",
        report.figures(run).markdown(),
    ]
    parts += [f"## {heading}\n\n![{heading}](benchmarks/{name}.svg)" for name, heading in pictures]
    parts.append(report.losses_text(run))
    parts.append(METHOD.read_text(encoding="utf-8").strip())
    parts.append("## All figures\n\nMedian seconds.")
    parts += [f"### {sheet.title.capitalize()}\n\n{sheet.markdown()}" for sheet in report.sheets(run.cells)]
    if run.memory:
        parts.append(f"### Memory of the driver\n\nMegabytes, after everything above.\n\n{report.memory_text(run)}")
    if run.skipped:
        parts.append("### Left out\n\nThe time was up before:\n\n" + "\n".join(f"- {each}" for each in run.skipped))
    return "\n\n".join(parts) + "\n"


def write(run: Run, docs: Path = DOCS) -> list[Path]:
    """Write the page and its pictures; pictures that nothing was measured for are removed."""
    folder = docs / "benchmarks"
    folder.mkdir(exist_ok=True)
    written = []
    for name, heading, plot in PICTURES:
        path, drawing = folder / f"{name}.svg", plot(run.cells)
        if drawing is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(drawing.svg(), encoding="utf-8")
            written.append((name, heading, path))
    page = docs / PAGE
    page.write_text(text(run, [(name, heading) for name, heading, _ in written]), encoding="utf-8")
    return [page, *(path for _, _, path in written)]


def main() -> int:
    """Write it; 1 if there are no results."""
    given = sys.argv[1:]
    run = Run.from_json(json.loads(Path(given[0]).read_text(encoding="utf-8"))) if given else newest()
    if run is None:
        print("no results yet: make bench", file=sys.stderr)
        return 1
    for path in write(run):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
