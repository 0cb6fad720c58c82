"""Notations: each both ways, one by one and in batches, and all of them say the same in weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.changelog_types.cdc_operation import CdcOperation
from penstock.changelog_types.changelog_record import ChangelogRecord
from penstock.changelog_types.compaction import net
from penstock.changelog_types.notations import debezium, delta, flink, pairs, risingwave, row_words, weights
from penstock.changelog_types.notations.four_codes import FourCodes
from penstock.changelog_types.notations.four_labels import FourLabels
from penstock.changelog_types.notations.row_words import RowChange
from penstock.changelog_types.notations.three_labels import ThreeLabels
from penstock.changes.wire.cdc_envelope import CdcEnvelope, CdcSource
from penstock.errors import InvalidChange, NotConvertible, NotOneRowPerKey, UnreadableChange
from penstock.names import WEIGHT

LABELS = [flink.SHORT_STRINGS, delta.CHANGE_TYPES, risingwave.WORDS]
CODES = [flink.BYTES, risingwave.NUMBERS]
OPERATIONS = st.lists(st.integers(0, 3)).map(lambda each: np.array(each, np.uint8))
SOURCE = CdcSource("n", "d", "t", 5)
ROWS = st.integers(0, 3)
CHANGES = st.one_of(
    st.builds(lambda row, copies: (ChangelogRecord(row, copies, 1, CdcOperation.INSERT),), ROWS, st.integers(1, 3)),
    st.builds(lambda row, copies: (ChangelogRecord(row, -copies, 1, CdcOperation.DELETE),), ROWS, st.integers(1, 3)),
    st.builds(lambda old, new: ChangelogRecord.retraction(old, new, 1), ROWS, ROWS),
)


def records_of(changes: Iterable[tuple[ChangelogRecord[int], ...]]) -> list[ChangelogRecord[int]]:
    return [record for change in changes for record in change]


def weighed(records: Iterable[ChangelogRecord[int]]) -> dict[int, int]:
    total = Counter[int]()
    for record in records:
        total[record.data] += record.weight
    return {row: weight for row, weight in total.items() if weight}


def test_the_words_and_numbers_are_theirs() -> None:
    told = {
        operation.code: (
            flink.SHORT_STRINGS.label(operation),
            flink.BYTES.code(operation),
            delta.CHANGE_TYPES.label(operation),
            risingwave.WORDS.label(operation),
            risingwave.NUMBERS.code(operation),
        )
        for operation in CdcOperation
    }
    assert told == {
        "+I": ("+I", 0, "insert", "Insert", 1),
        "-D": ("-D", 3, "delete", "Delete", 2),
        "-U": ("-U", 1, "update_preimage", "UpdateDelete", 4),
        "+U": ("+U", 2, "update_postimage", "UpdateInsert", 3),
    }


@pytest.mark.parametrize("notation", LABELS, ids=lambda each: each.name)
@given(operations=OPERATIONS)
def test_labels_both_ways(notation: FourLabels, operations: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
    labels = notation.labels_of(operations)
    assert notation.operations_of(labels).tolist() == operations.tolist()
    assert notation.operations_of(pa.chunked_array([labels])).tolist() == operations.tolist()
    assert labels.to_pylist() == [notation.label(CdcOperation(each)) for each in operations.tolist()]
    assert [notation.operation(label).value for label in labels.to_pylist()] == operations.tolist()


@pytest.mark.parametrize("notation", CODES, ids=lambda each: each.name)
@given(operations=OPERATIONS)
def test_codes_both_ways(notation: FourCodes, operations: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
    codes = notation.codes_of(operations)
    assert notation.operations_of(codes).tolist() == operations.tolist()
    assert codes.tolist() == [notation.code(CdcOperation(each)) for each in operations.tolist()]
    assert [notation.operation(code).value for code in codes.tolist()] == operations.tolist()


@pytest.mark.parametrize("notation", LABELS, ids=lambda each: each.name)
@pytest.mark.parametrize("label", ["", "x", "INSERT"])
def test_another_word_is_refused(notation: FourLabels, label: str) -> None:
    with pytest.raises(UnreadableChange, match="is not one of"):
        notation.operation(label)
    with pytest.raises(UnreadableChange, match="is not one of"):
        notation.operations_of(pa.array([notation.labels[0], label]))
    with pytest.raises(UnreadableChange, match="None is not one of"):
        notation.operations_of(pa.array([notation.labels[0], None]))


@pytest.mark.parametrize("notation", CODES, ids=lambda each: each.name)
@pytest.mark.parametrize("code", [-1, 5, 255, 256, 300])
def test_another_number_is_refused(notation: FourCodes, code: int) -> None:
    with pytest.raises(UnreadableChange, match=f"{code} is not one of"):
        notation.operation(code)
    with pytest.raises(UnreadableChange, match=f"{code} is not one of"):
        notation.operations_of(np.array([notation.codes[0], code]))


@given(OPERATIONS)
def test_operations_as_weights(operations: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
    assert weights.weights_of(operations).tolist() == [CdcOperation(each).weight() for each in operations.tolist()]


def test_what_is_no_operation_has_no_weight() -> None:
    with pytest.raises(InvalidChange, match="operation 4"):
        weights.weights_of(np.array([0, 4], np.uint8))


@given(st.lists(st.integers(-3, 3)))
def test_weights_as_operations_and_back(given_weights: list[int]) -> None:
    rows, operations = weights.operations_of(np.array(given_weights, np.int64))
    back = np.zeros(len(given_weights), np.int64)
    np.add.at(back, rows, weights.weights_of(operations))
    assert back.tolist() == given_weights
    assert set(operations.tolist()) <= {0, 1}


def test_rows_with_their_weight() -> None:
    batch = pa.record_batch({"id": [1, 2]})
    wrapped = weights.with_weight(batch, np.array([0, 2], np.uint8))
    assert wrapped.to_pydict() == {"id": [1, 2], WEIGHT: [1, -1]}
    assert wrapped.column("id").buffers()[1].address == batch.column("id").buffers()[1].address


@given(st.lists(CHANGES))
def test_records_as_envelopes_and_back(changes: list[tuple[ChangelogRecord[int], ...]]) -> None:
    records = records_of(changes)
    envelopes = debezium.to_envelopes(records, SOURCE)
    back = [record for envelope in envelopes for record in debezium.to_records(envelope)]
    assert weighed(back) == weighed(records)
    assert debezium.to_envelopes(back, SOURCE) == envelopes
    assert [each.source.sequence for each in envelopes] == [5 + at for at in range(len(envelopes))]
    assert sum(each.weight() for each in envelopes) == sum(record.weight for record in records)


@given(st.lists(CHANGES))
def test_records_as_row_words_and_back(changes: list[tuple[ChangelogRecord[int], ...]]) -> None:
    records = records_of(changes)
    events = row_words.from_records(records)
    back = [record for event in events for record in row_words.to_records(event, 1)]
    assert weighed(back) == weighed(records)
    assert row_words.from_records(back) == events


def test_a_snapshot_row_is_an_insert() -> None:
    assert debezium.to_records(CdcEnvelope.read(1, SOURCE, 9)) == (ChangelogRecord.insert(1, 9),)


def test_an_update_needs_its_before_image() -> None:
    with pytest.raises(NotConvertible, match="without its before image"):
        debezium.to_records(CdcEnvelope("u", 1, SOURCE, None, 5))
    with pytest.raises(NotConvertible, match="no row before and a row after"):
        row_words.to_records(RowChange("update", after=5), 1)


@pytest.mark.parametrize(
    "change", [RowChange("insert", before=1), RowChange("delete", after=1), RowChange("refresh", 1, 1)]
)
def test_a_word_without_what_it_needs(change: RowChange[int]) -> None:
    with pytest.raises(NotConvertible, match=f"a change {change.word}"):
        row_words.to_records(change, 1)


BEFORE, AFTER = ChangelogRecord.retraction(1, 2, 1)


@pytest.mark.parametrize(
    "records",
    [
        [BEFORE],
        [AFTER],
        [AFTER, BEFORE],
        [BEFORE, ChangelogRecord.insert(1, 1), AFTER],
        [BEFORE, BEFORE, AFTER],
        [BEFORE, ChangelogRecord(2, 2, 1, CdcOperation.UPDATE_AFTER)],
    ],
)
def test_half_an_update_is_refused(records: list[ChangelogRecord[int]]) -> None:
    with pytest.raises(NotConvertible, match="half an update"):
        debezium.to_envelopes(records, SOURCE)
    with pytest.raises(NotConvertible, match="half an update"):
        row_words.from_records(records)


@given(st.lists(ROWS), st.lists(ROWS))
def test_a_refresh_is_the_difference_of_contents(old: list[int], new: list[int]) -> None:
    records = row_words.refresh_to_records(old, new, 1)
    difference = Counter(new)
    difference.subtract(old)
    assert weighed(records) == {row: weight for row, weight in difference.items() if weight}


@pytest.mark.parametrize("notation", [debezium.LETTERS, row_words.WORDS], ids=lambda each: each.name)
@given(changes=st.lists(st.sampled_from([(0,), (1,), (2, 3)])))
def test_one_word_per_event_both_ways(notation: ThreeLabels, changes: list[tuple[int, ...]]) -> None:
    operations = np.array([each for change in changes for each in change], np.uint8)
    rows, labels = notation.labels_of(operations)
    assert labels.to_pylist() == [notation.labels[change[0]] for change in changes]
    assert operations[rows].tolist() == [change[-1] for change in changes]
    events, back = notation.operations_of(labels)
    assert back.tolist() == operations.tolist()
    assert events.tolist() == [at for at, change in enumerate(changes) for _ in change]


@pytest.mark.parametrize("operations", [[2], [3], [3, 2], [2, 0, 3], [2, 2, 3, 3]])
def test_half_an_update_has_no_word(operations: list[int]) -> None:
    with pytest.raises(NotConvertible, match="half an update"):
        row_words.WORDS.labels_of(np.array(operations, np.uint8))


def test_a_letter_that_is_read_is_an_insert() -> None:
    events, operations = debezium.LETTERS.operations_of(pa.array(["r", "u", "d", "c"]))
    assert events.tolist() == [0, 1, 1, 2, 3]
    assert operations.tolist() == [0, 2, 3, 1, 0]


@pytest.mark.parametrize(("notation", "label"), [(debezium.LETTERS, "t"), (row_words.WORDS, "refresh")])
def test_a_word_that_is_not_about_a_row(notation: ThreeLabels, label: str) -> None:
    with pytest.raises(NotConvertible, match=f"{label}.*not one of"):
        notation.operations_of(pa.array([notation.labels[0], label]))


CONTENTS = st.dictionaries(st.none() | st.integers(0, 4), st.none() | st.integers(0, 2), max_size=5)


def changes_between(old: dict[Any, Any], new: dict[Any, Any]) -> pa.Table:
    rows = [(key, value, -1) for key, value in old.items()] + [(key, value, 1) for key, value in new.items()]
    columns: Any = zip(*rows, strict=True) if rows else ([], [], [])
    return pa.table(dict(zip(("key", "value", WEIGHT), (pa.array(each, pa.int64()) for each in columns), strict=True)))


@given(CONTENTS, CONTENTS)
def test_weights_and_a_key_give_updates(old: dict[Any, Any], new: dict[Any, Any]) -> None:
    found = pairs.paired(changes_between(old, new), ["key"])

    def keys(rows: pa.Table) -> set[Any]:
        return set(rows.column("key").to_pylist())

    assert keys(found.deletes) == old.keys() - new.keys()
    assert keys(found.inserts) == new.keys() - old.keys()
    assert keys(found.after) == {key for key in old.keys() & new.keys() if old[key] != new[key]}
    assert found.before.column("key").to_pylist() == found.after.column("key").to_pylist()
    together = [
        weights.with_weight(rows, np.full(rows.num_rows, operation, np.uint8))
        for rows, operation in ((found.deletes, 1), (found.before, 2), (found.after, 3), (found.inserts, 0))
    ]
    netted = net(changes_between(old, new))
    assert net(pa.concat_tables(together)).num_rows == netted.num_rows
    both = pa.concat_tables([*together, _negated(netted)])
    assert net(both).num_rows == 0


def _negated(changes: pa.Table) -> pa.Table:
    at = changes.schema.get_field_index(WEIGHT)
    field = pa.field(WEIGHT, pa.int64(), nullable=False)
    return changes.set_column(at, field, pa.array([-each for each in changes.column(WEIGHT).to_pylist()], pa.int64()))


@pytest.mark.parametrize("sign", [1, -1])
def test_two_rows_of_one_key_are_no_update(sign: int) -> None:
    changes = pa.table({"key": [1, 7, 7], "value": [0, 1, 2], WEIGHT: [sign, sign, sign]})
    with pytest.raises(NotOneRowPerKey, match="key = 7 would have 2 rows"):
        pairs.paired(changes, ["key"])
