"""What the catalog keeps of a definition: its dependencies, and the columns that the query reads of each.

The dependencies form no circle. If the name of one comes to stand for another table, its readers are to be rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from penstock.catalog.model import Dependency, RefreshMode, SourceType, StreamTableMeta
from penstock.catalog.reader import CatalogReader
from penstock.catalog.writer import CatalogWriter
from penstock.compile.bound import BoundQuery
from penstock.engine.bind.pinned_query import same_folder
from penstock.engine.delta.definition import Definition
from penstock.errors import StreamTableNotFound
from penstock.graph.cycles import check_proposal
from penstock.graph.dag import Node, NodeKind, StreamGraph
from penstock.names import TableName


@dataclass(frozen=True, slots=True)
class Redefinition:
    """Another definition for a stream table, of which nothing is in force yet."""

    table_id: str
    definition: Definition
    key: tuple[str, ...] | None
    """The key of its storage."""
    dependencies: tuple[Dependency, ...]
    keeps: frozenset[str] = frozenset()
    """Fields that nobody asked to change: they are what the stored definition says when this one comes into force."""

    def over(self, stored: Definition) -> Definition:
        """The definition to put in force in place of the stored one."""
        return replace(self.definition, **{name: getattr(stored, name) for name in self.keeps})


def dependencies_of(bound: BoundQuery) -> list[Dependency]:
    """Tables, stream tables and views that a query reads."""
    used = dict(bound.columns_used)
    found = [
        Dependency(
            source_id=source.id,
            source_name=source.name,
            source_type=SourceType.STREAM_TABLE if source.is_stream_table else SourceType.TABLE,
            source_path=source.path,
            columns_used=used.get(source.id, ()),
        )
        for source in bound.sources
    ]
    found += [
        Dependency(source_id=f"view:{view}", source_name=view, source_type=SourceType.VIEW, source_kind="view")
        for view, _ in bound.views
    ]
    return found


def same_sources(some: Iterable[Dependency], others: Iterable[Dependency]) -> bool:
    """True if both are the same tables at the same places."""
    one, other = ({each.source_id: each.source_path for each in reads} for reads in (some, others))
    return one.keys() == other.keys() and all(
        place == other[source] or (place is not None and same_folder(place, other[source] or ""))
        for source, place in one.items()
    )


def note_definition(
    catalog: CatalogWriter, meta: StreamTableMeta, definition: Definition, reads: Sequence[Dependency], now: datetime
) -> None:
    """Write down in the catalog what the storage says."""
    catalog.update_definition(
        meta.id,
        now=now,
        query=definition.query,
        database=definition.database,
        settings=definition.settings,
        key=definition.key,
        definition_hash=definition.hash,
        target_lag=definition.target_lag,
        refresh_mode=RefreshMode(definition.refresh_mode),
        dependencies=reads,
    )


def check_graph(catalog: CatalogReader, name: TableName, held: StreamTableMeta | None, bound: BoundQuery) -> None:
    """CycleInGraph if a stream table of that name (`held`, if it exists) could not read what the query reads."""
    graph = StreamGraph.build(catalog.get_all(), catalog.all_dependencies())
    node = graph.by_stream_table_id(held.id) if held else Node(f"proposed:{name}", str(name), NodeKind.STREAM_TABLE)
    sources = [graph.nodes.get(source.id, Node(source.id, source.name, NodeKind.TABLE)) for source in bound.sources]
    check_proposal(graph, node, sources)


def mark_moved(catalog: CatalogWriter, paths: Mapping[str, str], now: datetime) -> None:
    """Ask for a rebuild of every stream table with a source whose name (`paths`: name → folder) stands for another
    table now. The log of the old one, which may lie where it was, says nothing of that.
    """
    for each in catalog.all_dependencies() if paths else ():
        path = paths.get(each.source_name) if each.source_type is SourceType.TABLE else None
        if path is not None and each.source_path is not None and not same_folder(path, each.source_path):
            # One that was dropped meanwhile must not keep the others from being marked.
            with suppress(StreamTableNotFound):
                catalog.mark_reinit(each.stream_table_id, f"{each.source_name} is another table now", now=now)
