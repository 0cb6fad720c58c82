"""The requirements page: every id once, every state known, every path there."""

from __future__ import annotations

import re

from generate import DOCS

ROOT = DOCS.parent
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in (DOCS / "requirements.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"\| (PGT|F063|SUB|EMIT|REDDB|X)-", line)
]
KNOWN = [
    *(f"PGT-{number:03}" for number in range(1, 311)),
    *(f"PGT-X{number:02}" for number in range(1, 8)),
    *(f"F063-{number:02}" for number in range(1, 100)),
    *(f"SUB-{number:02}" for number in range(1, 60)),
    *(f"EMIT-{number:02}" for number in range(1, 66)),
    *(f"REDDB-{number:02}" for number in range(1, 91)),
    *(f"REDDB-X{number}" for number in range(1, 6)),
    *(f"X-{number:02}" for number in range(1, 7)),
]
STATES = ("done", "library", "part", "open", "declined")
_PATH = re.compile(r"`((?:[\w-]+/)+(?:[\w.-]+\.\w+)?|[\w-]+\.(?:py|md|toml)|LICENSE)`")


def test_every_id_occurs_once() -> None:
    assert [row[0] for row in ROWS] == KNOWN


def test_every_row_says_where_it_stands() -> None:
    for number, text, state, where, test in ROWS:
        assert text, number
        assert state in set(STATES), number
        assert where or test, number
        if state == "open":
            assert where.startswith("later issue: "), number


def test_done_means_that_the_product_uses_it() -> None:
    for number, _, state, where, _ in ROWS:
        first = next(iter(_PATH.findall(where)), "")
        if first.startswith("changelog_types/"):
            assert state in {"library", "part"}, number
        if state == "library":
            assert first.startswith(("changelog_types/", "changes/ring/")), number


def test_every_path_exists() -> None:
    places = (ROOT / "src" / "penstock", ROOT / "tests", ROOT)
    named = {(row[0], path) for row in ROWS for cell in row[3:] for path in _PATH.findall(cell)}
    assert [each for each in sorted(named) if not any((place / each[1]).exists() for place in places)] == []


def test_the_summary_adds_up() -> None:
    page = (DOCS / "requirements.md").read_text(encoding="utf-8")
    for part in ("PGT", "F063", "SUB", "EMIT", "REDDB", "X"):
        rows = [row for row in ROWS if row[0].startswith(f"{part}-")]
        counts = [sum(row[2] == state for row in rows) for state in STATES]
        assert f"| {part} | {len(rows)} | {' | '.join(map(str, counts))} |" in page
