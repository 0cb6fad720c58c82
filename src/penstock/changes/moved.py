"""Names of `penstock.changes` as they were in version 0.1.

Each is taken from its new home, with a warning that names it. The next release drops the old names.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

_UNTIL: Final = "; the next release drops the old name"
_HOMES: Final[Mapping[tuple[str, str], str]] = {
    ("", "changelog_types"): (
        "apply_state change_event_batch change_record changelog_buffer changelog_ref checkpoint "
        "changelog_record cdc_operation compaction entity kv_transaction late_data late_rows notification_ref "
        "row_groups split_updates"
    ),
    ("aggregators", "changelog_types.aggregators"): (
        "avg count int64_values max min retractable_aggregator sum tracked_values"
    ),
    ("notations", "changelog_types.notations"): (
        "debezium delta event_rows flink four_codes four_labels joined_updates pairs risingwave row_words three_labels "
        "weights"
    ),
    ("", "changes.filter"): ("common_type like_pattern moments predicate row_filter same_rows spark_order sql_types"),
    ("", "changes.ring"): (
        "batch cdc_buffer cdc_stats changed_columns changes_page entity_ids event_columns item_kind "
        "kv_change polled ring_batches row_event run"
    ),
    ("", "changes.wire"): (
        "arrow_rows arrow_stream canonical_json cdc_envelope change_event "
        "change_operation changes_query commit_changes commit_lines envelope_batch "
        "event_json event_type json_rows key_events key_text kv_watch_event payload"
    ),
}
"""The old package below `penstock.changes` and the new one below `penstock` → the modules that moved."""

_RENAMED: Final = {
    "aggregators": "changelog_types.aggregators",
    "notations": "changelog_types.notations",
    "kv_watch": "changelog_types.kv_watch_stream",
}
"""The old name below `penstock.changes` and the new one below `penstock`."""

_PLACES: Final = {
    ".".join(filter(None, ("penstock.changes", before, module))): f"penstock.{after}.{module}"
    for (before, after), modules in _HOMES.items()
    for module in modules.split()
} | {f"penstock.changes.{before}": f"penstock.{after}" for before, after in _RENAMED.items()}


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
        warnings.warn(f"{module.__name__} is now {place}{_UNTIL}", DeprecationWarning, stacklevel=2)
        found = import_module(place)
        vars(module).update({name: value for name, value in vars(found).items() if not name.startswith("__")})


def in_library(function: str, old: str) -> Callable[..., Any]:
    """The function of `penstock.changelog_types.record_events` that took the place of a method."""
    place = "penstock.changelog_types.record_events"
    warnings.warn(f"{old} is now {place}.{function}{_UNTIL}", DeprecationWarning, stacklevel=3)
    # Imported when it is called: the product does not depend on the library.
    found: Callable[..., Any] = getattr(import_module(place), function)
    return found
