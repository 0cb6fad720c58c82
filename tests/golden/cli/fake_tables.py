"""A `StreamTables` that remembers what it was asked and answers from memory.

It is checked against `CommandTables`, as the real one is, and answers with the classes of the real one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

import numpy as np
import pyarrow as pa

from penstock.api import StatementResult
from penstock.catalog.model import (
    UNSET,
    Action,
    Alert,
    AlertEvent,
    Lease,
    RefreshMode,
    RefreshRecord,
    RefreshStatus,
    Status,
    StreamTableMeta,
    UnsetType,
)
from penstock.changes.wire.commit_changes import CommitChanges
from penstock.cli.context.command_context import Openers
from penstock.compile.reasons import link
from penstock.ddl.outcome import StreamTableInfo
from penstock.ddl.repair import RepairReport
from penstock.engine.spark.doctor import Check
from penstock.engine.write.layout import FileLayout
from penstock.errors import (
    HasConsumers,
    QueryFailed,
    QueryInvalid,
    ReadersBreak,
    StreamTableNotFound,
    SubscriptionEnded,
    SubscriptionNotFound,
)
from penstock.graph.dag import Node, NodeKind, StreamGraph
from penstock.layout.advise import LayoutAdvice
from penstock.layout.optimize import OptimizeResult
from penstock.monitor.diagnose.case import Case, PendingSource
from penstock.monitor.diagnose.diagnosis import Diagnosis, diagnose
from penstock.monitor.health import Health, SchedulerHealth
from penstock.monitor.picture import GraphPicture
from penstock.monitor.stats import StatsRow
from penstock.monitor.status import StatusRow
from penstock.names import Frontier, TableName
from penstock.reading.audit import AuditReport
from penstock.reading.explain import Explanation
from penstock.reading.version_history import StoredVersion
from penstock.refresh.result import Progress, RefreshResult, Report
from penstock.settings import Settings
from penstock.subscribe.subscribers import SubscriberRow

if TYPE_CHECKING:
    from penstock.cli.context.stream_tables import Refreshing
    from penstock.engine.spark.pyspark_types import SparkSession
    from penstock.monitor.http import Server
    from penstock.subscribe.fetch import Delivery

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Frame:
    """What the CLI uses of a DataFrame."""

    def __init__(self, columns: list[str], rows: list[tuple[Any, ...]]) -> None:
        self._columns, self._rows = columns, rows

    @property
    def columns(self) -> list[str]:
        return self._columns

    def limit(self, num: int, /) -> Frame:
        return Frame(self._columns, self._rows[:num])

    def collect(self) -> list[tuple[Any, ...]]:
        return self._rows

    def count(self) -> int:
        return len(self._rows)


def info(name: str, mode: str = "INCREMENTAL", reason: str | None = None, **more: Any) -> StreamTableInfo:
    facts = {"created": True, "replaced": False, "changes": (), "refresh": None}
    return StreamTableInfo(name, mode, reason, **{**facts, **more})


def replaced(name: str) -> StreamTableInfo:
    rebuilt = refreshed(name, rows_inserted=5001)
    return info(name, created=False, replaced=True, changes=("column x added",), refresh=rebuilt)


def refreshed(name: str, action: Action = Action.FULL, **more: Any) -> RefreshResult:
    facts: dict[str, Any] = {
        "reason_code": None,
        "reason": None,
        "rows_inserted": 0,
        "rows_deleted": 0,
        "frontier": Frontier.of({"orders": 7}),
        "data_timestamp": NOON,
        "version": None,
        "seconds": 0.0,
    }
    return RefreshResult(name, action, **{**facts, **more})


def idle() -> RefreshResult:
    return refreshed("default.idle", Action.NO_DATA, frontier=None, seconds=0.004)


def computed(name: str = "top") -> RefreshResult:
    """A full refresh; that of `top` after its upstream."""
    upstream = refreshed(
        "default.revenue", Action.INCREMENTAL, rows_inserted=2, rows_deleted=1, version=8, seconds=0.18, frontier=None
    )
    return refreshed(
        f"default.{name}",
        reason_code="NON_DETERMINISTIC",
        reason=f"rand() at line 1, column 12 of the query, see {link('NON_DETERMINISTIC')}",
        rows_inserted=10,
        rows_deleted=10,
        timings={"pin": 0.01, "delta": 0.14, "apply": 0.05},
        version=3,
        seconds=0.2134,
        upstream=(upstream,) if name == "top" else (),
    )


def status_row(name: str, status: str = "ACTIVE", **more: Any) -> StatusRow:
    facts: dict[str, Any] = {
        "refresh_mode": "AUTO",
        "effective_mode": "INCREMENTAL",
        "reason": None,
        "target_lag": "1 minute",
        "effective_lag": timedelta(minutes=1),
        "current_lag": timedelta(seconds=24),
        "lag_exceeded": False,
        "last_refresh": NOON,
        "data_timestamp": NOON,
        "errors": 0,
        "last_error": None,
    }
    return StatusRow(name, status, **{**facts, **more})


REVENUE = pa.schema([("region", pa.string()), ("total", pa.decimal128(12, 2)), ("orders", pa.int64())])


def commit(version: int, first_lsn: int, schema: pa.Schema, *, anew: bool = False, **parts: list[Any]) -> CommitChanges:
    """A commit whose parts are rows as tuples."""

    def rows(part: str) -> pa.Table:
        return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in parts.get(part, [])], schema)

    deletes, was, now, inserts = (rows(part) for part in ("deletes", "was", "now", "inserts"))
    events = 1 if anew else deletes.num_rows + now.num_rows + inserts.num_rows
    lsns = np.arange(first_lsn, first_lsn + events, dtype=np.int64)
    gone, come = deletes.num_rows, deletes.num_rows + now.num_rows
    return CommitChanges(
        "default.revenue", version, first_lsn, first_lsn + events - 1, NOON, NOON + timedelta(seconds=version),
        ("region",), deletes, was, now, inserts, lsns[:gone], lsns[gone:come], lsns[come:],
        rows("refreshed") if anew else None,
    )  # fmt: skip


def revenue_commits() -> list[CommitChanges]:
    """All rows, a commit with changes of every kind, and a long one."""
    ten, seven = Decimal("10.00"), Decimal("7.25")
    return [
        commit(2, 2, REVENUE, anew=True, refreshed=[("north", ten, 2), ("south", seven, 1)]),
        commit(
            3, 3, REVENUE,
            deletes=[("[red]east[/red]", None, 0)],
            was=[("north", ten, 2), (None, Decimal("0.10"), 3)],
            now=[("north", Decimal("15.50"), 3), (None, Decimal("0.20"), 3)],
            inserts=[("west", seven, 1)],
        ),
        commit(4, 7, REVENUE, inserts=[(f"region {n:02}", Decimal(n), n) for n in range(30)]),
    ]  # fmt: skip


class FakeSubscription:
    """Gives its commits, then ends as if it had been cancelled, or fails."""

    def __init__(self, commits: list[CommitChanges], ending: Exception | None = None, name: str = "sub-1") -> None:
        self.stream_table, self.id = "default.revenue", name
        self.position, self.version = commits[0].first_lsn - 1, commits[0].version - 1
        self.dropped = 0
        self.acknowledged: list[int] = []
        self._commits, self._ending = iter(commits), ending

    def __enter__(self) -> FakeSubscription:
        return self

    def __exit__(self, *failure: object) -> None: ...

    def next_commit(self) -> CommitChanges | None:
        given = next(self._commits, None)
        if given is not None:
            self.position, self.version = given.last_lsn, given.version
        elif self._ending is not None:
            raise self._ending
        return given

    def acknowledge(self) -> int:
        self.acknowledged.append(self.position)
        return self.position

    def cancel(self) -> bool:
        return True


Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")
Fake = TypeVar("Fake", bound="FakeTables")


def recorded(method: Callable[Concatenate[Fake, Asked], Answer]) -> Callable[Concatenate[Fake, Asked], Answer]:
    """Note the call, without `progress`, to which one step of the work is reported."""

    @wraps(method)
    def call(self: Fake, /, *arguments: Asked.args, **keywords: Asked.kwargs) -> Answer:
        given = dict(keywords)
        progress = cast("Report | None", given.pop("progress", None))
        self.calls.append((method.__name__, arguments, given))
        if progress is not None:
            progress(Progress("default.revenue", "read", "working", 1, 2))
        return method(self, *arguments, **keywords)

    return call


class FakeTables:
    """Answers by what is asked; `calls` holds method, arguments and keywords."""

    def __init__(self, healthy: bool = True) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.closed = False
        self.healthy = healthy

    def __enter__(self) -> FakeTables:
        return self

    def __exit__(self, *failure: object) -> None:
        self.closed = True

    @property
    def path(self) -> Path:
        return Path("nowhere")

    @property
    def settings(self) -> Settings:
        return Settings()

    @property
    def spark(self) -> SparkSession:
        return cast("SparkSession", None)

    @recorded
    def sql(
        self, text: str, *, yes: bool = False, progress: Report | None = None
    ) -> StatementResult | Frame | FakeSubscription:
        if "FROM revenue" in text:
            return Frame(
                ["region", "total", "share", "since", "odd"],
                [
                    ("north", Decimal("1234.50"), 0.25, datetime(2026, 1, 2, 3, 4, 5), None),
                    ("[red]south[/red]", Decimal("7.00"), float("nan"), None, True),
                ],
            )
        if "FROM many" in text:
            return Frame(["n"], [(n,) for n in range(120)])
        if "FROM wide" in text:
            return Frame([f"a_rather_long_column_{n}" for n in range(9)], [tuple(range(9)), ("long " * 30, *range(8))])
        if text.startswith("INSERT"):
            return Frame(["num_affected_rows", "num_inserted_rows"], [(3, 3)])
        if text.startswith("SHOW STREAM TABLES"):
            titles = ["name", "status", "refresh_mode", "effective_mode"]
            titles += ["target_lag", "current_lag", "last_refresh", "errors"]
            at = NOON.replace(microsecond=123456)
            table = "ACTIVE", "AUTO", "INCREMENTAL", "1 hour 30 minutes", "12 seconds", at, 0
            names = ("default.revenue", "sales.a_stream_table_with_a_rather_long_name")
            return StatementResult("show", tuple(titles), tuple((name, *table) for name in names))
        if text.startswith("SHOW CREATE"):
            text = "CREATE STREAM TABLE default.revenue\nAS SELECT " + ", ".join(f"column_{n}" for n in range(20))
            return StatementResult("show_create", ("statement",), ((text,),))
        if text.startswith("MERGE"):
            counts = ["num_affected_rows", "num_updated_rows", "num_deleted_rows", "num_inserted_rows"]
            return Frame(counts, [(3, 1, 0, 2)])
        if text.startswith("SUBSCRIBE"):
            return FakeSubscription(revenue_commits()[1:])
        if text.startswith("DROP STREAM TABLE"):
            return StatementResult("drop", (), (), "dropped default.revenue")
        if "missing" in text:
            raise QueryInvalid(why="table or view `missing` cannot be found", fix="Check the name.")
        if "bug" in text:
            raise KeyError("lost")
        return Frame([], [])

    @staticmethod
    def _guard_readers(query: str, cascade: bool) -> None:
        if "narrow" in query and not cascade:
            raise ReadersBreak(name="default.revenue", readers="default.top (it uses region)")

    @recorded
    def create_stream_table(
        self,
        name: str,
        query: str,
        target_lag: str | None = "1 minute",
        refresh_mode: str = "AUTO",
        initialize: bool = True,
        *,
        key: Iterable[str] | None = None,
        or_replace: bool = False,
        if_not_exists: bool = False,
        cascade: bool = False,
        progress: Report | None = None,
    ) -> StreamTableInfo:
        self._guard_readers(query, cascade)
        if or_replace and name == "revenue":
            return replaced(name)
        return info(name, "FULL", "NOT_DETERMINISTIC: rand()") if "rand" in query else info(name)

    @recorded
    def alter_stream_table(
        self,
        name: str,
        target_lag: str | timedelta | UnsetType | None = UNSET,
        refresh_mode: str | UnsetType = UNSET,
        status: str | UnsetType = UNSET,
        query: str | UnsetType = UNSET,
        *,
        cascade: bool = False,
    ) -> StreamTableInfo:
        if query is not UNSET:
            self._guard_readers(query, cascade)
            return replaced(name)
        return info(name, created=False, changes=("target lag DOWNSTREAM", "refresh mode FULL", "suspended"))

    @recorded
    def drop_stream_table(self, name: str, if_exists: bool = False, cascade: bool = False) -> list[str]:
        if name == "revenue" and not cascade:
            raise HasConsumers(name="default.revenue", consumers="default.top")
        if name == "nothing" and if_exists:
            return []
        return ["default.top", "default.revenue"] if cascade else [f"default.{name}"]

    @recorded
    def refresh(self, name: str, *, progress: Report | None = None) -> RefreshResult:
        if name == "nothing":
            raise StreamTableNotFound(name="default.nothing", nearest="There are: default.revenue.")
        return idle() if name == "idle" else computed(name)

    @recorded
    def refresh_all(self, *, progress: Report | None = None) -> list[RefreshResult]:
        failed = QueryFailed(name="default.top", why="division by zero")
        return [idle(), replace(computed(), error=failed)]

    @recorded
    def pause(self) -> None: ...

    @recorded
    def resume(self) -> None: ...

    @recorded
    def reload(self) -> Settings:
        return self.settings

    def scheduler(self) -> Refreshing:
        raise NotImplementedError

    def serve_metrics(self, host: str = "127.0.0.1", port: int = 0) -> Server:
        raise NotImplementedError

    @recorded
    def versions(self, name: str, max_rows: int = 20) -> list[StoredVersion]:
        return []

    @recorded
    def status(self) -> list[StatusRow]:
        long = "sales.a_stream_table_with_a_rather_long_name"
        return [
            status_row("default.revenue"),
            status_row(
                "default.top", target_lag="DOWNSTREAM", effective_lag=timedelta(minutes=5), effective_mode="FULL"
            ),
            status_row(
                long, "SUSPENDED", refresh_mode="INCREMENTAL", errors=3, current_lag=timedelta(days=1, hours=2),
                lag_exceeded=True, last_error="[QUERY_FAILED] division by zero",
            ),
            status_row(
                "default.broken", "ERROR", errors=1, last_error="[SOURCE_MISSING] it is gone\n  Bring it back."
            ),
            status_row("default.waiting", blocked_by=(long,)),
            status_row(
                "default.unread", "INITIALIZING", refresh_mode="FULL", effective_mode=None, target_lag="DOWNSTREAM",
                current_lag=None, last_refresh=None, data_timestamp=None,
            ),
        ]  # fmt: skip

    @recorded
    def history(self, name: str | None = None, max_rows: int = 20) -> list[RefreshRecord]:
        def record(
            number: int, action: Action, status: RefreshStatus, took: float | None, **more: Any
        ) -> RefreshRecord:
            ended = None if took is None else NOON + timedelta(seconds=took)
            return RefreshRecord(
                refresh_id=f"r{number}", stream_table_id=1, name=name or "default.revenue", action=action,
                status=status, started_at=NOON, ended_at=ended, **more,
            )  # fmt: skip

        return [
            record(4, Action.INCREMENTAL, RefreshStatus.RUNNING, None),
            record(
                3, Action.INCREMENTAL, RefreshStatus.COMPLETED, 0.21, rows_inserted=12, rows_deleted=3, rows_read=88,
                timings={"pin": 0.004, "classify": 0.006, "read": 0.03, "run": 0.12, "commit": 0.05},
            ),
            record(2, Action.FULL, RefreshStatus.FAILED, 95, error_message="[QUERY_FAILED] division by zero in row 7"),
            record(1, Action.REINITIALIZE, RefreshStatus.COMPLETED, 4, rows_inserted=1000, reason="initial fill",
                   timings={"pin": 0.004, "compute": 3.1, "commit": 0.9}),
        ][:max_rows]  # fmt: skip

    @recorded
    def stats(self) -> list[StatsRow]:
        return [
            StatsRow("default.revenue", "default", 1440, 288_000, 52_000, 48_123, 2, 1, 31_000, 95_500),
            StatsRow("default.unread", "default", 0, 0, 0, 0, 0, 0, 0, 0),
        ]

    @recorded
    def alerts(self, name: str | None = None, max_rows: int = 100) -> list[Alert]:
        table = name or "default.revenue"
        late: dict[str, str | float | None] = {"lag_seconds": 131.5, "target_seconds": 60.0, "last_error": None}
        failed: dict[str, str | float | None] = {
            "condition": "QUERY_FAILED",
            "error": "division by zero in [red]row[/red] 7",
            "errors": 1,
        }
        found = [
            Alert(AlertEvent.LAG_RECOVERED, table, NOON + timedelta(minutes=5), {"lag_seconds": 12.0}),
            Alert(AlertEvent.LAG_EXCEEDED, table, NOON + timedelta(minutes=2), late),
            Alert(AlertEvent.REFRESH_FAILED, table, NOON, failed),
        ]
        return [] if name == "unread" else found[:max_rows]

    def lost(self) -> list[str]:
        return []

    @recorded
    def is_paused(self) -> bool:
        return not self.healthy

    @recorded
    def health(self) -> Health:
        beat = NOON - timedelta(seconds=5)
        alive = SchedulerHealth("host-1:4711", self.healthy, beat, beat + timedelta(minutes=1), paused=not self.healthy)
        if self.healthy:
            return Health(NOON, True, alive, 2, suspended=("default.unread",))
        problems = (
            "the scheduler host-1:4711 was last heard of at 2026-03-01T11:59:55+00:00",
            "default.revenue is older than twice its target lag",
        )
        return Health(NOON, True, alive, 2, lag_exceeded=("default.revenue",), problems=problems)

    @recorded
    def graph(self) -> GraphPicture:
        nodes = [
            Node("orders", "default.orders", NodeKind.TABLE),
            Node("revenue", "default.revenue", NodeKind.STREAM_TABLE, 1, timedelta(minutes=1), "ACTIVE"),
            Node("top", "default.top", NodeKind.STREAM_TABLE, 2, None, "ACTIVE"),
        ]
        return GraphPicture(StreamGraph.of(nodes, [("orders", "revenue"), ("revenue", "top")]))

    @recorded
    def info(self, name: str | None = None) -> list[dict[str, Any]]:
        return [
            {
                "name": name or "default.revenue",
                "query": "SELECT region, sum(amount) AS total FROM orders WHERE amount > 0 AND id > 0 GROUP BY region",
                "target_lag": timedelta(minutes=1),
                "data_timestamp": NOON,
                "key": ["region"],
                "current_lag_seconds": 95.0,
                "max_lag_ms": None,
                "frontier": {
                    "format": 1,
                    "sources": {"0aff": {"version": 3, "snapshot_ts": NOON.isoformat()}},
                    "data_timestamp": NOON.isoformat(),
                },
                "last_error": None,
                "sources": [
                    {"id": "0aff", "name": "default.orders", "type": "TABLE", "columns_used": ["amount", "region"]},
                    {"id": "view:v", "name": "default.v", "type": "VIEW", "columns_used": []},
                ],
                "settings": {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC"},
            }
        ]

    @recorded
    def explain(self, name_or_query: str) -> Explanation:
        return Explanation(
            name=f"default.{name_or_query}",
            mode="INCREMENTAL",
            effective="INCREMENTAL",
            reason_code=None,
            reason=None,
            strategy="groups",
            tree=("aggregate  ok", "scan orders  ok"),
            before=Frontier.of({"orders": 7}),
            after=Frontier.of({"orders": 8}),
            source_lines=("default.orders: version 7 → 8",),
            statements=(("changes", "SELECT 1"),),
            rows_changed=2,
            rows_at_rest=1000,
        )

    @recorded
    def audit(self, name: str) -> AuditReport:
        frontier = Frontier.of({"orders": 7})
        if name == "damaged":
            samples = (("missing", {"region": "north", "n": 3}), ("extra", {"region": "south", "n": 4}))
            return AuditReport("default.damaged", False, 1, 2, samples, frontier, 5, 1.25)
        return AuditReport(f"default.{name}", True, 0, 0, (), frontier, 5, 1.25)

    @recorded
    def diagnose(self, name: str) -> Diagnosis:
        meta = StreamTableMeta(
            name=TableName("default", name), table_id="t", path="/w/t", query="…", definition_hash="h",
            status=Status.ACTIVE, data_timestamp=NOON - timedelta(seconds=24), effective_mode=RefreshMode.INCREMENTAL,
        )  # fmt: skip
        minute = timedelta(minutes=1)
        if name == "revenue":
            scheduler = Lease(0, 1, "host:42", NOON + minute, NOON)
            return diagnose(Case(meta=meta, now=NOON, allowed=minute, scheduler=scheduler))
        error = (
            "[QUERY_FAILED] the query of default.revenue fails on the present data: [DIVIDE_BY_ZERO] Division by zero."
        )
        error += "\n  Mend the data or the query, then refresh again, or leave that to the scheduler."
        broken = replace(meta, name=TableName("default", "revenue"), status=Status.ERROR, last_error=error)
        late = replace(meta, data_timestamp=NOON - timedelta(hours=3, minutes=12))
        pending = PendingSource("default.orders", 7, 9, 1_234)
        upstream = Case(meta=broken, now=NOON, allowed=minute, sources=(pending,))
        return diagnose(Case(meta=late, now=NOON, allowed=minute, sources=(pending,), upstreams=(upstream,)))

    @recorded
    def tick(self, now: datetime | None = None) -> list[RefreshResult]:
        return [idle(), computed()] if now is None else []

    @recorded
    def optimize(
        self, name: str | None = None, dry_run: bool = False, *, progress: Report | None = None
    ) -> list[OptimizeResult]:
        poor = FileLayout(files=48, bytes=96 << 20, rows=900_000, touched=0.92, hidden_rows=0, deletion_vectors=False)
        good = FileLayout(files=16, bytes=90 << 20, rows=900_000, touched=0.0625, hidden_rows=0, deletion_vectors=False)
        needed = "a key touches 92% of 48 files, sorted it would touch 6%"

        def advice(table: str, held: FileLayout, why: str, command: str | None, stream: bool = True) -> LayoutAdvice:
            because = "its key" if stream else "read by revenue"
            return LayoutAdvice(f"default.{table}", stream, ("region",), because, why, held, 0.0625, command)

        tables = [
            advice("revenue", poor, needed, "penstock optimize default.revenue"),
            advice("top", good, "", None),
            advice("orders", poor, needed, "OPTIMIZE `default`.`orders` ZORDER BY (`region`)", stream=False),
        ]
        found = [each for each in tables if name is None or each.table == f"default.{name}"]
        return [
            OptimizeResult(each, ("sorted",), each.needed, good, 9, 2.5)
            if each.needed and not dry_run and (each.is_stream_table or name)
            else OptimizeResult(each, (), each.text(), each.layout, None, 0.01)
            for each in found
        ]

    @recorded
    def subscribe(
        self,
        name: str,
        *,
        start: str | None = None,
        version: int | None = None,
        timestamp: datetime | None = None,
        lsn: int | None = None,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        policy: str = "block",
        delivery: Delivery = "every",
        durable: str | None = None,
    ) -> FakeSubscription:
        commits, ending = revenue_commits(), None
        if name == "wide":
            schema = pa.schema([(f"a_rather_long_column_{n}", pa.int64()) for n in range(9)])
            old, new = tuple(range(9)), (0, *range(11, 19))
            commits = [commit(3, 3, schema, was=[old], now=[new], inserts=[tuple(range(20, 29))])]
        elif name == "gone":
            why = "stream table default.revenue was dropped"
            commits, ending = commits[1:2], SubscriptionEnded(name="default.revenue", why=why, position=6)
        subscription = FakeSubscription(commits, ending, durable or "sub-1")
        subscription.dropped = 12 if policy != "block" else 0
        return subscription

    @recorded
    def subscriptions(self) -> list[SubscriberRow]:
        later = NOON + timedelta(minutes=2)
        return [
            SubscriberRow("cache", "default.revenue", None, 36, NOON, None),
            SubscriberRow("mailer", "default.revenue", 30, 6, NOON, later),
            SubscriberRow("orphan", "default.gone", 7, None, NOON, later),
        ]

    @recorded
    def drop_subscription(self, name: str) -> None:
        if name == "nobody":
            raise SubscriptionNotFound(name=name)

    @recorded
    def repair(self) -> RepairReport:
        lines = ("default.revenue: catalog entry rebuilt from its table", "1 interrupted refresh closed")
        return RepairReport(lines, () if self.healthy else ("alerts",))


def fake_openers(tables: FakeTables, *, healthy: bool = True) -> Openers:
    def check_machine(warehouse: Path, deep: bool) -> list[Check]:
        jars = Check(
            "delta jars", healthy, "4.4.0" if healthy else "none", "Run penstock doctor --deep with a network."
        )
        return [Check("java", True, "17.0.15"), jars]

    return Openers(
        open=lambda path: tables,
        open_lazily=lambda path: tables,
        catalog_fault=lambda path: None if healthy else "it is empty",
        repair=lambda path: tables.repair(),
        check_machine=check_machine,
    )
