"""Lineage: refreshes sent to an OpenLineage receiver or written to a file, on a thread of their own.

A run has one START and one end. A quiet stream table is advanced without a run, and nothing is sent for it. A receiver
that is down costs events (counted), never a refresh.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from penstock.catalog.model import Dependency, RefreshRecord, RefreshStatus, SourceType, StreamTableMeta
from penstock.catalog.reader import CatalogReader
from penstock.engine.delta.definition import Definition
from penstock.engine.run.workspace import Logs
from penstock.engine.write.table_properties import DEFINITION_KEY
from penstock.errors import PenstockError
from penstock.monitor.background import Background
from penstock.monitor.lineage_event import LineageTable, lineage_event
from penstock.monitor.post import post


class Lineage:
    """An observer of refreshes."""

    def __init__(self, url: str, namespace: str, catalog: CatalogReader, logs: Logs) -> None:
        self._url = url
        self._file = Path(unquote(urlsplit(url).path)) if urlsplit(url).scheme == "file" else None
        self._namespace = namespace
        self._catalog = catalog
        self._logs = logs
        self._started: set[str] = set()
        self.background = Background("lineage", self._tell)

    def observe(self, record: RefreshRecord) -> None:
        """Take note of a refresh that starts or ends."""
        if record.status is RefreshStatus.RUNNING:
            self._started.add(record.refresh_id)
        elif record.refresh_id in self._started:
            self._started.remove(record.refresh_id)
        else:
            return
        # Read now: by the time the event is sent, the stream table may be another, or gone.
        meta = self._catalog.get_by_id(record.stream_table_id)
        self.background.put((record, meta, self._catalog.dependencies_of(meta.id)))

    def _tell(self, seen: tuple[RefreshRecord, StreamTableMeta, Sequence[Dependency]]) -> None:
        self._send(self._event(*seen))

    def _event(self, record: RefreshRecord, meta: StreamTableMeta, reads: Sequence[Dependency]) -> dict[str, Any]:
        frontier = record.to_frontier or record.from_frontier
        versions = {} if frontier is None else {source: at.version for source, at in frontier.sources.items()}
        inputs = [
            LineageTable(each.source_name, each.source_path, versions.get(each.source_id))
            for each in reads
            if each.source_type is not SourceType.VIEW and each.source_path is not None
        ]
        output = LineageTable(record.name, meta.path, record.commit_version)
        return lineage_event(record, self._namespace, meta.query, inputs, self._with_columns(output))

    def _with_columns(self, table: LineageTable) -> LineageTable:
        try:
            properties = self._logs.at(table.path).snapshot(table.version).properties
            definition = Definition.from_json(properties[DEFINITION_KEY])
        except (PenstockError, OSError, KeyError, ValueError):
            return table
        return replace(table, columns=[(visible, kind) for visible, _, kind in definition.columns])

    def _send(self, event: dict[str, Any]) -> None:
        if self._file is None:
            post(self._url, event, self.background.ending)
            return
        with self._file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(event, ensure_ascii=False) + "\n")
