"""A log that is not there, or not whole, is not a table; and looking at it writes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.readable import require_readable
from penstock.errors import SourceMissing


@pytest.fixture
def source(tmp_path: Path) -> Path:
    place = tmp_path / "disk" / "source"
    for number in range(4):
        write_deltalake(str(place), pa.table({"id": [number]}), mode="append")
    return place


def moved(source: Path) -> None:
    source.rename(source.parent.parent / "away")


def an_empty_mount_point(source: Path) -> None:
    moved(source)
    source.mkdir()


def an_unmounted_parent(source: Path) -> None:
    source.parent.rename(source.parent.parent / "away")
    source.parent.mkdir()


def a_file_in_its_place(source: Path) -> None:
    moved(source)
    source.write_text("not a folder")


def an_empty_log(source: Path) -> None:
    for each in (source / "_delta_log").iterdir():
        each.unlink()


def its_first_commits_are_gone(source: Path) -> None:
    for version in (0, 1):
        (source / "_delta_log" / f"{version:020d}.json").unlink()


def its_checkpoint_is_gone(source: Path) -> None:
    DeltaTable(str(source)).create_checkpoint()
    for version in range(3):
        (source / "_delta_log" / f"{version:020d}.json").unlink()
    for each in (source / "_delta_log").glob("*.checkpoint*.parquet"):
        each.unlink()


def a_commit_in_between_is_gone(source: Path) -> None:
    (source / "_delta_log" / f"{2:020d}.json").unlink()


def an_empty_table_in_its_place(source: Path) -> None:
    moved(source)
    log = source / "_delta_log"
    log.mkdir(parents=True)
    schema = json.dumps({"type": "struct", "fields": []})
    actions = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": {"id": "another", "schemaString": schema, "format": {}, "configuration": {}}},
    ]
    (log / f"{0:020d}.json").write_text("\n".join(json.dumps(each) for each in actions))


@pytest.mark.parametrize(
    ("happens", "says"),
    [
        (moved, "there is no Delta log"),
        (an_empty_mount_point, "there is no Delta log"),
        (an_unmounted_parent, "there is no Delta log"),
        (a_file_in_its_place, "there is no Delta log"),
        (an_empty_log, "its Delta log is empty"),
        (its_first_commits_are_gone, "parts of its Delta log are away"),
        (its_checkpoint_is_gone, "parts of its Delta log are away"),
        (a_commit_in_between_is_gone, "parts of its Delta log are away"),
        (an_empty_table_in_its_place, "remove {source}/_delta_log"),
    ],
)
def test_what_is_not_there_whole_is_missing(source: Path, happens: Callable[[Path], None], says: str) -> None:
    log = DeltaLog(str(source))
    happens(source)
    found = sorted(source.parent.rglob("*"))
    with pytest.raises(SourceMissing) as missing:
        require_readable(log)
    assert says.format(source=source) in missing.value.text
    assert sorted(source.parent.rglob("*")) == found


def test_what_was_read_before_it_went_away_is_missing_until_it_is_back(source: Path) -> None:
    log = DeltaLog(str(source))
    require_readable(log)
    moved(source)
    with pytest.raises(SourceMissing):
        require_readable(log)
    (source.parent.parent / "away").rename(source)
    require_readable(log)


def test_a_source_that_is_whole_is_readable(source: Path) -> None:
    require_readable(DeltaLog(str(source)))


@pytest.mark.process
def test_a_source_that_may_not_be_read_is_out_of_reach_and_not_gone(source: Path) -> None:
    (source / "_delta_log").chmod(0)
    # Root ignores modes.
    told = subprocess.run(
        [sys.executable, __file__, str(source)], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    (source / "_delta_log").chmod(0o755)
    assert told.stdout.strip() == "STORAGE_UNREACHABLE backoff", told.stderr


def _look_as_nobody(source: str) -> None:
    from penstock.errors import PenstockError

    if os.getuid() == 0:
        for each in Path(source).parents:
            if each.stat().st_mode & 0o005 != 0o005 and str(each).startswith("/tmp"):
                each.chmod(0o755)
        os.setuid(65534)
    try:
        require_readable(DeltaLog(source))
    except PenstockError as error:
        print(error.condition, error.retry)


if __name__ == "__main__":
    _look_as_nobody(sys.argv[1])
