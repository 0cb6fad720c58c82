"""Definitions, frontiers and failures: what goes in comes out, and what must not happen is refused whole."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from places import Place

from penstock.catalog import (
    Action,
    Advance,
    Alert,
    AlertEvent,
    Dependency,
    KnownKind,
    KnownTable,
    RefreshMode,
    RefreshRecord,
    RefreshStatus,
    SourceType,
    Status,
    StreamTableMeta,
    open_catalog,
)
from penstock.catalog.rows import moment
from penstock.catalog.sql_catalog import SqlCatalog
from penstock.errors import (
    CatalogError,
    CommitConflict,
    InternalError,
    LeaseLost,
    StreamTableNotFound,
    TableExists,
)
from penstock.names import Frontier, SourceVersion, TableName

MINUTE = timedelta(minutes=1)


def everything_set(now: datetime) -> StreamTableMeta:
    """A stream table none of whose fields has its default, so that a forgotten column shows."""
    return StreamTableMeta(
        name=TableName("sales", "odd name", "other_catalog"),
        table_id="uuid-1",
        path="/warehouse/é/revenue",
        query="SELECT 'ü', count(*) FROM orders",
        definition_hash="hash",
        database="sales",
        settings={"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"},
        target_lag=timedelta(seconds=90, microseconds=1),
        refresh_mode=RefreshMode.INCREMENTAL,
        key=("b", "a"),
        status=Status.SUSPENDED,
        is_populated=True,
        data_timestamp=now - MINUTE,
        frontier=Frontier({"s": SourceVersion(7, now)}, now - MINUTE),
        frontier_version=12,
        last_lsn=34,
        effective_mode=RefreshMode.FULL,
        reason_code="COST",
        reason="recomputing is cheaper",
        reinit_requests=2,
        reinit_reason="source replaced",
        consecutive_errors=2,
        last_error="boom",
        last_refresh_at=now - MINUTE,
    )


def test_every_field_of_a_stream_table_survives(catalog: SqlCatalog, now: datetime, place: Place) -> None:
    meta = everything_set(now)
    stream_table_id = catalog.insert(meta, [], now=now)
    catalog.close()
    with open_catalog(place.address) as again:
        assert again.get_by_id(stream_table_id) == replace(meta, id=stream_table_id, created_at=now, updated_at=now)


def test_every_field_of_a_dependency_survives(catalog: SqlCatalog, now: datetime) -> None:
    dependency = Dependency(
        source_id="s",
        source_name="default.v",
        source_type=SourceType.VIEW,
        source_path="/p",
        source_kind="postgres",
        columns_used=("b", "a"),
    )
    stream_table_id = catalog.insert(everything_set(now), [dependency], now=now)
    assert catalog.dependencies_of(stream_table_id) == [replace(dependency, stream_table_id=stream_table_id)]


def test_moments_of_other_zones_are_kept_as_the_same_moment(catalog: SqlCatalog, now: datetime) -> None:
    elsewhere = now.astimezone(timezone(timedelta(hours=5, minutes=30)))
    stream_table_id = catalog.insert(replace(everything_set(now), data_timestamp=elsewhere), [], now=now)
    stored = catalog.get_by_id(stream_table_id).data_timestamp
    assert stored == now
    assert stored is not None
    assert stored.utcoffset() == timedelta(0)


def test_a_moment_without_zone_is_refused(catalog: SqlCatalog, now: datetime) -> None:
    with pytest.raises(InternalError):
        catalog.insert(replace(everything_set(now), data_timestamp=now.replace(tzinfo=None)), [], now=now)
    assert catalog.get_all() == []


def test_ids_are_never_reused(catalog: SqlCatalog, add: Callable[..., int]) -> None:
    first = add("a")
    catalog.delete(first)
    assert add("a") > first


def test_lookups_find_what_they_should(catalog: SqlCatalog, add: Callable[..., int]) -> None:
    b, a = add("b", "orders"), add("a", "orders", "items")
    assert catalog.get_by_name(TableName.parse("A")).id == a
    assert catalog.get_by_table_id("id-b").id == b
    assert [meta.id for meta in catalog.get_all()] == [a, b]
    assert [meta.id for meta in catalog.consumers_of("orders")] == [a, b]
    assert [meta.id for meta in catalog.consumers_of("items")] == [a]
    assert [d.source_id for d in catalog.dependencies_of(a)] == ["items", "orders"]
    assert len(catalog.all_dependencies()) == 3


def test_the_upstream_part_is_what_is_asked_for_and_everything_that_it_reads(
    catalog: SqlCatalog, add: Callable[..., int]
) -> None:
    top, left, right = add("top", "orders"), add("left", "id-top"), add("right", "id-top", "items")
    bottom, _ = add("bottom", "id-left", "id-right"), add("aside", "orders", "id-top")
    tables, dependencies = catalog.upstream_part(["id-bottom"])
    assert {meta.id for meta in tables} == {top, left, right, bottom}
    assert [str(meta.name.table) for meta in tables] == ["bottom", "left", "right", "top"]
    assert [(each.stream_table_id, each.source_id) for each in dependencies] == [
        (bottom, "id-left"),
        (bottom, "id-right"),
        (left, "id-top"),
        (right, "id-top"),
        (right, "items"),
        (top, "orders"),
    ]
    alone = catalog.upstream_part(["id-top", "id-unknown"])
    assert ([meta.id for meta in alone[0]], [each.source_id for each in alone[1]]) == ([top], ["orders"])


def test_a_missing_stream_table_is_named_with_its_nearest_neighbour(
    catalog: SqlCatalog, add: Callable[..., int]
) -> None:
    add("revenue")
    with pytest.raises(StreamTableNotFound, match=r"Did you mean default\.revenue\?"):
        catalog.get_by_name(TableName.parse("revenu"))
    assert catalog.find(TableName.parse("revenu")) is None
    with pytest.raises(StreamTableNotFound):
        catalog.get_by_id(99)
    with pytest.raises(StreamTableNotFound):
        catalog.get_by_table_id("nowhere")


@pytest.mark.parametrize("twin", [{"table_id": "another"}, {"name": TableName("default", "another")}])
def test_name_and_storage_are_unique(catalog: SqlCatalog, add: Callable[..., int], twin: dict[str, object]) -> None:
    add("a")
    before = catalog.dag_version()
    with pytest.raises(TableExists):
        add("a", **twin)
    assert len(catalog.get_all()) == 1
    assert catalog.dag_version() == before


def test_only_active_and_initializing_tables_are_scheduled(catalog: SqlCatalog, add: Callable[..., int]) -> None:
    for status in Status:
        add(status.value, status=status)
    assert {meta.status for meta in catalog.get_all_active()} == {Status.ACTIVE, Status.INITIALIZING}


def test_delete_takes_dependencies_history_counters_and_lease_along(
    catalog: SqlCatalog, add: Callable[..., int], record: Callable[..., RefreshRecord], now: datetime
) -> None:
    gone, stays = add("gone", "orders"), add("stays", "orders")
    for stream_table_id in (gone, stays):
        catalog.acquire_lease(stream_table_id, "worker", MINUTE, now=now)
        catalog.start_refresh(record(f"r{stream_table_id}", stream_table_id))
    catalog.delete(gone)
    assert [meta.id for meta in catalog.consumers_of("orders")] == [stays]
    assert [line.stream_table_id for line in catalog.recent_history()] == [stays]
    assert [line.stream_table_id for line in catalog.all_counters()] == [stays]
    assert catalog.get_lease(gone) is None
    assert catalog.get_lease(stays) is not None
    with pytest.raises(StreamTableNotFound):
        catalog.delete(gone)


def test_status_follows_the_allowed_transitions(catalog: SqlCatalog, add: Callable[..., int], now: datetime) -> None:
    a = add("a")
    catalog.update_status(a, Status.ACTIVE, now=now)
    with pytest.raises(InternalError, match="ACTIVE to INITIALIZING"):
        catalog.update_status(a, Status.INITIALIZING, now=now)
    assert catalog.get_by_id(a).status is Status.ACTIVE


def test_resuming_forgets_the_errors_but_suspending_does_not(
    catalog: SqlCatalog, add: Callable[..., int], now: datetime
) -> None:
    a = add("a", status=Status.ACTIVE)
    assert [catalog.record_failure(a, f"no {n}", now=now) for n in (1, 2)] == [1, 2]
    catalog.update_status(a, Status.SUSPENDED, now=now)
    assert (catalog.get_by_id(a).consecutive_errors, catalog.get_by_id(a).last_error) == (2, "no 2")
    catalog.update_status(a, Status.ACTIVE, now=now)
    assert (catalog.get_by_id(a).consecutive_errors, catalog.get_by_id(a).last_error) == (0, None)


def test_an_error_that_does_not_count_is_kept_but_not_counted(
    catalog: SqlCatalog, add: Callable[..., int], now: datetime
) -> None:
    a = add("a")
    catalog.record_failure(a, "first", now=now)
    assert catalog.record_failure(a, "conflict", now=now, countable=False) == 1
    assert catalog.get_by_id(a).last_error == "conflict"
    with pytest.raises(StreamTableNotFound):
        catalog.record_failure(99, "x", now=now)


def test_failures_of_many_threads_are_all_counted(catalog: SqlCatalog, add: Callable[..., int], now: datetime) -> None:
    a = add("a")
    counts: list[int] = []
    threads = [
        threading.Thread(target=lambda: counts.extend(catalog.record_failure(a, "x", now=now) for _ in range(25)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(counts) == list(range(1, 101))


def test_alter_changes_only_what_is_given(catalog: SqlCatalog, add: Callable[..., int], now: datetime) -> None:
    a = add("a", "orders", target_lag=MINUTE, key=("k",))
    before, later = catalog.get_by_id(a), now + MINUTE
    catalog.update_definition(a, now=later, target_lag=None)
    assert catalog.get_by_id(a) == replace(before, target_lag=None, updated_at=later)
    assert [d.source_id for d in catalog.dependencies_of(a)] == ["orders"]
    changes = {
        "query": "SELECT 2",
        "database": "d",
        "settings": {"a": "b"},
        "target_lag": 2 * MINUTE,
        "refresh_mode": RefreshMode.FULL,
        "key": ("x", "y"),
        "definition_hash": "h2",
        "path": "/p2",
    }
    catalog.update_definition(a, now=later, **changes)  # type: ignore[arg-type]
    assert catalog.get_by_id(a) == replace(before, **changes, updated_at=later)  # type: ignore[arg-type]


def test_alter_replaces_dependencies(catalog: SqlCatalog, add: Callable[..., int], now: datetime) -> None:
    a = add("a", "orders", "items")
    wanted = [Dependency(source_id="items", source_name="default.items", source_type=SourceType.TABLE)]
    catalog.update_definition(a, now=now, dependencies=wanted)
    assert [d.source_id for d in catalog.dependencies_of(a)] == ["items"]


def test_replaced_storage_is_passed_on_to_consumers(
    catalog: SqlCatalog, add: Callable[..., int], now: datetime
) -> None:
    upstream, consumer, bystander = add("up", "orders"), add("down", "id-up"), add("other", "orders")
    catalog.update_definition(upstream, now=now, table_id="fresh")
    assert [meta.id for meta in catalog.consumers_of("fresh")] == [consumer]
    assert catalog.get_by_id(consumer).needs_reinit
    assert catalog.get_by_id(consumer).reinit_reason == "the storage of default.up was replaced"
    assert not catalog.get_by_id(bystander).needs_reinit


def test_create_alter_and_drop_each_move_the_dag_version(
    catalog: SqlCatalog, add: Callable[..., int], now: datetime
) -> None:
    seen = [catalog.dag_version()]
    a = add("a")
    seen.append(catalog.dag_version())
    catalog.update_definition(a, now=now, target_lag=MINUTE)
    seen.append(catalog.dag_version())
    catalog.update_status(a, Status.SUSPENDED, now=now)
    seen.append(catalog.dag_version())
    catalog.delete(a)
    seen.append(catalog.dag_version())
    assert seen == sorted(set(seen))


def test_a_decision_on_an_old_graph_is_refused_whole(
    catalog: SqlCatalog, add: Callable[..., int], now: datetime
) -> None:
    a = add("a")
    stale = catalog.dag_version()
    add("b")
    with pytest.raises(CommitConflict):
        catalog.update_definition(a, now=now, query="SELECT 2", dag_version=stale)
    with pytest.raises(CommitConflict):
        catalog.delete(a, dag_version=stale)
    assert catalog.get_by_id(a).query == "SELECT 1"
    catalog.update_definition(a, now=now, query="SELECT 2", dag_version=catalog.dag_version())
    assert catalog.get_by_id(a).query == "SELECT 2"


def test_a_refresh_moves_the_frontier_and_settles_the_table(
    catalog: SqlCatalog, add: Callable[..., int], now: datetime
) -> None:
    a = add("a")
    catalog.record_failure(a, "x", now=now)
    catalog.mark_reinit(a, "columns changed", now=now)
    lease = catalog.acquire_lease(a, "worker", MINUTE, now=now)
    after = Frontier.of({"orders": 3}, now)
    catalog.update_after_refresh(
        lease,
        action=Action.FULL,
        before=None,
        after=after,
        table_version=5,
        now=now + MINUTE,
        last_lsn=40,
        effective_mode=RefreshMode.FULL,
        reason_code="FIRST_FILL",
        reason="never filled",
        reinit_requests=catalog.get_by_id(a).reinit_requests,
    )
    meta = catalog.get_by_id(a)
    assert (meta.frontier, meta.frontier_version, meta.last_lsn, meta.data_timestamp) == (after, 5, 40, now)
    assert (meta.status, meta.is_populated, meta.consecutive_errors) == (Status.ACTIVE, True, 0)
    assert (meta.last_error, meta.needs_reinit, meta.reinit_reason) == (None, False, None)
    assert (meta.effective_mode, meta.reason_code, meta.reason) == (RefreshMode.FULL, "FIRST_FILL", "never filled")
    assert meta.last_refresh_at == meta.updated_at == now + MINUTE
    catalog.update_after_refresh(lease, action=Action.NO_DATA, before=after, after=after, table_version=5, now=now)
    assert catalog.get_by_id(a).last_lsn == 40


def test_a_refresh_of_a_suspended_table_does_not_resume_it(
    catalog: SqlCatalog, add: Callable[..., int], now: datetime
) -> None:
    a = add("a", status=Status.SUSPENDED)
    lease = catalog.acquire_lease(a, "worker", MINUTE, now=now)
    after = Frontier.of({"orders": 3}, now)
    catalog.update_after_refresh(lease, action=Action.FULL, before=None, after=after, table_version=1, now=now)
    assert catalog.get_by_id(a).status is Status.SUSPENDED
    assert catalog.get_by_id(a).is_populated


def test_an_incremental_refresh_leaves_a_reinit_mark_standing(
    catalog: SqlCatalog, add: Callable[..., int], now: datetime
) -> None:
    start = Frontier.of({"orders": 3}, now)
    a = add("a", frontier=start, status=Status.ACTIVE)
    lease = catalog.acquire_lease(a, "worker", MINUTE, now=now)
    catalog.mark_reinit(a, "columns changed meanwhile", now=now)
    after = Frontier.of({"orders": 4}, now)
    catalog.update_after_refresh(lease, action=Action.INCREMENTAL, before=start, after=after, table_version=1, now=now)
    assert catalog.get_by_id(a).needs_reinit


def test_a_rebuild_leaves_a_request_standing_that_came_while_it_was_at_work(
    catalog: SqlCatalog, add: Callable[..., int], now: datetime
) -> None:
    a = add("a")
    catalog.mark_reinit(a, "orders is another table now", now=now)
    lease, seen = catalog.acquire_lease(a, "worker", MINUTE, now=now), catalog.get_by_id(a)
    catalog.mark_reinit(a, "orders is another table now", now=now)
    first, second = Frontier.of({"orders": 3}, now), Frontier.of({"orders": 4}, now)
    catalog.update_after_refresh(
        lease,
        action=Action.FULL,
        before=None,
        after=first,
        table_version=1,
        now=now,
        reinit_requests=seen.reinit_requests,
    )
    meta = catalog.get_by_id(a)
    assert (meta.needs_reinit, meta.reinit_reason) == (True, "orders is another table now")
    catalog.update_after_refresh(
        lease,
        action=Action.REINITIALIZE,
        before=first,
        after=second,
        table_version=2,
        now=now,
        reinit_requests=meta.reinit_requests,
    )
    assert not catalog.get_by_id(a).needs_reinit


def test_requests_for_a_rebuild_are_counted_around(catalog: SqlCatalog, add: Callable[..., int], now: datetime) -> None:
    a = add("a", reinit_requests=30_000)
    catalog.mark_reinit(a, "x", now=now)
    assert catalog.get_by_id(a).reinit_requests == 1


def test_a_refresh_that_started_elsewhere_is_refused(
    catalog: SqlCatalog, add: Callable[..., int], now: datetime
) -> None:
    stored = Frontier.of({"orders": 5}, now)
    a = add("a", frontier=stored, status=Status.ACTIVE)
    lease = catalog.acquire_lease(a, "worker", MINUTE, now=now)
    for before in (None, Frontier.of({"orders": 4}, now), Frontier.of({"orders": 5}, now - MINUTE)):
        with pytest.raises(CommitConflict):
            catalog.update_after_refresh(
                lease,
                action=Action.INCREMENTAL,
                before=before,
                after=Frontier.of({"orders": 6}, now),
                table_version=9,
                now=now,
            )
    assert catalog.get_by_id(a).frontier == stored
    assert catalog.get_by_id(a).frontier_version is None


def test_a_frontier_moves_back_only_in_a_rebuild(catalog: SqlCatalog, add: Callable[..., int], now: datetime) -> None:
    stored, back = Frontier.of({"orders": 5}, now), Frontier.of({"orders": 2}, now)
    a = add("a", frontier=stored, status=Status.ACTIVE)
    lease = catalog.acquire_lease(a, "worker", MINUTE, now=now)
    with pytest.raises(InternalError, match="move back"):
        catalog.update_after_refresh(
            lease, action=Action.INCREMENTAL, before=stored, after=back, table_version=1, now=now
        )
    catalog.update_after_refresh(lease, action=Action.REINITIALIZE, before=stored, after=back, table_version=1, now=now)
    assert catalog.get_by_id(a).frontier == back


def test_a_worker_that_was_overtaken_cannot_write(catalog: SqlCatalog, add: Callable[..., int], now: datetime) -> None:
    a = add("a")
    late = catalog.acquire_lease(a, "slow", MINUTE, now=now)
    catalog.acquire_lease(a, "quick", MINUTE, now=now + 2 * MINUTE)
    with pytest.raises(LeaseLost, match="quick"):
        catalog.update_after_refresh(
            late, action=Action.FULL, before=None, after=Frontier.of({"o": 1}, now), table_version=1, now=now
        )
    assert catalog.get_by_id(a).frontier is None


def test_one_tick_advances_all_idle_tables_and_leaves_the_others_alone(
    catalog: SqlCatalog, add: Callable[..., int], record: Callable[..., RefreshRecord], now: datetime
) -> None:
    start, after = Frontier.of({"o": 1}, now), Frontier.of({"o": 1}, now + MINUTE)
    elsewhere = Frontier.of({"o": 2}, now)
    idle = add("idle", frontier=start, frontier_version=4, status=Status.ACTIVE, consecutive_errors=1, last_error="x")
    busy = add("busy", frontier=start, status=Status.ACTIVE)
    moved = add("moved", frontier=elsewhere, status=Status.ACTIVE)
    catalog.acquire_lease(busy, "worker", timedelta(hours=1), now=now)
    lines = [
        record(f"r{i}", i, action=Action.NO_DATA, status=RefreshStatus.COMPLETED, ended_at=now)
        for i in (idle, busy, moved)
    ]
    later = now + 2 * MINUTE
    gone = 99
    advanced = catalog.advance_no_data(
        [Advance(i, start, after) for i in (idle, busy, moved, gone)], now=later, records=lines
    )
    assert advanced == {idle}
    meta = catalog.get_by_id(idle)
    assert (meta.frontier, meta.data_timestamp, meta.frontier_version) == (after, now + MINUTE, 4)
    assert (meta.consecutive_errors, meta.last_error, meta.last_refresh_at) == (0, None, later)
    assert catalog.get_by_id(busy).frontier == start
    assert catalog.get_by_id(moved).frontier == elsewhere
    assert [line.stream_table_id for line in catalog.recent_history()] == [idle]
    assert catalog.counters(idle).refresh_count == 1


def test_an_expired_lease_does_not_hold_a_tick_up(catalog: SqlCatalog, add: Callable[..., int], now: datetime) -> None:
    start, after = Frontier.of({"o": 1}, now), Frontier.of({"o": 1}, now + MINUTE)
    a = add("a", frontier=start, status=Status.ACTIVE)
    catalog.acquire_lease(a, "worker", MINUTE, now=now)
    assert catalog.advance_no_data([Advance(a, start, after)], now=now + timedelta(seconds=59)) == frozenset()
    assert catalog.advance_no_data([Advance(a, start, after)], now=now + MINUTE) == {a}


def test_a_tick_that_would_move_a_frontier_back_changes_nothing(
    catalog: SqlCatalog, add: Callable[..., int], now: datetime
) -> None:
    start = Frontier.of({"o": 5}, now)
    a, b = add("a", frontier=start), add("b", frontier=start)
    good = Advance(a, start, Frontier.of({"o": 5}, now + MINUTE))
    with pytest.raises(InternalError):
        catalog.advance_no_data([good, Advance(b, start, Frontier.of({"o": 4}, now))], now=now)
    assert catalog.get_by_id(a).frontier == start


def test_known_tables_come_back_in_an_order_that_can_be_registered(catalog: SqlCatalog) -> None:
    view = KnownTable(schema="sales", table="v", kind=KnownKind.VIEW, text="CREATE VIEW v AS SELECT 1")
    other = KnownTable(schema="sales", table="a", kind=KnownKind.VIEW, text="CREATE VIEW a AS SELECT * FROM v")
    table = KnownTable(schema="sales", table="t", kind=KnownKind.TABLE, path="/t", provider="delta")
    schema = KnownTable(schema="sales", kind=KnownKind.SCHEMA, path="/s")
    for known in (view, other, table, schema):
        catalog.remember_table(known)
    assert catalog.known_tables() == [schema, table, view, other]
    replaced = replace(view, text="CREATE VIEW v AS SELECT 2")
    catalog.remember_table(replaced)
    assert catalog.known_tables() == [schema, table, replaced, other]


def test_a_view_takes_the_place_of_a_table_of_its_name(catalog: SqlCatalog) -> None:
    catalog.remember_table(KnownTable(schema="s", table="t", kind=KnownKind.TABLE, path="/t"))
    view = KnownTable(schema="s", table="t", kind=KnownKind.VIEW, text="CREATE VIEW t AS SELECT 1")
    catalog.remember_table(view)
    assert catalog.known_tables() == [view]


def test_forgetting_a_table_or_a_whole_schema(catalog: SqlCatalog) -> None:
    for schema, table in (("s", "a"), ("s", "b"), ("s.x", "c")):
        catalog.remember_table(KnownTable(schema=schema, table=table, kind=KnownKind.TABLE, path="/p"))
    catalog.remember_table(KnownTable(schema="s", kind=KnownKind.SCHEMA))
    catalog.forget_table(TableName("s", "a"))
    catalog.forget_table(TableName("s", "never"))
    assert [known.name for known in catalog.known_tables()] == ["s", "s.b", "s.x.c"]
    catalog.forget_schema("s")
    assert [known.name for known in catalog.known_tables()] == ["s.x.c"]


def test_alerts_are_kept_with_their_facts_newest_first_until_they_are_pruned(
    catalog: SqlCatalog, now: datetime
) -> None:
    old = Alert(AlertEvent.REFRESH_FAILED, "default.a", now - timedelta(days=2), {"error": 'said "no"', "count": 1})
    new = Alert(AlertEvent.LAG_EXCEEDED, "default.b", now, {"lag_seconds": 12.5, "target": None})
    for alert in (old, new):
        catalog.record_alert(alert)
    assert catalog.recent_alerts() == [new, old]
    assert catalog.recent_alerts(max_rows=1) == [new]
    assert catalog.recent_alerts(TableName.parse("a")) == [old]
    assert catalog.prune_alerts(timedelta(days=1), now=now) == 1
    assert catalog.recent_alerts() == [new]


def test_every_process_sees_that_the_catalog_is_paused(catalog: SqlCatalog, place: Place) -> None:
    assert not catalog.paused()
    catalog.set_paused(True)
    with open_catalog(place.address) as other:
        assert other.paused()
        other.set_paused(False)
    assert not catalog.paused()


def test_a_table_without_name_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="table name"):
        KnownTable(schema="s", kind=KnownKind.TABLE)


def test_damage_that_shows_up_later_asks_for_repair(catalog: SqlCatalog, add: Callable[..., int], place: Place) -> None:
    a = add("a")
    place.sql("UPDATE stream_tables SET frontier = '{broken'")
    with pytest.raises(CatalogError, match="penstock repair"):
        catalog.get_by_id(a)


def test_a_failed_write_leaves_the_catalog_usable(catalog: SqlCatalog, now: datetime) -> None:
    twice = [Dependency(source_id="s", source_name="s", source_type=SourceType.TABLE)] * 2
    with pytest.raises(CatalogError, match="bug in Penstock"):
        catalog.insert(everything_set(now), twice, now=now)
    assert catalog.get_all() == []
    assert catalog.insert(everything_set(now), twice[:1], now=now) == 1


def test_updated_at_is_set_by_every_write(catalog: SqlCatalog, add: Callable[..., int], now: datetime) -> None:
    a = add("a")
    writes = [
        lambda at: catalog.update_status(a, Status.ACTIVE, now=at),
        lambda at: catalog.mark_reinit(a, "x", now=at),
        lambda at: catalog.record_failure(a, "x", now=at),
        lambda at: catalog.update_definition(a, now=at, query="SELECT 3"),
    ]
    for step, write in enumerate(writes, 1):
        at = now + step * MINUTE
        write(at)
        assert catalog.get_by_id(a).updated_at == at
    assert catalog.get_by_id(a).created_at == now


def test_text_order_of_moments_is_time_order() -> None:
    whole = datetime(2026, 1, 1, tzinfo=UTC)
    assert moment(whole) < moment(whole + timedelta(microseconds=1)) < moment(whole + timedelta(seconds=1))
