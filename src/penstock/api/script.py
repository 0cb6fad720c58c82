"""SQL: a script is parsed whole, then its statements run in order.

A stream table statement calls the method of `StreamTables` that means the same, and its answer becomes rows. Every
other statement is Spark's.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from penstock.api import statement_result
from penstock.api.find import find_stream_table
from penstock.api.spark_statement import refresh_in_spark, run_in_spark
from penstock.api.statement_result import SqlResult, StatementResult, message
from penstock.changes.filter.moments import read_timestamp
from penstock.lang import (
    AlterStreamTable,
    AuditStreamTable,
    CreateStreamTable,
    DescribeHistory,
    DescribeStreamTable,
    DropStreamTable,
    ExplainStreamTable,
    OptimizeStreamTable,
    PassThrough,
    RefreshStreamTable,
    RefreshStreamTables,
    ShowCreateStreamTable,
    ShowStreamTables,
    Statement,
    Subscribe,
)
from penstock.lang.plain_refresh import plain_refresh
from penstock.lang.script import half_way, read_script
from penstock.refresh.result import Report
from penstock.refresh.warehouse import Warehouse
from penstock.settings import DEFAULT_LAG
from penstock.subscribe.subscription import Subscription

if TYPE_CHECKING:
    from penstock.api.stream_tables import StreamTables


@dataclass(frozen=True, slots=True)
class ScriptRun:
    """One call of `sql`."""

    tables: StreamTables
    warehouse: Warehouse
    yes: bool
    progress: Report | None

    def run(self, text: str) -> SqlResult:
        """Run all statements; returns the last one's result. An error carries a note of what ran and what did not."""
        result: SqlResult = StatementResult("nothing", (), ())
        steps = read_script(text)
        for at, step in enumerate(steps):
            try:
                result = self._statement(step.statement)
            except (Exception, KeyboardInterrupt) as error:
                if len(steps) > 1:
                    error.add_note(half_way(steps, at, error))
                raise
        return result

    def _statement(self, statement: Statement) -> SqlResult:
        tables, progress = self.tables, self.progress
        match statement:
            case PassThrough() if (refresh := plain_refresh(statement)) is not None:
                return refresh_in_spark(self.warehouse, refresh, statement, progress)
            case PassThrough():
                return run_in_spark(self.warehouse, statement, self.yes)
            case CreateStreamTable():
                return self._create(statement)
            case AlterStreamTable():
                return self._alter(statement)
            case DropStreamTable():
                dropped = tables.drop_stream_table(statement.name, statement.if_exists, statement.cascade)
                return message("drop", f"dropped {', '.join(dropped)}" if dropped else "nothing to drop")
            case RefreshStreamTable():
                return statement_result.refresh_rows([tables.refresh(statement.name, progress=progress)])
            case RefreshStreamTables():
                return statement_result.refresh_rows(tables.refresh_all(progress=progress))
            case ShowStreamTables():
                found = [row for row in tables.status() if _matches(row.name, statement.like)]
                return statement_result.status_rows(found, tables.lost())
            case ShowCreateStreamTable():
                return statement_result.create_text(tables.show_create(statement.name))
            case DescribeStreamTable():
                return statement_result.column_rows(tables.describe(statement.name, statement.extended))
            case DescribeHistory():
                return statement_result.history_rows(tables.history(statement.name, statement.limit or 20))
            case ExplainStreamTable():
                explanation = tables.explain(statement.name or statement.query or "")
                return statement_result.explanation_lines(explanation, statement.extended)
            case AuditStreamTable():
                return statement_result.audit_row(tables.audit(statement.name))
            case OptimizeStreamTable():
                # Sources can be optimized too, but not by this statement.
                find_stream_table(self.warehouse, statement.name)
                return statement_result.optimize_rows(tables.optimize(statement.name, progress=progress))
            case Subscribe():
                return self._subscribe(statement)

    def _create(self, statement: CreateStreamTable) -> StatementResult:
        info = self.tables.create_stream_table(
            statement.name,
            statement.query,
            None if statement.downstream else (statement.target_lag or DEFAULT_LAG),
            statement.refresh_mode,
            statement.initialize,
            key=statement.key,
            or_replace=statement.or_replace,
            if_not_exists=statement.if_not_exists,
            cascade=statement.cascade or self.yes,
            progress=self.progress,
        )
        why = f" ({info.reason})" if info.reason else ""
        return message("create", f"stream table {info.name} {info.message}, maintained {info.effective_mode}{why}")

    def _alter(self, statement: AlterStreamTable) -> StatementResult:
        changes: dict[str, Any] = {}
        if statement.as_query is not None:
            changes = {"query": statement.as_query, "cascade": statement.cascade or self.yes}
        elif statement.set_downstream or statement.set_target_lag is not None:
            changes = {"target_lag": statement.set_target_lag}
        elif statement.set_refresh_mode is not None:
            changes = {"refresh_mode": statement.set_refresh_mode}
        else:
            changes = {"status": "SUSPENDED" if statement.suspend else "ACTIVE"}
        info = self.tables.alter_stream_table(statement.name, **changes)
        return message("alter", f"stream table {info.name} {info.message}")

    def _subscribe(self, statement: Subscribe) -> Subscription:
        moment = statement.as_of_timestamp
        return self.tables.subscribe(
            statement.name,
            start="snapshot" if statement.with_snapshot else None,
            version=statement.as_of_version,
            timestamp=None if moment is None else read_timestamp(moment),
            lsn=statement.after_lsn,
            where=statement.where,
        )


def _matches(name: str, like: str | None) -> bool:
    """True if a name, or its last part, fits a pattern: `*` is any text, `|` is or."""
    if like is None:
        return True
    table, patterns = name.rsplit(".", 1)[-1], [part.strip().lower() for part in like.split("|")]
    return any(fnmatchcase(table, pattern) or fnmatchcase(name, pattern) for pattern in patterns)
