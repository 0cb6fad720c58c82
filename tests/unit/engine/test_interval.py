"""How an interval is cut, decided from hand-written logs: no Spark, no data."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from test_delta_log import PROTOCOL, SCHEMA, add, metadata, remove, write

from penstock.engine.delta import interval
from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.drift import schema_drift
from penstock.engine.delta.interval import ChangeSet, ChangeSetKind, Way, classify
from penstock.errors import FrontierLost, SourceMissing


def cdc(path: str, size: int = 10) -> dict[str, object]:
    return {"cdc": {"path": path, "partitionValues": {}, "size": size, "dataChange": False}}


BIG = 10**9


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, 0, PROTOCOL, metadata())
    write(tmp_path, 1, add("a", BIG), add("b", BIG))
    return tmp_path


def parts(found: ChangeSet) -> list[tuple[str, ...]]:
    return [
        (
            part.way.value,
            *("".join(sorted(file.name for file in files)) for files in (part.plus, part.minus, part.cdc)),
        )
        for part in found.parts
    ]


def test_appends_are_insert_only(root: Path) -> None:
    write(root, 2, add("c"))
    write(root, 3, add("d"))
    found = classify(DeltaLog(str(root)), 1, 3)
    assert found.kind is ChangeSetKind.FILES
    assert found.insert_only
    assert found.data_changed
    assert found.bytes == 20
    assert {file.name for part in found.parts for file in part.plus} == {"c", "d"}


def test_change_files_are_read_instead_of_rewritten_files_never_beside_them(root: Path) -> None:
    write(root, 2, remove("a"), add("c", BIG), cdc("change"))
    found = classify(DeltaLog(str(root)), 1, 2)
    assert parts(found) == [("commits", "", "", "change")]
    assert not found.insert_only


def test_change_files_of_an_update_by_delta_rs_are_not_trusted(root: Path) -> None:
    info = {"commitInfo": {"operation": "UPDATE", "engineInfo": "delta-rs:py-1.6.6"}}
    write(root, 2, remove("a"), add("c", BIG), cdc("change"), info)
    assert parts(classify(DeltaLog(str(root)), 1, 2)) == [("ends", "c", "a", "")]


def test_an_update_by_delta_rs_is_told_by_its_files(tmp_path: Path) -> None:
    columns = pa.schema([("k", pa.int32()), ("v", pa.int32())])
    table = DeltaTable.create(tmp_path, columns, configuration={"delta.enableChangeDataFeed": "true"})
    for _ in range(2):
        write_deltalake(table, pa.table({"k": [1, 1, 2], "v": [0, 2, 1]}, schema=columns), mode="append")
    table.update(updates={"v": "CAST(5 AS INT)"}, predicate="k = 1 AND v = 2")
    found = classify(DeltaLog(str(tmp_path)), 2, 3)
    assert found.parts
    assert not any(part.cdc for part in found.parts)


def test_whole_files_are_read_where_change_files_would_be_larger(root: Path) -> None:
    write(root, 2, remove("a"), add("c", BIG), cdc("change", 10 * BIG))
    assert parts(classify(DeltaLog(str(root)), 1, 2)) == [("ends", "c", "a", "")]


def test_a_rearrangement_changes_nothing(root: Path) -> None:
    write(root, 2, remove("a", change=False), remove("b", change=False), add("c", 2 * BIG, change=False))
    write(root, 3, metadata(other="property"))
    found = classify(DeltaLog(str(root)), 1, 3)
    assert found.kind is ChangeSetKind.NONE
    assert not found.data_changed
    assert found.insert_only
    assert not found.drift


def test_appends_around_a_rearrangement_stay_insert_only(root: Path) -> None:
    write(root, 2, add("c"))
    write(root, 3, *(remove(name, change=False) for name in "abc"), add("all", 2 * BIG, change=False))
    write(root, 4, add("d"))
    found = classify(DeltaLog(str(root)), 1, 4)
    assert found.insert_only
    assert parts(found) == [("commits", "cd", "", "")]


def test_a_file_added_and_removed_again_is_not_read(root: Path) -> None:
    write(root, 2, add("c", BIG))
    write(root, 3, remove("c"))
    write(root, 4, remove("a"), add("e", BIG), cdc("change"))
    found = classify(DeltaLog(str(root)), 1, 4)
    assert {file.name for part in found.parts for file in part.files} == {"change"}


def test_a_file_removed_and_restored_is_not_read(root: Path) -> None:
    write(root, 2, remove("a"), remove("b"), add("over", 50))
    write(root, 3, remove("over"), add("a", BIG), add("b", BIG))
    found = classify(DeltaLog(str(root)), 1, 3)
    assert [file.name for part in found.parts for file in part.files] == []


def test_the_cut_takes_the_cheaper_way_for_each_stretch(root: Path) -> None:
    # A short-lived overwrite is nothing by ends, the update after it is least by its change file.
    write(root, 2, remove("a"), remove("b"), add("over", BIG), cdc("wide", 3 * BIG))
    write(root, 3, remove("over"), add("a", BIG), add("b", BIG), cdc("back", 3 * BIG))
    write(root, 4, remove("a"), add("c", BIG), cdc("change"))
    found = classify(DeltaLog(str(root)), 1, 4)
    assert [part for part in parts(found) if any(part[1:])] == [("commits", "", "", "change")]
    assert found.bytes == 10


def test_only_what_was_live_counts(root: Path) -> None:
    write(root, 2, remove("never there"), add("a", BIG), add("c"))
    assert parts(classify(DeltaLog(str(root)), 1, 2)) in ([("commits", "c", "", "")], [("ends", "c", "", "")])


def test_intermediate_commits_may_be_gone(root: Path) -> None:
    log = DeltaLog(str(root))
    write(root, 2, remove("a"), add("c"))
    write(root, 3, add("d"))
    log.snapshot(1), log.snapshot(3)
    (root / "_delta_log" / f"{2:020d}.json").unlink()
    found = classify(log, 1, 3)
    assert parts(found) == [("ends", "cd", "a", "")]
    with pytest.raises(FrontierLost):
        classify(DeltaLog(str(root)), 1, 3)


VECTOR = {"storageType": "u", "pathOrInlineDv": "x", "offset": 1, "sizeInBytes": 1, "cardinality": 3}


def test_a_deletion_vector_needs_the_reader(root: Path) -> None:
    write(root, 2, remove("a"), add("a", BIG, deletionVector=VECTOR))
    found = classify(DeltaLog(str(root)), 1, 2)
    assert found.kind is ChangeSetKind.READER
    assert not found.insert_only
    assert "deletion vector" in found.reader_because


def test_a_deletion_vector_that_the_interval_does_not_read_is_no_obstacle(root: Path) -> None:
    write(root, 2, remove("a"), add("a", BIG, deletionVector=VECTOR))
    write(root, 3, add("c"))
    found = classify(DeltaLog(str(root)), 2, 3)
    assert found.kind is ChangeSetKind.FILES
    assert found.insert_only


def test_vectors_that_came_and_went_leave_the_ends_readable(root: Path) -> None:
    write(root, 2, remove("a"), add("a", BIG, deletionVector=VECTOR))
    write(root, 3, remove("a", deletionVector=VECTOR, change=False), add("purged", BIG, change=False))
    found = classify(DeltaLog(str(root)), 1, 3)
    assert parts(found) == [("ends", "purged", "a", "")]


def test_the_feed_of_a_table_that_needs_the_reader_can_be_insert_only(root: Path) -> None:
    odd = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["x"], "writerFeatures": ["x"]}}
    write(root, 2, odd)
    write(root, 3, add("c"))
    found = classify(DeltaLog(str(root)), 2, 3)
    assert (found.kind, found.parts[0].way, found.insert_only) == (ChangeSetKind.READER, Way.FEED, True)
    # A protocol in between is enough.
    assert classify(DeltaLog(str(root)), 1, 3).kind is ChangeSetKind.READER


def columns(*names: str, kind: str = "long", ids: bool = False, nullable: bool = True) -> str:
    return json.dumps(
        {
            "type": "struct",
            "fields": [
                {
                    "name": name.split("#")[0],
                    "type": kind,
                    "nullable": nullable,
                    "metadata": {"delta.columnMapping.physicalName": name.split("#")[1]} if ids else {},
                }
                for name in names
            ],
        }
    )


def test_columns_that_change_on_the_way(root: Path) -> None:
    write(root, 2, metadata(schema=columns("id", "more")))
    write(root, 3, add("c"))
    found = classify(DeltaLog(str(root)), 1, 3)
    assert found.drift.added == ("more",)
    assert found.drift.additive
    write(root, 4, metadata(schema=columns("id", "more", kind="string")), remove("c"))
    write(root, 5, metadata(schema=columns("id", "more")), add("d"))
    detour = classify(DeltaLog(str(root)), 1, 5)
    assert detour.drift.detour
    assert parts(detour) == [("ends", "d", "", "")]
    retyped = classify(DeltaLog(str(root)), 1, 4)
    assert retyped.drift.retyped == {"id": ("bigint", "string")}


def test_replaced_and_recreated(root: Path) -> None:
    write(root, 2, metadata("two"), remove("a"), remove("b"), add("c"))
    log = DeltaLog(str(root))
    replaced = classify(log, 1, 2, table_id="one")
    assert replaced.drift.replaced
    assert not replaced.drift.recreated
    assert parts(replaced) == [("ends", "c", "ab", "")]
    recreated = classify(log, 1, 2, table_id="an older one")
    assert recreated.drift.recreated
    assert classify(log, 9, 2, table_id="an older one").drift.recreated
    with pytest.raises(ValueError, match="cannot end before"):
        classify(log, 2, 1)
    with pytest.raises(SourceMissing):
        classify(DeltaLog(str(root / "gone")), 0, 1)


def test_no_interval(root: Path) -> None:
    found = classify(DeltaLog(str(root)), 1, 1)
    assert (found.kind, found.rows_estimate, found.bytes) == (ChangeSetKind.NONE, 0, 0)
    assert (found.before, found.after, found.insert_only, found.schema_change) == (1, 1, True, None)


def test_of_no_interval_no_file_is_looked_at(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def looked(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(interval, "_ends", looked)
    monkeypatch.setattr(interval, "_steps", looked)
    assert not classify(DeltaLog(str(root)), 1, 1).data_changed
    assert classify(DeltaLog(str(root)), 1, 1, table_id="an older one").drift.recreated


def test_the_feed_counts_only_if_it_was_on_throughout(root: Path) -> None:
    write(root, 2, metadata(**{"delta.enableChangeDataFeed": "true"}))
    write(root, 3, add("c"))
    log = DeltaLog(str(root))
    assert classify(log, 2, 3).feed_on
    assert not classify(log, 1, 3).feed_on
    assert classify(log, 2, 2).feed_on
    assert not classify(log, 1, 1).feed_on


def test_drift_by_name_and_by_name_in_files() -> None:
    from pyspark.sql.types import StructType

    def drift(before: str, after: str) -> object:
        return schema_drift(StructType.fromJson(json.loads(before)), StructType.fromJson(json.loads(after)))

    by_name = drift(columns("a", "B"), columns("b", "c"))
    assert (by_name.added, by_name.dropped, by_name.renamed) == (("c",), ("a",), {})  # type: ignore[attr-defined]
    by_id = drift(columns("a#1", "b#2", ids=True), columns("x#1", "b#3", ids=True))
    assert by_id.renamed == {"a": "x"}  # type: ignore[attr-defined]
    assert by_id.dropped == by_id.added == ("b",)  # type: ignore[attr-defined]
    # The mapping came meanwhile: then the files have the old names.
    mapped = drift(columns("a", "b"), columns("x#a", "b#b", "a#col-1", ids=True))
    assert (mapped.renamed, mapped.added) == ({"a": "x"}, ("a",))  # type: ignore[attr-defined]
    assert not drift(columns("A"), columns("A#A", ids=True))
    assert not drift(columns("a#col-1", ids=True), columns("a"))
    loose = drift(columns("a", nullable=False), columns("a"))
    assert loose.loosened == ("a",)  # type: ignore[attr-defined]
    assert loose.additive  # type: ignore[attr-defined]
    assert not drift(SCHEMA, SCHEMA)


@pytest.mark.parametrize("wrap", ["{}", '{{"type":"array","elementType":{},"containsNull":true}}'])
def test_a_field_inside_that_only_has_the_name_of_another(wrap: str) -> None:
    from pyspark.sql.types import StructType

    def schema(*fields: str, ids: bool = True) -> StructType:
        return StructType.fromJson(
            json.loads(columns("s#s", ids=ids).replace('"long"', wrap.format(columns(*fields, ids=ids))))
        )

    assert not schema_drift(schema("x#1", "a#2"), schema("x#1", "a#2"))
    assert not schema_drift(schema("x", "a", ids=False), schema("x#x", "a#a"))
    drift = schema_drift(schema("x#1", "a#2"), schema("x#1", "a#3"))
    assert "another field" in drift.retyped["s"][1]
