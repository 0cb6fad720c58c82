"""The layout advisor: by which columns tables should be sorted, why, and what that would spare.

    stream table   the columns of its key, those that consumers read it by first; of a bag the columns that consumers
                   read it by, else its first column that tells files apart
    source         the columns by which the deltas of stream tables read it, the most read ones

By which columns a delta reads a table is not guessed: the compiler writes its program and looks
(`compile/narrowed_columns.py`). How files lie now is read from the logs (`engine/write/layout.py`); no Spark job runs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.catalog.model import StreamTableMeta
from penstock.compile.narrowed_columns import narrowed_columns
from penstock.compile.plan import Plan, compile_query
from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.write.layout import (
    FileLayout,
    clusterable,
    expected_share,
    file_layout,
    file_size,
    needs_optimizing,
)
from penstock.engine.write.rewrite import MAX_FILE_SIZE
from penstock.errors import PenstockError
from penstock.names import WEIGHT, TableName, quote
from penstock.operators.source import Source
from penstock.refresh.warehouse import Warehouse

COLUMNS = 4
"""At most this many columns of its key sort a table; the first ones tell files apart."""

SOURCE_COLUMNS = 2
"""At most this many columns sort a source: each one more blurs the others."""


@dataclass(frozen=True, slots=True)
class LayoutAdvice:
    """How one table lies, and how it should."""

    table: str
    is_stream_table: bool
    columns: tuple[str, ...]
    """Storage columns to sort by; () if none would tell files apart."""
    because: str
    """Where the columns come from."""
    needed: str
    """Why the table should be laid out anew; empty if it is laid out well."""
    layout: FileLayout
    expected: float | None
    """The share of the files that one key would touch afterwards."""
    command: str | None
    """What to run; None if nothing needs to be."""

    def text(self) -> str:
        """One line."""
        sort = f"sort by {', '.join(self.columns)} ({self.because})" if self.columns else "compact"
        return f"{sort}: {self.needed}" if self.needed else f"good{self._kept()}"

    def _kept(self) -> str:
        files = "1 file" if self.layout.files == 1 else f"{self.layout.files} files"
        if self.layout.touched is None or self.layout.files < 2:
            return f": {files}"
        return f": {files}, a key of {', '.join(self.columns)} touches {self.layout.touched:.0%} of them"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "table": self.table,
            "kind": "stream table" if self.is_stream_table else "source",
            "columns": list(self.columns),
            "because": self.because,
            "needed": self.needed or None,
            "files": self.layout.files,
            "bytes": self.layout.bytes,
            "deletion_vectors": self.layout.deletion_vectors,
            "share_touched": self.layout.touched,
            "share_expected": self.expected,
            "command": self.command,
        }


Reads = Mapping[str, Mapping[str, Counter[str]]]
"""Table id → column → stream tables that read it by this column, and in how many places."""


def advise(warehouse: Warehouse) -> list[LayoutAdvice]:
    """Advice for every stream table, and for every source, those first that cost most."""
    plans = read_plans(warehouse)
    tables, sources = advise_tables(warehouse, plans), advise_sources(warehouse, plans)
    return [*(advice for _, advice in tables), *(advice for _, advice in sources)]


def advise_tables(
    warehouse: Warehouse, plans: Sequence[tuple[StreamTableMeta, Plan]]
) -> list[tuple[StreamTableMeta, LayoutAdvice]]:
    """Advice for these stream tables, as far as they have rows."""
    reads = reads_of(plans)
    return [
        (meta, advise_table(str(meta.name), plan.store.key, snapshot, reads.get(meta.table_id, {})))
        for meta, plan in plans
        if (snapshot := _snapshot(warehouse, meta.path)) is not None
    ]


def advise_one(warehouse: Warehouse, meta: StreamTableMeta, plan: Plan | None = None) -> LayoutAdvice:
    """Advice for one stream table; of others only its consumers are looked at."""
    held = plan or _compiled(warehouse, meta)
    reads = reads_of(_plans(warehouse, warehouse.catalog.consumers_of(meta.table_id)))
    snapshot = warehouse.logs.at(meta.path).snapshot()
    return advise_table(str(meta.name), held.store.key, snapshot, reads.get(meta.table_id, {}))


def advise_sources(
    warehouse: Warehouse, plans: Sequence[tuple[StreamTableMeta, Plan]]
) -> list[tuple[Source, LayoutAdvice]]:
    """Advice for the sources of these stream tables that are not stream tables themselves, the heaviest first."""
    reads = reads_of(plans)
    sources = {source.id: source for _, plan in plans for source in plan.bound.sources if not source.is_stream_table}
    found = [
        (source, advise_source(source.name, snapshot, reads.get(source.id, {})))
        for source in sources.values()
        if (snapshot := _snapshot(warehouse, source.path)) is not None
    ]

    def weight(each: tuple[Source, LayoutAdvice]) -> tuple[bool, int]:
        source, advice = each
        places = sum(sum(counts.values()) for counts in reads.get(source.id, {}).values())
        return not advice.needed, -places * advice.layout.bytes

    return sorted(found, key=weight)


def read_plans(warehouse: Warehouse) -> list[tuple[StreamTableMeta, Plan]]:
    """Every stream table with its plan; those whose query cannot be analysed now are left out."""
    return _plans(warehouse, warehouse.catalog.get_all())


def _compiled(warehouse: Warehouse, meta: StreamTableMeta) -> Plan:
    """The plan of a stream table, beside the one that its refreshes keep."""
    definition = warehouse.definition(meta)
    workspace = warehouse.workspace(definition)
    return compile_query(workspace.bind(definition.query), definition.key, workspace.settings)


def reads_of(plans: Iterable[tuple[StreamTableMeta, Plan]]) -> Reads:
    """By which columns the stream tables read each table."""
    found: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for meta, plan in plans:
        for (source, column), count in narrowed_columns(plan).items():
            found[source][column][meta.name.table] += count
    return found


def advise_table(
    name: str, key: tuple[str, ...] | None, snapshot: Snapshot, read_by: Mapping[str, Counter[str]]
) -> LayoutAdvice:
    """Advice for a stream table whose consumers read it by these columns."""
    columns, because = table_columns(key, snapshot, read_by)
    needed = needs_optimizing(snapshot, columns)
    layout = file_layout(snapshot, columns)
    expected = expected_share(layout.bytes, 1 if columns else 0)
    command = f"penstock optimize {name}" if needed else None
    return LayoutAdvice(name, True, columns, because, needed, layout, expected, command)


def table_columns(
    key: tuple[str, ...] | None, snapshot: Snapshot, read_by: Mapping[str, Counter[str]]
) -> tuple[tuple[str, ...], str]:
    """What to sort a stream table by, and where that comes from."""
    able = [name for name in clusterable(snapshot) if name != WEIGHT]
    asked = _ranked(able, read_by)
    if key:
        columns = tuple(name for name in (*(each for each in asked if each in key), *key) if name in able)
        return tuple(dict.fromkeys(columns))[:COLUMNS], "its key"
    if asked:
        return tuple(asked[:SOURCE_COLUMNS]), f"read by {_readers(asked[:SOURCE_COLUMNS], read_by)}"
    # The single row of an aggregate without groups has nothing to be sorted by.
    return (tuple(able[:1]), "its first column") if key is None else ((), "")


def advise_source(name: str, snapshot: Snapshot, read_by: Mapping[str, Counter[str]]) -> LayoutAdvice:
    """Advice for a table that stream tables read by these columns."""
    asked = _ranked(clusterable(snapshot), read_by)
    # A column that is read by far less often than another would only blur it.
    most = sum(read_by[asked[0]].values()) if asked else 0
    columns = tuple(each for each in asked[:SOURCE_COLUMNS] if 2 * sum(read_by[each].values()) >= most)
    needed = next(filter(None, (needs_optimizing(snapshot, [each], len(columns)) for each in columns)), "")
    needed = needed or needs_optimizing(snapshot, [])
    layout = file_layout(snapshot, columns[:1])
    sort = f" ZORDER BY ({', '.join(map(quote, columns))})" if columns and "clustering" not in snapshot.features else ""
    size = file_size(layout.bytes)
    command = f"SET {MAX_FILE_SIZE} = {size}; OPTIMIZE {TableName.parse(name).sql}{sort}" if needed else None
    because = f"read by {_readers(columns, read_by)}" if columns else ""
    expected = expected_share(layout.bytes, len(columns))
    return LayoutAdvice(name, False, columns, because, needed, layout, expected, command)


def _ranked(able: Iterable[str], read_by: Mapping[str, Counter[str]]) -> list[str]:
    """The columns that are read by, the most read ones first."""
    return sorted((name for name in able if name in read_by), key=lambda name: (-sum(read_by[name].values()), name))


def _readers(columns: Iterable[str], read_by: Mapping[str, Counter[str]]) -> str:
    names = sorted({name for column in columns for name in read_by[column]})
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _plans(warehouse: Warehouse, metas: Iterable[StreamTableMeta]) -> list[tuple[StreamTableMeta, Plan]]:
    found = []
    for meta in metas:
        try:
            found.append((meta, _compiled(warehouse, meta)))
        except PenstockError:
            # What is wrong with it is for its refresh to say.
            continue
    return found


def _snapshot(warehouse: Warehouse, path: str) -> Snapshot | None:
    """The newest version of a table, if it is there and holds anything."""
    try:
        snapshot = warehouse.logs.at(path).snapshot()
    except PenstockError:
        return None
    return snapshot if snapshot.files else None
