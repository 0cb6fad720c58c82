"""Statements are read as written, and refused with their place."""

from __future__ import annotations

import pytest

from penstock.errors import InvalidName, InvalidStatement, QueryInvalid
from penstock.lang import (
    AlterStreamTable,
    AuditStreamTable,
    CreateStreamTable,
    DescribeHistory,
    DescribeStreamTable,
    DropStreamTable,
    ExplainStreamTable,
    OptimizeStreamTable,
    PassThrough,
    RefreshStreamTable,
    RefreshStreamTables,
    ShowCreateStreamTable,
    ShowStreamTables,
    Statement,
    Subscribe,
    check_query,
    parse,
    parse_one,
    split_script,
)


def test_create_with_nothing_but_a_query() -> None:
    assert parse_one("CREATE STREAM TABLE r AS SELECT 1 AS a") == CreateStreamTable("r", "SELECT 1 AS a")


def test_create_takes_its_clauses_in_any_order() -> None:
    clauses = ["TARGET LAG '5 minutes'", "REFRESH MODE INCREMENTAL", "INITIALIZE ON SCHEDULE", "KEY (id, `odd name`)"]
    want = CreateStreamTable(
        "s.r", "SELECT 1", "5 minutes", False, "INCREMENTAL", False, ("id", "odd name"), or_replace=True
    )
    for turn in range(len(clauses)):
        turned = " ".join(clauses[turn:] + clauses[:turn])
        assert parse_one(f"create or replace stream table s.r {turned} as SELECT 1") == want


@pytest.mark.parametrize("clause", ["TARGET LAG DOWNSTREAM", "DOWNSTREAM", "target lag downstream"])
def test_downstream_is_a_target_lag(clause: str) -> None:
    statement = parse_one(f"CREATE STREAM TABLE IF NOT EXISTS r {clause} AS SELECT 1")
    assert statement == CreateStreamTable("r", "SELECT 1", downstream=True, if_not_exists=True)


def test_the_query_is_the_exact_source_text() -> None:
    query = "-- why\n  SELECT /*+ BROADCAST(b) */ percentile_cont(0.5)\tWITHIN GROUP (ORDER BY x), 'a;b', `c;d`\nFROM a"
    statement = parse_one(f"CREATE STREAM TABLE r AS {query} -- trailing\n;")
    assert isinstance(statement, CreateStreamTable)
    assert statement.query == query


def test_a_column_or_table_may_be_called_like_our_words() -> None:
    query = (
        "SELECT key, target, lag(x) OVER (ORDER BY refresh) AS mode, emit.initialize FROM a JOIN b emit ON emit.x = a.x"
    )
    assert parse_one(f"CREATE STREAM TABLE r AS {query}") == CreateStreamTable("r", query)


