"""`python -m benchmarks.page [FILE]`: the page of the documentation, with its pictures, from all kept results."""

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
from benchmarks.results import Run, kept

DOCS = Path(__file__).parent.parent / "docs"
PAGE = "benchmarks.md"
PICTURES: tuple[tuple[str, str, Callable[[Sequence[Cell]], Drawing | None]], ...] = (
    ("speedups", "Speed-up by shape and size", speedups),
    ("slopes", "Cost follows the change, not the table", slopes),
    ("stages", "Where the time goes", stages),
    ("auto", "AUTO against the better mode", auto),
)

METHOD = Path(__file__).parent / "method.md"


OPENING = (
    "This page compares the cost of a refresh with recomputing the query, and with a `MERGE` written by hand. "
    "It shows losses too."
)


def text(run: Run | None, pictures: Sequence[tuple[str, str]]) -> str:
    """The page; pictures are file names with their headings."""
    method = METHOD.read_text(encoding="utf-8").strip()
    if run is None:
        return f"# Benchmarks\n\n{OPENING}\n\nNo run is kept in `benchmarks/results/` yet.\n\n{method}\n"
    parts = [
        "# Benchmarks",
        OPENING,
        _measured(run),
        f"## Asked and reached\n\n{report.figures(run).markdown()}",
        *(f"## {heading}\n\n![{heading}](benchmarks/{name}.svg)" for name, heading in pictures),
        report.losses_text(run),
        method,
        "## All figures\n\nMedian seconds.",
        *(
            f"### {sheet.title[:1].upper()}{sheet.title[1:]}\n\n{sheet.markdown()}"
            for sheet in report.sheets(run.cells)
        ),
    ]
    if run.memory:
        parts.append(f"### Memory of the driver\n\nMegabytes, after everything above.\n\n{report.memory_text(run)}")
    if run.skipped:
        parts.append("### Left out\n\nThe time was up before:\n\n" + "\n".join(f"- {each}" for each in run.skipped))
    return "\n\n".join(parts) + "\n"


def _measured(run: Run) -> str:
    """When and on what; every run on its own, if there were several."""
    if len(run.parts) < 2:
        return f"Measured on {run.at:%Y-%m-%d}. {report.machine_text(run)}"
    lines = "\n".join(f"- {each.at:%Y-%m-%d %H:%M}: {report.machine_text(each)}" for each in run.parts)
    return (
        "This page combines several runs: every row of a table comes from the newest run that has it, and every ratio "
        f"compares times of one run.\n\n{lines}"
    )


def write(run: Run | None, docs: Path = DOCS) -> list[Path]:
    """Write the page and its pictures; pictures that nothing was measured for are removed."""
    folder = docs / "benchmarks"
    folder.mkdir(exist_ok=True)
    written = []
    for name, heading, plot in PICTURES:
        path, drawing = folder / f"{name}.svg", plot(run.cells if run else [])
        if drawing is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(drawing.svg(), encoding="utf-8")
            written.append((name, heading, path))
    page = docs / PAGE
    page.write_text(text(run, [(name, heading) for name, heading, _ in written]), encoding="utf-8")
    return [page, *(path for _, _, path in written)]


def main() -> None:
    """Write it."""
    given = sys.argv[1:]
    run = Run.from_json(json.loads(Path(given[0]).read_text(encoding="utf-8"))) if given else kept()
    for path in write(run):
        print(path)


if __name__ == "__main__":
    main()
