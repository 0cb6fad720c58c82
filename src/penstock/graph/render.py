"""The graph as text for people and as DOT for Graphviz; the same graph always gives the same text."""

from __future__ import annotations

from penstock.graph.dag import Node, NodeKind, StreamGraph
from penstock.graph.lag import format_lag

_SHAPES = {NodeKind.TABLE: "cylinder", NodeKind.VIEW: "note", NodeKind.STREAM_TABLE: "box"}


def render_tree(graph: StreamGraph) -> str:
    """Every source with its consumers below it. A node that was drawn already is marked ↑, not drawn again."""
    lines: list[str] = []
    drawn: set[str] = set()

    def draw(node: Node, lead: str, below: str) -> None:
        consumers = graph.sorted_consumers(node.key)
        again = node.key in drawn and bool(consumers)
        lines.append(lead + _label(node) + (" ↑" if again else ""))
        drawn.add(node.key)
        if again:
            return
        for position, consumer in enumerate(consumers, 1):
            last = position == len(consumers)
            draw(consumer, below + ("└── " if last else "├── "), below + ("    " if last else "│   "))

    roots = sorted(
        (node for node in graph.nodes.values() if not graph.sources[node.key]), key=lambda node: (node.name, node.key)
    )
    for root in roots:
        draw(root, "", "")
    # A circle hangs on no root.
    for node in graph.stream_tables():
        if node.key not in drawn:
            draw(node, "", "")
    return "\n".join(lines)


def render_dot(graph: StreamGraph) -> str:
    """The graph in Graphviz's language, data flowing from left to right."""
    lines = ["digraph penstock {", "  rankdir=LR;"]
    nodes = sorted(graph.nodes.values(), key=lambda node: (node.name, node.key))
    lines += [f"  {_quoted(node.key)} [label={_quoted(_label(node))}, shape={_SHAPES[node.kind]}];" for node in nodes]
    pairs = sorted(
        (graph.nodes[source].name, graph.nodes[consumer].name, source, consumer)
        for consumer, sources in graph.sources.items()
        for source in sources
    )
    lines += [f"  {_quoted(source)} -> {_quoted(consumer)};" for _, _, source, consumer in pairs]
    return "\n".join([*lines, "}"])


def _label(node: Node) -> str:
    if node.is_stream_table:
        return f"{node.name} [{format_lag(node.target_lag)}, {node.status}]"
    return f"{node.name} (view)" if node.kind is NodeKind.VIEW else node.name


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
