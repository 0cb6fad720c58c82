"""`penstock subscribe` as a process, beside commits that another process makes; no Spark anywhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from penstock.testing.published import Published, PublishedTable

pytestmark = pytest.mark.process

WAIT = 60.0


@pytest.fixture
def sales(tmp_path: Path) -> Iterator[PublishedTable]:
    (tmp_path / "penstock.toml").touch()
    with Published.open(tmp_path) as world:
        made = world.keyed("sales", {"region": "string", "total": "long"}, key=("region",))
        made.commit(put=[{"region": "north", "total": 1}], anew=True)
        yield made


def subscribed(folder: Path, *options: str) -> AbstractContextManager[subprocess.Popen[str]]:
    return penstock("subscribe", "sales", "-w", str(folder), *options)


@contextmanager
def penstock(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command that could not start a JVM if it wanted to."""
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock.cli.main", *arguments],
        env={**os.environ, "NO_COLOR": "1", "JAVA_HOME": "/nowhere"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip()


def put(sales: PublishedTable, total: int) -> None:
    sales.commit(put=[{"region": "north", "total": total}])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_commits_of_another_process_are_shown_until_a_signal(
    sales: PublishedTable, tmp_path: Path, number: signal.Signals
) -> None:
    with subscribed(tmp_path) as process:
        assert line(process) == "following default.sales after LSN 1, version 1; stop with Ctrl-C"
        put(sales, 7)
        assert line(process) == ""
        assert line(process).endswith("version 2  LSN 2  +0 −0 ~1")
        put(sales, 9)
        shown = [line(process) for _ in range(5)]
        assert shown[2] == "~  north   1 → 7"
        assert shown[4].endswith("version 3  LSN 3  +0 −0 ~1")
        process.send_signal(number)
        said, wrong = process.communicate(timeout=WAIT)
        assert said.splitlines()[-1] == "stopped at LSN 3 after 2 commits, +0 −0 ~2"
        assert (process.returncode, wrong) == (0, "")


def test_a_durable_one_that_is_killed_loses_nothing(sales: PublishedTable, tmp_path: Path) -> None:
    for total in range(2, 12):
        put(sales, total)
    options = ("--lsn", "0", "--durable", "mailer", "--json")
    with subscribed(tmp_path, *options) as process:
        seen = [json.loads(line(process))["_lsn"] for _ in range(9)]
        process.kill()
        rest, _ = process.communicate()
        seen += [json.loads(each)["_lsn"] for each in rest.splitlines()]
    put(sales, 99)
    with subscribed(tmp_path, *options) as process:
        again: list[int] = []
        while not again or again[-1] < 12:
            again.append(json.loads(line(process))["_lsn"])
    # What was printed and not yet acknowledged comes again, whole commits at a time; nothing is passed over.
    assert sorted(set(seen)) == list(range(1, max(seen) + 1))
    assert again[0] <= max(seen) + 1
    assert sorted(set(again)) == list(range(again[0], 13))


def test_a_reader_that_goes_away_is_no_error(sales: PublishedTable, tmp_path: Path) -> None:
    with subscribed(tmp_path, "--lsn", "0", "--json") as process:
        assert json.loads(line(process))["_op"] == "+I"
        assert process.stdout is not None
        process.stdout.close()
        put(sales, 5)
        assert process.wait(timeout=WAIT) == 1
        assert process.stderr is not None
        assert process.stderr.read() == ""
        # `communicate` of the fixture must not read what is closed.
        process.stdout = None


def test_a_table_that_is_dropped_ends_it_with_the_reason(sales: PublishedTable, tmp_path: Path) -> None:
    with subscribed(tmp_path, "--lsn", "0", "--debezium") as process:
        assert json.loads(line(process))["op"] == "c"
        with Published.open(tmp_path) as world:
            meta = world.tables._find("sales")
            world.tables._warehouse.catalog.delete(meta.id)
            subprocess.run(["rm", "-r", sales.storage.path], check=True)
        said, wrong = process.communicate(timeout=WAIT)
        assert (process.returncode, said) == (1, "")
        assert wrong.startswith("error[SUBSCRIPTION_ENDED]: the subscription to default.sales has ended")


def test_the_statement_shows_the_same(sales: PublishedTable, tmp_path: Path) -> None:
    with penstock("sql", "-w", str(tmp_path), "-e", "SUBSCRIBE sales AFTER LSN 0 WHERE total < 5") as process:
        assert line(process) == "following default.sales after LSN 0, version 0; stop with Ctrl-C"
        assert [line(process) for _ in range(5)][4] == "+  north       1"
        put(sales, 9)
        assert [line(process) for _ in range(5)][4] == "−  north       1"
        process.send_signal(signal.SIGINT)
        said, wrong = process.communicate(timeout=WAIT)
        assert said.splitlines()[-1] == "stopped at LSN 2 after 2 commits, +1 −1 ~0"
        assert (process.returncode, wrong) == (0, "")


def test_no_spark_is_started(sales: PublishedTable, tmp_path: Path) -> None:
    code = "import sys; from penstock.cli.app import app\n"
    code += f"app(['subscribe', 'sales', '-w', {str(tmp_path)!r}, '--lsn', '0', '-n', '1'], standalone_mode=False)\n"
    code += "from pyspark.sql import SparkSession; sys.exit(SparkSession.getActiveSession() is not None)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=WAIT)
    assert (done.returncode, done.stderr) == (0, "")
