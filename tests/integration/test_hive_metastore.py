"""Over a Hive metastore: the catalog outlives its process, and others move names in it behind Penstock's back.

Spark takes its kind of catalog at its start, so this runs in processes of its own.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.compile.reasons import with_link

pytestmark = [pytest.mark.jvm, pytest.mark.process]

SHOP = """
    CREATE SCHEMA shop; USE shop;
    CREATE TABLE src (id INT, v INT) USING delta LOCATION '{root}/a'; INSERT INTO src VALUES (1, 1), (2, 2);
    CREATE VIEW seen AS SELECT id, v FROM src WHERE v > 0;
    CREATE STREAM TABLE st REFRESH MODE INCREMENTAL AS SELECT v, count(*) AS n FROM seen GROUP BY v;
    CREATE STREAM TABLE all_of_it REFRESH MODE INCREMENTAL AS SELECT sum(n) AS n FROM st"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What two processes, one after the other, say of what they did."""
    root = tmp_path_factory.mktemp("hive")
    said = []
    for part in ("make", "move"):
        done = subprocess.run(
            [sys.executable, __file__, part, str(root)], capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, done.stderr
        said.append(json.loads(done.stdout.splitlines()[-1]))
    return said


def test_stream_tables_are_maintained(told: list[dict[str, Any]]) -> None:
    assert told[0] == {"refreshed": "INCREMENTAL", "rows": [[1, 1], [2, 2]]}


def test_another_process_finds_tables_views_and_stream_tables(told: list[dict[str, Any]]) -> None:
    assert told[1]["found again"] == "INCREMENTAL"


@pytest.mark.parametrize("how", ["dropped and made elsewhere", "swapped for another"])
def test_a_name_that_was_moved_elsewhere_is_followed(told: list[dict[str, Any]], how: str) -> None:
    moved = told[1][how]
    because = with_link("SOURCE_CHANGED", "shop.src is another table now")
    assert moved["actions"] == ["REINITIALIZE", f"SOURCE_CHANGED: {because}"]
    assert moved["rows"] == moved["query"] == moved["read afresh before"]
    assert moved["then"] == ["NO_DATA", "INCREMENTAL"]


def test_a_table_whose_folder_is_away_is_missing_and_goes_on_when_it_is_back(told: list[dict[str, Any]]) -> None:
    away = told[1]["away"]
    assert away["says"] == ["SOURCE_MISSING", "SOURCE_MISSING"]
    assert not away["written"]
    assert away["rows"] == away["query"]
    assert away["then"] == "NO_DATA"


def test_a_copy_is_refused_in_the_metastore_of_the_original(told: list[dict[str, Any]]) -> None:
    assert "another warehouse" in told[1].get("copied", "")


def _said(ps: Any, text: str) -> list[list[Any]]:
    return sorted(list(row) for row in ps.sql(text).collect())


def _make(ps: Any, root: Path) -> dict[str, Any]:
    from penstock.testing.oracle import assert_exact

    ps.sql(SHOP.format(root=root))
    ps.sql("INSERT INTO src VALUES (3, 2)")
    done = ps.refresh("all_of_it")
    for name in ("st", "all_of_it"):
        assert_exact(ps, name)
    return {"refreshed": done.action.value, "rows": _said(ps, "SELECT * FROM st")}


def _moved(ps: Any) -> dict[str, Any]:
    from penstock.testing.oracle import assert_exact

    afresh = sorted(list(row) for row in ps.table("st", fresh=True).collect())
    ps.refresh("all_of_it")
    rebuilt = ps.history("st", 1)[0]
    found = {
        "actions": [rebuilt.action.value, rebuilt.reason],
        "rows": _said(ps, "SELECT * FROM st"),
        "query": _said(ps, "SELECT v, count(*) FROM src GROUP BY v"),
        "read afresh before": afresh,
        "then": [ps.refresh("st").action.value],
    }
    ps.sql("INSERT INTO src VALUES (9, 9)")
    found["then"].append(ps.refresh("st").action.value)
    ps.refresh("all_of_it")
    for name in ("st", "all_of_it"):
        assert_exact(ps, name)
    return found


def _move(ps: Any, root: Path) -> dict[str, Any]:
    ps.sql("USE shop; INSERT INTO src VALUES (4, 2)")
    again = ps.refresh("all_of_it").action.value
    # The old folder stays where it is, and would go on to be read.
    ps.spark.sql(f"CREATE TABLE src_b (id INT, v INT) USING delta LOCATION '{root / 'b'}'")
    ps.spark.sql("INSERT INTO src_b VALUES (7, 7)")
    ps.spark.sql("DROP TABLE src")
    ps.spark.sql("ALTER TABLE src_b RENAME TO src")
    elsewhere = _moved(ps)
    # A table that Spark manages takes its folder along when it is renamed.
    ps.spark.sql("CREATE TABLE src_c USING delta AS SELECT 8 AS id, 3 AS v")
    ps.spark.sql("ALTER TABLE src RENAME TO src_b")
    ps.spark.sql("ALTER TABLE src_c RENAME TO src")
    swapped = _moved(ps)
    away = _away(ps, root)
    return {"found again": again, "away": away, "dropped and made elsewhere": elsewhere, "swapped for another": swapped}


def _away(ps: Any, root: Path) -> dict[str, Any]:
    """The folder of a table that the metastore knows is moved away, and back."""
    from penstock.errors import PenstockError

    place = root / "warehouse" / "tables" / "shop.db" / "src"
    place.rename(root / "away")
    told = []
    for _ in range(2):
        try:
            ps.refresh("st")
        except PenstockError as error:
            told.append(error.condition)
    found = {"says": told, "written": place.exists(), "rows": _said(ps, "SELECT * FROM st")}
    (root / "away").rename(place)
    found["then"] = ps.refresh("st").action.value
    found["query"] = _said(ps, "SELECT v, count(*) FROM src GROUP BY v")
    return found


def main(part: str, root: Path) -> None:
    import penstock
    from penstock.engine.spark.session import start_session
    from penstock.errors import SessionMisconfigured
    from penstock.settings import Settings

    metastore = f"jdbc:derby:;databaseName={root / 'metastore'};create=true"
    hive = {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": metastore,
        # It lives for half a minute: compiling anything well costs more than it brings.
        "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
        f"-Dderby.stream.error.file={root / 'derby.log'}",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
    }
    spark = start_session(root / "warehouse", Settings(driver_memory="2g", shuffle_partitions=1), extra=hive)
    with penstock.open(root / "warehouse", spark=spark) as ps:
        told = _make(ps, root) if part == "make" else _move(ps, root)
    if part == "move":
        shutil.copytree(root / "warehouse", root / "copy")
        try:
            penstock.open(root / "copy", spark=spark).close()
        except SessionMisconfigured as error:
            told["copied"] = str(error)
    spark.stop()
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
