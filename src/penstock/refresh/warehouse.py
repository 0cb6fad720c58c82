"""A warehouse at work: session, catalog, settings, and one workspace per stream table."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from penstock.catalog.model import Alert, RefreshRecord, StreamTableMeta
from penstock.catalog.warehouse_folder import STORAGE_FOLDER
from penstock.catalog.writer import CatalogWriter
from penstock.engine.bind.functions import function_code
from penstock.engine.bind.pinned_query import folder
from penstock.engine.delta.definition import Definition, text_hash
from penstock.engine.run.workspace import Logs, Workspace
from penstock.engine.spark.columns_as_defined import Reads
from penstock.engine.spark.registry import shared_path, view_text
from penstock.engine.write.storage_state import StorageState, storage_state
from penstock.errors import PenstockError, SourceMissing, StorageMissing
from penstock.names import TableName
from penstock.operators.source import Source
from penstock.refresh.record import Recorder
from penstock.refresh.run import Refresher
from penstock.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.refresh.share_names import LastSync


@dataclass
class Warehouse:
    """What every piece of work on a warehouse needs."""

    root: Path
    start: Callable[[], SparkSession]
    """Gives the session; asked when something is to be computed for the first time."""
    catalog: CatalogWriter
    settings: Settings
    now: Callable[[], datetime]
    sleep: Callable[[float], None]
    tell: Callable[[Alert], None] = lambda _: None
    """Passes an alert on to its receivers."""
    observe: Callable[[RefreshRecord], None] = lambda _: None
    """Is shown every refresh as it starts (RUNNING) and as it ends, and every one that was skipped."""
    started: Callable[[], None] = lambda: None
    """Called when there is a session; if it raises, the session is not used, and the next call tries again."""
    logs: Logs = field(default_factory=Logs)
    unnamed: frozenset[str] = frozenset()
    """Names that Spark's catalog lacks, because what they stand for is away."""
    naming: threading.RLock = field(default_factory=threading.RLock)
    """Held while stream tables' names are put right."""
    names_seen: dict[str, tuple[object, ...]] = field(default_factory=dict)
    """Schema → what Spark's catalog held under its stream tables' names when they were last put right."""
    named: dict[str, TableName] = field(default_factory=dict)
    """The stream tables, by Delta table id, whose views this process has seen in their place."""
    last_sync: LastSync | None = None
    """What Spark's catalog, if it lives in memory, and the warehouse's held when they last agreed on plain names."""
    begun: SparkSession | None = None
    """The session, if one was started, even if it could not be given its names yet."""
    _session: SparkSession | None = None
    _restoring: bool = False
    _starting: threading.RLock = field(default_factory=threading.RLock)
    _workspaces: dict[str, tuple[tuple[str | None, ...], Workspace]] = field(default_factory=dict)
    _making: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.recorder = Recorder(self.catalog, self.logs, self.now, self._pass_on, self._show)
        self.refresher = Refresher(
            self.catalog,
            self.settings,
            self.workspace,
            self.logs,
            self.view_hash,
            self.function_hash,
            self.now,
            self.sleep,
            self.recorder,
        )

    @property
    def spark(self) -> SparkSession:
        """The session. Until `started` has ended well, only the thread that runs it is given one; others wait."""
        if self._session is not None:
            return self._session
        with self._starting:
            if self._session is None and not self._restoring:
                self._restoring = True
                try:
                    self.begun = self.start()
                    self.started()
                    self._session = self.begun
                finally:
                    self._restoring = False
            assert self.begun is not None
            return self.begun

    @property
    def has_started(self) -> bool:
        """True if there is a session that knows the warehouse's names."""
        return self._session is not None

    def set_settings(self, settings: Settings) -> None:
        """Go by other settings from now on; refreshes that run end under the old ones."""
        self.settings = self.refresher.settings = settings

    def _pass_on(self, alert: Alert) -> None:
        # Looked up for every alert: who listens may change while the warehouse is open.
        self.tell(alert)

    def _show(self, record: RefreshRecord) -> None:
        self.observe(record)

    def storage_path(self, name: TableName, stream_table_id: str) -> str:
        """The folder of a new stream table's storage."""
        return str((self.root / STORAGE_FOLDER / name.schema / f"{name.table}-{stream_table_id[:8]}").resolve())

    def workspace(self, definition: Definition) -> Workspace:
        """The workspace of a stream table, made anew when its definition or a function of it changes."""
        held = self._workspaces.get(definition.id)
        key = self._workspace_key(definition)
        if held is not None and held[0] == key:
            return held[1]
        made = key, self.fresh_workspace(definition.settings, definition.database, definition.reads)
        with self._making:
            # Another thread may have been faster; there is one workspace, so that its lock is worth something.
            held = self._workspaces.get(definition.id)
            if held is None or held[0] != key:
                held = self._workspaces[definition.id] = made
            return held[1]

    def _workspace_key(self, definition: Definition) -> tuple[str | None, ...]:
        # A session keeps the functions that it was given.
        return definition.hash, *(self.function_hash(name) for name in definition.functions)

    def fresh_workspace(
        self, settings: dict[str, str], database: str, reads: Reads = MappingProxyType({})
    ) -> Workspace:
        """A workspace that no stream table owns yet, in which names show the columns they are said to have."""
        return Workspace(self.spark, settings, database, self.logs, self._by_name, self._by_storage, reads)

    def adopt(self, definition: Definition, workspace: Workspace) -> None:
        """Let the workspace in which a definition was proposed be its own, so that it is not bound again."""
        workspace.serve(definition)
        with self._making:
            self._workspaces[definition.id] = self._workspace_key(definition), workspace

    def forget(self, definition_id: str) -> None:
        """Let go of a workspace."""
        self._workspaces.pop(definition_id, None)

    def storage_state(self, meta: StreamTableMeta) -> StorageState:
        """Where a stream table's storage stands, from its log alone."""
        try:
            return storage_state(self.logs.at(meta.path))
        except SourceMissing as gone:
            raise StorageMissing(name=str(meta.name), path=meta.path, why=gone.text) from gone

    def definition(self, meta: StreamTableMeta) -> Definition:
        """The definition in a stream table's own metadata."""
        return Definition.from_json(self.storage_state(meta).definition)

    def view_hash(self, view: str) -> str:
        """A hash of a view's present text; empty if the view is gone."""
        text = view_text(self.spark, view)
        return "" if text is None else text_hash(text)

    def function_hash(self, function: str) -> str | None:
        """A hash of a function's present code; empty if that cannot be read, None if the function is gone."""
        code = function_code(self.spark, function)
        return text_hash(code) if code else code

    def has_moved(self, source: str, path: str) -> bool:
        """True if a source's name stands for another folder now, in a catalog that others share.

        In a catalog in memory a name only moves by statements of this process, which `sql` notices. This starts no
        session.
        """
        place = None if self._session is None else shared_path(self._session, source)
        return place is not None and folder(place) != folder(path)

    def _by_name(self, name: TableName) -> Source | None:
        meta = self.catalog.find(name)
        return None if meta is None else self._source(meta)

    def _by_storage(self, path: str) -> Source | None:
        for meta in self.catalog.get_all():
            if folder(meta.path) == path:
                return self._source(meta)
        return None

    def _source(self, meta: StreamTableMeta) -> Source | None:
        try:
            definition = self.definition(meta)
        except PenstockError:
            return None
        return Source(
            id=meta.table_id,
            name=str(meta.name),
            path=folder(meta.path),
            is_stream_table=True,
            weighted=definition.weighted,
            has_hidden_rows=definition.has_hidden_rows,
            stored_names=tuple((visible, stored) for visible, stored, _ in definition.columns if visible != stored),
        )
