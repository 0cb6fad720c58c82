"""The graph as text: every node once with its consumers, and DOT that survives odd names."""

from __future__ import annotations

from collections.abc import Callable

from penstock.graph import Node, NodeKind, StreamGraph, render_dot, render_tree


def test_a_tree_with_a_diamond(draw: Callable[..., StreamGraph]) -> None:
    graph = draw("A -> a -> c -> d; A -> b -> c; B -> b", a=60)
    assert render_tree(graph) == "\n".join(
        [
            "A",
            "├── a [1 minute, ACTIVE]",
            "│   └── c [DOWNSTREAM, ACTIVE]",
            "│       └── d [DOWNSTREAM, ACTIVE]",
            "└── b [DOWNSTREAM, ACTIVE]",
            "    └── c [DOWNSTREAM, ACTIVE] ↑",
            "B",
            "└── b [DOWNSTREAM, ACTIVE] ↑",
        ]
    )


def test_a_circle_is_drawn_though_it_hangs_on_nothing(draw: Callable[..., StreamGraph]) -> None:
    assert render_tree(draw("A -> d; a -> b -> a; b -> c")) == "\n".join(
        [
            "A",
            "└── d [DOWNSTREAM, ACTIVE]",
            "a [DOWNSTREAM, ACTIVE]",
            "└── b [DOWNSTREAM, ACTIVE]",
            "    ├── a [DOWNSTREAM, ACTIVE] ↑",
            "    └── c [DOWNSTREAM, ACTIVE]",
        ]
    )


def test_views_are_marked_and_an_empty_graph_is_empty() -> None:
    assert render_tree(StreamGraph.of([Node("v", "default.v", NodeKind.VIEW)], [])) == "default.v (view)"
    assert render_tree(StreamGraph.of([], [])) == ""


def test_dot_quotes_what_it_must() -> None:
    table = Node("k1", 'odd"name\\', NodeKind.TABLE)
    stream = Node("k2", "s", NodeKind.STREAM_TABLE, status="ACTIVE")
    assert render_dot(StreamGraph.of([stream, table], [("k1", "k2")])) == "\n".join(
        [
            "digraph penstock {",
            "  rankdir=LR;",
            '  "k1" [label="odd\\"name\\\\", shape=cylinder];',
            '  "k2" [label="s [DOWNSTREAM, ACTIVE]", shape=box];',
            '  "k1" -> "k2";',
            "}",
        ]
    )
