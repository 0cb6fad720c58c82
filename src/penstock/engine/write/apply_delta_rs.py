"""Apply a change with delta-rs: from the driver's memory, in milliseconds.

Three rules hold for every write here. Statistics and dictionaries are written only for columns of types whose bounds
are right in delta-rs (it leaves NaN out of them, writes decimals as doubles, and a dictionary makes readers miss -0.0);
nested fields cannot be named one by one, so off is the default and the safe columns are switched on. A merge sets
columns from `s.` only: arithmetic there wraps silently. The commit is made on the pinned handle and never retried, so a
table that moved since is a conflict.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import ColumnProperties, CommitProperties, DeltaTable, Transaction, WriterProperties, write_deltalake
from deltalake.transaction import AddAction, RemoveAction

from penstock.engine.delta.commit_record import USER_METADATA
from penstock.engine.delta.storage_schema import Fields, arrow_schema, conform, fields_of, prunable, same_columns
from penstock.engine.read.sql_literals import identifier
from penstock.engine.write.apply import Change
from penstock.engine.write.merge_predicate import OP, MergeRange, match, rangeable, within
from penstock.engine.write.staged import StagedFile, StagedFiles
from penstock.engine.write.table_properties import Layout, layout_of
from penstock.errors import InternalError
from penstock.failpoints import Failpoint, reach
from penstock.names import WEIGHT

RANGE_COLUMNS = 4
"""The most key columns that literals bound: each costs a comparison per row, and the first skip most."""


def apply(
    handle: DeltaTable,
    change: Change,
    rows: pa.Table | StagedFiles,
    *,
    schema_json: str | None,
    record: str,
    app: str,
    number: int,
) -> None:
    """Commit the change on `handle`.

    `schema_json` is the new schema of an overwrite that changes columns, else None.
    """
    layout = layout_of(handle)
    properties = commit_properties(record, app, number)
    if isinstance(rows, StagedFiles):
        _name_files(handle, change, rows, properties)
    elif change.kind == "overwrite":
        _overwrite(handle, rows, layout, schema_json, properties)
    elif change.kind == "append":
        stored = conform(rows, arrow_schema(layout.schema_json))
        writer = writer_properties(layout.fields)
        write_deltalake(handle, stored, mode="append", writer_properties=writer, commit_properties=properties)
    else:
        _merge(handle, change, rows, layout, properties)
    reach(Failpoint.WRITTEN)


def commit_frontier_only(handle: DeltaTable, *, record: str, app: str, number: int) -> None:
    """Commit the record alone: an append of no rows, which unlike a merge of none is a commit."""
    nothing = arrow_schema(layout_of(handle).schema_json).empty_table()
    write_deltalake(handle, nothing, mode="append", commit_properties=commit_properties(record, app, number))


def commit_properties(record: str, app: str, number: int) -> CommitProperties:
    """The record, the transaction, and no second try."""
    return CommitProperties(
        custom_metadata={USER_METADATA: record},
        app_transactions=[Transaction(app, number)],
        max_commit_retries=0,
    )


def writer_properties(fields: Fields) -> WriterProperties:
    """Parquet settings under which every stored value is found again by a filter."""
    off = ColumnProperties(statistics_enabled="NONE", dictionary_enabled=False)
    on = ColumnProperties(statistics_enabled="PAGE", dictionary_enabled=True)
    safe = {name: on for name, delta_type in fields.items() if prunable(delta_type)}
    return WriterProperties(compression="SNAPPY", default_column_properties=off, column_properties=safe or None)


def merge_source(change: Change, rows: pa.Table, layout: Layout) -> pa.Table:
    """The rows of a keyed or bag change in storage types, with their operation, and no key twice."""
    target = arrow_schema(layout.schema_json).append(pa.field(OP, pa.string()))
    source = conform(rows, target)
    allowed = {"u", "d"} if change.kind == "keyed" else {"i", "d"}
    seen = set(pc.unique(source[OP]).to_pylist())
    if not seen <= allowed:
        raise InternalError(
            why=f"a {change.kind} change cannot carry the operations {sorted(map(str, seen - allowed))}"
        )
    if change.kind == "keyed":
        _require_one_row_per_key(source, layout)
    return source


def merge_key(change: Change, layout: Layout) -> tuple[str, ...]:
    """The columns by which the change's rows find stored rows."""
    if change.kind == "bag":
        return tuple(name for name in layout.fields if name != WEIGHT)
    if layout.key is None:
        raise InternalError(why="a keyed change cannot be applied to a bag")
    return layout.key


