"""Folders that hold copies of the files of one Delta table, and so have the same table id.

A frontier names tables by their ids. So a stream table, with all its upstreams, may read only one of these folders:
otherwise a refresh would read the versions of one in the other. Stream tables without a common reader may read
different ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from penstock.catalog.model import Dependency, SourceType, StreamTableMeta
from penstock.catalog.reader import CatalogReader
from penstock.engine.bind.pinned_query import same_folder
from penstock.errors import SourceCopied
from penstock.graph.dag import StreamGraph

Folders = tuple[str, str]
"""Two folders with one table id."""


def require_one_copy(catalog: CatalogReader, reads: Sequence[Dependency]) -> None:
    """SourceCopied if a stream table with these sources would see one table id in two folders."""
    tables, behind = catalog.upstream_part(each.source_id for each in reads)
    for one, other in copied_ids([*behind, *reads], tables).values():
        raise SourceCopied(folder=one, other=other)


def copied_ids(dependencies: Iterable[Dependency], tables: Iterable[StreamTableMeta]) -> dict[str, Folders]:
    """The table ids that stand for more than one folder."""
    places = [(each.table_id, each.path) for each in tables]
    places += [
        (each.source_id, each.source_path)
        for each in dependencies
        if each.source_type is SourceType.TABLE and each.source_path is not None
    ]
    found: dict[str, Folders] = {}
    first: dict[str, str] = {}
    for source, path in places:
        held = first.setdefault(source, path)
        if not same_folder(held, path):
            found.setdefault(source, (held, path))
    return found


def readers_of_two_copies(
    tables: Mapping[str, StreamTableMeta], graph: StreamGraph, dependencies: Iterable[Dependency]
) -> dict[str, Folders]:
    """The stream tables (by Delta table id) that would read one table id in two folders."""
    by_reader: dict[int | None, list[Dependency]] = {}
    for each in dependencies:
        by_reader.setdefault(each.stream_table_id, []).append(each)
    found: dict[str, Folders] = {}
    for key, meta in tables.items():
        behind = [tables[each] for each in graph.upstream(key) if each in tables]
        reads = [each for reader in (meta, *behind) for each in by_reader.get(reader.id, ())]
        for folders in copied_ids(reads, behind).values():
            found[key] = folders
    return found
