"""The README's summary of the operator matrix: what is maintained how, one row per section of the matrix."""

from __future__ import annotations

import re
from collections.abc import Iterator

from generate.table import table

PAGE = "../README.md"
START, END = "<!-- operators: generated from docs/reference/operators.md -->\n", "<!-- end of operators -->\n"
_CASE = re.compile(r"^\| (?P<construct>.+?) \| `.*` \| (?:INCREMENTAL|FULL (?P<reason>`\w+`)) \|")


def text() -> str:
    """The README with the summary as the committed matrix has it."""
    from generate import DOCS

    readme, matrix = ((DOCS / page).read_text(encoding="utf-8") for page in (PAGE, "reference/operators.md"))
    before, rest = readme.split(START)
    _, after = rest.split(END)
    rows = [[title, *_verdicts(cases)] for title, cases in _sections(matrix)]
    summary = table(["", "Maintained incrementally", "Computed in full, reason code"], rows)
    return f"{before}{START}{summary}\n{END}{after}"


def _sections(matrix: str) -> Iterator[tuple[str, list[re.Match[str]]]]:
    """Title and cases of each section that has cases."""
    for section in matrix.split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        cases = [found for line in body.splitlines() if (found := _CASE.match(line))]
        if cases:
            yield title, cases


def _verdicts(cases: list[re.Match[str]]) -> list[str]:
    maintained = [each["construct"] for each in cases if each["reason"] is None]
    in_full = [f"{each['construct']}: {each['reason']}" for each in cases if each["reason"] is not None]
    return [" · ".join(maintained), " · ".join(in_full)]
