"""The query shapes: one file each, with the query and its hand-written MERGE."""

from __future__ import annotations

from benchmarks.shapes.aggregate import AGGREGATE
from benchmarks.shapes.clustered_join import CLUSTERED_JOIN
from benchmarks.shapes.filter import FILTER
from benchmarks.shapes.join import JOIN
from benchmarks.shapes.join_aggregate import JOIN_AGGREGATE
from benchmarks.shapes.multi_join import MULTI_JOIN
from benchmarks.shapes.scan import SCAN
from benchmarks.shapes.shape import Shape

FIVE = tuple(shape.name for shape in (SCAN, FILTER, JOIN, AGGREGATE, MULTI_JOIN))
"""The shapes of the matrix."""

SHAPES: dict[str, Shape] = {
    shape.name: shape for shape in (SCAN, FILTER, JOIN, AGGREGATE, MULTI_JOIN, JOIN_AGGREGATE, CLUSTERED_JOIN)
}

__all__ = ["FIVE", "SHAPES", "Shape"]
