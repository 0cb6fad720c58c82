"""The page of the library: its example prints what the page says, and every type is in the module that it names."""

from __future__ import annotations

import contextlib
import importlib
import io
import pkgutil
import re

from generate import DOCS

from python_blocks import blocks

PAGE = DOCS / "library" / "changelog-types.md"


def test_the_example() -> None:
    (_, program), (_, printed) = blocks(PAGE)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(program, {})
    assert out.getvalue() == printed


def test_the_types_are_where_the_page_says() -> None:
    rows = re.findall(r"^\| (`[^|]+) \| (`[^|]+) \| ", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == 11
    for types, modules in rows:
        names = set()
        for module in re.findall(r"`(\w+)`", modules):
            found = importlib.import_module(f"penstock.changelog_types.{module}")
            inside = pkgutil.iter_modules(getattr(found, "__path__", ()), f"{found.__name__}.")
            for each in (found, *(importlib.import_module(inner.name) for inner in inside)):
                names |= vars(each).keys()
        assert set(re.findall(r"`(\w+)`", types)) <= names
