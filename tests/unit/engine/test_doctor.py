"""Every check says what it found; a broken one says what to do, and none of them raises."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.catalog.open_catalog import CATALOG_FILE, open_catalog
from penstock.engine import doctor
from penstock.engine.doctor import Check, diagnose
from postgres import Postgres


def named(name: str, checks: list[Check]) -> Check:
    (found,) = [check for check in checks if check.name == name]
    return found


def test_whole_machine_is_ready(tmp_path: Path) -> None:
    checks = diagnose(tmp_path)
    assert [check for check in checks if not check.ok] == []
    assert [check.name for check in checks] == [
        "Java",
        "Python",
        "Spark",
        "Delta",
        "delta-rs",
        "jars",
        "catalog",
        "warehouse",
        "disk",
    ]


def test_every_failure_has_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("PENSTOCK_JARS", str(tmp_path / "none"))
    monkeypatch.setattr(doctor, "_PYSPARK_VERSION", "9.9.9")
    monkeypatch.setattr(doctor, "_LEAST_FREE_BYTES", 2**80)
    (tmp_path / "file").write_text("not a folder")
    failed = [check for check in diagnose(tmp_path / "file") if not check.ok]
    assert [check.name for check in failed] == ["Java", "Spark", "jars", "warehouse", "disk"]
    assert all(check.advice for check in failed)


def test_catalog_is_read_with_its_schema_version(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / CATALOG_FILE) as connection:
        connection.execute("CREATE TABLE meta (key TEXT, number INT)")
        connection.execute("INSERT INTO meta VALUES ('schema_version', 7)")
    connection.close()
    assert named("catalog", diagnose(tmp_path)).found.endswith("schema version 7")


@pytest.mark.parametrize("content", [b"this is no database at all", b""])
def test_damaged_catalog_is_found_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / CATALOG_FILE).write_bytes(content)
    check = named("catalog", diagnose(tmp_path))
    assert not check.ok
    assert "rebuilt" in check.advice
    assert (tmp_path / CATALOG_FILE).read_bytes() == content


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
    tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_LARGEST_SKEW_SECONDS", -1)
    check = named("catalog", diagnose(tmp_path, postgres.url("doctor")))
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


def test_warehouse_that_does_not_exist_is_not_made(tmp_path: Path) -> None:
    check = named("warehouse", diagnose(tmp_path / "new" / "place"))
    assert check.ok
    assert "not there yet" in check.found
    assert list(tmp_path.iterdir()) == []


def test_deep_check_writes_and_reads_delta(spark: SparkSession, tmp_path: Path) -> None:
    check = named("round trip", diagnose(tmp_path, deep=True))
    assert (check.ok, check.advice) == (True, "")
    assert spark.range(1).count() == 1, "a session that was running keeps running"
