"""The graph of stream tables: order, cycles, lags and the time grid, as pure functions over catalog rows.

`refresh`, `schedule`, `monitor` and `ddl` call this package. It imports names and errors alone, and knows no
Spark, no database and no clock.
"""

from penstock.graph.cycles import check_no_cycle, check_proposal
from penstock.graph.dag import Edge, Node, NodeKind, StreamGraph
from penstock.graph.lag import DOWNSTREAM, EffectiveLag, format_lag, parse_target_lag, resolve_lags
from penstock.graph.order import order_refreshes, topological_order
from penstock.graph.render import render_dot, render_tree

__all__ = [
    "DOWNSTREAM",
    "Edge",
    "EffectiveLag",
    "Node",
    "NodeKind",
    "StreamGraph",
    "check_no_cycle",
    "check_proposal",
    "format_lag",
    "order_refreshes",
    "parse_target_lag",
    "render_dot",
    "render_tree",
    "resolve_lags",
    "topological_order",
]
