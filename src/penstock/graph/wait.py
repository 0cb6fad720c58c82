"""How long a stream table waits in a graph run before it can begin, because what it reads comes first.

    wait(t)  =  max over stream tables u that t reads of  wait(u) + duration(u),   0 if it reads base tables only

Waiting for a free worker comes on top.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from penstock.graph.dag import StreamGraph
from penstock.graph.order import topological_order


def expected_waits(graph: StreamGraph, durations: Mapping[str, timedelta]) -> dict[str, timedelta]:
    """The wait of every stream table, by key, if each refresh takes its duration (none if it is not known)."""
    waits: dict[str, timedelta] = {}
    for node in topological_order(graph):
        before = graph.sources[node.key] & waits.keys()
        waits[node.key] = max((waits[key] + durations.get(key, timedelta(0)) for key in before), default=timedelta(0))
    return waits
