"""The workloads, in the order in which a run does them."""

from __future__ import annotations

from benchmarks.shop import CLUSTERED, SCATTERED
from benchmarks.workloads.append import AgainstAppend
from benchmarks.workloads.change_feed import ChangeFeed
from benchmarks.workloads.few_rows import FewRows
from benchmarks.workloads.graph import Graph
from benchmarks.workloads.large import Large
from benchmarks.workloads.matrix import RATES, SIZES, Matrix
from benchmarks.workloads.no_change import NoChange
from benchmarks.workloads.slope import Slope
from benchmarks.workloads.tpch import SIX, TpcH
from benchmarks.workloads.workload import Measured, Workload

PROMISED: tuple[Workload, ...] = (
    NoChange(),
    FewRows(),
    AgainstAppend(spread=CLUSTERED),
    AgainstAppend(spread=SCATTERED),
    Slope(),
    Large(one_in=1_000, spread=CLUSTERED),
    Large(one_in=100, spread=SCATTERED),
    TpcH(),
    *(Matrix(rows=rows, one_in=rate) for rows in SIZES for rate in RATES),
)
"""What the targets are about. A scattered change spoils the layout of its stream table, so clustered ones come before;
what takes longest in the matrix comes last, where the time may be up."""

EVERYTHING: tuple[Workload, ...] = (
    NoChange(),
    FewRows(spread=CLUSTERED),
    FewRows(spread=SCATTERED),
    AgainstAppend(spread=CLUSTERED),
    AgainstAppend(spread=SCATTERED),
    ChangeFeed(),
    Graph(),
    Slope(),
    *(Large(one_in=share, spread=CLUSTERED, merge=True) for share in (10_000, 1_000, 100)),
    *(Large(one_in=share, spread=SCATTERED, merge=True) for share in (10_000, 1_000, 100)),
    TpcH(),
    *(Matrix(rows=rows, one_in=rate, peers=True) for rows in SIZES for rate in RATES),
    TpcH(parts=SIX, factor=10),
)
"""The whole matrix."""

__all__ = ["EVERYTHING", "PROMISED", "Measured", "Workload"]
