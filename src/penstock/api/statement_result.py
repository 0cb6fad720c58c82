"""What a stream table statement answers: rows under column names, or a message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from penstock.catalog.model import RefreshRecord
from penstock.engine.spark.pyspark_types import DataFrame
from penstock.errors import NotAllRefreshed
from penstock.graph.lag import format_lag
from penstock.lang.unknown_name import lost_ones
from penstock.layout.optimize import OptimizeResult
from penstock.monitor.status import StatusRow
from penstock.reading.audit import AuditReport
from penstock.reading.explain import Explanation
from penstock.refresh.result import RefreshResult
from penstock.subscribe.subscription import Subscription


@dataclass(frozen=True, slots=True)
class StatementResult:
    """The answer of a stream table statement: rows, or a message."""

    kind: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    message: str | None = None


SqlResult = StatementResult | Subscription | DataFrame
"""The result of `sql`: of a stream table statement, of SUBSCRIBE, of a statement of Spark's."""


def message(kind: str, text: str) -> StatementResult:
    """A result without rows."""
    return StatementResult(kind, (), (), text)


def refresh_rows(results: list[RefreshResult]) -> StatementResult:
    """REFRESH: a row per stream table; `NotAllRefreshed` if one of them has an error."""
    failed = {each.name: each.error.condition for each in results if each.error is not None}
    if failed:
        names = ", ".join(f"{name} ({condition})" for name, condition in failed.items())
        raise NotAllRefreshed(failed=len(failed), count=len(results), names=names, one=next(iter(failed)))
    columns = ("name", "action", "reason", "rows_inserted", "rows_deleted", "version", "seconds")
    rows = tuple(
        (
            each.name,
            each.action.value,
            each.reason_code,
            each.rows_inserted,
            each.rows_deleted,
            each.version,
            round(each.seconds, 3),
        )
        for each in results
    )
    return StatementResult("refresh", columns, rows)


def status_rows(statuses: list[StatusRow], lost: Sequence[str]) -> StatementResult:
    """SHOW STREAM TABLES: a row per stream table; the message names those that the catalog does not know."""
    columns = (
        "name",
        "status",
        "refresh_mode",
        "effective_mode",
        "target_lag",
        "current_lag",
        "last_refresh",
        "errors",
    )
    rows = tuple(
        (
            each.name,
            each.status,
            each.refresh_mode,
            each.effective_mode,
            each.target_lag,
            _whole_seconds(each.current_lag),
            each.last_refresh,
            each.errors,
        )
        for each in statuses
    )
    return StatementResult("show", columns, rows, lost_ones(lost) if lost else None)


def _whole_seconds(lag: timedelta | None) -> str | None:
    return None if lag is None else format_lag(timedelta(seconds=round(lag.total_seconds())))


def create_text(text: str) -> StatementResult:
    """SHOW CREATE: one row with the statement."""
    return StatementResult("show_create", ("statement",), ((text,),))


def column_rows(columns: list[tuple[str, str]]) -> StatementResult:
    """DESCRIBE: a row per column."""
    return StatementResult("describe", ("column", "type"), tuple(columns))


def history_rows(records: list[RefreshRecord]) -> StatementResult:
    """DESCRIBE HISTORY: a row per refresh."""
    counts = ("rows_inserted", "rows_deleted", "delta_rows", "rows_read", "rows_at_rest", "rows_written")
    columns = ("started_at", "action", "status", "reason", *counts, "commit_version", "seconds")
    rows = tuple(
        (
            each.started_at,
            each.action.value,
            each.status.value,
            each.reason,
            *(getattr(each, name) for name in counts),
            each.commit_version,
            round((each.ended_at - each.started_at).total_seconds(), 3) if each.ended_at else None,
        )
        for each in records
    )
    return StatementResult("history", columns, rows)


def explanation_lines(explanation: Explanation, extended: bool) -> StatementResult:
    """EXPLAIN: a row per line."""
    lines = explanation.text(extended).splitlines()
    return StatementResult("explain", ("plan",), tuple((line,) for line in lines))


def audit_row(report: AuditReport) -> StatementResult:
    """AUDIT: one row with the verdict."""
    verdict = "exact" if report.exact else "DIFFERS"
    columns = ("name", "verdict", "missing_rows", "extra_rows", "rows", "seconds")
    row = (report.name, verdict, report.missing_rows, report.extra_rows, report.rows, round(report.seconds, 3))
    return StatementResult("audit", columns, (row,))


def optimize_rows(results: list[OptimizeResult]) -> StatementResult:
    """OPTIMIZE: a row per table."""
    columns = ("name", "done", "reason", "files_before", "files_after", "touched_before", "touched_after", "seconds")
    rows = tuple(
        (
            each.table,
            ", ".join(each.done) or "nothing",
            each.reason,
            each.advice.layout.files,
            each.after.files,
            each.advice.layout.touched,
            each.after.touched,
            round(each.seconds, 3),
        )
        for each in results
    )
    return StatementResult("optimize", columns, rows)
