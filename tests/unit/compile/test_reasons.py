"""Reason codes: each has its place on the page that its link names."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.compile.reasons import ADVICE, PAGE, REASONS, anchor, link, with_link, without_link

ROOT = Path(__file__).parents[3]


def test_every_code_has_its_heading_on_the_page() -> None:
    lines = (ROOT / PAGE).read_text(encoding="utf-8").splitlines()
    slugs = {line.lstrip("# ").replace("`", "").lower().replace(" ", "-") for line in lines if line.startswith("### ")}
    assert {anchor(code) for code in REASONS} <= slugs


def test_only_reasons_have_advice() -> None:
    assert set(ADVICE) <= set(REASONS)


@pytest.mark.parametrize("code", REASONS)
def test_a_link_is_added_and_taken_away(code: str) -> None:
    told = with_link(code, "rand() at line 1, column 8 of the query")
    assert told.endswith(f", see {link(code)}")
    assert without_link(told) == "rand() at line 1, column 8 of the query"


def test_the_code_of_an_error_has_no_page_here() -> None:
    assert with_link("SOURCE_MISSING", "orders is away") == "orders is away"
