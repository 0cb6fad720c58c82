"""The graph of stream tables, as pure functions over catalog rows: no Spark, no database, no clock."""

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
