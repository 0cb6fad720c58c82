"""Stream tables over stream tables: a chain of ten, and a diamond. A refresh of the last one pulls the others along."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.bench import Bench
from benchmarks.cell import RECOMPUTE, REFRESH, Cell
from benchmarks.contenders.recompute_all import RecomputeAll
from benchmarks.contenders.refresh import Refresh
from benchmarks.shop import CLUSTERED, Shop
from benchmarks.turns import take_turns
from benchmarks.workloads.workload import Measured, Workload

ROWS = 1_000_000
LENGTH = 10
CHAIN, DIAMOND = "chain of 10", "diamond"


@dataclass(frozen=True)
class Graph(Workload):
    """A million rows, 1% of them changed; the peer recomputes every table in order."""

    parts: tuple[str, ...] = (CHAIN, DIAMOND)

    @property
    def title(self) -> str:
        """What it is."""
        return "graph 1M, 1% clustered"

    @property
    def minutes(self) -> float:
        """The shop included."""
        return 5.0

    @property
    def sizes(self) -> tuple[int, ...]:
        """One."""
        return (ROWS,)

    def run(self, bench: Bench) -> Iterator[Measured]:
        """Each graph on its own."""
        shop = bench.shop(ROWS)
        changed = shop.rows // 100
        for part in self.parts:
            texts = chain() if part == CHAIN else DIAMOND_QUERIES
            streams = _streams(shop, texts)
            *upstream, last = streams
            refresh = Refresh(REFRESH, bench.ps, last, tuple(upstream))
            recompute = RecomputeAll(RECOMPUTE, bench.ps, _recomputed(shop, texts))
            take_turns([[refresh, recompute]], lambda: shop.change(changed, CLUSTERED), bench.repeats, bench.budget)
            yield Measured(
                Cell(
                    "graph",
                    part,
                    shop.size,
                    shop.rows,
                    changed,
                    CLUSTERED,
                    {each.name: each.samples for each in (refresh, recompute)},
                    exact=refresh.exact(),
                    stages=refresh.stages,
                    facts={"actions of refresh": refresh.actions},
                )
            )
            recompute.drop()


def chain(length: int = LENGTH) -> dict[str, str]:
    """Projections and filters, one on top of the other, and an aggregate in the end."""
    texts = {"chain_1": "SELECT id, product_id, amount FROM {orders}"}
    for place in range(2, length):
        texts[f"chain_{place}"] = (
            f"SELECT id, product_id, amount FROM {{chain_{place - 1}}} WHERE product_id <> {place}"
        )
    texts[f"chain_{length}"] = (
        f"SELECT product_id, count(*) AS orders, sum(amount) AS total FROM {{chain_{length - 1}}} GROUP BY product_id"
    )
    return texts


DIAMOND_QUERIES = {
    "large_orders": "SELECT id, product_id, amount FROM {orders} WHERE amount >= 500",
    "product_totals": "SELECT product_id, sum(amount) AS total FROM {orders} GROUP BY product_id",
    "large_shares": """
        SELECT l.product_id, count(*) AS orders, max(t.total) AS total
        FROM {large_orders} l JOIN {product_totals} t ON l.product_id = t.product_id GROUP BY l.product_id
    """,
}


def _streams(shop: Shop, texts: dict[str, str]) -> list[str]:
    names: dict[str, str] = dict(shop.tables)
    for part, text in texts.items():
        names[part] = shop.stream_table(part, text.format(**names))
    return [names[part] for part in texts]


def _recomputed(shop: Shop, texts: dict[str, str]) -> dict[str, str]:
    names = {**shop.tables, **{part: f"{shop.schema}.recomputed_{part}" for part in texts}}
    return {names[part]: text.format(**names) for part, text in texts.items()}
