"""The page on changes of sources: every row of its tables has cases or names a test, and nothing else has."""

from __future__ import annotations

import re
import sys

from generate import DOCS

TESTS = DOCS.parent / "tests"
sys.path.append(str(TESTS / "integration" / "spark"))

from cases_of_source_changes import ROWS  # noqa: E402

PAGE = (DOCS / "concepts" / "changes-of-sources.md").read_text(encoding="utf-8")


def test_every_row_has_its_cases() -> None:
    rows = [line.split("|")[1].strip() for line in PAGE.splitlines() if re.match(r"\| (?!What )\S", line)]
    assert len(rows) > 25
    assert sorted(rows) == sorted(ROWS)
    assert all(ROWS.values())


def test_every_test_that_a_row_names_is_there() -> None:
    for row, cases in ROWS.items():
        for named in (case for case in cases if isinstance(case, str)):
            path, _, function = named.partition("::")
            assert f"def {function or 'test_'}" in (TESTS / path).read_text(encoding="utf-8"), row
