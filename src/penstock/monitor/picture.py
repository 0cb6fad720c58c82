"""The dependency graph as people see it: edges, a text tree, DOT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.catalog.reader import CatalogReader
from penstock.graph.dag import StreamGraph
from penstock.graph.render import render_dot, render_tree


@dataclass(frozen=True, slots=True)
class GraphPicture:
    """The graph at one moment."""

    graph: StreamGraph

    def edges(self) -> list[tuple[str, str, str]]:
        """(stream table, source, type of the source), by name."""
        return [(edge.consumer, edge.source, edge.source_kind.value) for edge in self.graph.edges()]

    def text(self) -> str:
        """A tree for the terminal."""
        return render_tree(self.graph)

    def dot(self) -> str:
        """Graphviz text."""
        return render_dot(self.graph)

    def to_json(self) -> list[dict[str, Any]]:
        """Plain data."""
        return [{"name": name, "source_name": source, "source_type": kind} for name, source, kind in self.edges()]


def picture(catalog: CatalogReader) -> GraphPicture:
    """The graph as the catalog has it now."""
    return GraphPicture(StreamGraph.build(catalog.get_all(), catalog.all_dependencies()))
