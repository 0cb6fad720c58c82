"""Every check says what it found; a broken one says what to do, and none of them raises."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.catalog.open_catalog import CATALOG_FILE, open_catalog
from penstock.catalog.upgrade import latest
from penstock.catalog.warehouse_folder import require_warehouse
from penstock.engine.spark import doctor
from penstock.engine.spark.doctor import Check, diagnose
from penstock.errors import CatalogError, WarehouseUnusable
from postgres import Postgres


def named(name: str, checks: list[Check]) -> Check:
    (found,) = [check for check in checks if check.name == name]
    return found


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    (tmp_path / "penstock.toml").touch()
    return tmp_path


@pytest.mark.jvm
def test_whole_machine_is_ready(warehouse: Path) -> None:
    checks = diagnose(warehouse)
    assert [check for check in checks if not check.ok] == []
    assert [check.name for check in checks] == [
        "Java",
        "Python",
        "Spark",
        "Delta",
        "delta-rs",
        "jars",
        "warehouse",
        "catalog",
        "disk",
    ]


def test_every_failure_has_advice(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("PENSTOCK_JARS", "s3a://bucket/jars")
    monkeypatch.setattr(doctor, "_PYSPARK_VERSION", "9.9.9")
    monkeypatch.setattr(doctor, "_LEAST_FREE_BYTES", 2**80)
    monkeypatch.setenv("PENSTOCK_CATALOG", "s3a://bucket/catalog.sqlite")
    failed = [check for check in diagnose(warehouse) if not check.ok]
    assert [check.name for check in failed] == ["Java", "Spark", "jars", "catalog", "disk"]
    assert all(check.advice for check in failed)


def test_catalog_is_read_with_its_schema_version(tmp_path: Path) -> None:
    open_catalog(tmp_path / CATALOG_FILE).close()
    before = (tmp_path / CATALOG_FILE).read_bytes()
    check = named("catalog", diagnose(tmp_path))
    assert check.ok
    assert check.found.endswith(f"schema version {latest()}")
    assert (tmp_path / CATALOG_FILE).read_bytes() == before


def test_catalog_of_a_newer_penstock_is_refused_as_by_every_command(tmp_path: Path) -> None:
    open_catalog(tmp_path / CATALOG_FILE).close()
    with closing(sqlite3.connect(tmp_path / CATALOG_FILE)) as connection, connection:
        connection.execute("UPDATE meta SET number = number + 1 WHERE key = 'schema_version'")
    check = named("catalog", diagnose(tmp_path))
    assert not check.ok
    with pytest.raises(CatalogError, match=re.escape(check.advice)):
        open_catalog(tmp_path / CATALOG_FILE)


@pytest.mark.parametrize("content", [b"this is no database at all", b""])
def test_damaged_catalog_is_found_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / CATALOG_FILE).write_bytes(content)
    check = named("catalog", diagnose(tmp_path))
    assert not check.ok
    assert "penstock repair" in check.advice
    assert (tmp_path / CATALOG_FILE).read_bytes() == content


def test_stream_tables_without_a_catalog_are_found(tmp_path: Path) -> None:
    (tmp_path / "stream_tables" / "default" / "revenue-1" / "_delta_log").mkdir(parents=True)
    check = named("catalog", diagnose(tmp_path))
    assert not check.ok
    assert "penstock repair" in check.advice
    assert not (tmp_path / CATALOG_FILE).exists()


def test_catalog_on_a_server_is_looked_at_and_not_made(tmp_path: Path, postgres: Postgres) -> None:
    address = postgres.url("doctor")
    (tmp_path / "penstock.toml").write_text(f'catalog = "{address}"')
    check = named("catalog", diagnose(tmp_path))
    assert check.ok
    assert "PostgreSQL 18" in check.found
    assert check.found.endswith("none yet, will be made")
    assert postgres.sql("SELECT 1 FROM pg_namespace WHERE nspname = 'doctor'") == []
    open_catalog(address).close()
    check = named("catalog", diagnose(tmp_path))
    assert check.ok
    assert "schema version" in check.found
    assert postgres.password not in str(check)
    postgres.sql("DROP SCHEMA doctor CASCADE")


def test_catalog_on_a_server_with_another_clock_is_said(
    warehouse: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_LARGEST_SKEW_SECONDS", -1)
    check = named("catalog", diagnose(warehouse, postgres.url("doctor")))
    assert not check.ok
    assert "clock" in check.found
    assert "Set both clocks" in check.advice


@pytest.mark.parametrize(
    ("setting", "advice"),
    [
        ('catalog = "postgresql://ann:hunter2@127.0.0.1:1/shop"', "can be reached"),
        ('catalog = "postgresql://ann:hunter2@127.0.0.1"', "Write it as"),
        ('catalogue = "postgresql://ann:hunter2@127.0.0.1/shop"', "Allowed"),
    ],
)
def test_catalog_that_cannot_be_used_says_what_to_do(tmp_path: Path, setting: str, advice: str) -> None:
    (tmp_path / "penstock.toml").write_text(setting)
    check = named("catalog", diagnose(tmp_path))
    assert not check.ok
    assert advice in check.advice
    assert "hunter2" not in str(check)


@pytest.mark.parametrize("place", [".", "new/place", "file", "s3a://bucket/x", "file:///tmp"])
def test_doctor_refuses_a_folder_with_the_words_of_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("not a folder")
    check = named("warehouse", diagnose(Path(place)))
    with pytest.raises(WarehouseUnusable) as refused:
        require_warehouse(Path(place))
    assert (check.ok, check.found, check.advice) == (False, refused.value.text, refused.value.advice)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_jars_that_the_next_start_fetches_are_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_JARS", str(tmp_path / "none"))
    check = named("jars", diagnose(tmp_path))
    assert (check.ok, check.advice) == (True, "")
    assert "the next start fetches" in check.found
    monkeypatch.setattr("os.access", lambda *_: False)
    check = named("jars", diagnose(tmp_path))
    assert not check.ok
    assert "io.delta:delta-storage" in check.advice


def test_deep_check_writes_and_reads_delta(spark: SparkSession, tmp_path: Path) -> None:
    check = named("round trip", diagnose(tmp_path, deep=True))
    assert (check.ok, check.advice) == (True, "")
    assert spark.range(1).count() == 1, "a session that was running keeps running"
