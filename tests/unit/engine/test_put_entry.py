"""A log entry is there whole or not at all, and only one writer gets the place."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from penstock.engine.delta.put_entry import put_entry
from penstock.errors import CommitConflict


def test_of_many_writers_one_gets_the_place(tmp_path: Path) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()

    def write(number: int) -> bool:
        try:
            put_entry(str(tmp_path), 7, [{"commitInfo": {"writer": number}}, {"txn": {"appId": "a"}}])
        except CommitConflict:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = [number for number, done in enumerate(pool.map(write, range(40))) if done]
    assert len(won) == 1
    assert [file.name for file in log.iterdir()] == ["00000000000000000007.json"], "nothing else is left behind"
    lines = (log / "00000000000000000007.json").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"commitInfo": {"writer": won[0]}}, {"txn": {"appId": "a"}}]


def test_nothing_is_left_of_an_entry_that_failed(tmp_path: Path) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    with pytest.raises(TypeError):
        put_entry(str(tmp_path), 0, [{"add": {}}, {"add": object()}])
    assert list(log.iterdir()) == []


def test_a_link_whose_answer_got_lost_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "_delta_log").mkdir()
    link = os.link

    def twice(source: str, target: str) -> None:
        link(source, target)
        link(source, target)

    monkeypatch.setattr(os, "link", twice)
    put_entry(str(tmp_path), 3, [{"add": {}}])
    assert [path.name for path in (tmp_path / "_delta_log").iterdir()] == ["00000000000000000003.json"]
    with pytest.raises(CommitConflict):
        put_entry(str(tmp_path), 3, [{"add": {}}])


def test_an_entry_that_stands_is_not_called_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "_delta_log").mkdir()

    def refuse(path: str) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(os, "unlink", refuse)
    put_entry(str(tmp_path), 3, [{"add": {}}])
    assert (tmp_path / "_delta_log" / "00000000000000000003.json").exists()
