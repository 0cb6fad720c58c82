"""A `StreamTables` that remembers what it was asked and answers from memory: the API as the CLI sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.catalog.model import (
    Action,
    Alert,
    AlertEvent,
    Lease,
    RefreshMode,
    RefreshRecord,
    RefreshStatus,
    Status,
    StreamTableMeta,
)
from penstock.changes.wire.commit_changes import CommitChanges
from penstock.cli.desk import Openers
from penstock.compile.reasons import link
from penstock.engine.write.layout import FileLayout
from penstock.errors import (
    HasConsumers,
    PenstockError,
    QueryFailed,
    QueryInvalid,
    ReadersBreak,
    StreamTableNotFound,
    SubscriptionEnded,
    SubscriptionNotFound,
)
from penstock.monitor.diagnose.case import Case, PendingSource
from penstock.monitor.diagnose.diagnosis import Diagnosis, diagnose
from penstock.monitor.health import Health, SchedulerHealth
from penstock.monitor.stats import StatsRow
from penstock.names import TableName
from penstock.refresh.advise import LayoutAdvice
from penstock.refresh.optimize import OptimizeResult
from penstock.subscribe.subscribers import SubscriberRow

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@dataclass
class StatementResult:
    kind: str
    columns: list[str] = field(default_factory=list)
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    message: str | None = None


class Frame:
    """What the CLI uses of a DataFrame."""

    def __init__(self, columns: list[str], rows: list[tuple[Any, ...]]) -> None:
        self.columns = columns
        self._rows = rows

    def limit(self, count: int) -> Frame:
        return Frame(self.columns, self._rows[:count])

    def collect(self) -> list[tuple[Any, ...]]:
        return self._rows

    def count(self) -> int:
        return len(self._rows)


@dataclass
class RefreshResult:
    name: str
    action: str
    reason: str | None = None
    rows_inserted: int = 0
    rows_deleted: int = 0
    frontier: dict[str, int] = field(default_factory=dict)
    data_timestamp: datetime | None = NOON
    timings: dict[str, float] = field(default_factory=dict)
    version: int | None = None
    seconds: float = 0.0
    upstream: list[RefreshResult] = field(default_factory=list)
    error: PenstockError | None = None
    reason_code: str | None = None

    def to_json(self) -> dict[str, Any]:
        told = None if self.error is None else self.error.to_json()
        return {**asdict(replace(self, error=None)), "error": told}


@dataclass
class StatusRow:
    name: str
    status: str = "ACTIVE"
    refresh_mode: str = "AUTO"
    effective_mode: str | None = "INCREMENTAL"
    reason: str | None = None
    target_lag: timedelta | None = timedelta(minutes=1)
    effective_lag: timedelta | None = timedelta(minutes=1)
    current_lag: timedelta | None = timedelta(seconds=24)
    lag_exceeded: bool = False
    last_refresh: datetime | None = NOON
    data_timestamp: datetime | None = NOON
    errors: int = 0
    last_error: str | None = None
    blocked_by: tuple[str, ...] = ()


@dataclass
class AuditReport:
    name: str
    exact: bool
    missing_rows: int = 0
    extra_rows: int = 0
    samples: list[str] = field(default_factory=list)
    frontier: dict[str, int] = field(default_factory=lambda: {"orders": 7})
    seconds: float = 1.25

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class RepairReport:
    lines: list[str]
    gone: list[str]
    kept: str | None = None
    missing: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Check:
    name: str
    ok: bool
    found: str
    advice: str = ""


@dataclass
class Made:
    name: str
    effective_mode: str | None = "INCREMENTAL"
    reason: str | None = None
    created: bool = True
    message: str = "created"


class Explanation:
    def __init__(self, what: str) -> None:
        self.what = what

    def text(self, sql: bool = False) -> str:
        told = f"{self.what}\nINCREMENTAL: every operator has a local rule\n  aggregate  ok\n  scan orders  ok\n"
        return f"{told}\n-- delta, step 1 of 1: changes\nSELECT 1;\n" if sql else told

    def to_json(self) -> dict[str, Any]:
        return {"what": self.what, "mode": "INCREMENTAL"}


class Graph:
    def edges(self) -> list[tuple[str, str, str]]:
        return [("default.revenue", "default.orders", "TABLE"), ("default.top", "default.revenue", "STREAM_TABLE")]

    def text(self) -> str:
        return "default.orders\n└─ default.revenue\n   └─ default.top\n"

    def dot(self) -> str:
        return 'digraph {\n  "default.orders" -> "default.revenue"\n}\n'


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
        self.position, self.version, self.dropped = commits[0].first_lsn - 1, commits[0].version - 1, 0
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

    def acknowledge(self) -> None:
        self.acknowledged.append(self.position)

    def cancel(self) -> None: ...


class FakeTables:
    """Answers by what is asked; `calls` holds method, arguments and keywords (without `progress`)."""

    path = Path("nowhere")
    spark = None

    def __init__(self, healthy: bool = True) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.closed = False
        self.healthy = healthy

    def __enter__(self) -> FakeTables:
        return self

    def __exit__(self, *failure: object) -> None:
        self.closed = True

    def lost(self) -> list[str]:
        return []

    def __getattr__(self, method: str) -> Callable[..., Any]:
        answer = getattr(type(self), f"_{method}")

        def call(*arguments: Any, progress: Any = None, **keywords: Any) -> Any:
            self.calls.append((method, arguments, keywords))
            if progress is not None:
                progress("working")
            return answer(self, *arguments, **keywords)

        return call

    def _sql(self, text: str) -> StatementResult | Frame | FakeSubscription | None:
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
            rows = [(name, *table) for name in ("default.revenue", "sales.a_stream_table_with_a_rather_long_name")]
            return StatementResult("show", titles, rows)
        if text.startswith("SHOW CREATE"):
            text = "CREATE STREAM TABLE default.revenue\nAS SELECT " + ", ".join(f"column_{n}" for n in range(20))
            return StatementResult("show_create", ["statement"], [(text,)])
        if text.startswith("MERGE"):
            names = ["num_affected_rows", "num_updated_rows", "num_deleted_rows", "num_inserted_rows"]
            return Frame(names, [(3, 1, 0, 2)])
        if text.startswith("SUBSCRIBE"):
            return FakeSubscription(revenue_commits()[1:])
        if text.startswith("DROP STREAM TABLE"):
            return StatementResult("drop", message="dropped default.revenue")
        if "missing" in text:
            raise QueryInvalid(why="table or view `missing` cannot be found", fix="Check the name.")
        if "bug" in text:
            raise KeyError("lost")
        return Frame([], [])

    @staticmethod
    def _guard_readers(query: str, cascade: bool) -> None:
        if "narrow" in query and not cascade:
            raise ReadersBreak(name="default.revenue", readers="default.top (it uses region)")

    def _create_stream_table(self, name: str, query: str, **options: Any) -> Made:
        self._guard_readers(query, options["cascade"])
        if options["or_replace"] and name == "revenue":
            return Made(name, created=False, message="replaced, 5,001 rows rebuilt, column x added")
        return Made(name, "FULL", "NOT_DETERMINISTIC: rand()") if "rand" in query else Made(name)

    def _alter_stream_table(self, name: str, **changes: Any) -> Made:
        if "query" in changes:
            self._guard_readers(changes["query"], changes["cascade"])
            return Made(name, created=False, message="replaced, 5,001 rows rebuilt, column x added")
        return Made(name, created=False, message="altered, target lag DOWNSTREAM, refresh mode FULL, suspended")

    def _drop_stream_table(self, name: str, if_exists: bool = False, cascade: bool = False) -> list[str]:
        if name == "revenue" and not cascade:
            raise HasConsumers(name="default.revenue", consumers="default.top")
        if name == "nothing" and if_exists:
            return []
        return ["default.top", "default.revenue"] if cascade else [f"default.{name}"]

    def _refresh(self, name: str) -> RefreshResult:
        if name == "nothing":
            raise StreamTableNotFound(name="default.nothing", nearest="There are: default.revenue.")
        if name == "idle":
            return RefreshResult("default.idle", "NO_DATA", seconds=0.004)
        upstream = RefreshResult("default.revenue", "INCREMENTAL", None, 2, 1, version=8, seconds=0.18)
        timings = {"pin": 0.01, "delta": 0.14, "apply": 0.05}
        why = f"rand() at line 1, column 12 of the query, see {link('NON_DETERMINISTIC')}"
        return RefreshResult(
            f"default.{name}", "FULL", why, 10, 10, {"orders": 7},
            timings=timings, version=3, seconds=0.2134, upstream=[upstream] if name == "top" else [],
            reason_code="NON_DETERMINISTIC",
        )  # fmt: skip

    def _refresh_all(self) -> list[RefreshResult]:
        failed = QueryFailed(name="default.top", why="division by zero")
        return [self._refresh("idle"), replace(self._refresh("top"), error=failed)]

    def _status(self) -> list[StatusRow]:
        return [
            StatusRow("default.revenue"),
            StatusRow("default.top", target_lag=None, effective_lag=timedelta(minutes=5), effective_mode="FULL"),
            StatusRow(
                "sales.a_stream_table_with_a_rather_long_name", "SUSPENDED", "INCREMENTAL", errors=3,
                current_lag=timedelta(days=1, hours=2), lag_exceeded=True, last_error="[QUERY_FAILED] division by zero",
            ),
            StatusRow("default.broken", "ERROR", errors=1, last_error="[SOURCE_MISSING] it is gone\n  Bring it back."),
            StatusRow("default.waiting", blocked_by=("sales.a_stream_table_with_a_rather_long_name",)),
            StatusRow("default.unread", "INITIALIZING", "FULL", None, None, None, None, None, last_refresh=None),
        ]  # fmt: skip

    def _history(self, name: str | None = None, max_rows: int = 20) -> list[RefreshRecord]:
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

    def _stats(self) -> list[StatsRow]:
        return [
            StatsRow("default.revenue", "default", 1440, 288_000, 52_000, 48_123, 2, 1, 31_000, 95_500),
            StatsRow("default.unread", "default", 0, 0, 0, 0, 0, 0, 0, 0),
        ]

    def _alerts(self, name: str | None = None, max_rows: int = 100) -> list[Alert]:
        table = name or "default.revenue"
        late = {"lag_seconds": 131.5, "target_seconds": 60.0, "last_error": None}
        failed = {"condition": "QUERY_FAILED", "error": "division by zero in [red]row[/red] 7", "errors": 1}
        found = [
            Alert(AlertEvent.LAG_RECOVERED, table, NOON + timedelta(minutes=5), {"lag_seconds": 12.0}),
            Alert(AlertEvent.LAG_EXCEEDED, table, NOON + timedelta(minutes=2), late),
            Alert(AlertEvent.REFRESH_FAILED, table, NOON, failed),
        ]
        return [] if name == "unread" else found[:max_rows]

    def _is_paused(self) -> bool:
        return not self.healthy

    def _health(self) -> Health:
        beat = NOON - timedelta(seconds=5)
        alive = SchedulerHealth("host-1:4711", self.healthy, beat, beat + timedelta(minutes=1), paused=not self.healthy)
        if self.healthy:
            return Health(NOON, True, alive, 2, suspended=("default.unread",))
        problems = (
            "the scheduler host-1:4711 was last heard of at 2026-03-01T11:59:55+00:00",
            "default.revenue is older than twice its target lag",
        )
        return Health(NOON, True, alive, 2, lag_exceeded=("default.revenue",), problems=problems)

    def _graph(self) -> Graph:
        return Graph()

    def _info(self, name: str | None = None) -> list[dict[str, Any]]:
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

    def _explain(self, what: str) -> Explanation:
        return Explanation(what)

    def _audit(self, name: str) -> AuditReport:
        if name == "damaged":
            return AuditReport("default.damaged", False, 1, 2, ["missing (north, 3)", "extra (south, 4) × 2"])
        return AuditReport(f"default.{name}", True)

    def _diagnose(self, name: str) -> Diagnosis:
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

    def _tick(self, now: datetime | None = None) -> list[RefreshResult]:
        return [self._refresh("idle"), self._refresh("top")] if now is None else []

    def _optimize(self, name: str | None = None, dry_run: bool = False) -> list[OptimizeResult]:
        poor = FileLayout(files=48, bytes=96 << 20, rows=900_000, touched=0.92, hidden_rows=0, deletion_vectors=False)
        good = FileLayout(files=16, bytes=90 << 20, rows=900_000, touched=0.0625, hidden_rows=0, deletion_vectors=False)
        needed = "a key touches 92% of 48 files, sorted it would touch 6%"

        def advice(table: str, held: FileLayout, why: str, command: str | None, stream: bool = True) -> LayoutAdvice:
            because = "its key" if stream else "read by revenue"
            return LayoutAdvice(f"default.{table}", stream, ("region",), because, why, held, 0.0625, command)

        told = [
            advice("revenue", poor, needed, "penstock optimize default.revenue"),
            advice("top", good, "", None),
            advice("orders", poor, needed, "OPTIMIZE `default`.`orders` ZORDER BY (`region`)", stream=False),
        ]
        found = [each for each in told if name is None or each.table == f"default.{name}"]
        return [
            OptimizeResult(each, ("sorted",), each.needed, good, 9, 2.5)
            if each.needed and not dry_run and (each.is_stream_table or name)
            else OptimizeResult(each, (), each.text(), each.layout, None, 0.01)
            for each in found
        ]

    def _subscribe(self, name: str, **options: Any) -> FakeSubscription:
        commits, ending = revenue_commits(), None
        if name == "wide":
            schema = pa.schema([(f"a_rather_long_column_{n}", pa.int64()) for n in range(9)])
            old, new = tuple(range(9)), (0, *range(11, 19))
            commits = [commit(3, 3, schema, was=[old], now=[new], inserts=[tuple(range(20, 29))])]
        elif name == "gone":
            why = "stream table default.revenue was dropped"
            commits, ending = commits[1:2], SubscriptionEnded(name="default.revenue", why=why, position=6)
        subscription = FakeSubscription(commits, ending, options["durable"] or "sub-1")
        subscription.dropped = 12 if options["policy"] != "block" else 0
        return subscription

    def _subscriptions(self) -> list[SubscriberRow]:
        later = NOON + timedelta(minutes=2)
        return [
            SubscriberRow("cache", "default.revenue", None, 36, NOON, None),
            SubscriberRow("mailer", "default.revenue", 30, 6, NOON, later),
            SubscriberRow("orphan", "default.gone", 7, None, NOON, later),
        ]

    def _drop_subscription(self, name: str) -> None:
        if name == "nobody":
            raise SubscriptionNotFound(name=name)

    def _repair(self) -> RepairReport:
        lines = ["default.revenue: catalog entry rebuilt from its table", "1 interrupted refresh closed"]
        return RepairReport(lines, [] if self.healthy else ["alerts"])


def fake_openers(tables: FakeTables, *, healthy: bool = True) -> Openers:
    def diagnose(warehouse: Path, deep: bool) -> list[Check]:
        jars = Check(
            "delta jars", healthy, "4.4.0" if healthy else "none", "Run penstock doctor --deep with a network."
        )
        return [Check("java", True, "17.0.15"), jars]

    return Openers(
        open=lambda path: tables,
        look=lambda path: tables,
        fault=lambda path: None if healthy else "it is empty",
        repair=lambda path: tables.repair(),
        diagnose=diagnose,
    )
