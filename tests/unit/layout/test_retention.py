"""What a stream table still needs of a source's past, and when it may be gone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from penstock.lang.statements import PassThrough
from penstock.lang.vacuum import Vacuum, read_vacuum
from penstock.layout.retention import FILES_KEPT, Holding, kept_for

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def holding(log: datetime | None = None, files: datetime | None = None) -> Holding:
    return Holding("st", "src", "/src", 1, 3, log, files, log_kept=10 * HOUR, files_kept=4 * HOUR)


def test_nothing_is_needed_at_the_newest_version() -> None:
    assert (holding().ends, holding().time_left(NOON), holding().running_out(NOON)) == (None, None, False)
    assert not holding().cut_by(timedelta(0), NOON)


def test_the_sooner_end_counts() -> None:
    both = holding(NOON - 8 * HOUR, NOON - HOUR)
    assert both.ends == (NOON + 2 * HOUR, 10 * HOUR, "delta.logRetentionDuration")
    assert both.time_left(NOON) == 2 * HOUR
    assert both.running_out(NOON)
    files = holding(NOON - HOUR, NOON - HOUR)
    assert files.ends == (NOON + 3 * HOUR, 4 * HOUR, "delta.deletedFileRetentionDuration")
    assert not files.running_out(NOON)
    assert files.running_out(NOON + 2 * HOUR + timedelta(seconds=1))


def test_a_vacuum_cuts_what_left_the_table_before() -> None:
    files = holding(NOON - 3 * HOUR, NOON - 2 * HOUR)
    assert files.cut_by(HOUR, NOON)
    assert not files.cut_by(3 * HOUR, NOON)
    assert not holding(NOON - 3 * HOUR).cut_by(timedelta(0), NOON)


@pytest.mark.parametrize(
    ("text", "hours"),
    [("interval 7 days", 168), ("INTERVAL 2 HOURS", 2), ("interval 1 week 1 day", 192), ("12 hours", 12)],
)
def test_intervals_of_delta(text: str, hours: int) -> None:
    assert kept_for(text, FILES_KEPT) == hours * HOUR


@pytest.mark.parametrize("text", [None, "", "for ever", "interval 3 fortnights"])
def test_an_unreadable_interval_is_the_default(text: str | None) -> None:
    assert kept_for(text, FILES_KEPT) == FILES_KEPT


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("VACUUM t", Vacuum("t")),
        ("vacuum a.`b c`", Vacuum("a.`b c`")),
        ("VACUUM t FULL RETAIN 0.5 HOURS", Vacuum("t", retain=HOUR / 2)),
        ("VACUUM t LITE RETAIN 1 HOURS DRY RUN", Vacuum("t", retain=HOUR, dry_run=True)),
        ("VACUUM '/data/t' RETAIN 2 HOURS", Vacuum(path="/data/t", retain=2 * HOUR)),
        ("VACUUM delta.`/data/t`", Vacuum(path="/data/t")),
        ("VACUUM IDENTIFIER('t')", None),
    ],
)
def test_vacuum_is_read(sql: str, read: Vacuum | None) -> None:
    assert read_vacuum(PassThrough(sql, "other", verb="VACUUM")) == read
    assert read_vacuum(PassThrough(sql, "other", verb="OPTIMIZE")) is None
