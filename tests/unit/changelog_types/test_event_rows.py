"""Events of batches and changes of rows: both ways, and what an event cannot hold is refused."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.changelog_types.notations.event_rows import to_event, to_row_changes
from penstock.changelog_types.notations.row_words import RowChange
from penstock.changes.wire.change_event import ChangeEvent
from penstock.errors import NotConvertible

SCHEMA = pa.schema({"id": pa.int64(), "tags": pa.list_(pa.string())})
ROW = st.fixed_dictionaries({"id": st.none() | st.integers(0, 5), "tags": st.none() | st.lists(st.text(max_size=2))})
CHANGES = st.one_of(
    st.lists(st.builds(lambda row: RowChange("insert", after=row), ROW), min_size=1),
    st.lists(st.builds(lambda row: RowChange("delete", before=row), ROW), min_size=1),
    st.lists(st.builds(lambda old, new: RowChange("update", old, new), ROW, ROW), min_size=1),
)


@given(CHANGES)
def test_rows_as_an_event_and_back(changes: list[RowChange[Any]]) -> None:
    event = to_event(changes, SCHEMA, 5, 9)
    assert (event.timestamp, event.sequence, event.row_count()) == (5, 9, len(changes))
    assert event.event_type().name == changes[0].word.upper()
    assert to_row_changes(event) == changes


def test_snapshots_and_watermarks() -> None:
    batch = pa.record_batch({"id": [1]})
    assert to_row_changes(ChangeEvent.snapshot(batch, 5)) == [RowChange("insert", after={"id": 1})]
    assert to_row_changes(ChangeEvent.watermark(5)) == []


@pytest.mark.parametrize(
    "changes",
    [
        [],
        [RowChange("insert", after={"id": 1}), RowChange("delete", before={"id": 1})],
        [RowChange("update", after={"id": 1})],
        [RowChange("insert", before={"id": 1})],
        [RowChange("refresh", {"id": 1}, {"id": 1})],
    ],
)
def test_what_is_no_single_event_is_refused(changes: list[RowChange[Any]]) -> None:
    with pytest.raises(NotConvertible, match="one event"):
        to_event(changes, SCHEMA, 5, 9)
