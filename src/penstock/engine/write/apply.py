"""A change to a stored table, and the decision which applier commits it and how.

    append      storage columns as they are: a blind append to a bag, insert-only
    keyed       storage columns + `__ps_op`: 'u' replaces or inserts the complete row of its key, 'd' deletes it;
                at most one row per key
    bag         storage columns + `__ps_op`: 'd' deletes every physical row equal (null-safely, on all columns but the
                weight) to this one, 'i' inserts this physical row and matches nothing
    overwrite   these rows are the table from now on; the columns may change

delta-rs commits in milliseconds from the driver's memory; Spark needs a second before it starts but spreads the work.
Small changes go to the first. Of large ones, appends and overwrites are written by Spark as plain files and committed
by delta-rs (`staged`), and merges go to Spark. Small changes that lie all over a large table are applied by deletion
vectors instead of a merge, which `commit` decides, because the decision depends on where the rows are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import pyarrow as pa

from penstock.engine.write.staged import StagedFiles
from penstock.errors import InvalidSetting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ChangeKind = Literal["append", "keyed", "bag", "overwrite"]
Applier = Literal["delta-rs", "vectors", "spark"]

DRIVER_ROWS = 1_000_000
"""A change of more rows is not brought to the driver."""

DRIVER_BYTES = 128 * 1024 * 1024
"""A change of more bytes is not brought to the driver."""


@dataclass(frozen=True, slots=True)
class Change:
    """What to apply; see the module for what `rows` holds in each kind."""

    kind: ChangeKind
    rows: pa.Table | DataFrame | StagedFiles


class ApplySettings(Protocol):
    """The part of the settings that this decision reads."""

    @property
    def apply(self) -> str:
        """'auto', or the applier to use whatever the size."""
        ...


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Limits of what the driver takes on; measured costs may replace the defaults per table."""

    driver_rows: int = DRIVER_ROWS
    driver_bytes: int = DRIVER_BYTES


def choose_applier(change: Change, settings: ApplySettings, thresholds: Thresholds | None = None) -> Applier:
    """The applier of the change: the one in the settings, else by where the rows are and how many.

    Rows that are still a Spark DataFrame were left there because they did not fit the driver.
    """
    match settings.apply:
        case "delta-rs" | "spark" as demanded:
            return demanded
        case "auto":
            pass
        case other:
            raise InvalidSetting(
                name="apply", value=other, why="there is no such applier", allowed="auto, delta-rs, spark"
            )
    if isinstance(change.rows, StagedFiles):
        return "delta-rs"
    if not isinstance(change.rows, pa.Table):
        return "spark"
    fits = fits_driver(change.rows.num_rows, change.rows.nbytes, thresholds)
    return "delta-rs" if fits else "spark"


def fits_driver(rows: int, size: int, thresholds: Thresholds | None = None) -> bool:
    """True if a change of this many rows and bytes may be held as one Arrow table on the driver."""
    limits = thresholds or Thresholds()
    return rows <= limits.driver_rows and size <= limits.driver_bytes
