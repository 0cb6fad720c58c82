"""Order: sources first, always the same, for any graph that has one."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import CycleInGraph
from penstock.graph import Node, NodeKind, StreamGraph, order_refreshes, topological_order
from penstock.graph.order import without_circles


@st.composite
def graphs(draw: st.DrawFn) -> StreamGraph:
    """Acyclic graphs whose names say nothing about their order."""
    names = draw(st.permutations([f"n{number}" for number in range(draw(st.integers(1, 9)))]))
    pairs = [(a, b) for at, a in enumerate(names) for b in names[at + 1 :]]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return StreamGraph.of([Node(name, name, NodeKind.STREAM_TABLE) for name in names], edges)


@given(graphs())
def test_every_source_comes_before_its_consumers(graph: StreamGraph) -> None:
    place = {node.key: at for at, node in enumerate(topological_order(graph))}
    assert set(place) == set(graph.nodes)
    assert all(place[source] < place[key] for key, sources in graph.sources.items() for source in sources)


@given(graphs(), st.randoms())
def test_the_order_does_not_depend_on_how_the_graph_was_written_down(graph: StreamGraph, random: Random) -> None:
    nodes = list(graph.nodes.values())
    edges = [(source, key) for key, sources in graph.sources.items() for source in sources]
    random.shuffle(nodes)
    random.shuffle(edges)
    assert topological_order(StreamGraph.of(nodes, edges)) == topological_order(graph)


def test_ties_go_by_name(draw: Callable[..., StreamGraph]) -> None:
    graph = draw("B -> c; A -> b; A -> a; c -> d")
    assert [node.name for node in topological_order(graph)] == ["A", "B", "a", "b", "c", "d"]


def test_only_due_stream_tables_are_ordered(draw: Callable[..., StreamGraph]) -> None:
    graph = draw("A -> z -> m -> a; A -> b")
    assert [node.name for node in order_refreshes(graph, ["a", "z", "A"])] == ["z", "a"]
    assert order_refreshes(graph, []) == []


def test_a_cycle_has_no_order(draw: Callable[..., StreamGraph]) -> None:
    with pytest.raises(CycleInGraph, match="a → b → a"):
        topological_order(draw("A -> a -> b -> a"))


def test_without_its_circles_a_graph_has_an_order_and_every_node(draw: Callable[..., StreamGraph]) -> None:
    graph = draw("A -> a -> b -> a; b -> c; A -> d; e -> e")
    cut = without_circles(graph)
    assert [node.name for node in topological_order(cut)] == ["A", "a", "b", "c", "d", "e"]
    assert (cut.sources["b"], cut.sources["c"], cut.sources["e"]) == (frozenset(), {"b"}, frozenset())
    whole = draw("A -> a -> b")
    assert without_circles(whole) is whole