def key_ranges(source: pa.Table, key: tuple[str, ...], fields: Fields) -> dict[str, MergeRange]:
    """The values that the first boundable key columns take in `source`; an unknown range is left out."""
    ranges: dict[str, MergeRange] = {}
    for name in [name for name in key if rangeable(name, fields)][:RANGE_COLUMNS]:
        column = source[name]
        bounds = pc.min_max(column)
        try:
            low, high = bounds["min"].as_py(), bounds["max"].as_py()
        except (OverflowError, ValueError):
            continue  # a date or time that Python cannot hold
        ranges[name] = MergeRange(low, high, column.null_count > 0)
    return ranges


def _overwrite(
    handle: DeltaTable, rows: pa.Table, layout: Layout, schema_json: str | None, properties: CommitProperties
) -> None:
    wanted = schema_json or layout.schema_json
    stored = conform(rows, arrow_schema(wanted))
    write_deltalake(
        handle,
        stored,
        mode="overwrite",
        # Only when columns differ: it writes the table's metadata anew.
        schema_mode=None if same_columns(wanted, layout.schema_json) else "overwrite",
        writer_properties=writer_properties(fields_of(wanted)),
        commit_properties=properties,
    )


def _name_files(handle: DeltaTable, change: Change, staged: StagedFiles, properties: CommitProperties) -> None:
    if change.kind not in ("append", "overwrite"):
        raise InternalError(why=f"files cannot be part of a {change.kind} change")
    added: list[AddAction | RemoveAction] = [_added(file) for file in staged.files]
    handle.create_write_transaction(added, change.kind, handle.schema(), commit_properties=properties)


def _added(file: StagedFile) -> AddAction:
    return AddAction(file.path, file.size, {}, file.modified_ms, True, file.statistics)


def _merge(handle: DeltaTable, change: Change, rows: pa.Table, layout: Layout, properties: CommitProperties) -> None:
    source = merge_source(change, rows, layout)
    key, fields = merge_key(change, layout), layout.fields
    op = f"s.{identifier(OP, 'datafusion')}"
    matching = source
    condition = match(key, fields, "datafusion")
    if change.kind == "bag":
        matching = source.filter(pc.equal(source[OP], "d"))
        condition = f"({op} = 'd') AND {condition}"
    bounds = within(key_ranges(matching, key, fields), fields, "datafusion") if matching.num_rows else ""
    columns = {identifier(name, "datafusion"): f"s.{identifier(name, 'datafusion')}" for name in fields}
    merger = handle.merge(
        source,
        f"{condition} AND {bounds}" if bounds else condition,
        source_alias="s",
        target_alias="t",
        writer_properties=writer_properties(fields),
        commit_properties=properties,
    ).when_matched_delete(f"{op} = 'd'")
    if change.kind == "keyed":
        merger = merger.when_matched_update(columns, f"{op} = 'u'").when_not_matched_insert(columns, f"{op} = 'u'")
    else:
        merger = merger.when_not_matched_insert(columns, f"{op} = 'i'")
    merger.execute()


def _require_one_row_per_key(source: pa.Table, layout: Layout) -> None:
    key = layout.key or ()
    if not key:
        distinct = min(source.num_rows, 1)
    elif any(isinstance(layout.fields[name], dict) for name in key):
        distinct = len({repr(tuple(row.values())) for row in source.select(list(key)).to_pylist()})
    else:
        distinct = source.select(list(key)).group_by(list(key)).aggregate([]).num_rows
    if distinct != source.num_rows:
        raise InternalError(why=f"a keyed change holds {source.num_rows} rows for {distinct} keys")
