"""The log read in Python: snapshots, commits, and what happens when parts of it are gone."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.engine.delta import log_entry
from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.log_storage import LocalLog, ObjectStoreLog, local_path
from penstock.errors import FrontierLost, SourceMissing, StorageUnreachable

SCHEMA = json.dumps(
    {"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]},
    separators=(",", ":"),
)


def metadata(table_id: str = "one", schema: str = SCHEMA, **configuration: str) -> dict[str, Any]:
    return {
        "metaData": {
            "id": table_id,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema,
            "partitionColumns": [],
            "configuration": configuration,
        }
    }


PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}


def add(path: str, size: int = 10, change: bool = True, **more: Any) -> dict[str, Any]:
    return {"add": {"path": path, "partitionValues": {}, "size": size, "dataChange": change, **more}}


def remove(path: str, change: bool = True, **more: Any) -> dict[str, Any]:
    return {"remove": {"path": path, "dataChange": change, **more}}


def write(root: Path, version: int, *actions: dict[str, Any]) -> None:
    folder = root / "_delta_log"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{version:020d}.json").write_text("\n".join(json.dumps(action) for action in actions))


def names(log: DeltaLog, version: int | None = None) -> set[str]:
    return {os.path.basename(file.path) for file in log.snapshot(version).files}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    root = tmp_path / "table"
    write(root, 0, {"commitInfo": {"operation": "CREATE TABLE", "userMetadata": "hello"}}, PROTOCOL, metadata())
    write(root, 1, add("a"), add("b"), {"txn": {"appId": "app", "version": 7}})
    write(root, 2, remove("a"), add("c"))
    return root


def test_a_snapshot_is_the_commits_applied_in_order(table: Path) -> None:
    log = DeltaLog(str(table))
    assert log.latest_version() == 2
    assert [names(log, version) for version in range(3)] == [set(), {"a", "b"}, {"b", "c"}]
    assert log.snapshot().txns == {"app": 7}
    assert log.commit(0).user_metadata == "hello"
    assert log.snapshot().committed_at is not None
    assert log.snapshot().table_id == "one"
    assert log.snapshot().fast


def test_new_commits_are_seen(table: Path) -> None:
    log = DeltaLog(str(table))
    assert log.latest_version() == 2
    write(table, 3, add("d"))
    assert log.latest_version() == 3
    assert names(log) == {"b", "c", "d"}


def test_a_snapshot_is_kept_and_its_files_are_shared(table: Path) -> None:
    log = DeltaLog(str(table))
    assert log.snapshot(1) is log.snapshot(1)
    shared = next(file for file in log.snapshot(1).files if file.path.endswith("b"))
    assert any(file is shared for file in log.snapshot(2).files)


def test_the_rows_of_a_file_are_read_from_its_statistics_once(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(table, 3, add("d", stats=json.dumps({"numRecords": 5})))
    write(table, 4, add("e"))
    by_name = {file.name: file for file in DeltaLog(str(table)).snapshot().files}
    assert (by_name["d"].rows, by_name["e"].rows) == (5, None)
    monkeypatch.setattr(log_entry, "_parse_stats", None)
    assert (by_name["d"].rows, by_name["e"].rows) == (5, None)


def test_a_table_created_again_in_the_same_place_is_another_table(table: Path) -> None:
    log = DeltaLog(str(table))
    assert log.snapshot(1).table_id == "one"
    shutil.rmtree(table)
    with pytest.raises(SourceMissing):
        log.latest_version()
    write(table, 0, PROTOCOL, metadata("two"))
    write(table, 1, add("z"))
    assert log.latest_version() == 1
    assert log.snapshot(1).table_id == "two"
    assert names(log, 1) == {"z"}
    with pytest.raises(FrontierLost, match="only at version 1"):
        log.snapshot(2)


def test_no_table(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing):
        DeltaLog(str(tmp_path / "nothing")).snapshot()
    with pytest.raises(SourceMissing):
        DeltaLog(str(tmp_path / "nothing")).snapshot(3)
    (tmp_path / "empty" / "_delta_log").mkdir(parents=True)
    with pytest.raises(SourceMissing):
        DeltaLog(str(tmp_path / "empty")).latest_version()


def test_a_version_whose_commits_are_gone_is_lost(table: Path) -> None:
    (table / "_delta_log" / f"{1:020d}.json").unlink()
    log = DeltaLog(str(table))
    assert log.latest_version() == 2
    with pytest.raises(FrontierLost):
        log.snapshot(2)
    with pytest.raises(FrontierLost):
        log.commits(0, 2)


def checkpoint(root: Path, name: str, actions: list[dict[str, Any]]) -> None:
    text = pa.map_(pa.string(), pa.string())
    kinds = {
        "add": pa.struct(
            [("path", pa.string()), ("partitionValues", text), ("size", pa.int64()), ("stats", pa.string())]
        ),
        "metaData": pa.struct(
            [
                ("id", pa.string()),
                ("schemaString", pa.string()),
                ("partitionColumns", pa.list_(pa.string())),
                ("configuration", text),
            ]
        ),
        "protocol": pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())]),
        "sidecar": pa.struct([("path", pa.string())]),
    }
    columns = {
        kind: pa.array(
            [
                {name: body.get(name) for name in shape.names} if (body := action.get(kind)) else None
                for action in actions
            ],
            shape,
        )
        for kind, shape in kinds.items()
    }
    target = root / "_delta_log" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), target)


def bare(action: dict[str, Any]) -> dict[str, Any]:
    """An action without its empty maps, which pyarrow takes as lists of pairs."""
    return {kind: {name: value for name, value in body.items() if value != {}} for kind, body in action.items()}


STATE = [PROTOCOL, bare(metadata()), bare(add("b")), bare(add("c"))]


def test_a_checkpoint_stands_for_the_commits_before_it(table: Path) -> None:
    checkpoint(table, f"{2:020d}.checkpoint.parquet", STATE)
    for version in range(3):
        (table / "_delta_log" / f"{version:020d}.json").unlink()
    write(table, 3, add("d"))
    log = DeltaLog(str(table))
    assert names(log) == {"b", "c", "d"}
    assert names(log, 2) == {"b", "c"}
    with pytest.raises(FrontierLost):
        log.snapshot(1)


def test_an_incomplete_checkpoint_is_none(table: Path) -> None:
    checkpoint(table, f"{2:020d}.checkpoint.{1:010d}.{2:010d}.parquet", STATE[:3])
    log = DeltaLog(str(table))
    assert names(log) == {"b", "c"}
    (table / "_delta_log" / f"{0:020d}.json").unlink()
    with pytest.raises(FrontierLost):
        DeltaLog(str(table)).snapshot()
    checkpoint(table, f"{2:020d}.checkpoint.{2:010d}.{2:010d}.parquet", STATE[3:])
    assert names(DeltaLog(str(table))) == {"b", "c"}


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_a_checkpoint_with_sidecars(table: Path, form: str) -> None:
    name = f"{2:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.{form}"
    top = [*STATE[:2], {"sidecar": {"path": "one.parquet"}}, {"sidecar": {"path": "two.parquet"}}]
    if form == "json":
        (table / "_delta_log" / name).write_text("\n".join(json.dumps(action) for action in top))
    else:
        checkpoint(table, name, top)
    checkpoint(table, "_sidecars/one.parquet", STATE[2:3])
    checkpoint(table, "_sidecars/two.parquet", STATE[3:])
    (table / "_delta_log" / f"{0:020d}.json").unlink()
    assert names(DeltaLog(str(table))) == {"b", "c"}


def test_compacted_and_foreign_files_are_not_commits(table: Path) -> None:
    folder = table / "_delta_log"
    (folder / f"{0:020d}.{9:020d}.compacted.json").write_text("")
    (folder / f"{9:020d}.crc").write_text("")
    (folder / "_last_checkpoint").write_text('{"version": 9}')
    assert DeltaLog(str(table)).latest_version() == 2


def test_the_same_file_under_another_deletion_vector_is_another_file(table: Path) -> None:
    vector = {"storageType": "u", "pathOrInlineDv": "x", "offset": 1, "sizeInBytes": 1, "cardinality": 3}
    write(table, 3, remove("b"), add("b", deletionVector=vector, stats='{"numRecords":10}'))
    write(table, 4, remove("b", deletionVector=vector), add("e"))
    log = DeltaLog(str(table))
    vectored = next(file for file in log.snapshot(3).files if file.path.endswith("/b"))
    assert vectored.deletion_vector is not None
    assert vectored.deletion_vector.id == "ux@1"
    assert vectored.rows == 7
    assert "deletion vector" in log.snapshot(3).slow_because
    assert names(log, 4) == {"c", "e"}
    assert log.snapshot(4).fast


def test_paths_are_unquoted_once_but_told_apart_as_written(table: Path) -> None:
    write(table, 3, add("p=%2520%C5%be/f"), add("file:/else%20where/g"))
    write(table, 4, remove("p=%2520ž/f"))
    write(table, 5, remove("p=%2520%C5%BE/f"))
    log = DeltaLog(str(table))
    paths = [file.path for file in log.snapshot(3).files]
    assert f"{table}/p=%20ž/f" in paths
    assert "file:/else where/g" in paths
    assert "outside" in log.snapshot(3).slow_because
    assert log.snapshot(4).live.keys() == log.snapshot(3).live.keys()
    assert len(log.snapshot(5).files) == 3


def test_statistics_are_exact_and_optional(table: Path) -> None:
    stats = '{"numRecords":2,"minValues":{"m":0.123456789012345678901},"maxValues":{},"nullCount":{"m":0}}'
    write(table, 3, add("f", stats=stats), add("g"))
    files = {os.path.basename(file.path): file for file in DeltaLog(str(table)).snapshot().files}
    assert str(files["f"].stats.low["m"]) == "0.123456789012345678901"
    assert files["f"].rows == 2
    assert files["g"].rows is None
    assert DeltaLog(str(table)).snapshot().rows is None


@pytest.mark.parametrize(
    ("features", "configuration", "schema", "why"),
    [
        ([], {}, SCHEMA, ""),
        (["deletionVectors", "timestampNtz", "v2Checkpoint"], {}, SCHEMA, ""),
        (["someNewThing"], {}, SCHEMA, "someNewThing"),
        (["columnMapping"], {"delta.columnMapping.mode": "name"}, SCHEMA, "column mapping"),
        ([], {}, SCHEMA.replace('"long"', '"variant"'), "variant"),
        ([], {}, SCHEMA.replace('"metadata":{}', '"metadata":{"__CHAR_VARCHAR_TYPE_STRING":"char(3)"}'), "CHAR"),
        ([], {}, SCHEMA.replace('"metadata":{}', '"metadata":{"delta.typeChanges":[]}'), "typeChanges"),
        ([], {}, SCHEMA.replace('"long"', '{"type":"array","elementType":"void","containsNull":true}'), "void"),
    ],
)
def test_allow_list(tmp_path: Path, features: list[str], configuration: dict[str, str], schema: str, why: str) -> None:
    both = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    write(tmp_path / "t", 0, {"protocol": both}, metadata(schema=schema, **configuration))
    found = DeltaLog(str(tmp_path / "t")).snapshot()
    assert why in found.slow_because
    assert found.fast is (why == "")


def test_a_newer_protocol_is_not_trusted(tmp_path: Path) -> None:
    write(tmp_path / "t", 0, {"protocol": {"minReaderVersion": 4, "minWriterVersion": 8}}, metadata())
    assert not DeltaLog(str(tmp_path / "t")).snapshot().fast


def test_local_paths() -> None:
    assert local_path("file:/tmp/none%20such") == "/tmp/none such"
    assert local_path("/a/b/") == "/a/b"
    assert local_path("abfss://c@a/x") is None


def test_other_storages_read_the_same(table: Path) -> None:
    near, far = LocalLog(f"{table}/_delta_log"), ObjectStoreLog(f"file://{table}")
    name = f"{1:020d}.json"
    assert sorted(near.names()) == sorted(far.names())
    assert near.read(name) == far.read(name)
    found, same = near.stamp(name), far.stamp(name)
    assert found is not None
    assert same is not None
    assert found[1] == same[1]
    assert far.stamp("none") is None
    with pytest.raises(FileNotFoundError):
        far.read("none")
    log = DeltaLog(str(table))
    log._storage = far
    checkpoint(table, f"{2:020d}.checkpoint.parquet", STATE)
    assert log.latest_version() == 2
    assert names(log) == {"b", "c"}


@pytest.mark.parametrize("left", [20, 0, "[1]", "7", '{"add": 5}'])
def test_an_entry_that_cannot_be_read_is_named_and_tried_again(tmp_path: Path, left: int | str) -> None:
    write(tmp_path, 0, PROTOCOL, metadata())
    write(tmp_path, 1, add("a"))
    log, entry = DeltaLog(str(tmp_path)), tmp_path / "_delta_log" / f"{1:020d}.json"
    whole = entry.read_text()
    entry.write_text(whole[:left] if isinstance(left, int) else left)
    with pytest.raises(StorageUnreachable, match=entry.name):
        log.commit(1)
    entry.write_text(whole)
    assert len(log.commit(1).adds) == 1


def test_a_log_that_cannot_be_reached_is_trouble_that_may_pass(tmp_path: Path) -> None:
    write(tmp_path, 0, PROTOCOL, metadata())
    write(tmp_path, 1, add("a"))
    log, entry = DeltaLog(str(tmp_path)), tmp_path / "_delta_log" / f"{1:020d}.json"
    whole = entry.read_text()
    entry.unlink()
    entry.symlink_to(entry)
    for ask in (lambda: log.commit(1), log.snapshot, log.latest_version, lambda: log.stamp(1)):
        with pytest.raises(StorageUnreachable, match="symbolic links"):
            ask()
    entry.unlink()
    entry.write_text(whole)
    assert log.snapshot().version == 1


def test_a_damaged_checkpoint_is_trouble_that_may_pass(tmp_path: Path) -> None:
    write(tmp_path, 0, PROTOCOL, metadata())
    write(tmp_path, 1, add("a"))
    checkpoint(tmp_path, f"{1:020d}.checkpoint.parquet", STATE)
    (tmp_path / "_delta_log" / f"{1:020d}.checkpoint.parquet").write_bytes(b"nothing of the kind")
    with pytest.raises(StorageUnreachable):
        DeltaLog(str(tmp_path)).snapshot()
