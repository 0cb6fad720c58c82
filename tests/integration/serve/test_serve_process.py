"""`penstock serve` as a process of its own: it follows what other processes commit, and ends cleanly."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from serving import Events, get, lsns, row, sales

from penstock.testing.published import Published

pytestmark = pytest.mark.process


@contextmanager
def serving(warehouse: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """The process, its port, and what it printed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock.cli.main", "serve", "--port", "0", "-w", os.fspath(warehouse), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    try:
        said = "".join(process.stdout.readline() for _ in range(3))
        found = re.search(r"http://[^:]+:(\d+)", said)
        assert found, said + (process.stderr.read() if process.stderr and process.poll() is not None else "")
        yield process, int(found[1]), said
    finally:
        process.kill()
        process.communicate()


def test_it_follows_the_commits_of_others_and_ends_on_sigterm(tmp_path: Path) -> None:
    with Published.open(tmp_path) as world:
        table = sales(world)
        with serving(tmp_path) as (process, port, said):
            assert f"curl http://127.0.0.1:{port}/tables" in said
            events = Events(port, "/tables/sales/stream", start="snapshot")
            assert events.take(1, "snapshot")[0].data["rows"] == [row("east", 6)]
            for number in range(5):
                table.commit(put=[row("east", number)])
            assert lsns(events.take(5)) == [5, 6, 7, 8, 9]
            process.send_signal(signal.SIGTERM)
            rest = [(each.kind, each.data["lsn"]) for each in events if each.kind != "watermark"]
            assert rest == [("close", 9)]
            events.close()
            out, err = process.communicate(timeout=60)
            assert process.returncode == 0
            assert "stopped; every stream was ended" in out
            assert err == ""


def test_who_comes_again_after_a_restart_goes_on_where_it_was(tmp_path: Path) -> None:
    with Published.open(tmp_path) as world:
        table = sales(world)
        seen: list[int] = []
        last = "0"
        for _ in range(2):
            with serving(tmp_path) as (process, port, _said):
                table.commit(put=[row("east", 100 + len(seen))])
                with Events(port, "/tables/sales/stream", {"Last-Event-ID": last}) as events:
                    seen += lsns(events.take(3))
                    last = events.last_id or last
                process.send_signal(signal.SIGKILL)
        assert seen == [1, 2, 3, 4, 5, 6]


def test_tokens_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "tokens.toml").write_text('[ann]\ntoken = "a very long token"\ntables = ["sales"]\n')
    with Published.open(tmp_path / "warehouse") as world:
        sales(world)
        with serving(tmp_path / "warehouse", "--tokens", os.fspath(tmp_path / "tokens.toml")) as (_, port, said):
            assert "Authorization: Bearer $TOKEN" in said
            assert get(port, "/tables").status == 401
            assert get(port, "/tables", {"Authorization": "Bearer a very long token"}).status == 200


@pytest.mark.parametrize(
    ("options", "condition"),
    [(["--host", "0.0.0.0"], "OPEN_TO_OTHERS"), (["--tokens", "none.toml"], "INVALID_TOKENS")],
)
def test_what_would_be_unsafe_is_refused(tmp_path: Path, options: list[str], condition: str) -> None:
    with Published.open(tmp_path):
        pass
    command = [sys.executable, "-m", "penstock.cli.main", "serve", "--port", "0", "-w", os.fspath(tmp_path), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert condition in done.stderr
    assert "Traceback" not in done.stderr
