"""RisingWave's operations: the words of subscription cursors, and the numbers of `changelog_op`."""

from __future__ import annotations

from penstock.changelog_types.notations.four_codes import FourCodes
from penstock.changelog_types.notations.four_labels import FourLabels

WORDS = FourLabels("a RisingWave operation", ("Insert", "Delete", "UpdateDelete", "UpdateInsert"))
NUMBERS = FourCodes("a RisingWave operation", (1, 2, 4, 3))
