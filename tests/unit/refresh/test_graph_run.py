"""Graph runs: who may go where, and what is not claimed to be known."""

from __future__ import annotations

from datetime import UTC, datetime

from penstock.catalog.model import Dependency, SourceType, Status, StreamTableMeta
from penstock.graph.dag import StreamGraph
from penstock.graph.order import order_refreshes
from penstock.names import Frontier, SourceVersion, TableName
from penstock.refresh.graph_run import Arrival, GraphPart, GraphRun, RefreshTo, Skip, StayPut

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def graph_run(reads: dict[str, str], wanted: str, stopped: str = "") -> GraphRun:
    tables = {
        key: StreamTableMeta(
            id=number,
            name=TableName("default", key),
            table_id=key,
            path="",
            query="",
            definition_hash="",
            status=Status.SUSPENDED if key in stopped.split() else Status.ACTIVE,
        )
        for number, key in enumerate(reads, 1)
    }
    dependencies = [
        Dependency(
            source_id=source,
            source_name=source,
            source_type=SourceType.STREAM_TABLE if source in reads else SourceType.TABLE,
            stream_table_id=tables[key].id,
        )
        for key, sources in reads.items()
        for source in sources.split()
    ]
    graph = StreamGraph.build(tables.values(), dependencies)
    order = tuple(node.key for node in order_refreshes(graph, tables))
    return GraphRun(GraphPart(tables, graph, order, {"x": 10}), frozenset(wanted.split()), NOW)


def shows(version: int, **bases: int) -> Arrival:
    return Arrival(version=version, bases=bases)


def test_a_consumer_reads_its_upstream_at_the_version_that_arrived() -> None:
    one = graph_run({"a": "x", "d": "a x"}, "d")
    assert one.ready() == ["a"]
    one.arrived["a"] = shows(7, x=10)
    step = one.next_step("d")
    assert isinstance(step, RefreshTo)
    assert dict(step.pins.versions) == {"x": 10, "a": 7}


def test_a_base_table_is_read_at_the_version_that_the_upstream_shows_though_another_was_pinned() -> None:
    one = graph_run({"a": "x", "d": "a x"}, "d")
    # Somebody refreshed it by hand since the graph run began.
    one.arrived["a"] = shows(8, x=12)
    step = one.next_step("d")
    assert isinstance(step, RefreshTo)
    assert dict(step.pins.versions) == {"x": 12, "a": 8}


def test_arms_that_disagree_are_not_joined() -> None:
    one = graph_run({"a": "x", "b": "x", "d": "a b"}, "d")
    one.arrived |= {"a": shows(7, x=10), "b": shows(3, x=9)}
    assert one.next_step("d") == Skip(
        "INCONSISTENT_PINS",
        "its upstreams show different versions of one table; another worker is ahead of this refresh",
    )


def test_a_table_that_was_altered_on_the_way_says_nothing_of_what_it_shows() -> None:
    one = graph_run({"a": "x", "d": "a x"}, "d")
    # It reads another stream table by now, which this graph run knows nothing of.
    one.arrived["a"] = one.arrival(Frontier({"n": SourceVersion(5)}), 8, strangers=frozenset({"n"}))
    assert one.arrived["a"].bases is None
    assert isinstance(one.next_step("d"), Skip)


def test_a_suspended_upstream_rests_and_its_consumers_say_for_whom_they_wait() -> None:
    one = graph_run({"a": "x", "b": "a", "c": "b"}, "c", stopped="a")
    assert one.next_step("a") == StayPut()
    one.arrived |= {"a": Arrival(blocked=True), "b": Arrival(blocked=True)}
    assert one.next_step("c") == Skip("UPSTREAM_BLOCKED", "waiting for default.a, default.b")


def test_an_upstream_still_on_its_way_does_not_hold_up_those_behind_a_settled_one() -> None:
    one = graph_run({"a": "x", "c": "a", "d": "c"}, "d")
    # Somebody holds `a` right now; `c` was found quiet at the version that was looked at.
    one.arrived["c"] = shows(4, x=10)
    assert one.ready() == ["a", "d"]
    assert isinstance(one.next_step("d"), RefreshTo)
