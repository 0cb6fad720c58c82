"""Workers take the files with most to do first, each in one piece."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from longest_first import longest_first


def item(file: str, name: str, *markers: str) -> Any:
    marks = [SimpleNamespace(name=marker) for marker in markers]
    return SimpleNamespace(path=Path(file), name=name, iter_markers=lambda: iter(marks))


def test_files_with_most_to_do_come_first_and_stay_whole() -> None:
    small = [item("unit.py", f"u{number}") for number in range(50)]
    spark = [item("spark.py", f"s{number}", "jvm") for number in range(3)]
    processes = [item("processes.py", "p", "jvm", "process", "kill")]
    ordered = longest_first([*small, *processes, *spark])
    assert [each.name for each in ordered] == ["p", "s0", "s1", "s2", *(each.name for each in small)]
