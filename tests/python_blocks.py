"""Python blocks of a page, run as they stand; a `text` block right after them is what they must have printed."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import penstock
from penstock import api

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str]]:
    """(language, text) of every Python and text block, in order."""
    return [(found[1], found[2]) for found in _BLOCK.finditer(page.read_text(encoding="utf-8"))]


@contextlib.contextmanager
def schema_of_its_own(spark: SparkSession, name: str) -> Iterator[None]:
    """The shared session with an empty current schema."""
    spark.sql(f"CREATE SCHEMA {name}")
    spark.sql(f"USE {name}")
    try:
        yield
    finally:
        spark.sql("USE default")
        spark.sql(f"DROP SCHEMA {name} CASCADE")


def check_page(page: Path, spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every Python block of a page in one namespace, with `penstock.open` on the shared session."""

    def open_here(path: str, **options: Any) -> api.StreamTables:
        return api.open(folder / path, spark=spark, **options)

    monkeypatch.setattr(penstock, "open", open_here, raising=False)
    namespace: dict[str, Any] = {"__name__": page.stem}
    said = ""
    found = blocks(page)
    assert any(language == "python" for language, _ in found), f"{page} has no Python block"
    with schema_of_its_own(spark, f"page_{page.stem.lower()}"):
        for language, text in found:
            if language == "text":
                assert _plain(said) == _plain(text)
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(text, str(page), "exec"), namespace)
            said = printed.getvalue()


def _plain(text: str) -> list[str]:
    """The lines that say something: `show` leaves blank ones behind."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]
