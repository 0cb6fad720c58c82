"""Modules of `penstock.changes` under the names they had in version 0.1.

Each is imported from its new home, with a warning that names it. The old names go with the release after the next.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

_HOMES: Final[Mapping[tuple[str, str], str]] = {
    ("", "changelog_types"): (
        "apply_state change_event_batch change_record changelog_buffer changelog_ref checkpoint "
        "compaction entity kv_transaction late_data late_rows row_groups split_updates"
    ),
    ("aggregators", "changelog_types.aggregators"): (
        "avg count int64_values max min retractable_aggregator sum tracked_values"
    ),
    ("notations", "changelog_types.notations"): (
        "debezium delta event_rows flink four_codes four_labels joined_updates pairs risingwave row_words three_labels"
    ),
    ("", "changes.filter"): ("common_type like_pattern moments predicate row_filter same_rows spark_order sql_types"),
    ("", "changes.ring"): (
        "batch cdc_buffer cdc_stats changed_columns changes_page entity_ids event_columns item_kind "
        "kv_change kv_watch polled ring_batches row_event run"
    ),
    ("", "changes.wire"): (
        "arrow_rows arrow_stream canonical_json cdc_envelope cdc_operation change_event "
        "change_operation changelog_record changes_query commit_changes commit_lines envelope_batch "
        "event_json event_type json_rows key_events key_text kv_watch_event notification_ref payload"
    ),
    ("notations", "changes.wire"): ("weights"),
}
"""The old package below `penstock.changes` and the new one below `penstock` → the modules that moved."""

_PLACES: Final = {
    ".".join(filter(None, ("penstock.changes", before, module))): f"penstock.{after}.{module}"
    for (before, after), modules in _HOMES.items()
    for module in modules.split()
} | {f"penstock.changes.{package}": f"penstock.changelog_types.{package}" for package in ("aggregators", "notations")}


class OldNames(MetaPathFinder, Loader):
    """Finds a module that moved, and gives it the contents of the one that took its place."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """A module without code of its own, for a name that moved; None for all others."""
        if name not in _PLACES:
            return None
        return ModuleSpec(name, self, is_package=_PLACES[name].endswith(("aggregators", "notations")))

    def exec_module(self, module: ModuleType) -> None:
        """Take over every name of the module at its new place."""
        place = _PLACES[module.__name__]
        warnings.warn(f"{module.__name__} is now {place}", DeprecationWarning, stacklevel=2)
        found = import_module(place)
        vars(module).update({name: value for name, value in vars(found).items() if not name.startswith("__")})
