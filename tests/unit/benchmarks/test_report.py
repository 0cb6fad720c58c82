"""Results: kept, read again, and rendered as tables and as a page."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from benchmarks import page, report
from benchmarks.cell import Cell
from benchmarks.results import Run, joined, keep, kept

MACHINE = {
    "cpus": 2,
    "cpu": "a processor",
    "memory_gb": 8.0,
    "load_average": [0.1, 0.2, 0.3],
    "platform": "Linux",
    "python": "3.11",
    "java": "17",
    "spark": "4.2.0",
    "delta": "4.4.0",
    "deltalake": "1.6.0",
    "driver_memory": "4g",
}


def _cells() -> list[Cell]:
    times = {"refresh": [0.05, 0.06, 0.07], "recompute": [1.0, 1.2, 1.1]}
    modes = {"refresh": [0.3], "auto": [0.31], "full": [0.9]}
    stages = {"pin": 0.001, "compute": 0.04, "apply": 0.02}
    matrix = [Cell("matrix", "scan", size, rows, rows // 100, "scattered", modes, True) for size, rows in SIZES]
    slope = [
        Cell("slope", part, size, rows, 1_000, "clustered", {"refresh": [0.3 + rows / 1e8]}, True)
        for part in ("scan", "join")
        for size, rows in SIZES
    ]
    few = Cell("few rows", "aggregate", "1M", 1_000_000, 100, "clustered", times, True, stages, {"rows_read": 7})
    return [*matrix, few, *slope]


SIZES = (("10K", 10_000), ("100K", 100_000), ("1M", 1_000_000))


def _run(cells: list[Cell], scale: float = 1) -> Run:
    at = datetime(2026, 11, 16, 12, 30, tzinfo=UTC)
    return Run(at, scale, 600, MACHINE, cells, ["slope: scan"], [], {"jvm_heap_used": 512})


def test_a_run_is_kept_and_read_again(tmp_path: Path) -> None:
    run = _run(_cells())
    path = keep(run, report.markdown(run), tmp_path)
    assert path.name == "bench-20261116-123000.md"
    found = kept(tmp_path)
    assert found is not None
    assert found.to_json() == run.to_json()


def test_a_smoke_run_is_never_the_newest_result(tmp_path: Path) -> None:
    assert keep(_run([], 0.01), "", tmp_path).name.startswith("smoke-")
    assert kept(tmp_path) is None


def test_the_page_tells_of_every_run_that_gave_it_a_cell(tmp_path: Path) -> None:
    """Runs on several machines are not passed off as one."""
    cells = _cells()
    overtaken, first, newest = (
        replace(_run(part), at=datetime(2026, 1, day, tzinfo=UTC), machine={**MACHINE, "cpu": f"cpu {day}"})
        for day, part in ((1, cells[:1]), (2, cells[1:]), (3, cells[:1]))
    )
    together = joined([overtaken, first, newest])
    assert list(together.parts) == [first, newest]
    page.write(together, tmp_path)
    told = (tmp_path / page.PAGE).read_text(encoding="utf-8")
    assert [f"cpu {day}" in told for day in (1, 2, 3)] == [False, True, True]


def test_wrong_rows_and_failures_are_not_exact() -> None:
    wrong = Cell("matrix", "scan", "1M", 1, 1, "", {}, exact=False)
    assert _run(_cells()).exact
    assert not _run([wrong]).exact
    assert not Run(datetime.now(UTC), 1, 1, MACHINE, [], failed=["it broke"]).exact


def test_a_sheet_has_medians_and_ratios_to_the_first_contender() -> None:
    sheet = next(sheet for sheet in report.sheets(_cells()) if sheet.title == "few rows")
    assert sheet.head[3:6] == ("refresh s", "recompute s", "recompute ÷ refresh")
    assert sheet.rows[0][:6] == ("aggregate", "1M", "100 clustered", "0.0600", "1.10", "18.33")
    assert sheet.rows[0][6:] == ("7", "", "exact")
    assert sheet.markdown().splitlines()[0].startswith("| what | rows | changed |")


def test_the_report_says_what_is_missing_and_what_was_small() -> None:
    told = report.markdown(_run(_cells(), 0.01))
    assert "slope: scan" in told
    assert "the times mean nothing" in told
    assert {verdict.reached for verdict in _run(_cells(), 0.01).verdicts} == {None}
    assert "jvm heap used: 512" in told


def test_the_page_has_its_pictures(tmp_path: Path) -> None:
    page.write(_run(_cells()), tmp_path)
    told = (tmp_path / page.PAGE).read_text(encoding="utf-8")
    for name, _, _ in page.PICTURES:
        assert f"benchmarks/{name}.svg" in told
        drawn = ElementTree.parse(tmp_path / "benchmarks" / f"{name}.svg").getroot()
        assert drawn.get("width") == "860"


def test_pictures_without_cells_are_left_out(tmp_path: Path) -> None:
    page.write(_run(_cells()), tmp_path)
    page.write(None, tmp_path)
    assert list((tmp_path / "benchmarks").iterdir()) == []
    assert ".svg" not in (tmp_path / page.PAGE).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name, _, _ in page.PICTURES])
def test_everything_drawn_lies_within_the_picture(name: str) -> None:
    plot = next(plot for each, _, plot in page.PICTURES if each == name)
    drawing = plot(_cells())
    assert drawing is not None
    for shape in ElementTree.fromstring(drawing.svg()).iter():
        for attribute, limit in (("x", 860), ("cx", 860), ("y", drawing.height), ("cy", drawing.height)):
            assert 0 <= float(shape.get(attribute, 0)) <= limit


def test_json_is_plain() -> None:
    assert json.loads(json.dumps(_run(_cells()).to_json()))["verdicts"][0]["reached"] is None


def test_runs_are_joined_cell_by_cell() -> None:
    def cell(part: str, seconds: float) -> Cell:
        return Cell("matrix", part, "1M", 100, 1, "scattered", {"refresh": [seconds]}, True)

    labels = ["matrix 1M, 1%: join", "matrix 1M, 1%: filter"]
    first = Run(datetime(2026, 1, 1, tzinfo=UTC), 1, 10, MACHINE, [cell("scan", 1.0), cell("sum", 2.0)], labels)
    second = Run(datetime(2026, 1, 2, tzinfo=UTC), 1, 5, MACHINE, [cell("scan", 3.0), cell("join", 4.0)])
    both = joined([first, second])
    assert {each.part: each.median("refresh") for each in both.cells} == {"scan": 3.0, "sum": 2.0, "join": 4.0}
    assert both.skipped == ["matrix 1M, 1%: filter"]
    assert both.at == second.at
