"""Where a session is refused or cannot start, nothing is left of a warehouse that was to be made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from warehouses import opened_anew

import penstock
from penstock.catalog.open_catalog import CATALOG_FILE
from penstock.errors import CatalogUnusable, JavaUnusable, PenstockError, SessionMisconfigured

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process in which nobody has started Spark."""
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    monkeypatch.setattr("pyspark.sql.SparkSession._instantiatedSession", None)


def left_by(refused: type[PenstockError], place: Path, **options: Any) -> list[str]:
    """What is there after a warehouse could not be opened in a new folder, and in one with settings."""
    settings = place / "with settings" / "penstock.toml"
    settings.parent.mkdir(parents=True)
    settings.touch()
    for root in (place / "deep" / "new", settings.parent):
        with pytest.raises(refused):
            penstock.open(root, **options)
    return sorted(str(each.relative_to(place)) for each in place.rglob("*"))


KEPT = ["with settings", "with settings/penstock.toml"]


def test_java_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_session: None) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert left_by(JavaUnusable, tmp_path / "here") == KEPT


def test_another_session_is_running(spark: SparkSession, tmp_path: Path) -> None:
    assert left_by(SessionMisconfigured, tmp_path) == KEPT


def test_new_tables_would_go_into_another_warehouse(spark: SparkSession, tmp_path: Path) -> None:
    with opened_anew(spark, tmp_path / "A") as first:
        assert left_by(SessionMisconfigured, tmp_path / "B", spark=first.spark) == KEPT


def test_a_catalog_that_is_refused_ends_the_session_that_was_begun_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_session: None
) -> None:
    class Begun:
        stopped = 0

        def stop(self) -> None:
            self.stopped += 1

    begun = Begun()
    monkeypatch.setattr("penstock.ddl.session_first.start_session", lambda *_: begun)
    assert left_by(CatalogUnusable, tmp_path, catalog=str(tmp_path / "nowhere" / "catalog.sqlite")) == KEPT
    assert begun.stopped == 2


def test_a_repair_that_cannot_start_spark_leaves_the_broken_catalog_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_session: None
) -> None:
    penstock.open_lazily(tmp_path / "w").close()
    file = tmp_path / "w" / CATALOG_FILE
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    for content in (b"garbage" * 1000, None):
        for each in file.parent.glob(f"{file.name}*"):
            each.unlink()
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(JavaUnusable):
            penstock.repair(tmp_path / "w")
        assert [each.name for each in file.parent.glob("catalog*")] == ([file.name] if content else [])