@pytest.mark.parametrize(
    ("tail", "want"),
    [
        ("SET TARGET LAG '1 hour'", AlterStreamTable("r", set_target_lag="1 hour")),
        ("SET TARGET LAG DOWNSTREAM", AlterStreamTable("r", set_downstream=True)),
        ("SET DOWNSTREAM", AlterStreamTable("r", set_downstream=True)),
        ("SET REFRESH MODE full", AlterStreamTable("r", set_refresh_mode="FULL")),
        ("SUSPEND", AlterStreamTable("r", suspend=True)),
        ("RESUME", AlterStreamTable("r", resume=True)),
        ("AS SELECT 2", AlterStreamTable("r", as_query="SELECT 2")),
        ("CASCADE AS SELECT 2", AlterStreamTable("r", as_query="SELECT 2", cascade=True)),
    ],
)
def test_alter(tail: str, want: AlterStreamTable) -> None:
    assert parse_one(f"ALTER STREAM TABLE r {tail}") == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("DROP STREAM TABLE r", DropStreamTable("r")),
        ("DROP STREAM TABLE IF EXISTS s.r CASCADE", DropStreamTable("s.r", True, True)),
        ("REFRESH STREAM TABLE `odd name`", RefreshStreamTable("`odd name`")),
        ("REFRESH STREAM TABLES", RefreshStreamTables()),
        ("SHOW STREAM TABLES", ShowStreamTables()),
        ("SHOW CREATE STREAM TABLE s.r", ShowCreateStreamTable("s.r")),
        ("DESCRIBE STREAM TABLE r", DescribeStreamTable("r")),
        ("DESC EXTENDED STREAM TABLE `odd name`", DescribeStreamTable("`odd name`", extended=True)),
        ("SHOW STREAM TABLES LIKE 'sales_*|x'", ShowStreamTables("sales_*|x")),
        ("DESCRIBE HISTORY STREAM TABLE r", DescribeHistory("r")),
        ("DESC HISTORY STREAM TABLE r LIMIT 5", DescribeHistory("r", 5)),
        ("EXPLAIN STREAM TABLE a . b", ExplainStreamTable(name="a.b")),
        ("EXPLAIN STREAM TABLE WITH a AS (SELECT 1) SELECT * FROM a",
         ExplainStreamTable(query="WITH a AS (SELECT 1) SELECT * FROM a")),
        ("EXPLAIN EXTENDED STREAM TABLE a", ExplainStreamTable(name="a", extended=True)),
        ("EXPLAIN EXTENDED STREAM TABLE (SELECT 1)", ExplainStreamTable(query="(SELECT 1)", extended=True)),
        ("EXPLAIN STREAM TABLE (SELECT 1)", ExplainStreamTable(query="(SELECT 1)")),
        ("AUDIT STREAM TABLE r", AuditStreamTable("r")),
        ("OPTIMIZE STREAM TABLE s.r", OptimizeStreamTable("s.r")),
        ("SUBSCRIBE r", Subscribe("r")),
        ("SUBSCRIBE s.r AS OF VERSION 0", Subscribe("s.r", as_of_version=0)),
        ("SUBSCRIBE r AS OF TIMESTAMP '2026-01-31 12:00:00Z'", Subscribe("r", as_of_timestamp="2026-01-31 12:00:00Z")),
        ("subscribe `odd name` after lsn 12", Subscribe("`odd name`", after_lsn=12)),
        ("SUBSCRIBE r WITH SNAPSHOT", Subscribe("r", with_snapshot=True)),
        ("SUBSCRIBE r WHERE a = 1 -- why", Subscribe("r", where="a = 1")),
        ("SUBSCRIBE r AFTER LSN 3 WHERE b = CAST('1' AS INT) /* of */ OR c LIKE ';%'",
         Subscribe("r", after_lsn=3, where="b = CAST('1' AS INT) /* of */ OR c LIKE ';%'")),
        ("SUBSCRIBE after AFTER LSN 3", Subscribe("after", after_lsn=3)),
        ("OPTIMIZE stream", PassThrough("OPTIMIZE stream", "other", "stream", verb="OPTIMIZE")),
    ],
)  # fmt: skip
def test_the_other_statements(text: str, want: Statement) -> None:
    assert parse_one(text) == want


def test_a_script_is_split_at_real_semicolons_only() -> None:
    script = """
        SELECT 'a;b', "c;d", `e;f`, r'\\', $$g;h$$; -- not ; here
        /* nor ; /* nested ; */ here */ SELECT 2;;
        CREATE STREAM TABLE r AS SELECT 'x''; y' AS z;
        SHOW TABLES; SET a = b
    """
    first, second, third, fourth, fifth = parse(script)
    assert first == PassThrough("SELECT 'a;b', \"c;d\", `e;f`, r'\\', $$g;h$$", "query", verb="SELECT")
    assert second == PassThrough("SELECT 2", "query", verb="SELECT")
    assert third == CreateStreamTable("r", "SELECT 'x''; y' AS z")
    assert fourth == PassThrough("SHOW TABLES", "other", verb="SHOW")
    assert fifth == PassThrough("SET a = b", "other", verb="SET")


@pytest.mark.parametrize(
    "script",
    [
        "BEGIN SELECT 1; SELECT 2; END",
        "lbl: BEGIN DECLARE x INT; SET x = 1; END",
        "BEGIN IF a THEN SELECT 1; END IF; WHILE a DO BEGIN SELECT 2; END; END WHILE; END",
        "BEGIN SELECT CASE WHEN a THEN 1 END, window.end FROM t; CASE x WHEN 1 THEN SELECT 2; END CASE; END",
    ],
)
def test_a_begin_end_script_is_one_statement(script: str) -> None:
    assert parse(f"{script}; SELECT 3") == [
        PassThrough(script, "other", verb="BEGIN"),
        PassThrough("SELECT 3", "query", verb="SELECT"),
    ]


