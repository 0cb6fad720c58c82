"""Flink's RowKind: its short strings, which are also ours, and its bytes, which are in another order than ours."""

from __future__ import annotations

from penstock.changelog_types.notations.four_codes import FourCodes
from penstock.changelog_types.notations.four_labels import FourLabels

SHORT_STRINGS = FourLabels("a Flink row kind", ("+I", "-D", "-U", "+U"))
BYTES = FourCodes("a Flink row kind", (0, 3, 1, 2))
