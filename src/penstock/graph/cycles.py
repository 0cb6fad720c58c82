"""A stream table may not read itself, directly or through others.

The path is printed in the direction in which data flows, and is a shortest one: `a → b → a`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from penstock.errors import CycleInGraph
from penstock.graph.dag import Node, StreamGraph


def check_no_cycle(graph: StreamGraph) -> None:
    """Raise `CycleInGraph` if any stream table can be reached from itself."""
    for node in graph.stream_tables():
        path = way_back(graph, node.key)
        if path is not None:
            raise CycleInGraph(path=path)


def in_circles(graph: StreamGraph) -> list[Node]:
    """The stream tables that can be reached from themselves, by name."""
    return [node for node in graph.stream_tables() if node.key in graph.downstream(node.key)]


def way_back(graph: StreamGraph, key: str) -> str | None:
    """The shortest path from a node to itself, as text; None if there is none."""
    path = _shortest_way_back(graph, key)
    return " → ".join(graph.nodes[each].name for each in path) if path else None


def check_proposal(graph: StreamGraph, node: Node, sources: Iterable[Node]) -> StreamGraph:
    """The graph as it would be if `node` read `sources`; `CycleInGraph` if that closes a circle through it."""
    proposed = graph.with_stream_table(node, tuple(sources))
    path = way_back(proposed, node.key)
    if path is not None:
        raise CycleInGraph(path=path)
    return proposed


def _shortest_way_back(graph: StreamGraph, start: str) -> list[str]:
    came_from: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        at = waiting.popleft()
        for consumer in graph.sorted_consumers(at):
            if consumer.key == start:
                path = [start, at]
                while path[-1] != start:
                    path.append(came_from[path[-1]])
                return path[::-1] if at != start else [start, start]
            if consumer.key not in came_from:
                came_from[consumer.key] = at
                waiting.append(consumer.key)
    return []
