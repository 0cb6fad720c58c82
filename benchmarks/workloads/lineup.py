"""Who contends over one shape in one shop, and the cell that comes of it."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.bench import Bench
from benchmarks.cell import AUTO, FULL, MERGE, RECOMPUTE, REFRESH, Cell
from benchmarks.contenders.contender import Contender
from benchmarks.contenders.merge import Merge
from benchmarks.contenders.recompute import Recompute
from benchmarks.contenders.refresh import Refresh
from benchmarks.shapes import SHAPES
from benchmarks.shop import Shop
from benchmarks.workloads.workload import Measured

AUDIT_AT_ONCE = 1_000_000
"""Up to this nominal size a stream table is audited after every workload; a larger one once, when its shop closes."""

_MODES = {REFRESH: "INCREMENTAL", AUTO: "AUTO", FULL: "FULL"}


def lineup(bench: Bench, shop: Shop, part: str, names: Sequence[str], every: int = 1) -> list[Contender]:
    """The named contenders over one shape; the peers of a large table may run in fewer turns."""
    shape = SHAPES[part]
    query = shape.query_over(shop.tables)
    found: list[Contender] = []
    for name in names:
        if name == RECOMPUTE:
            folder = bench.folder / shop.name_for(part, "recomputed")
            found.append(Recompute(name, bench.ps, query, str(folder), every=every))
        elif name == MERGE:
            found.append(Merge(name, bench.ps, shape, shop.tables, shop.name_for(part, "merged"), every=every))
        else:
            found.append(Refresh(name, bench.ps, shop.stream_table(part, query, _MODES[name])))
    return found


def measured(workload: str, shop: Shop, part: str, changed: int, spread: str, group: Sequence[Contender]) -> Measured:
    """The cell of a group that has taken its turns. Targets of the MERGE are checked, then dropped."""
    at_once = shop.nominal <= AUDIT_AT_ONCE
    streams = [each for each in group if isinstance(each, Refresh)]
    checked = [each.exact() for each in group if at_once or not isinstance(each, Refresh)]
    for each in group:
        if isinstance(each, Merge):
            each.drop()
    ours = next((each for each in streams if each.name == REFRESH), None)
    facts: dict[str, int | float | str] = {f"actions of {each.name}": each.actions for each in streams}
    if ours is not None and ours.rows_read is not None:
        facts["rows_read"] = ours.rows_read
    cell = Cell(
        workload,
        part,
        shop.size,
        shop.rows,
        changed,
        spread,
        {each.name: each.samples for each in group if each.samples},
        exact=all(checked) if at_once or not all(checked) else None,
        stages=ours.stages if ours is not None else {},
        facts=facts,
    )
    return Measured(cell, () if at_once else tuple(each.table for each in streams))
