"""An update is what a reader of some rows sees of it."""

from __future__ import annotations

import pyarrow as pa

from penstock.changelog_types.split_updates import split_updates
from penstock.changes.filter.row_filter import bind_filter
from penstock.lang import parse_predicate


def test_updates_across_the_border_of_a_condition() -> None:
    before = pa.table({"k": [1, 2, 3, 4, 5], "v": [10, 10, 0, 0, None]})
    after = pa.table({"k": [1, 2, 3, 4, 5], "v": [11, 0, 10, 1, 10]})
    bound = bind_filter(parse_predicate("v >= 10"), before.schema)
    deleted, stayed, became, inserted = split_updates(before, after, bound.mask(before), bound.mask(after))
    assert deleted.to_pylist() == [{"k": 2, "v": 10}]
    assert stayed.to_pylist() == [{"k": 1, "v": 10}]
    assert became.to_pylist() == [{"k": 1, "v": 11}]
    assert inserted.to_pylist() == [{"k": 3, "v": 10}, {"k": 5, "v": 10}]


def test_no_updates_at_all() -> None:
    none = pa.table({"v": pa.array([], pa.int64())})
    mask = pa.array([], pa.bool_())
    assert [part.num_rows for part in split_updates(none, none, mask, mask)] == [0, 0, 0, 0]
