"""The column `_change_type` of Delta's change data feed."""

from __future__ import annotations

from penstock.changelog_types.notations.four_labels import FourLabels

CHANGE_TYPES = FourLabels("a Delta change type", ("insert", "delete", "update_preimage", "update_postimage"))
