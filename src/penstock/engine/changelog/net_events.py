"""The events of a commit, or of several, from their signed rows.

    events  =  net change of (identity, visible columns), one minus and one plus of an identity paired

They are ordered by kind and then by value, so that every reader numbers them alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.compile.stored import SHOWN
from penstock.engine.changelog.changelog_rows import Shape, repeated, rows_at, signed_rows
from penstock.engine.delta.interval import Part
from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.read.pinned_files import SIGN
from penstock.names import WEIGHT

_PLACE, _MINUS, _PLUS = "__ps_place", "__ps_minus_place", "__ps_plus_place"


@dataclass(frozen=True, slots=True)
class Events:
    """What happened to visible rows; `was` and `now` are the two sides of updates, row by row."""

    deletes: pa.Table
    was: pa.Table
    now: pa.Table
    inserts: pa.Table
    refreshed: pa.Table | None = None


def whole_state(snapshot: Snapshot, shape: Shape) -> Events:
    """All rows of a version as one event, in an order that depends on their values alone."""
    rows = shape.visible_rows(rows_at(snapshot, shape))
    nothing = rows.slice(0, 0)
    return Events(nothing, nothing, nothing, nothing, rows.take(_order(_comparable(rows))))


def net_events(parts: Sequence[Part], shape: Shape) -> Events:
    """What the rows of these parts come to, in the order in which events are numbered."""
    rows = signed_rows(parts, shape)
    if shape.hides_rows:
        rows = rows.filter(rows.column(SHOWN))
    if shape.weighted:
        counts = pc.multiply(rows.column(SIGN), rows.column(WEIGHT))
        rows = rows.drop_columns([SIGN]).append_column(SIGN, counts)
    values = [name for name in shape.read if name not in {WEIGHT, SHOWN}]
    sign, rows = rows.column(SIGN), rows.select(values)
    keys = _comparable(rows)
    grouped = (
        keys.append_column(WEIGHT, sign)
        .append_column(_PLACE, pa.array(np.arange(rows.num_rows)))
        .group_by(keys.column_names)
        .aggregate([(WEIGHT, "sum"), (_PLACE, "min")])
    )
    kept = grouped.filter(pc.not_equal(grouped.column(f"{WEIGHT}_sum"), 0))
    kept = kept.take(_order(kept.select(keys.column_names)))
    net = rows.take(kept.column(f"{_PLACE}_min"))
    weights = kept.column(f"{WEIGHT}_sum")
    came, went = pc.greater(weights, 0), pc.less(weights, 0)
    plain = replace(shape, weighted=False, hides_rows=False)
    if not shape.keyed:
        deletes = repeated(net.filter(went), pc.negate(weights.filter(went)))
        inserts = repeated(net.filter(came), weights.filter(came))
        nothing = plain.visible_rows(net.slice(0, 0))
        return Events(plain.visible_rows(deletes), nothing, nothing, plain.visible_rows(inserts))
    return _paired(net, _comparable(net.select(shape.identity), one_zero=True), came, plain)


def _paired(net: pa.Table, keys: pa.Table, came: pa.ChunkedArray, shape: Shape) -> Events:
    """One minus and one plus of the same key are one update."""
    places = pa.array(np.arange(net.num_rows))
    minus = pc.if_else(came, pa.scalar(None, pa.int64()), places)
    plus = pc.if_else(came, places, pa.scalar(None, pa.int64()))
    table = pa.table([*keys.columns, minus, plus], names=[*keys.column_names, _MINUS, _PLUS])
    per_key = table.group_by(keys.column_names, use_threads=False).aggregate([(_MINUS, "max"), (_PLUS, "max")])
    minus, plus = per_key.column(f"{_MINUS}_max"), per_key.column(f"{_PLUS}_max")
    # Without key columns there is one group even where there is no row: it has neither side.
    went, came = pc.is_valid(minus), pc.is_valid(plus)
    both = pc.and_(went, came)
    place = pc.sort_indices(pa.table({"at": plus.filter(both)}), sort_keys=[("at", "ascending")])
    rows = shape.visible_rows(net)
    return Events(
        deletes=rows.take(_sorted(minus.filter(pc.and_not(went, came)))),
        was=rows.take(minus.filter(both).take(place)),
        now=rows.take(plus.filter(both).take(place)),
        inserts=rows.take(_sorted(plus.filter(pc.and_not(came, went)))),
    )


def _comparable(rows: pa.Table, one_zero: bool = False) -> pa.Table:
    """Columns that are equal exactly where those of `rows` hold the same value, and that can be grouped and sorted.

    Floating-point numbers go by their bits, so −0.0 is not 0.0 except with `one_zero`, as Spark has it for keys; every
    NaN is one value. Nested values go by a text that has all of them.
    """
    columns = []
    for column in rows.columns:
        kind = column.type
        if pa.types.is_floating(kind):
            array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            array = pc.if_else(pc.is_nan(array), pa.scalar(float("nan"), kind), array)
            if one_zero:
                array = pc.if_else(pc.equal(array, pa.scalar(0.0, kind)), pa.scalar(0.0, kind), array)
            columns.append(array.view(pa.int64() if kind.bit_width == 64 else pa.int32()))
        elif pa.types.is_nested(kind):
            values = map(_with_one_zero, column.to_pylist()) if one_zero else column.to_pylist()
            texts = [None if value is None else repr(value) for value in values]
            columns.append(pa.array(texts, pa.string()))
        else:
            columns.append(column)
    # Names of the rows could be twice the same after case folding, or clash with ours.
    return pa.table(columns, names=[f"k{place}" for place in range(len(columns))])


def _with_one_zero(value: Any) -> Any:
    if isinstance(value, float):
        return value + 0.0
    if isinstance(value, dict):
        return {name: _with_one_zero(each) for name, each in value.items()}
    return [_with_one_zero(each) for each in value] if isinstance(value, list) else value


def _order(keys: pa.Table) -> pa.Array:
    return pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names])


def _sorted(places: pa.ChunkedArray) -> pa.Array:
    return places.take(pc.sort_indices(places))
