"""The graph: built from catalog rows, walked in both directions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from penstock.catalog import Dependency, SourceType, Status, StreamTableMeta
from penstock.graph import Edge, Node, NodeKind, StreamGraph
from penstock.names import TableName

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def table(number: int, name: str) -> StreamTableMeta:
    return StreamTableMeta(
        id=number,
        name=TableName("default", name),
        table_id=f"uuid-{name}",
        path="/p",
        query="q",
        definition_hash="h",
        target_lag=timedelta(minutes=1),
        status=Status.ACTIVE,
        data_timestamp=NOW,
    )


def reads(number: int, source: str, kind: SourceType = SourceType.TABLE) -> Dependency:
    return Dependency(
        stream_table_id=number, source_id=f"uuid-{source}", source_name=f"default.{source}", source_type=kind
    )


def test_built_from_catalog_rows() -> None:
    graph = StreamGraph.build(
        [table(1, "daily"), table(2, "weekly")],
        [
            reads(1, "orders"),
            reads(1, "v", SourceType.VIEW),
            reads(2, "daily", SourceType.STREAM_TABLE),
            reads(2, "orders"),
        ],
    )
    assert graph.nodes["uuid-daily"] == Node(
        "uuid-daily", "default.daily", NodeKind.STREAM_TABLE, 1, timedelta(minutes=1), "ACTIVE", NOW
    )
    assert graph.nodes["uuid-orders"] == Node("uuid-orders", "default.orders", NodeKind.TABLE)
    assert graph.edges() == [
        Edge("default.daily", "default.orders", NodeKind.TABLE),
        Edge("default.daily", "default.v", NodeKind.VIEW),
        Edge("default.weekly", "default.daily", NodeKind.STREAM_TABLE),
        Edge("default.weekly", "default.orders", NodeKind.TABLE),
    ]
    assert graph.by_stream_table_id(2).name == "default.weekly"


def test_rows_of_a_table_that_was_just_dropped_are_ignored() -> None:
    graph = StreamGraph.build([table(1, "a")], [reads(1, "orders"), reads(2, "orders")])
    assert [edge.consumer for edge in graph.edges()] == ["default.a"]


def test_a_source_that_was_dropped_under_its_consumer_is_no_stream_table() -> None:
    graph = StreamGraph.build([table(1, "a")], [reads(1, "gone", SourceType.STREAM_TABLE)])
    assert [node.name for node in graph.stream_tables()] == ["default.a"]


def test_walking_is_transitive_and_leaves_out_the_start(draw: Callable[..., StreamGraph]) -> None:
    graph = draw("A -> x -> y -> z; B -> y; A -> z; C -> w")
    assert graph.upstream("z") == {"A", "B", "x", "y"}
    assert graph.downstream("A") == {"x", "y", "z"}
    assert graph.upstream("A") == frozenset()
    assert graph.component("B") == {"A", "B", "x", "y", "z"}
    assert [node.name for node in graph.sorted_consumers("A")] == ["x", "z"]


def test_replacing_a_stream_table_replaces_what_it_reads(draw: Callable[..., StreamGraph]) -> None:
    graph = draw("A -> x -> y; B -> z")
    changed = graph.with_stream_table(graph.nodes["y"], [graph.nodes["z"], Node("N", "N", NodeKind.TABLE)])
    assert changed.sources["y"] == {"z", "N"}
    assert changed.consumers["x"] == frozenset()
    assert graph.sources["y"] == {"x"}, "the old picture stays"
