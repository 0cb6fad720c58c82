"""Folders with the id of one Delta table: who may read them side by side, and who sees two of them."""

from __future__ import annotations

from pathlib import Path

from penstock.catalog.model import Dependency, SourceType, StreamTableMeta
from penstock.graph.dag import StreamGraph
from penstock.names import TableName
from penstock.refresh.copied_sources import copied_ids, readers_of_two_copies


def seeing_two(reads: dict[str, str]) -> set[str]:
    """`reads`: stream table → what it reads; `x` and `x@other` are folders of one table id."""
    tables = {
        key: StreamTableMeta(
            id=number, name=TableName("default", key), table_id=key, path=f"/w/{key}", query="", definition_hash=""
        )
        for number, key in enumerate(reads, 1)
    }
    dependencies = [
        Dependency(
            source_id=source.partition("@")[0],
            source_name=source,
            source_type=SourceType.STREAM_TABLE if source in reads else SourceType.TABLE,
            source_path=f"/w/{source}",
            stream_table_id=tables[key].id,
        )
        for key, sources in reads.items()
        for source in sources.split()
    ]
    graph = StreamGraph.build(tables.values(), dependencies)
    return set(readers_of_two_copies(tables, graph, dependencies))


def test_two_that_have_no_common_reader_may_read_different_ones() -> None:
    assert seeing_two({"a": "x", "b": "x@other", "c": "a y", "d": "b y"}) == set()


def test_whoever_sees_both_through_its_upstreams_is_found_and_everything_above() -> None:
    reads = {"a": "x", "b": "x@other", "direct": "a x@other", "both": "a b", "above": "both"}
    assert seeing_two(reads) == {"direct", "both", "above"}


def test_a_copy_of_the_storage_of_a_stream_table_is_not_that_stream_table() -> None:
    assert seeing_two({"a": "x", "b": "a@other"}) == {"b"}


def test_two_ways_to_one_folder_are_one_folder(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "x")
    ways = [f"{tmp_path}/x", f"file:{tmp_path}/x/", f"file://{tmp_path}/x", f"{tmp_path}/link"]
    reads = [Dependency(source_id="x", source_name=way, source_type=SourceType.TABLE, source_path=way) for way in ways]
    assert copied_ids(reads, []) == {}
    other = Dependency(source_id="x", source_name="y", source_type=SourceType.TABLE, source_path=f"{tmp_path}/y")
    assert copied_ids([*reads, other], []) == {"x": (ways[0], other.source_path)}
