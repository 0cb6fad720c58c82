"""The configuration page, from `Settings.describe()`."""

from __future__ import annotations

from generate.table import code, table
from penstock.settings import FILE_NAME, PREFIX, Settings

PAGE = "reference/configuration.md"

_TUNING = {
    "catalog": "A relative path starts at the warehouse. Several machines need PostgreSQL, see "
    "[The catalog](../concepts/catalog.md); the password can be left to `PGPASSWORD`.",
    "enabled": "Turn it off while you repair sources: ticks do nothing, `refresh` by hand still works.",
    "scheduler_interval_ms": "The scheduler looks sooner if a target lag requires it.",
    "min_target_lag_seconds": "Lower it only if refreshes take well under half of the lag that you want.",
    "max_consecutive_errors": "Errors that go away by waiting (another writer, a busy table) do not count.",
    "log_level": "It applies to the logger `penstock`. For Spark's own log set `PENSTOCK_SPARK_LOG`.",
    "log_format": "With json, `open` logs to standard error; see [Monitoring](../concepts/monitoring.md#logs).",
    "max_concurrent_refreshes": "Each starts when its upstreams are done. 1 means one after the other.",
    "history_keep_days": "Older lines, and alerts, are dropped when a warehouse is opened, and hourly by a scheduler.",
    "lease_seconds": "Shorter means a crashed worker on another host is replaced sooner; a live one renews it in time.",
    "driver_memory": "Small deltas are committed from the driver's memory. Has no effect on a session you pass in.",
    "shuffle_partitions": "About the number of cores; more slows small refreshes. A session you pass in keeps its own.",
    "apply": "Leave it at auto. `spark` is slower for small deltas, `delta-rs` holds the whole delta in driver memory.",
    "delta_rs_max_rows": "It counts the change rows of the sources. Raise it together with `driver_memory`.",
    "full_changes": "Comparing costs reading the stored rows; see [Changes](../concepts/changes.md#a-refresh-in-full).",
    "learn_costs": "Set it to false where the same sizes must give the same mode every time, as in tests.",
    "probe_percent": "0 never tries: AUTO then goes by what it has seen, and by its prior for the rest.",
    "backoff_seconds": "The wait varies by a quarter at random, so tables that failed together do not return together.",
    "backoff_max_seconds": "It decides how soon refreshes resume after a long outage.",
    "drain_seconds": "What is cut off is done again by the next scheduler; nothing is lost either way.",
    "max_change_ratio": "100 catches a mistaken mass update of a table that usually changes a little.",
    "buffer_warning_rows": "Set it above what arrives within one target lag, or every busy minute warns.",
    "alert_webhook_url": "A slow receiver delays nobody; see [Monitoring](../concepts/monitoring.md#where-alerts-go).",
    "lineage_url": "For a file: `file:///var/log/penstock-lineage.jsonl`, one event per line.",
    "ring_events": "An event takes about ten bytes. Raise it if many consumers poll and lag by more than this.",
    "deletion_vector_bytes": "A merge writes about 70 MB a second; see [Layout](../concepts/layout.md).",
}


def text() -> str:
    """The page."""
    settings = Settings.describe()
    rows = [
        [code(each.name), code(each.type), code(_shown(each.default)), each.allowed, code(each.env)]
        for each in settings
    ]
    parts = [
        "# Configuration",
        "*Generated from `src/penstock/settings.py`.*",
        f"A setting has a default. `{FILE_NAME}` in the warehouse folder overrides it, an environment variable "
        f"`{PREFIX}<NAME>` overrides the file, and `penstock.open(path, settings={{…}})` overrides both. An unknown "
        f"name, "
        "a wrong type or a value out of range is refused, wherever it comes from. "
        "Settings are read at `open`, and again by `reload()` or when `penstock run` gets SIGHUP.",
        f"`penstock init` writes a `{FILE_NAME}` with every setting commented out.",
        table(["Setting", "Type", "Default", "Allowed", "Environment"], rows),
    ]
    parts += [f"## {each.name}\n\n{each.doc} {_TUNING[each.name]}" for each in settings]
    parts.append(
        "## Other variables\n\n"
        + table(
            ["Variable", "Meaning"],
            [
                [code("PENSTOCK_WAREHOUSE"), "The warehouse that commands use when `-w` is not given."],
                [code("PGPASSWORD"), "The password of a PostgreSQL catalog whose address has none."],
                [
                    code("PENSTOCK_SPARK_LOG"),
                    "A log level such as `info`: Spark then logs to the terminal, not to `logs/`.",
                ],
                [code("PENSTOCK_JARS"), "Folder of the Delta jars, instead of the one that Penstock keeps."],
                [code("JAVA_HOME"), "The Java that Spark runs on; otherwise the one on the PATH. 17 or later."],
            ],
        )
    )
    return "\n\n".join(parts) + "\n"


def _shown(value: bool | int | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
