"""Cycles: found before they are made, printed as a shortest path in the direction of data."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.errors import CycleInGraph
from penstock.graph import Node, NodeKind, StreamGraph, check_no_cycle, check_proposal
from penstock.graph.cycles import in_circles


def test_a_graph_without_cycle_passes(draw: Callable[..., StreamGraph]) -> None:
    check_no_cycle(draw("A -> x -> y; A -> y -> z; x -> z"))


@pytest.mark.parametrize(
    ("drawn", "path"),
    [
        ("A -> x -> x", "x → x"),
        ("A -> a -> b -> a", "a → b → a"),
        ("A -> a -> b -> c -> d -> a; b -> d", "a → b → d → a"),
    ],
)
def test_the_shortest_cycle_is_printed(draw: Callable[..., StreamGraph], drawn: str, path: str) -> None:
    with pytest.raises(CycleInGraph) as caught:
        check_no_cycle(draw(drawn))
    assert caught.value.facts["path"] == path


def test_a_proposal_that_closes_a_circle_is_refused(draw: Callable[..., StreamGraph]) -> None:
    graph = draw("A -> a -> b -> c")
    with pytest.raises(CycleInGraph) as caught:
        check_proposal(graph, graph.nodes["a"], [graph.nodes["A"], graph.nodes["c"]])
    assert caught.value.facts["path"] == "a → b → c → a"
    with pytest.raises(CycleInGraph) as caught:
        check_proposal(graph, graph.nodes["a"], [graph.nodes["a"]])
    assert caught.value.facts["path"] == "a → a"


def test_a_proposal_may_undo_the_edge_that_would_have_closed_it(draw: Callable[..., StreamGraph]) -> None:
    graph = draw("A -> a -> b")
    without = check_proposal(graph, graph.nodes["b"], [graph.nodes["A"]])
    turned = check_proposal(without, without.nodes["a"], [without.nodes["b"]])
    assert turned.upstream("a") == {"A", "b"}


def test_a_new_stream_table_joins_the_graph(draw: Callable[..., StreamGraph]) -> None:
    graph = draw("A -> a")
    new = Node("n", "n", NodeKind.STREAM_TABLE)
    assert check_proposal(graph, new, [graph.nodes["a"]]).upstream("n") == {"A", "a"}


def test_those_in_a_circle_are_named_and_nobody_else(draw: Callable[..., StreamGraph]) -> None:
    assert [node.name for node in in_circles(draw("A -> a -> b -> a; b -> c; A -> d"))] == ["a", "b"]
