"""The graph of stream tables: which of them reads which table.

Nodes are keyed by Delta table id, because that is what a dependency points at and what survives a rename. An edge runs
from a source to its consumer. Only stream tables have incoming edges; views are leaves that are kept for display, since
the tables behind them are dependencies of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from penstock.names import TableName


class NodeKind(StrEnum):
    """What a node is."""

    TABLE = "TABLE"
    STREAM_TABLE = "STREAM_TABLE"
    VIEW = "VIEW"


@dataclass(frozen=True, slots=True)
class Node:
    """One table, view or stream table."""

    key: str
    name: str
    kind: NodeKind
    stream_table_id: int | None = None
    target_lag: timedelta | None = None
    """None = DOWNSTREAM."""
    status: str | None = None
    data_timestamp: datetime | None = None

    @property
    def is_stream_table(self) -> bool:
        """True if Penstock maintains it."""
        return self.kind is NodeKind.STREAM_TABLE


@dataclass(frozen=True, slots=True)
class Edge:
    """One line of the graph, as a user sees it."""

    consumer: str
    source: str
    source_kind: NodeKind


class StreamTableRow(Protocol):
    """What the graph needs to know of a stream table."""

    @property
    def id(self) -> int: ...
    @property
    def name(self) -> TableName: ...
    @property
    def table_id(self) -> str: ...
    @property
    def target_lag(self) -> timedelta | None: ...
    @property
    def status(self) -> str: ...
    @property
    def data_timestamp(self) -> datetime | None: ...


class DependencyRow(Protocol):
    """What the graph needs to know of a dependency."""

    @property
    def stream_table_id(self) -> int: ...
    @property
    def source_id(self) -> str: ...
    @property
    def source_name(self) -> str: ...
    @property
    def source_type(self) -> str: ...


@dataclass(frozen=True, slots=True)
class StreamGraph:
    """An immutable picture of the graph; build a new one when the catalog's dag_version has moved."""

    nodes: Mapping[str, Node]
    sources: Mapping[str, frozenset[str]]
    """Consumer → what it reads directly."""
    consumers: Mapping[str, frozenset[str]]
    """Source → its direct consumers."""

    @classmethod
    def of(cls, nodes: Iterable[Node], edges: Iterable[tuple[str, str]]) -> StreamGraph:
        """A graph from nodes and (source, consumer) pairs of their keys."""
        held = {node.key: node for node in nodes}
        sources: dict[str, set[str]] = {key: set() for key in held}
        consumers: dict[str, set[str]] = {key: set() for key in held}
        for source, consumer in edges:
            sources[consumer].add(source)
            consumers[source].add(consumer)
        return cls(held, _frozen(sources), _frozen(consumers))

    @classmethod
    def build(cls, tables: Iterable[StreamTableRow], dependencies: Iterable[DependencyRow]) -> StreamGraph:
        """A graph from the rows of a catalog."""
        nodes: dict[str, Node] = {}
        key_of: dict[int, str] = {}
        for table in tables:
            key_of[table.id] = table.table_id
            nodes[table.table_id] = Node(
                key=table.table_id,
                name=str(table.name),
                kind=NodeKind.STREAM_TABLE,
                stream_table_id=table.id,
                target_lag=table.target_lag,
                status=str(table.status),
                data_timestamp=table.data_timestamp,
            )
        edges: list[tuple[str, str]] = []
        for dependency in dependencies:
            if dependency.stream_table_id not in key_of:
                # The two lists may have been read around a drop.
                continue
            source = dependency.source_id
            if source not in nodes:
                # A stream table that was dropped under its consumer is an ordinary, missing source from now on.
                kind = NodeKind.VIEW if dependency.source_type == NodeKind.VIEW else NodeKind.TABLE
                nodes[source] = Node(source, dependency.source_name, kind)
            edges.append((source, key_of[dependency.stream_table_id]))
        return cls.of(nodes.values(), edges)

    def with_stream_table(self, node: Node, sources: Iterable[Node]) -> StreamGraph:
        """This graph with one stream table added, or replaced together with what it reads."""
        added = {node.key: node, **{source.key: source for source in sources}}
        nodes = {**added, **self.nodes, node.key: node}
        edges = [
            (source, consumer) for consumer, reads in self.sources.items() for source in reads if consumer != node.key
        ]
        return StreamGraph.of(nodes.values(), edges + [(source.key, node.key) for source in sources])

    def stream_tables(self) -> list[Node]:
        """Every stream table, by name."""
        return sorted((node for node in self.nodes.values() if node.is_stream_table), key=_by_name)

    def by_stream_table_id(self, stream_table_id: int) -> Node:
        """The node of one catalog id."""
        return next(node for node in self.nodes.values() if node.stream_table_id == stream_table_id)

    def upstream(self, key: str) -> frozenset[str]:
        """Everything a node depends on, directly or not."""
        return _reach(self.sources, key)

    def downstream(self, key: str) -> frozenset[str]:
        """Everything that depends on a node, directly or not."""
        return _reach(self.consumers, key)

    def component(self, key: str) -> frozenset[str]:
        """Everything connected with a node in any direction; one version vector is pinned for all of it."""
        seen = {key}
        waiting = [key]
        while waiting:
            at = waiting.pop()
            for near in (self.sources[at] | self.consumers[at]) - seen:
                seen.add(near)
                waiting.append(near)
        return frozenset(seen)

    def edges(self) -> list[Edge]:
        """Every edge, by consumer and source name."""
        found = [
            Edge(self.nodes[consumer].name, self.nodes[source].name, self.nodes[source].kind)
            for consumer, reads in self.sources.items()
            for source in reads
        ]
        return sorted(found, key=lambda edge: (edge.consumer, edge.source))

    def sorted_consumers(self, key: str) -> list[Node]:
        """The direct consumers of a node, by name."""
        return sorted((self.nodes[consumer] for consumer in self.consumers[key]), key=_by_name)


def _by_name(node: Node) -> tuple[str, str]:
    return node.name, node.key


def _frozen(edges: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    return {key: frozenset(others) for key, others in edges.items()}


def _reach(edges: Mapping[str, frozenset[str]], start: str) -> frozenset[str]:
    seen: set[str] = set()
    waiting = list(edges[start])
    while waiting:
        at = waiting.pop()
        if at not in seen:
            seen.add(at)
            waiting.extend(edges[at])
    return frozenset(seen)
