"""The inputs of a refresh, as one value to compare: while it is the same, a query that failed would fail again.

    the stream table's own log    its definition; that its storage is there
    the log of each source        rows and columns; that it is there, and which table its name stands for
    views and functions           what they mean now
    settings                      of Penstock

Reads logs and metadata only. A part that cannot be read now is noted as such, so the answer differs once it can.
"""

from __future__ import annotations

from penstock.catalog.model import Dependency, SourceType, StreamTableMeta
from penstock.engine.bind.functions import OPAQUE
from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.readable import require_readable
from penstock.errors import PenstockError
from penstock.refresh.warehouse import Warehouse

InputFingerprint = tuple[object, ...]


def input_fingerprint(warehouse: Warehouse, meta: StreamTableMeta) -> InputFingerprint | None:
    """What the next refresh would read; None if not all of it can be seen: a clock, plain files, foreign code."""
    try:
        return _seen(warehouse, meta)
    except Exception:
        # Whatever it is, a Spark that is gone included: the next refresh says it in full, and no other table waits.
        return None


def _seen(warehouse: Warehouse, meta: StreamTableMeta) -> InputFingerprint | None:
    own = _log(warehouse, meta.path)
    try:
        definition = warehouse.definition(meta)
    except (PenstockError, KeyError, ValueError):
        return warehouse.settings, own
    functions = tuple((name, warehouse.function_hash(name)) for name in definition.functions)
    if definition.volatile or any(code == OPAQUE for _, code in functions):
        return None
    sources = tuple(
        _source(warehouse, each)
        for each in warehouse.catalog.dependencies_of(meta.id)
        if each.source_type is not SourceType.VIEW
    )
    views = tuple((name, warehouse.view_hash(name)) for name in definition.views)
    return warehouse.settings, own, sources, views, functions


def _source(warehouse: Warehouse, source: Dependency) -> InputFingerprint:
    path = source.source_path or ""
    moved = source.source_type is SourceType.TABLE and warehouse.has_moved(source.source_name, path)
    return source.source_id, moved, _log(warehouse, path)


def _log(warehouse: Warehouse, path: str) -> InputFingerprint | None:
    """The newest version, and the identity of its file: a table that is dropped and made again counts from 0 too."""
    try:
        log: DeltaLog = warehouse.logs.at(path)
        require_readable(log)
        newest = log.latest_version()
        return newest, log.stamp(newest)
    except (PenstockError, OSError):
        return None
