"""The Python page: signatures and docstrings of `penstock.open` and `StreamTables`, and what they return."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from generate.table import code, table
from penstock import api
from penstock.catalog.model import Alert, RefreshRecord
from penstock.changes.ring.cdc_stats import CdcStats
from penstock.changes.wire.arrow_rows import ArrowRows
from penstock.changes.wire.change_event import ChangeEvent, Delete, Insert, Snapshot, Update, Watermark
from penstock.changes.wire.commit_changes import CommitChanges
from penstock.changes.wire.kv_watch_event import KvWatchEvent
from penstock.ddl.outcome import StreamTableInfo
from penstock.ddl.repair import RepairReport
from penstock.engine.changelog.changelog import Changelog, Entry
from penstock.engine.write.layout import FileLayout
from penstock.layout.advise import LayoutAdvice
from penstock.layout.optimize import OptimizeResult
from penstock.monitor.diagnose.diagnosis import Diagnosis
from penstock.monitor.diagnose.findings import Finding
from penstock.monitor.health import Health, SchedulerHealth
from penstock.monitor.picture import GraphPicture
from penstock.monitor.stats import StatsRow
from penstock.monitor.status import StatusRow
from penstock.reading.audit import AuditReport
from penstock.reading.explain import Explanation
from penstock.reading.version_history import StoredVersion
from penstock.refresh.result import Progress, RefreshResult
from penstock.subscribe.all_changes import AllChanges
from penstock.subscribe.backpressure import Policy
from penstock.subscribe.callback import CallbackSubscription
from penstock.subscribe.feed import Follower
from penstock.subscribe.key_watch import KeyWatch
from penstock.subscribe.subscribers import SubscriberRow
from penstock.subscribe.subscription import Subscription, SubscriptionMetrics

PAGE = "reference/python.md"

_PARAMETERS = {
    "path": "The warehouse folder. It is made if it is not there.",
    "spark": "A Spark session with Delta; it is checked, used, and left running. None starts a local one.",
    "catalog": "Path of a SQLite file, or `postgresql://…`. None: the setting `catalog`.",
    "settings": "`Settings`, or a mapping of names to values; see the configuration page.",
    "text": "Statements, separated by semicolons.",
    "progress": "A function that is called with a `Progress` as the work moves on.",
    "name": "`table`, `schema.table` or `catalog.schema.table`; the schema defaults to Spark's current one.",
    "names": "Stream tables, each named as above; the result has them in this order.",
    "query": "One Spark query as text.",
    "target_lag": "A duration such as `'5 minutes'`, a `timedelta`, or None for DOWNSTREAM.",
    "extended": "Also mode, lag, key, status, sources, query and location.",
    "refresh_mode": "`AUTO`, `INCREMENTAL` or `FULL`, in any case.",
    "initialize": "Fill the table now; otherwise the first refresh does.",
    "key": "Columns that identify a row of the result.",
    "or_replace": "Give an existing stream table this definition.",
    "if_not_exists": "Leave an existing stream table alone.",
    "status": "`ACTIVE` or `SUSPENDED`.",
    "if_exists": "A missing stream table is not an error.",
    "cascade": "Do it although stream tables that read it could not read it any more.",
    "drop_stream_table.cascade": "Drop its readers too.",
    "yes": "Do it although stream tables need what is taken away.",
    "now": "The moment to act for; None is the present.",
    "fresh": "Show the rows as a refresh would leave them, without writing.",
    "name_or_query": "A stream table, or a query (anything with a blank in it).",
    "max_rows": "No more rows than this.",
    "dry_run": "Only say what would be done.",
    "listener": "A function that takes an `Alert`.",
    "host": "The address to listen on.",
    "start": "`now` (the default) or `snapshot`: all rows first.",
    "version": "Begin after this version of the stream table.",
    "timestamp": "Begin after the newest state that stands for a moment up to this one; UTC if it has no zone.",
    "lsn": "Begin after this position; 0 is the whole changelog.",
    "where": "A condition on the rows, as in SUBSCRIBE.",
    "columns": "Only these columns; an update that changes none of them is left out.",
    "subscribe.progress": "Give watermarks too: how far the table has got, also without a change.",
    "policy": "`block`, `drop_oldest`, `drop_newest`, `sample(n)` or `demand`.",
    "buffer": "Commits that may wait before the policy acts.",
    "delivery": "`every` commit by itself, or `net`: all that wait as one change.",
    "durable": "The name under which the position is kept.",
    "drop_subscription.name": "The name of a durable subscription.",
    "watch.key": "The values of the key columns joined by dots; with `.*` at the end, all keys that begin so.",
    "since_lsn": "Begin after this position; None is now.",
    "call": "A function that takes a `ChangeEvent`.",
    "on_error": "A function that takes what `call` raised; without it an exception ends the subscription.",
    "on_complete": "A function that is called once, at the end.",
    "options": "As for `subscribe`.",
    "port": "The port to listen on; 0 takes one that is free, and `url` of the result says which.",
}
_SECTIONS = {
    "SQL": ["sql"],
    "Definitions": ["create_stream_table", "alter_stream_table", "drop_stream_table"],
    "Refreshing": ["refresh", "refresh_all", "tick"],
    "Scheduling": ["run", "scheduler", "pause", "resume", "is_paused", "reload"],
    "Reading": ["table", "read_together", "explain", "audit"],
    "Changes": [
        "subscribe",
        "on_change",
        "watch",
        "all_changes",
        "subscriptions",
        "drop_subscription",
        "changelog",
    ],
    "Looking": ["status", "diagnose", "history", "versions", "graph", "info", "describe", "show_create"],
    "Monitoring": ["stats", "reset_stats", "alerts", "on_alert", "health", "serve_metrics"],
    "Care": ["start", "advise", "optimize", "repair", "lost", "close"],
}
_SAME = {"refresh_stream_table": "refresh", "pgt_status": "status", "refresh_history": "history", "st_graph": "graph"}
_OLD = {"serve": "serve_metrics"}
_PROPERTIES = ["spark", "settings", "path"]
_RESULTS = [
    RefreshResult,
    StreamTableInfo,
    api.StatementResult,
    AuditReport,
    Explanation,
    StatusRow,
    Diagnosis,
    Finding,
    RefreshRecord,
    StoredVersion,
    GraphPicture,
    StatsRow,
    Alert,
    Health,
    SchedulerHealth,
    LayoutAdvice,
    OptimizeResult,
    FileLayout,
    RepairReport,
    Progress,
]
_CHANGES = [
    Subscription,
    CallbackSubscription,
    SubscriptionMetrics,
    SubscriberRow,
    Policy,
    ChangeEvent,
    Insert,
    Delete,
    Update,
    Watermark,
    Snapshot,
    CommitChanges,
    Changelog,
    Entry,
    KeyWatch,
    KvWatchEvent,
    AllChanges,
    CdcStats,
    ArrowRows,
]


def text() -> str:
    """The page."""
    _check_complete()
    parts = [
        "# Python",
        "*Generated from the signatures and docstrings of `src/penstock/api`.*",
        "Everything is a method of one object, `StreamTables`, which `penstock.open` returns. Errors are "
        "`PenstockError`s, "
        "see [errors](errors.md).",
        _callable("penstock.open", api.open, heading="##"),
        _callable("penstock.open_lazily", api.open_lazily, heading="##"),
        _callable("penstock.repair", api.repair, heading="##"),
        "## StreamTables\n\n" + inspect.cleandoc(api.StreamTables.__doc__ or ""),
        "It is a context manager: `with penstock.open(…) as ps:` closes it at the end.\n\n"
        + table(
            ["Property", "Meaning"],
            [[code(name), inspect.getdoc(getattr(api.StreamTables, name)) or ""] for name in _PROPERTIES],
        ),
    ]
    for title, names in _SECTIONS.items():
        parts.append(f"## {title}")
        parts += [_callable(name, getattr(api.StreamTables, name), heading="###") for name in names]
    parts.append(
        "## Other names\n\nThe same methods under longer names, for code that was written for another stream table "
        "system.\n\n" + table(["Name", "Same as"], [[code(name), code(same)] for name, same in _SAME.items()])
    )
    parts.append(
        "## Old names\n\nThey work for one more release, with a `DeprecationWarning`.\n\n"
        + table(
            ["Name", "Now"],
            [[code(name), code(now)] for name, now in {"penstock.look": "penstock.open_lazily", **_OLD}.items()],
        )
    )
    parts.append("## Results")
    parts += [_result(each) for each in _RESULTS]
    parts.append(
        "## What changes come as\n\nEvents and commits are `ArrowRows`: they go to Arrow, Polars, pandas and DuckDB. "
        "See [Changes](../concepts/changes.md)."
    )
    parts += [_result(each) for each in _CHANGES]
    return "\n\n".join(parts) + "\n"


def _check_complete() -> None:
    listed = {name for names in _SECTIONS.values() for name in names} | set(_SAME) | set(_OLD) | set(_PROPERTIES)
    public = {name for name in vars(api.StreamTables) if not name.startswith("_")}
    assert public == listed, f"described and public names differ: {public ^ listed}"


def _callable(name: str, function: Callable[..., Any], heading: str) -> str:
    signature = inspect.signature(function)
    parameters = [each for each in signature.parameters.values() if each.name != "self"]
    shown = [_parameter(each) for each in parameters]
    first_keyword = next((at for at, each in enumerate(parameters) if each.kind is each.KEYWORD_ONLY), None)
    if first_keyword is not None:
        shown.insert(first_keyword, "*")
    one_line = f"{name}({', '.join(shown)}) -> {signature.return_annotation}"
    if len(one_line) > 100:
        one_line = f"{name}(\n" + "".join(f"    {each},\n" for each in shown) + f") -> {signature.return_annotation}"
    text = f"{heading} {name}\n\n```py\n{one_line}\n```\n\n{inspect.getdoc(function)}"
    if parameters:
        rows = [
            [code(each.name), _PARAMETERS.get(f"{name}.{each.name}") or _PARAMETERS[each.name]] for each in parameters
        ]
        text += "\n\n" + table(["Parameter", "Meaning"], rows)
    return text


def _parameter(parameter: inspect.Parameter) -> str:
    default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
    stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    return f"{stars}{parameter.name}: {parameter.annotation}{default}"


def _result(kind: type) -> str:
    notes = _field_notes(kind)
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    rows = [[code(each.name), code(str(each.type)), notes.get(each.name, "")] for each in fields]
    rows += [
        [code(name), code(str(inspect.signature(each.fget).return_annotation)), _summary_line(each.fget)]
        for name, each in vars(kind).items()
        if isinstance(each, property) and each.fget is not None and not name.startswith("_")
    ]
    methods = [
        [code(_call(name, method)), code(str(inspect.signature(method).return_annotation)), _summary_line(method)]
        for name, method in vars(kind).items()
        # What a feed tells its followers is between those two.
        if inspect.isfunction(method) and not name.startswith("_") and name not in vars(Follower)
    ]
    return f"### {kind.__name__}\n\n{kind.__doc__}\n\n" + table(["Name", "Type", "Meaning"], [*rows, *methods])


def _call(name: str, method: Callable[..., Any]) -> str:
    given = [each for each in inspect.signature(method).parameters.values() if each.name != "self"]
    return f"{name}({', '.join(each.name if each.default is each.empty else f'{each.name}=…' for each in given)})"


def _summary_line(method: Callable[..., Any]) -> str:
    """The docstring as one line; a table has no others."""
    return " ".join((inspect.getdoc(method) or "").split())


def _field_notes(kind: type) -> dict[str, str]:
    """The strings that stand below fields in the source."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    notes = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            value = below.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                notes[field.target.id] = value.value
    return notes
