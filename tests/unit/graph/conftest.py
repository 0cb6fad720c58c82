"""Graphs drawn as text: `a -> b` means b reads a; lower-case names are stream tables, capitals are base tables."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import pytest

from penstock.graph import Node, NodeKind, StreamGraph

Draw = Callable[..., StreamGraph]


def node(name: str, lag: int | None = None) -> Node:
    """A node whose key is its name; the lag is in seconds."""
    if name.isupper():
        return Node(name, name, NodeKind.TABLE)
    return Node(
        name,
        name,
        NodeKind.STREAM_TABLE,
        stream_table_id=ord(name[0]),
        target_lag=None if lag is None else timedelta(seconds=lag),
        status="ACTIVE",
    )


@pytest.fixture
def draw() -> Draw:
    def draw(text: str, **lags: int) -> StreamGraph:
        chains = [line.split(" -> ") for line in text.split("; ")]
        names = sorted({name for chain in chains for name in chain})
        edges = [pair for chain in chains for pair in pairwise(chain)]
        return StreamGraph.of([node(name, lags.get(name)) for name in names], edges)

    return draw
