"""Generated reference pages are what the code says now."""

from __future__ import annotations

from types import ModuleType

import pytest
from generate import DOCS, PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.PAGE)
def test_a_page_is_up_to_date(page: ModuleType) -> None:
    committed = (DOCS / page.PAGE).read_text(encoding="utf-8")
    assert page.text().splitlines() == committed.splitlines(), "write it again with: make docs"
