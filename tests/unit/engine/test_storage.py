"""Storage, pins and delta-rs commits: all of it without a JVM."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, TableFeatures, write_deltalake
from deltalake.exceptions import DeltaError

import penstock.engine.write.apply_delta_rs as apply_delta_rs
import penstock.engine.write.merge_predicate as merge_predicate
from penstock.engine.write.apply import Change
from penstock.engine.write.commit import commit, commit_frontier_only
from penstock.engine.write.commit_notes import layout_note
from penstock.engine.write.delta_rs_errors import translated
from penstock.engine.write.merge_predicate import OP
from penstock.engine.write.storage import Storage
from penstock.engine.write.table_properties import DELETION_VECTORS, Layout, key_configuration, layout_of
from penstock.errors import (
    CommitConflict,
    InternalError,
    StorageError,
    StorageMissing,
    SystemTrouble,
    TableExists,
    UnstorableColumn,
)
from penstock.names import WEIGHT
from stored import ID, SAMPLES, Model, action_kinds, apply_now, bag, record, schema, table

KEYED = schema(k="long", v="string")
BAG = schema(k="long", v="double", **{WEIGHT: "long"})


def create(path: Path, schema_json: str = KEYED, key: tuple[str, ...] | None = ("k",)) -> Storage:
    configuration = {"penstock.id": ID, "penstock.definition": '{"query": "select \'${x}\'"}'}
    return Storage.create(path / "a table", Layout(schema_json, key), configuration)


def upsert(*rows: tuple[int | None, str], op: str = "u") -> Change:
    return Change("keyed", table(KEYED, [{"k": k, "v": v, OP: op} for k, v in rows], with_op=True))


def stored(storage: Storage) -> Any:
    return bag(storage.pin().handle.to_pyarrow_table(), layout_of(storage.pin().handle).schema_json)


class TestStorage:
    def test_what_is_created_is_what_is_opened(self, tmp_path: Path) -> None:
        made = create(tmp_path, key=("k",))
        found = Storage.open(tmp_path / "a table")
        assert found.table_id == made.table_id
        assert found.version == 0
        assert layout_of(found.pin().handle) == Layout(json.dumps(json.loads(KEYED), separators=(",", ":")), ("k",))
        assert found.stream_table_id == ID
        assert found.configuration["penstock.definition"] == '{"query": "select \'${x}\'"}'
        assert found.configuration["delta.enableChangeDataFeed"] == "true"
        assert found.configuration["delta.enableDeletionVectors"] == "false"

    @pytest.mark.parametrize("key", [None, (), ("k", "v")])
    def test_the_key_is_kept(self, tmp_path: Path, key: tuple[str, ...] | None) -> None:
        create(tmp_path, key=key)
        assert layout_of(Storage.open(tmp_path / "a table").pin().handle).key == key

    def test_an_existing_table_is_not_taken_over(self, tmp_path: Path) -> None:
        create(tmp_path)
        with pytest.raises(TableExists):
            create(tmp_path)

    def test_a_name_that_not_every_writer_handles_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UnstorableColumn):
            create(tmp_path, schema(**{"a`b": "long"}), None)
        create(tmp_path, schema(**{"sum(a b, c);{x}=.\"'\\": "long"}), None)

    def test_no_table_is_storage_missing(self, tmp_path: Path) -> None:
        with pytest.raises(StorageMissing):
            Storage.open(tmp_path / "nothing")

    def test_a_table_of_somebody_else_is_not_opened(self, tmp_path: Path) -> None:
        write_deltalake(str(tmp_path / "other"), pa.table({"a": [1]}))
        with pytest.raises(StorageMissing):
            Storage.open(tmp_path / "other")

    def test_a_panic_of_the_library_is_an_error_of_ours(self) -> None:
        class PanicException(BaseException):
            pass

        with pytest.raises(StorageError, match="panicked"), translated("t"):
            raise PanicException("index out of bounds")
        with pytest.raises(KeyboardInterrupt), translated("t"):
            raise KeyboardInterrupt

    def test_a_table_put_in_its_place_is_noticed(self, tmp_path: Path) -> None:
        storage = create(tmp_path)
        DeltaTable.create(storage.path, table(KEYED, []).schema, mode="overwrite")
        with pytest.raises(StorageMissing):
            storage.pin()

    def test_configuration_changes_in_a_commit_of_its_own(self, tmp_path: Path) -> None:
        storage = create(tmp_path, schema(k="long", at="timestamp_ntz"))
        storage.set_configuration({"penstock.definition": "{}", **key_configuration(("k", "at"))})
        pin = storage.pin()
        assert (pin.version, pin.foreign, pin.damaged, pin.not_fast) == (1, (), None, None)
        assert layout_of(storage.pin().handle).key == ("k", "at")
        assert storage.configuration["penstock.definition"] == "{}"


class TestPin:
    def test_a_new_table_has_no_record(self, tmp_path: Path) -> None:
        pin = create(tmp_path).pin()
        assert (pin.version, pin.record, pin.transaction, pin.next_transaction) == (0, None, None, 0)

    def test_the_newest_record_and_number_are_found(self, tmp_path: Path) -> None:
        storage = create(tmp_path)
        apply_now(storage, upsert((1, "a")))
        pin = storage.pin()
        latest = record()
        commit(storage, pin, upsert((2, "b")), latest, applier="delta-rs", transaction_number=pin.next_transaction)
        pin = storage.pin()
        assert pin.record is not None
        assert (pin.record.refresh_id, pin.record.base_version, pin.record_version) == (latest.refresh_id, 1, 2)
        assert pin.record.frontier == latest.frontier
        assert (pin.version, pin.transaction, pin.damaged) == (2, 1, None)

    def test_a_foreign_compaction_is_accepted_and_named(self, tmp_path: Path) -> None:
        storage = create(tmp_path)
        apply_now(storage, upsert((1, "a")))
        apply_now(storage, upsert((5, "b")))
        DeltaTable(storage.path).optimize.compact()
        pin = storage.pin()
        assert [(one.version, one.operation) for one in pin.foreign] == [(3, "OPTIMIZE")]
        assert (pin.damaged, pin.record_version) == (None, 2)

    def test_a_compaction_of_ours_is_not_foreign_unless_it_moves_rows(self, tmp_path: Path) -> None:
        storage = create(tmp_path)
        for key in range(3):
            apply_now(storage, upsert((key, "a")))
        note = CommitProperties(custom_metadata={"userMetadata": layout_note(ID, ["k"])})
        DeltaTable(storage.path).optimize.compact(commit_properties=note)
        pin = storage.pin()
        assert (pin.foreign, pin.damaged, pin.laid_out_by) == ((), None, ("k",))
        apply_now(storage, upsert((9, "a")))
        assert storage.pin().laid_out_by is None, "rows came since"
        write_deltalake(storage.path, table(KEYED, [{"k": 7, "v": "x"}]), mode="append", commit_properties=note)
        pin = storage.pin()
        assert pin.laid_out_by is None
        assert "changed stored rows" in str(pin.damaged)

    def test_a_foreign_change_of_rows_is_damage(self, tmp_path: Path) -> None:
        storage = create(tmp_path)
        apply_now(storage, upsert((1, "a")))
        DeltaTable(storage.path).update({"v": "'z'"})
        pin = storage.pin()
        assert pin.damaged == "UPDATE at version 2 changed stored rows"
        assert pin.record_version == 1

    def test_rows_that_came_before_our_first_commit_are_damage(self, tmp_path: Path) -> None:
        storage = create(tmp_path)
        write_deltalake(storage.path, table(KEYED, [{"k": 1, "v": "a"}]), mode="append")
        assert storage.pin().damaged is not None

    def test_foreign_columns_are_damage_foreign_properties_are_not(self, tmp_path: Path) -> None:
        storage = create(tmp_path)
        apply_now(storage, upsert((1, "a")))
        DeltaTable(storage.path).alter.set_table_properties({"delta.logRetentionDuration": "interval 40 days"})
        assert storage.pin().damaged is None
        write_deltalake(storage.path, pa.table({"n": pa.array([], pa.int32())}), mode="append", schema_mode="merge")
        assert storage.pin().damaged == "another writer changed its columns"

    def test_a_commit_that_landed_on_a_foreign_one_gives_itself_away(self, tmp_path: Path) -> None:
        storage = create(tmp_path)
        apply_now(storage, upsert((1, "a")))
        stale = record(base_version=1)
        DeltaTable(storage.path).update({"v": "'z'"})
        apply_delta_rs.commit_frontier_only(DeltaTable(storage.path), record=stale.to_json(), app=ID, number=1)
        pin = storage.pin()
        assert (pin.record_version, pin.damaged) == (3, "UPDATE at version 2 changed stored rows")

    def test_a_log_that_was_cut_is_damage(self, tmp_path: Path) -> None:
        storage = create(tmp_path)
        apply_now(storage, upsert((1, "a")))
        DeltaTable(storage.path).alter.set_table_description("x")
        handle = DeltaTable(storage.path)
        handle.create_checkpoint()
        (Path(storage.path) / "_delta_log" / f"{1:020d}.json").unlink()
        pin = storage.pin()
        assert (pin.record, pin.transaction) == (None, 0)
        assert pin.damaged is not None


class TestCommit:
    def test_the_empty_commit_carries_a_frontier(self, tmp_path: Path) -> None:
        storage = create(tmp_path)
        apply_now(storage, upsert((1, "a")))
        latest = record()
        assert commit_frontier_only(storage, storage.pin(), latest).version == 2
        pin = storage.pin()
        assert pin.record is not None
        assert (pin.record.refresh_id, pin.transaction) == (latest.refresh_id, 1)
        assert action_kinds(storage, 2) == ["commitInfo", "txn"]

    def test_a_used_number_is_refused(self, tmp_path: Path) -> None:
        storage = create(tmp_path)
        apply_now(storage, upsert((1, "a")))
        with pytest.raises(CommitConflict, match="was used already"):
            commit(storage, storage.pin(), upsert((2, "b")), record(), applier="delta-rs", transaction_number=0)
        with pytest.raises(InternalError, match="does not follow"):
            commit(storage, storage.pin(), upsert((2, "b")), record(), applier="delta-rs", transaction_number=5)
        assert storage.version == 1

    @pytest.mark.parametrize("kind", ["append", "bag", "overwrite", "carry"])
    @pytest.mark.parametrize("meanwhile", ["ours", "append", "compact"])
    def test_a_stale_pin_is_refused(self, tmp_path: Path, kind: Any, meanwhile: str) -> None:
        storage = create(tmp_path, BAG, None)
        row = {"k": 1, "v": 1.0, WEIGHT: 1}
        for _ in range(2):
            apply_now(storage, Change("append", table(BAG, [row])))
        pin = storage.pin()
        if meanwhile == "ours":
            apply_now(storage, Change("append", table(BAG, [row])))
        elif meanwhile == "append":
            write_deltalake(storage.path, table(BAG, [row]), mode="append")
        else:
            DeltaTable(storage.path).optimize.compact()
        before = stored(storage)
        if kind == "carry":
            with pytest.raises(CommitConflict):
                commit_frontier_only(storage, pin, record())
        else:
            rows = table(BAG, [{**row, OP: "d"}] if kind == "bag" else [row], with_op=kind == "bag")
            number = pin.next_transaction
            with pytest.raises(CommitConflict):
                commit(storage, pin, Change(kind, rows), record(), applier="delta-rs", transaction_number=number)
        assert storage.version == 3
        assert stored(storage) == before

    def test_a_pin_serves_one_commit(self, tmp_path: Path) -> None:
        storage = create(tmp_path)
        pin = storage.pin()
        commit(storage, pin, upsert((1, "a")), record(), applier="delta-rs", transaction_number=0)
        with pytest.raises(CommitConflict, match="was used already"):
            commit(storage, pin, upsert((2, "b")), record(), applier="delta-rs", transaction_number=0)

    def test_a_merge_that_touches_nothing_is_not_taken_for_a_commit(self, tmp_path: Path) -> None:
        storage = create(tmp_path)
        apply_now(storage, upsert((1, "a")))
        with pytest.raises(InternalError, match="touched no row"):
            apply_now(storage, upsert((9, "a"), op="d"))

    @pytest.mark.parametrize(
        "error",
        [
            DeltaError("the checkpoint could not be written"),
            OSError(errno.ENOSPC, "No space left on device"),
            OSError(errno.ETIMEDOUT, "Connection timed out"),
        ],
        ids=["storage", "disk", "network"],
    )
    def test_an_error_after_the_commit_does_not_undo_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
    ) -> None:
        right = apply_delta_rs.apply

        def fails_afterwards(*given: Any, **more: Any) -> None:
            right(*given, **more)
            raise error

        storage = create(tmp_path)
        monkeypatch.setattr(apply_delta_rs, "apply", fails_afterwards)
        assert apply_now(storage, upsert((1, "a"))).version == 1

        def fails_before(*_: Any, **__: Any) -> None:
            raise error

        monkeypatch.setattr(apply_delta_rs, "apply", fails_before)
        with pytest.raises((StorageError, SystemTrouble)):
            apply_now(storage, upsert((1, "b")))

    def test_a_record_of_another_stream_table_is_refused(self, tmp_path: Path) -> None:
        storage = create(tmp_path)
        with pytest.raises(InternalError, match="cannot go into"):
            commit(
                storage,
                storage.pin(),
                upsert((1, "a")),
                record(stream_table_id="other"),
                applier="delta-rs",
                transaction_number=0,
            )

    def test_a_table_outside_the_allow_list_needs_spark(self, tmp_path: Path) -> None:
        storage = create(tmp_path)
        handle = DeltaTable(storage.path)
        handle.alter.add_feature(TableFeatures.DeletionVectors, allow_protocol_versions_increase=True)
        assert storage.pin().not_fast is None, "the feature alone leaves no vector"
        storage.set_configuration({DELETION_VECTORS: "true"})
        pin = storage.pin()
        assert pin.not_fast is not None
        assert "deletionVectors" in pin.not_fast
        with pytest.raises(StorageError, match="no Spark session"):
            commit(storage, pin, upsert((1, "a")), record(), applier="delta-rs", transaction_number=0)

    @pytest.mark.parametrize(
        "rows",
        [
            pa.table({"k": [1], "v": ["a"]}),
            pa.table({"k": pa.array([1], pa.int32()), "v": ["a"], OP: ["u"]}),
            pa.table({"k": [1], "v": ["a"], OP: ["x"]}),
            pa.table({"k": [1, 1], "v": ["a", "b"], OP: ["u", "u"]}),
            pa.table({"k": pa.array([None, None], pa.int64()), "v": ["a", "b"], OP: ["u", "d"]}),
        ],
        ids=["no operation", "other type", "unknown operation", "key twice", "NULL key twice"],
    )
    def test_rows_that_are_not_what_they_should_be_are_refused(self, tmp_path: Path, rows: pa.Table) -> None:
        storage = create(tmp_path)
        with pytest.raises(InternalError):
            apply_now(storage, Change("keyed", rows))
        assert storage.version == 0


class TestMerge:
    """delta-rs merges against the model, one type of key after the other."""

    @pytest.mark.parametrize("name", SAMPLES)
    def test_every_type_finds_its_row_as_a_key(self, tmp_path: Path, name: str) -> None:
        kind, values = SAMPLES[name]
        schema_json = schema(k=kind, v="long")
        storage, model = create(tmp_path, schema_json), Model(schema_json, ("k",))

        def go(keys: list[Any], v: int, op: str) -> None:
            rows = [{"k": key, "v": v, OP: op} for key in keys]
            model.apply("keyed", rows)
            apply_now(storage, Change("keyed", table(schema_json, rows, with_op=True)))
            assert stored(storage) == model.state()

        for key in [*values, None]:
            go([key], 1, "u")
        go([None, *values], 2, "u")
        for key in [None, *values]:
            go([key], 3, "u")
        go([values[-1]], 0, "d")
        go([None, *values[:-1]], 0, "d")
        assert not model.rows

    @pytest.mark.parametrize("name", SAMPLES)
    def test_every_type_finds_all_its_rows_in_a_bag(self, tmp_path: Path, name: str) -> None:
        kind, values = SAMPLES[name]
        schema_json = schema(c=kind, d="long", **{WEIGHT: "long"})
        storage, model = create(tmp_path, schema_json, None), Model(schema_json, None)

        def go(change: Any, rows: list[dict[str, Any]]) -> None:
            model.apply(change, rows)
            apply_now(storage, Change(change, table(schema_json, rows, with_op=change == "bag")))
            assert stored(storage) == model.state()

        everything = [{"c": value, "d": d, WEIGHT: 1} for value in [*values, None] for d in (0, None)]
        for row in everything:
            go("append", [row])
        go("append", everything)
        go("bag", [{**row, OP: op, WEIGHT: 7} for row in everything[:2] for op in "di"])
        go("bag", [{**row, OP: "d"} for row in everything[1:]])

    def test_both_zeros_are_one_value_in_a_merge_and_two_in_the_file(self, tmp_path: Path) -> None:
        storage, model = create(tmp_path, BAG, None), Model(BAG, None)
        rows = [{"k": k, "v": v, WEIGHT: 1} for k in range(300) for v in (0.0, -0.0)]
        model.apply("append", rows)
        apply_now(storage, Change("append", table(BAG, rows)))
        turned = [{"k": k, "v": -0.0, WEIGHT: 1, OP: "d"} for k in range(0, 300, 2)]
        turned += [{"k": k, "v": v, WEIGHT: 3, OP: "i"} for k in range(0, 300, 4) for v in (0.0, -0.0)]
        model.apply("bag", turned)
        apply_now(storage, Change("bag", table(BAG, turned, with_op=True)))
        assert stored(storage) == model.state()
        assert len(model.rows) == 300 + 150

    def test_the_single_row_of_a_global_aggregate(self, tmp_path: Path) -> None:
        storage, model = create(tmp_path, KEYED, ()), Model(KEYED, ())
        for k in (1, None, 2):
            rows = [{"k": k, "v": str(k), OP: "u"}]
            model.apply("keyed", rows)
            apply_now(storage, Change("keyed", table(KEYED, rows, with_op=True)))
            assert stored(storage) == model.state()

    def test_the_range_skips_files_and_keeps_what_it_must(self, tmp_path: Path) -> None:
        storage, model = create(tmp_path), Model(KEYED, ("k",))
        for start in (0, 100, 200):
            rows = [{"k": k, "v": "a", OP: "u"} for k in [*range(start, start + 100)]]
            model.apply("keyed", rows)
            apply_now(storage, Change("keyed", table(KEYED, rows, with_op=True)))
        paths = set(storage.pin().handle.file_uris())
        rows = [{"k": 150, "v": "b", OP: "u"}, {"k": 151, "v": "", OP: "d"}, {"k": None, "v": "c", OP: "u"}]
        model.apply("keyed", rows)
        apply_now(storage, Change("keyed", table(KEYED, rows, with_op=True)))
        assert stored(storage) == model.state()
        assert len(paths & set(storage.pin().handle.file_uris())) == 2

    def test_control_a_range_without_its_null_term_is_caught(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        right = merge_predicate._range

        def wrong(column: str, span: merge_predicate.MergeRange, *more: Any) -> str:
            return right(column, merge_predicate.MergeRange(span.low, span.high, False), *more)

        storage, model = create(tmp_path), Model(KEYED, ("k",))
        rows: list[dict[str, Any]] = [{"k": 1, "v": "a", OP: "u"}, {"k": None, "v": "a", OP: "u"}]
        monkeypatch.setattr(merge_predicate, "_range", wrong)
        for _ in range(2):
            model.apply("keyed", rows)
            apply_now(storage, Change("keyed", table(KEYED, rows, with_op=True)))
        assert stored(storage) != model.state()
