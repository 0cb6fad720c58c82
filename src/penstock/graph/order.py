"""The order of refreshes: every source before its consumers, ties by name, so that two runs agree."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from penstock.errors import CycleInGraph, InternalError
from penstock.graph.cycles import check_no_cycle
from penstock.graph.dag import Node, StreamGraph


def topological_order(graph: StreamGraph) -> list[Node]:
    """All nodes, sources first; `CycleInGraph` if there is no such order."""
    waits_for = {key: len(sources) for key, sources in graph.sources.items()}
    ready = [(graph.nodes[key].name, key) for key, number in waits_for.items() if number == 0]
    heapq.heapify(ready)
    order: list[Node] = []
    while ready:
        _, key = heapq.heappop(ready)
        order.append(graph.nodes[key])
        for consumer in graph.consumers[key]:
            waits_for[consumer] -= 1
            if waits_for[consumer] == 0:
                heapq.heappush(ready, (graph.nodes[consumer].name, consumer))
    if len(order) < len(graph.nodes):
        check_no_cycle(graph)
        raise InternalError(why="the graph has no order and no cycle")
    return order


def without_circles(graph: StreamGraph) -> StreamGraph:
    """This graph without the edges of its circles, so that there is an order; the graph itself if it has none."""
    try:
        topological_order(graph)
    except CycleInGraph:
        edges = [
            (source, consumer)
            for consumer, reads in graph.sources.items()
            for source in reads - graph.downstream(consumer)
        ]
        return StreamGraph.of(graph.nodes.values(), edges)
    return graph


def order_refreshes(graph: StreamGraph, due: Iterable[str]) -> list[Node]:
    """The given stream tables, upstream first."""
    wanted = frozenset(due)
    return [node for node in topological_order(graph) if node.key in wanted and node.is_stream_table]
