"""Stream tables whose commits a test makes itself: real storage, real records, a real catalog, and no Spark.

For testing what follows changes; see the example.

    with Published.open(tmp_path) as world:
        sales = world.keyed("sales", {"region": "string", "total": "long"}, key=("region",))
        sales.commit(put=[{"region": "east", "total": 5}])
        world.tables.subscribe("sales", lsn=0)

A commit is applied by delta-rs and numbered as a refresh does it.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from penstock.api import StreamTables, open_lazily
from penstock.catalog.model import StreamTableMeta
from penstock.engine.delta.commit_record import FIRST_LSN, CommitRecord
from penstock.engine.delta.definition import Definition
from penstock.engine.delta.storage_schema import arrow_schema
from penstock.engine.write.apply import Change
from penstock.engine.write.commit import commit
from penstock.engine.write.merge_predicate import OP
from penstock.engine.write.storage import Storage
from penstock.engine.write.table_properties import DEFINITION_KEY, ID_KEY, Layout, key_configuration
from penstock.names import WEIGHT, Frontier, TableName

Row = dict[str, Any]
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class PublishedTable:
    """One stream table; `rows` is what a user must see of it now."""

    name: str
    storage: Storage
    schema_json: str
    key: tuple[str, ...] | None
    rows: list[Row] = field(default_factory=list)
    last_lsn: int = FIRST_LSN - 1
    """The position reached, as the catalog knows it of other tables."""

    def commit(self, put: Sequence[Row] = (), drop: Sequence[Row] = (), *, anew: bool = False) -> CommitRecord:
        """Put rows (by key, or one more copy) and drop rows (by key, or one copy); `anew` replaces everything."""
        pin = self.storage.pin()
        filled = pin.record is not None or pin.transaction is not None
        was, old = Counter(map(_text, self.rows)), list(self.rows)
        if anew:
            self.rows = list(put)
            change, events = Change("overwrite", self._stored(put)), 1 if filled else len(put)
        elif self.key is not None:
            change, events = self._keyed(put, drop)
        else:
            change, events = self._bag(put, drop)
        now = Counter(map(_text, self.rows))
        number = pin.next_transaction
        record = CommitRecord(
            stream_table_id=self.storage.stream_table_id,
            definition_hash="d1",
            refresh_id=uuid4().hex,
            action="FULL" if anew else "INCREMENTAL",
            frontier=Frontier.of({"orders": number}, EPOCH + timedelta(seconds=number)),
            data_timestamp=EPOCH + timedelta(seconds=number),
            rows_inserted=(now - was).total() if not anew else len(put),
            rows_deleted=(was - now).total() if not anew else len(old),
            first_lsn=(self.last_lsn if pin.record is None else pin.record.last_lsn) + 1,
            lsn_count=events,
            replaces=anew and filled,
        )
        commit(self.storage, pin, change, record, applier="delta-rs", transaction_number=number)
        self.last_lsn = record.last_lsn
        return record

    def _stored(self, rows: Sequence[Row]) -> Any:
        if self.key is not None:
            return _table(self.schema_json, list(rows))
        return _table(self.schema_json, [{**row, WEIGHT: 1} for row in rows])

    def _keyed(self, put: Sequence[Row], drop: Sequence[Row]) -> tuple[Change, int]:
        held = {self._identity(row): row for row in self.rows}
        given = {self._identity(row): row for row in put}
        gone = {self._identity(row) for row in drop} & held.keys()
        changed = {place: row for place, row in given.items() if _text(row) != _text(held.get(place))}
        ops = [{**row, OP: "u"} for row in given.values()] + [{**held[place], OP: "d"} for place in gone]
        held.update(changed)
        self.rows = [row for place, row in held.items() if place not in gone]
        return Change("keyed", _table(self.schema_json, ops, with_op=True)), len(changed) + len(gone)

    def _bag(self, put: Sequence[Row], drop: Sequence[Row]) -> tuple[Change, int]:
        before = Counter({_text(row): 0 for row in self.rows})
        before.update(map(_text, self.rows))
        samples = {_text(row): row for row in [*self.rows, *put, *drop]}
        after = before.copy()
        after.update(map(_text, put))
        after.subtract(map(_text, drop))
        moved = [row for row in samples if after[row] != before[row]]
        # An applier finds rows by equality, for which −0.0 and 0.0 are one value: one row takes both away.
        touched = {_alike(samples[row]) for row in moved}
        alike = [row for row in samples if _alike(samples[row]) in touched]
        gone = {_alike(samples[row]): row for row in alike if before[row]}
        ops = [{**samples[row], WEIGHT: before[row], OP: "d"} for row in gone.values()]
        ops += [{**samples[row], WEIGHT: after[row], OP: "i"} for row in alike if after[row] > 0]
        self.rows = [samples[row] for row, count in after.items() for _ in range(count)]
        return Change("bag", _table(self.schema_json, ops, with_op=True)), sum(
            abs(after[row] - before[row]) for row in moved
        )

    def _identity(self, row: Row) -> Any:
        return _text({name: row[name] for name in self.key or ()})


@dataclass
class Published:
    """A warehouse of such tables."""

    root: Path
    tables: StreamTables

    @classmethod
    @contextmanager
    def open(cls, root: Path) -> Iterator[Published]:
        """A warehouse at a folder, opened to look."""
        opened = open_lazily(root)
        try:
            yield cls(root, opened)
        finally:
            opened.close()

    def keyed(self, name: str, columns: Mapping[str, Any], key: tuple[str, ...]) -> PublishedTable:
        """A stream table whose rows have a key; () is the one row of a total."""
        return self._made(name, columns, key)

    def bag(self, name: str, columns: Mapping[str, Any]) -> PublishedTable:
        """A stream table whose rows may be there several times."""
        return self._made(name, columns, None)

    def _made(self, name: str, columns: Mapping[str, Any], key: tuple[str, ...] | None) -> PublishedTable:
        stored = dict(columns) if key is not None else {**columns, WEIGHT: "long"}
        full = TableName.parse(name, "default")
        identity = uuid4().hex
        definition = Definition(
            id=identity,
            name=str(full),
            query=f"SELECT * FROM {name}_source",
            database="default",
            settings={},
            target_lag_seconds=60,
            refresh_mode="AUTO",
            key=key or (),
            columns=tuple((column, column, str(kind)) for column, kind in columns.items()),
            weighted=key is None,
            has_hidden_rows=False,
        )
        schema_json = _schema(stored)
        configuration = {
            ID_KEY: identity,
            DEFINITION_KEY: definition.to_json(),
            **key_configuration(key),
        }
        path = os.fspath(self.root / "stream_tables" / f"{name}-{identity[:8]}")
        storage = Storage.create(path, Layout(schema_json, key), configuration)
        meta = StreamTableMeta(
            name=full,
            table_id=storage.pin().table_id,
            path=path,
            query=definition.query,
            definition_hash="d1",
            is_populated=True,
            data_timestamp=EPOCH,
        )
        catalog = self.tables._warehouse.catalog
        catalog.insert(meta, [], now=datetime.now(UTC))
        return PublishedTable(str(full), storage, schema_json, key)


def _schema(columns: Mapping[str, Any]) -> str:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns.items()]
    return json.dumps({"type": "struct", "fields": fields})


def _table(schema_json: str, rows: list[Row], *, with_op: bool = False) -> pa.Table:
    target = arrow_schema(schema_json)
    return pa.Table.from_pylist(rows, schema=target.append(pa.field(OP, pa.string())) if with_op else target)


def _text(row: Row | None) -> str:
    """A row as text in which −0.0 differs from 0.0 and all NaN are alike."""
    return repr(row)


def _alike(row: Row) -> str:
    """A row as text that is the same for rows that a merge takes for equal."""
    return _text({name: 0.0 if value == 0.0 else value for name, value in row.items()})
