from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from penstock.engine.delta.commit_record import CommitRecord, record_in
from penstock.names import Frontier


def a_record() -> CommitRecord:
    return CommitRecord(
        stream_table_id="st-1",
        definition_hash="d1",
        refresh_id="r1",
        action="INCREMENTAL",
        frontier=Frontier.of({"orders": 4, "žluť'\"": 0}, datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)),
        data_timestamp=datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
        rows_inserted=3,
        rows_deleted=1,
        first_lsn=10,
        lsn_count=4,
        base_version=7,
    )


def test_a_record_survives_its_json_form() -> None:
    assert CommitRecord.from_json(a_record().to_json()) == a_record()


def test_a_moment_in_another_zone_is_the_same_moment() -> None:
    elsewhere = datetime(2026, 1, 2, 5, 4, 5, 6, tzinfo=timezone(timedelta(hours=2)))
    moved = CommitRecord("st-1", "d1", "r1", "FULL", Frontier.of({}), elsewhere)
    assert CommitRecord.from_json(moved.to_json()).data_timestamp == datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)


def test_it_is_found_in_a_commit_of_its_own_table_only() -> None:
    info = {"operation": "MERGE", "userMetadata": a_record().to_json()}
    assert record_in(info, "st-1") == a_record()
    assert record_in(info, "st-2") is None


@pytest.mark.parametrize("text", [None, 7, "", "nightly job", "{", '["stream_table_id"]', '{"stream_table_id":"st-1"}'])
def test_metadata_of_others_is_no_record(text: object) -> None:
    assert record_in({"userMetadata": text}, "st-1") is None


def test_a_later_format_is_refused_and_not_taken_for_a_foreign_commit() -> None:
    later = json.dumps({**json.loads(a_record().to_json()), "format": 2})
    with pytest.raises(ValueError, match="format 2"):
        record_in({"userMetadata": later}, "st-1")


def test_an_incomplete_record_is_refused() -> None:
    fields = json.loads(a_record().to_json())
    del fields["frontier"]
    with pytest.raises(ValueError, match="incomplete"):
        CommitRecord.from_json(json.dumps(fields))
