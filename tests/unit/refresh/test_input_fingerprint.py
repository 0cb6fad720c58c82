"""What a refresh stands on is another thing after every change that could mend it, and the same after none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from penstock.catalog import Dependency, SourceType, StreamTableMeta
from penstock.engine.delta.definition import Definition
from penstock.engine.write.table_properties import DEFINITION_KEY
from penstock.refresh.input_fingerprint import InputFingerprint, input_fingerprint
from penstock.settings import Settings
from penstock.testing.published import Published, PublishedTable


class Ground:
    """A stream table over a source, and what is known of it."""

    def __init__(self, world: Published, source: Path) -> None:
        self.warehouse = world.tables._warehouse
        self.table: PublishedTable = world.keyed("st", {"k": "long"}, key=("k",))
        self.table.commit(put=[{"k": 1}])
        self.source = source
        self.write()
        catalog = self.warehouse.catalog
        reads = Dependency(source_id="s", source_name="s", source_type=SourceType.TABLE, source_path=str(source))
        catalog.update_definition(self.meta.id, now=catalog.now(), dependencies=[reads])

    @property
    def meta(self) -> StreamTableMeta:
        (meta,) = self.warehouse.catalog.get_all()
        return meta

    def write(self) -> None:
        write_deltalake(str(self.source), pa.table({"id": [1]}), mode="append")

    def define(self, **changes: object) -> None:
        definition = Definition.from_json(self.table.storage.pin().definition)
        changed = replace(definition, **changes)  # type: ignore[arg-type]
        self.table.storage.set_configuration({DEFINITION_KEY: changed.to_json()})

    def now(self) -> InputFingerprint | None:
        return input_fingerprint(self.warehouse, self.meta)


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with Published.open(tmp_path / "warehouse") as world:
        yield Ground(world, tmp_path / "source")


def test_while_nothing_changes_they_are_the_same(ground: Ground) -> None:
    assert ground.now() is not None
    assert ground.now() == ground.now()


def test_rows_of_a_source_change_them(ground: Ground) -> None:
    before = ground.now()
    ground.write()
    assert ground.now() != before


def test_a_source_that_goes_and_one_that_is_back_change_them_and_it_is_what_it_was(
    ground: Ground, tmp_path: Path
) -> None:
    there = ground.now()
    ground.source.rename(tmp_path / "away")
    gone = ground.now()
    assert gone not in {None, there}
    assert ground.now() == gone
    (tmp_path / "away").rename(ground.source)
    assert ground.now() == there


def test_a_log_that_is_whole_again_changes_them(ground: Ground, tmp_path: Path) -> None:
    ground.write()
    first = ground.source / "_delta_log" / f"{0:020d}.json"
    first.rename(tmp_path / "first")
    torn = ground.now()
    (tmp_path / "first").rename(first)
    assert ground.now() != torn


def test_a_source_that_is_made_again_changes_them_though_it_counts_from_the_same(ground: Ground) -> None:
    before = ground.now()
    shutil.rmtree(ground.source)
    ground.write()
    assert ground.now() != before


def test_another_definition_and_other_settings_change_them(ground: Ground) -> None:
    seen = [ground.now()]
    ground.define(query="SELECT 2 AS k")
    seen.append(ground.now())
    ground.warehouse.set_settings(Settings(max_change_ratio=7))
    seen.append(ground.now())
    assert len(set(map(repr, seen))) == 3


def test_views_and_functions_change_them_when_they_mean_something_else(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground.define(views={"v": "old"}, functions={"f": "old"})
    meaning: dict[str, str | None] = {"v": "broken", "f": None}
    monkeypatch.setattr(ground.warehouse, "view_hash", lambda view: meaning[view])
    monkeypatch.setattr(ground.warehouse, "function_hash", lambda function: meaning[function])
    seen = [ground.now()]
    for name in ("v", "f"):
        meaning[name] = "mended"
        seen.append(ground.now())
    assert len(set(map(repr, seen))) == 3


def test_a_storage_that_is_away_and_back_changes_them(ground: Ground, tmp_path: Path) -> None:
    there, storage = ground.now(), Path(ground.meta.path)
    storage.rename(tmp_path / "away")
    gone = ground.now()
    assert gone not in {None, there}
    (tmp_path / "away").rename(storage)
    assert ground.now() == there


def test_what_cannot_be_seen_to_change_has_none(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    ground.define(volatile=True)
    assert ground.now() is None
    ground.define(volatile=False, functions={"f": ""})
    monkeypatch.setattr(ground.warehouse, "function_hash", lambda function: "")
    assert ground.now() is None

    def unanswered(function: str) -> str:
        raise ConnectionRefusedError

    monkeypatch.setattr(ground.warehouse, "function_hash", unanswered)
    assert ground.now() is None
