"""A stream table waits for the slowest way to it."""

from __future__ import annotations

from datetime import timedelta

from penstock.graph.dag import Node, NodeKind, StreamGraph
from penstock.graph.wait import expected_waits


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def test_the_slowest_way_counts() -> None:
    """base → a → b → d and base → c → d, with e beside them."""
    nodes = [Node("base", "base", NodeKind.TABLE)]
    nodes += [Node(key, key, NodeKind.STREAM_TABLE, stream_table_id=at) for at, key in enumerate("abcde", 1)]
    edges = [("base", "a"), ("a", "b"), ("base", "c"), ("b", "d"), ("c", "d"), ("base", "d"), ("base", "e")]
    graph = StreamGraph.of(nodes, edges)
    waits = expected_waits(graph, {"a": seconds(1), "b": seconds(2), "c": seconds(10), "d": seconds(99)})
    found = {key: waits[key].total_seconds() for key in "abcde"}
    assert found == {"a": 0, "b": 1, "c": 0, "d": 10, "e": 0}
    assert expected_waits(graph, {"a": seconds(1), "b": seconds(20)})["d"] == seconds(21)
    assert set(expected_waits(graph, {}).values()) == {seconds(0)}
