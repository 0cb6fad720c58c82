"""What is nearly one of our statements is refused with what to write, and what is Spark's is left alone."""

from __future__ import annotations

import pytest

from penstock.errors import InvalidStatement
from penstock.lang import PassThrough, parse_one

QUERY = "SELECT region, sum(amount) AS total FROM orders GROUP BY region"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (f"CREATE STREAN TABLE sales AS {QUERY}", f"CREATE STREAM TABLE sales AS {QUERY}"),
        (f"CRATE STREAM TABLE sales AS {QUERY}", f"CREATE STREAM TABLE sales AS {QUERY}"),
        (f"CREATE STREAM_TABLE sales AS {QUERY}", f"CREATE STREAM TABLE sales AS {QUERY}"),
        (f"CREATE OR REPLACE STREM TABLE sales AS {QUERY}", f"CREATE OR REPLACE STREAM TABLE sales AS {QUERY}"),
        (f"CREATE DYNAMIC TABLE sales TARGET_LAG = '1 hour' AS {QUERY}", f"CREATE STREAM TABLE sales AS {QUERY}"),
        (f"CREATE MATERIALIZED VIEW shop.`x y` AS {QUERY}", f"CREATE STREAM TABLE shop.`x y` AS {QUERY}"),
        (
            f"CREATE OR REFRESH STREAMING TABLE IF NOT EXISTS s AS {QUERY}",
            f"CREATE OR REPLACE STREAM TABLE s AS {QUERY}",
        ),
        (f"CREATE INCREMENTAL VIEW IF NOT EXISTS s AS {QUERY}", f"CREATE STREAM TABLE IF NOT EXISTS s AS {QUERY}"),
        ("REFRESH STEAM TABLE sales", "REFRESH STREAM TABLE sales"),
        ("REFRESH STREAM sales", "REFRESH STREAM TABLE sales"),
        ("REFRESH MATERIALIZED VIEW sales", "REFRESH STREAM TABLE sales"),
        ("REFRESH STREAM TABELS", "REFRESH STREAM TABLES"),
        ("DROP DYNAMIC TABLE IF EXISTS sales", "DROP STREAM TABLE IF EXISTS sales"),
        ("ALTER DYNAMIC TABLE sales SUSPEND", "ALTER STREAM TABLE sales SUSPEND"),
        ("SHOW MATERIALIZED VIEWS", "SHOW STREAM TABLES"),
        ("SHOW STRAEM TABLES", "SHOW STREAM TABLES"),
        ("SHOW CREATE STEAM TABLE sales", "SHOW CREATE STREAM TABLE sales"),
        ("DESCRIBE EXTENDED STEAM TABLE sales", "DESCRIBE EXTENDED STREAM TABLE sales"),
        ("OPTIMISE STREAM TABLE sales", "OPTIMIZE STREAM TABLE sales"),
        ("ALTER DYNAMIC TABLE sales REFRESH", "REFRESH STREAM TABLE sales"),
        ("SUBSRIBE sales WHERE a = 1", "SUBSCRIBE sales WHERE a = 1"),
        ("ALTER STEAM TABLE sales SET TARGET LAG '5 minutes'", "ALTER STREAM TABLE sales SET TARGET LAG '5 minutes'"),
        (
            f"CREATE STEAM TABLE sales TARGET LAG '5 minutes'\n  KEY (region) AS {QUERY}",
            f"CREATE STREAM TABLE sales TARGET LAG '5 minutes' KEY (region) AS {QUERY}",
        ),
        ("CREATE STEAM TABLE sales AS SELECT 1 -- one\n AS a", "CREATE STREAM TABLE sales AS query"),
    ],
)
def test_what_is_meant_is_said_and_can_be_written(written: str, meant: str) -> None:
    with pytest.raises(InvalidStatement) as refused:
        parse_one(written)
    assert refused.value.advice == f"Expected: {meant}"
    assert meant.endswith(" AS query") or not isinstance(parse_one(meant), PassThrough)


def test_a_long_query_is_left_out_of_what_is_meant() -> None:
    with pytest.raises(InvalidStatement) as refused:
        parse_one("CREATE DYNAMIC TABLE sales AS SELECT " + ", ".join(f"column_{at}" for at in range(30)) + " FROM t")
    assert refused.value.advice == "Expected: CREATE STREAM TABLE sales AS query"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("CREATE STREAM TABLE s TARGET LAGG '1 hour' AS SELECT 1", "LAG"),
        ("CREATE STREAM TABLE s TARGETT LAG '1 hour' AS SELECT 1", "TARGET LAG"),
        ("CREATE STREAM TABLE s TARGET_LAG = '1 hour' AS SELECT 1", "TARGET LAG"),
        ("CREATE STREAM TABLE s REFRESH MODE INCREMENTEL AS SELECT 1", "INCREMENTAL"),
        ("CREATE STREAM TABEL s AS SELECT 1", "TABLE"),
        ("ALTER STREAM TABLE s SUSPENT", "SUSPEND"),
        ("SUBSCRIBE s WERE a = 1", "WHERE"),
    ],
)
def test_a_misspelt_keyword_is_told_apart(written: str, meant: str) -> None:
    with pytest.raises(InvalidStatement) as refused:
        parse_one(written)
    assert f"did you mean {meant}?" in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "REFRESH stream",
        "REFRESH stream_table",
        "REFRESH TABLE stream_table",
        "DESCRIBE stream",
        "DESCRIBE steam table",
        "DESCRIBE HISTORY stream_table LIMIT 5",
        "DESCRIBE stream_table amount",
        "OPTIMIZE stream_table WHERE day = 1",
        "DROP TABLE stream_table",
        "SHOW CREATE TABLE stream",
        "CREATE SCHEMA stream",
        "ALTER TABLE stream RENAME TO steam",
        "SHOW TABLES",
        "CREATE TEMPORARY VIEW live AS SELECT 1",
    ],
)
def test_what_spark_can_read_is_left_to_it(text: str) -> None:
    assert isinstance(parse_one(text), PassThrough)
