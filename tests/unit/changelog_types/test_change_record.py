"""Change records to the byte, and every way in which one can be broken (REDDB-17 to 44, 84 to 86)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import UNSET

from penstock.changelog_types.change_record import DEFAULT_REPLICATION_TERM, ChangeRecord
from penstock.changelog_types.entity import Entity
from penstock.changes.ring.item_kind import public_item_kind
from penstock.changes.wire.change_operation import ChangeOperation
from penstock.errors import InvalidChangeRecord

UPDATE = ChangeRecord(
    term=3,
    lsn=7,
    timestamp=1234,
    operation=ChangeOperation.UPDATE,
    collection="users",
    entity_id=42,
    entity_kind="row",
    entity_bytes=b"\x01\x02\x03",
    metadata={"role": "admin"},
)
UPDATE_SAMPLE = (
    b'{"collection":"users","entity_bytes_hex":"010203","kind":"row","lsn":7,"metadata":{"role":"admin"},'
    b'"operation":"update","rid":42,"term":3,"timestamp":1234}'
)
REFRESH = ChangeRecord.for_refresh(11, 99, "mv_orders_summary", [b"\x10\x20\x30", b"\xaa\xbb", b""]).with_term(4)
REFRESH_SAMPLE = (
    b'{"collection":"mv_orders_summary","kind":"item","lsn":11,"operation":"refresh",'
    b'"refresh_records_hex":["102030","aabb",""],"rid":0,"term":4,"timestamp":99}'
)
LEGACY = b'{"lsn":9,"timestamp":1,"operation":"delete","collection":"users","rid":5,"kind":"row"}'


def decoded(**fields: Any) -> ChangeRecord:
    return ChangeRecord.decode(json.dumps({"operation": "insert"} | fields).encode())


def complaint(data: bytes) -> str:
    with pytest.raises(InvalidChangeRecord) as caught:
        ChangeRecord.decode(data)
    return caught.value.text


@pytest.mark.parametrize(("record", "sample"), [(UPDATE, UPDATE_SAMPLE), (REFRESH, REFRESH_SAMPLE)])
def test_the_samples(record: ChangeRecord, sample: bytes) -> None:
    assert record.encode() == sample
    assert ChangeRecord.decode(sample).encode() == sample


def test_a_record_comes_back() -> None:
    assert ChangeRecord.decode(UPDATE.encode()) == UPDATE


def test_a_refresh_comes_back_with_every_byte_in_order() -> None:
    back = ChangeRecord.decode(REFRESH.encode())
    assert (back.term, back.operation, back.collection) == (4, ChangeOperation.REFRESH, "mv_orders_summary")
    assert back.refresh_records == (b"\x10\x20\x30", b"\xaa\xbb", b"")
    assert back.entity_kind == "item", "the kind is written as consumers see it"


def test_a_refresh_has_no_row_of_its_own() -> None:
    record = ChangeRecord.for_refresh(1, 2, "v", [])
    assert (record.term, record.entity_id, record.entity_kind) == (DEFAULT_REPLICATION_TERM, 0, "refresh")
    assert (record.entity_bytes, record.metadata, record.refresh_records) == (None, UNSET, ())
    assert b'"refresh_records_hex":[]' in record.encode()


def test_an_older_record_without_a_term() -> None:
    record = ChangeRecord.decode(LEGACY)
    assert record == ChangeRecord(1, 9, 1, ChangeOperation.DELETE, "users", 5, "row")


@pytest.mark.parametrize("operation", list(ChangeOperation))
def test_only_inserts_and_updates_carry_the_row(operation: ChangeOperation) -> None:
    entity = Entity(42, {"name": "Ann", "id": 42})
    record = ChangeRecord.from_entity(7, 8, operation, "users", "table", entity, 1, {"by": "me"})
    carries = operation in (ChangeOperation.INSERT, ChangeOperation.UPDATE)
    assert record.entity_bytes == (b'{"id":42,"name":"Ann"}' if carries else None)
    assert (record.term, record.entity_id, record.refresh_records) == (1, 42, None)
    assert record.metadata == {"by": "me"}


def test_a_row_comes_back_from_its_bytes() -> None:
    entity = Entity(42, {"id": 2**63, "name": None})
    assert Entity.deserialize(42, entity.serialize()) == entity


def test_rows_of_an_unknown_format_are_refused() -> None:
    entity = Entity(1, {})
    with pytest.raises(InvalidChangeRecord, match="rows of format 2"):
        ChangeRecord.from_entity(1, 1, ChangeOperation.INSERT, "t", "row", entity, format_version=2)
    with pytest.raises(InvalidChangeRecord, match="rows of format 0"):
        Entity.deserialize(1, b"{}", 0)


@given(st.binary())
@example(b"[" * 100_000)
@example(b"[1]")
def test_bytes_that_are_no_row_are_refused(data: bytes) -> None:
    try:
        entity = Entity.deserialize(1, data)
    except InvalidChangeRecord:
        return
    assert isinstance(entity.values, dict)


def test_empty_bytes_are_not_absent_bytes() -> None:
    record = ChangeRecord(1, 1, 1, ChangeOperation.INSERT, "t", 1, "row", entity_bytes=b"")
    assert b'"entity_bytes_hex":""' in record.encode()
    assert ChangeRecord.decode(record.encode()).entity_bytes == b""


def test_nothing_optional_is_written_when_absent() -> None:
    assert set(json.loads(ChangeRecord(1, 1, 1, ChangeOperation.INSERT, "t", 1, "row").encode())) == {
        *("term", "lsn", "timestamp", "operation", "collection", "rid", "kind")
    }


def test_null_metadata_is_present() -> None:
    record = decoded(metadata=None)
    assert record.metadata is None
    assert b'"metadata":null' in record.encode()
    assert decoded().metadata is UNSET
    assert b"metadata" not in decoded().encode()


def test_what_cannot_be_written_is_refused() -> None:
    record = ChangeRecord(1, 1, 1, ChangeOperation.INSERT, "t", 1, "row", metadata=object())
    with pytest.raises(InvalidChangeRecord, match="cannot be written as JSON"):
        record.encode()


def test_integers_are_exact_to_the_last_bit() -> None:
    record = ChangeRecord(2**64 - 1, 2**64 - 2, 2**53 + 1, ChangeOperation.INSERT, "t", 2**63 + 1, "row")
    assert ChangeRecord.decode(record.encode()) == record


# Errors


def test_not_utf8() -> None:
    assert "can't decode byte 0xff in position 0" in complaint(b"\xff\xfe")


@pytest.mark.parametrize("data", [b"", b"{", b"nothing", b'{"operation":"insert",}', b"[" * 100_000, b"9" * 5000])
def test_not_json(data: bytes) -> None:
    assert complaint(data)


@pytest.mark.parametrize(
    "data",
    [b"{}", b"[]", b"1", b"null", b'"insert"', b'{"operation":1}', b'{"operation":null}', b'{"operation":"Insert"}'],
)
def test_no_known_operation(data: bytes) -> None:
    assert complaint(data) == "invalid replication operation"


@pytest.mark.parametrize("text", ["0", "0g", "01 02", "0x01", "é0", "٣٣"])
def test_bytes_that_are_not_hex(text: str) -> None:
    for fields in ({"entity_bytes_hex": text}, {"refresh_records_hex": ["00", text]}):
        assert complaint(json.dumps({"operation": "insert"} | fields).encode())


@pytest.mark.parametrize("value", [1, None, [], {}, True])
def test_bytes_that_are_no_text_are_absent(value: Any) -> None:
    assert decoded(entity_bytes_hex=value).entity_bytes is None


def test_hex_is_read_in_either_case() -> None:
    assert decoded(entity_bytes_hex="AAbB").entity_bytes == b"\xaa\xbb"


@pytest.mark.parametrize("value", ["", "00", 1, {}, True, False, 0])
def test_refresh_records_that_are_no_array(value: Any) -> None:
    data = json.dumps({"operation": "refresh", "refresh_records_hex": value}).encode()
    assert complaint(data) == "refresh_records_hex is not an array"


@pytest.mark.parametrize("value", [1, None, [], {}])
def test_refresh_records_that_are_no_text(value: Any) -> None:
    data = json.dumps({"operation": "refresh", "refresh_records_hex": ["00", value]}).encode()
    assert complaint(data) == "refresh_records_hex entry not a string"


def test_the_operation_is_complained_of_first() -> None:
    assert complaint(b'{"entity_bytes_hex":"x","refresh_records_hex":1}') == "invalid replication operation"


def test_the_first_bad_entry_is_complained_of() -> None:
    data = b'{"operation":"refresh","refresh_records_hex":["0g",1]}'
    assert complaint(data) != "refresh_records_hex entry not a string"


# Defaults and older names


def test_defaults() -> None:
    assert decoded() == ChangeRecord(1, 0, 0, ChangeOperation.INSERT, "", 0, "entity")
    assert decoded(refresh_records_hex=None).refresh_records is None


@pytest.mark.parametrize("value", ["7", -1, 1.5, True, None, 2**64, [], 1e300])
def test_numbers_that_are_none_get_the_default(value: Any) -> None:
    record = decoded(term=value, lsn=value, timestamp=value, rid=value, collection=7)
    assert (record.term, record.lsn, record.timestamp, record.entity_id, record.collection) == (1, 0, 0, 0, "")


def test_numbers_of_a_writer_that_knows_only_doubles() -> None:
    assert ChangeRecord.decode(b'{"operation":"insert","lsn":7.0,"rid":1e3}') == ChangeRecord(
        1, 7, 0, ChangeOperation.INSERT, "", 1000, "entity"
    )


def test_older_names() -> None:
    assert decoded(entity_id=5).entity_id == 5
    assert decoded(entity_kind="graph_node").entity_kind == "graph_node"
    assert decoded(rid=6, entity_id=5, kind="row", entity_kind="x").entity_id == 6
    assert decoded(rid=6, entity_id=5, kind="row", entity_kind="x").entity_kind == "row"


def test_a_newer_name_hides_the_older_one_even_if_it_is_wrong() -> None:
    assert decoded(rid=None, entity_id=5).entity_id == 0
    assert decoded(kind=1, entity_kind="x").entity_kind == "entity"


def test_unknown_keys_are_ignored() -> None:
    assert decoded(range_id=1, ownership_epoch=2, x={}) == decoded()


# Random records, random damage

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
U64 = st.integers(0, 2**64 - 1)
RECORDS = st.builds(
    ChangeRecord,
    *(U64, U64, U64, st.sampled_from(ChangeOperation), TEXTS, U64, TEXTS),
    st.none() | st.binary(max_size=20),
    st.just(UNSET) | JSON,
    st.none() | st.lists(st.binary(max_size=6), max_size=4).map(tuple),
)


@given(RECORDS)
def test_any_record_comes_back_but_for_its_kind(record: ChangeRecord) -> None:
    back = ChangeRecord.decode(record.encode())
    assert back.entity_kind == public_item_kind(record.entity_kind)
    for name in ChangeRecord.__slots__:
        if name != "entity_kind":
            assert getattr(back, name) == getattr(record, name)
    assert back.encode() == record.encode()


def read_or_refused(data: bytes) -> None:
    """Damage may go unnoticed, but never raises anything else, and what was read can be written."""
    try:
        record = ChangeRecord.decode(data)
    except InvalidChangeRecord:
        return
    again = ChangeRecord.decode(record.encode())
    assert again.encode() == record.encode()


@given(st.binary())
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    read_or_refused(data)


@given(RECORDS, st.data())
def test_damaged_records_are_read_or_refused(record: ChangeRecord, data: st.DataObject) -> None:
    written = bytearray(record.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(written) - 1))
        match data.draw(st.sampled_from(["flip", "cut", "insert", "end"])):
            case "flip":
                written[at] ^= 1 << data.draw(st.integers(0, 7))
            case "cut":
                del written[at]
            case "insert":
                written[at:at] = data.draw(st.sampled_from([b'"', b"{", b"}", b"\\", b"\xff", b"1", b",", b"\\ud800"]))
            case "end":
                del written[at + 1 :]
        if not written:
            break
    read_or_refused(bytes(written))


@given(st.dictionaries(st.sampled_from(sorted(json.loads(UPDATE_SAMPLE) | json.loads(REFRESH_SAMPLE))), JSON))
def test_any_values_under_the_known_names_are_read_or_refused(fields: dict[str, Any]) -> None:
    read_or_refused(json.dumps({"operation": "insert"} | fields).encode())
