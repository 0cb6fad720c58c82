"""Settings: what wins over what, and what is refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from penstock.errors import InvalidSetting
from penstock.settings import Settings


def test_later_places_win(tmp_path: Path) -> None:
    (tmp_path / "penstock.toml").write_text('scheduler_interval_ms = 20\nlease_seconds = 20\napply = "spark"\n')
    env = {"PENSTOCK_LEASE_SECONDS": "30", "PENSTOCK_APPLY": "delta-rs"}
    loaded = Settings.load(tmp_path, env, apply="auto")
    assert (loaded.scheduler_interval_ms, loaded.lease_seconds, loaded.apply) == (20, 30, "auto")
    assert loaded.max_concurrent_refreshes == Settings().max_concurrent_refreshes


def test_a_warehouse_without_file_has_the_defaults(tmp_path: Path) -> None:
    assert Settings.load(tmp_path, {}) == Settings.load(None, {}) == Settings()


def test_an_override_of_none_is_not_given() -> None:
    assert Settings.load(None, {"PENSTOCK_LEASE_SECONDS": "30"}, lease_seconds=None).lease_seconds == 30


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("scheduler_interval_ms", 10, 3_600_000),
        ("min_target_lag_seconds", 1, 86_400),
        ("max_consecutive_errors", 1, 1000),
        ("max_concurrent_refreshes", 1, 256),
        ("history_keep_days", 1, 36_500),
        ("lease_seconds", 5, 86_400),
        ("shuffle_partitions", 1, 100_000),
        ("delta_rs_max_rows", 0, 100_000_000),
    ],
)
def test_ranges_include_their_ends_and_nothing_beyond(name: str, low: int, high: int) -> None:
    for value in (low, high):
        assert getattr(Settings.load(None, {}, **{name: value}), name) == value
    for value in (low - 1, high + 1):
        with pytest.raises(InvalidSetting, match=f"Allowed: {low} to {high}"):
            Settings.load(None, {}, **{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_concurrent_refreshes", True),
        ("lease_seconds", "60"),
        ("lease_seconds", 60.0),
        ("enabled", 1),
        ("apply", "flink"),
        ("log_level", "INFO"),
        ("driver_memory", "4"),
        ("driver_memory", "0g"),
        ("driver_memory", 4),
        ("log_format", "xml"),
        ("buffer_warning_rows", 0),
        ("alert_webhook_url", "alerts.example.org"),
        ("alert_webhook_url", "http://"),
        ("alert_webhook_url", "file:///tmp/alerts"),
        ("lineage_url", "/tmp/lineage.jsonl"),
    ],
)
def test_wrong_types_and_values_are_refused(name: str, value: object) -> None:
    with pytest.raises(InvalidSetting, match=name):
        Settings.load(None, {}, **{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alert_webhook_url", ""),
        ("alert_webhook_url", "https://alerts.example.org/hook?token=1"),
        ("lineage_url", "http://127.0.0.1:5000/api/v1/lineage"),
        ("lineage_url", "file:///var/log/lineage.jsonl"),
    ],
)
def test_addresses(name: str, value: str) -> None:
    assert getattr(Settings.load(None, {f"PENSTOCK_{name.upper()}": value}), name) == value


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("ON", True), ("1", True), ("no", False), (" off ", False), ("0", False)]
)
def test_switches_in_the_environment(text: str, value: bool) -> None:
    assert Settings.load(None, {"PENSTOCK_ENABLED": text}).enabled is value


@pytest.mark.parametrize(("name", "text"), [("ENABLED", "maybe"), ("LEASE_SECONDS", "1.5"), ("LEASE_SECONDS", "")])
def test_unreadable_environment_is_refused(name: str, text: str) -> None:
    with pytest.raises(InvalidSetting, match=name.lower()):
        Settings.load(None, {f"PENSTOCK_{name}": text})


def test_unknown_names_are_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="did you mean lease_seconds"):
        Settings.load(None, {}, lease_second=60)
    with pytest.raises(InvalidSetting, match="did you mean lease_seconds"):
        Settings.load(None, {"PENSTOCK_LEASE_SECOND": "60"})
    (tmp_path / "penstock.toml").write_text("[scheduler]\nlease_seconds = 60\n")
    with pytest.raises(InvalidSetting, match="no such setting in"):
        Settings.load(tmp_path, {})


def test_other_variables_of_the_prefix_are_nobodys_business() -> None:
    assert Settings.load(None, {"PENSTOCK_JARS": "/jars", "LEASE_SECONDS": "1"}) == Settings()


def test_a_file_that_is_not_toml_is_refused(tmp_path: Path) -> None:
    (tmp_path / "penstock.toml").write_text("lease_seconds =")
    with pytest.raises(InvalidSetting, match=r"penstock\.toml"):
        Settings.load(tmp_path, {})


def test_a_replaced_value_is_checked_too() -> None:
    with pytest.raises(InvalidSetting):
        dataclasses.replace(Settings(), lease_seconds=0)


def test_every_setting_is_described() -> None:
    described = {doc.name: doc for doc in Settings.describe()}
    assert list(described) == [field.name for field in dataclasses.fields(Settings)]
    assert all(doc.doc.endswith(".") and doc.allowed for doc in described.values())
    lag = described["min_target_lag_seconds"]
    assert (lag.type, lag.default, lag.allowed) == ("int", 60, "1 to 86400")
    assert lag.env == "PENSTOCK_MIN_TARGET_LAG_SECONDS"


def test_a_catalog_may_hold_a_password_which_is_never_shown(tmp_path: Path) -> None:
    address = "postgresql://ann:hunter2@host/shop"
    loaded = Settings.load(tmp_path, {"PENSTOCK_CATALOG": address})
    assert loaded.catalog == address
    assert "hunter2" not in repr(loaded)
    for text in (f'catalgo = "{address}"', f'[catalog]\nurl = "{address}"', f'[server]\nurl = "{address}"'):
        (tmp_path / "penstock.toml").write_text(text)
        with pytest.raises(InvalidSetting, match=r"ann:\*\*\*@host") as from_file:
            Settings.load(tmp_path, {})
        assert "hunter2" not in str(from_file.value)
    with pytest.raises(InvalidSetting, match="did you mean catalog") as from_env:
        Settings.load(None, {"PENSTOCK_CATALOGUE": address})
    assert "hunter2" not in str(from_env.value) + str(from_env.value.to_json())


def test_an_old_name_works_for_one_release_and_says_its_new_one(tmp_path: Path) -> None:
    (tmp_path / "penstock.toml").write_text("fuse_factor = 10\n", encoding="utf-8")
    with pytest.warns(DeprecationWarning, match="setting fuse_factor is now max_change_ratio"):
        assert Settings.load(tmp_path, {}).max_change_ratio == 10
    with pytest.warns(DeprecationWarning, match="max_change_ratio"):
        assert Settings.load(None, {"PENSTOCK_FUSE_FACTOR": "20"}).max_change_ratio == 20
    with pytest.warns(DeprecationWarning, match="max_change_ratio"):
        assert Settings.load(None, {}, fuse_factor=30, max_change_ratio=40).max_change_ratio == 40
    with pytest.warns(DeprecationWarning, match="max_change_ratio"):
        assert Settings(max_change_ratio=7).fuse_factor == 7