@pytest.mark.parametrize(
    ("sql", "kind", "target", "defines"),
    [
        ("SELECT 1", "query", None, None),
        ("(SELECT 1) UNION ALL (SELECT 2)", "query", None, None),
        ("FROM t |> WHERE x > 1", "query", None, None),
        ("TABLE t", "query", None, None),
        ("WITH a(x) AS (SELECT 1) SELECT x AS insert FROM a", "query", None, None),
        ("WITH a AS (SELECT 1), b AS (SELECT 2) INSERT INTO s.t SELECT * FROM a", "dml", "s.t", None),
        ("FROM a INSERT INTO b SELECT * INSERT INTO c SELECT *", "dml", "b", None),
        ("INSERT OVERWRITE TABLE s.t VALUES (1)", "dml", "s.t", None),
        ("UPDATE t SET a = 1", "dml", "t", None),
        ("DELETE FROM delta.`/data/t` WHERE a", "dml", "delta.`/data/t`", None),
        ("MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE", "dml", "t", None),
        ("MERGE WITH SCHEMA EVOLUTION INTO s.t USING u ON t.a = u.a WHEN MATCHED THEN DELETE", "dml", "s.t", None),
        ("INSERT OVERWRITE DIRECTORY '/x' USING parquet SELECT 1", "dml", None, None),
        ("LOAD DATA INPATH '/x' OVERWRITE INTO TABLE t", "dml", "t", None),
        ("TRUNCATE TABLE t", "dml", "t", None),
        ("RESTORE TABLE t TO VERSION AS OF 3", "dml", "t", None),
        ("INSERT INTO IDENTIFIER('t') SELECT 1", "dml", None, None),
        ("CREATE TABLE t (a INT)", "ddl", "t", "table"),
        ("CREATE OR REPLACE TABLE s.t AS SELECT 1", "ddl", "s.t", "table"),
        ("CREATE EXTERNAL TABLE IF NOT EXISTS `a b`.t (a INT)", "ddl", "`a b`.t", "table"),
        ("CREATE OR REPLACE GLOBAL TEMPORARY VIEW v AS SELECT 1", "ddl", "v", "view"),
        ("CREATE VIEW temp AS SELECT 1", "ddl", "temp", "view"),
        ("CREATE DATABASE IF NOT EXISTS s", "ddl", "s", "schema"),
        ("CREATE FUNCTION f AS 'x'", "ddl", None, None),
        ("DROP VIEW IF EXISTS v", "ddl", "v", None),
        ("ALTER TABLE s.t ADD COLUMN b INT", "ddl", "s.t", None),
        ("COMMENT ON TABLE t IS 'x'", "ddl", "t", None),
        ("OPTIMIZE t", "other", "t", None),
        ("DESCRIBE HISTORY stream", "other", None, None),
        ("REFRESH TABLE t", "other", None, None),
        ("EXPLAIN SELECT 1", "other", None, None),
    ],
)
def test_what_passes_through(sql: str, kind: str, target: str | None, defines: str | None) -> None:
    statement = parse_one(sql)
    assert isinstance(statement, PassThrough)
    assert statement.sql == sql
    assert (statement.kind, statement.target, statement.defines) == (kind, target, defines)


def test_temporary_views_are_told_apart() -> None:
    for sql, temporary in [
        ("CREATE OR REPLACE TEMP VIEW v AS SELECT 1", True),
        ("CREATE GLOBAL TEMPORARY VIEW v AS SELECT 1", True),
        ("CREATE VIEW v AS SELECT temp FROM t", False),
        ("CREATE VIEW temp AS SELECT 1", False),
    ]:
        statement = parse_one(sql)
        assert isinstance(statement, PassThrough)
        assert (statement.defines, statement.temporary) == ("view", temporary)


def test_a_comment_that_spark_would_continue_is_not_run() -> None:
    with pytest.raises(InvalidStatement, match="backslash"):
        parse("-- nothing \\\n ; DROP TABLE t")
    assert parse("/* -- x \\\n */ SELECT 1")


def test_reserved_names_are_refused() -> None:
    with pytest.raises(InvalidName):
        parse("DROP STREAM TABLE __ps_x")


def test_an_empty_script_has_no_statements() -> None:
    assert parse(" ; -- nothing\n;") == []
    with pytest.raises(InvalidStatement, match="no statement"):
        parse_one("")


@pytest.mark.parametrize(
    "text", ["SELECT 1 AS a", "WITH a AS (SELECT 1) SELECT * FROM a", "VALUES (1)", "FROM t", "TABLE t"]
)
def test_check_query_returns_the_query(text: str) -> None:
    assert check_query(f"  {text} ; -- end") == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("INSERT INTO t VALUES (1)", "INSERT changes data"),
        ("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", "INSERT changes data"),
        ("DROP TABLE t", "DROP changes definitions"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("SHOW TABLES", "does not begin with SHOW"),
        ("SELECT 'a", "never closed"),
    ],
)
def test_check_query_refuses_anything_else(text: str, why: str) -> None:
    with pytest.raises(QueryInvalid, match=why):
        check_query(text)


def test_split_script_keeps_what_is_not_complete() -> None:
    assert split_script("SELECT 1; SELECT 2") == (["SELECT 1"], "SELECT 2")
    assert split_script("SELECT 1; -- done\n") == (["SELECT 1"], "")
    assert split_script("SELECT 'a;") == ([], "SELECT 'a;")
    assert split_script("BEGIN SELECT 1;") == ([], "BEGIN SELECT 1;")
    assert split_script("BEGIN SELECT 1; END;") == (["BEGIN SELECT 1; END"], "")
    assert split_script(" ;; ") == ([], "")
