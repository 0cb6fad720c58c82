"""Every reason names what the user wrote, with its place and a link, and nothing of the planner's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from warehouses import answer

from penstock.compile.reasons import ADVICE, link
from penstock.errors import NotIncremental, QueryFailed, QueryInvalid
from penstock.refresh.stages import compute

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables
    from penstock.refresh.result import RefreshResult

_LONG = "concat(region, " + ", ".join(f"'{n}'" for n in range(30)) + ", uuid())"
_LCASE = " is of type STRING COLLATE UTF8_LCASE"

REFUSED = [
    # The code, the query with the words that are named in «», and what is said after their place.
    ("NON_DETERMINISTIC", "SELECT id,\n  «rand()» AS r FROM orders", ""),
    ("NON_DETERMINISTIC", "SELECT id FROM orders\nWHERE amount > 1 AND «randn(3)» < 0.5", ""),
    ("NON_DETERMINISTIC", "SELECT 'ü😀' AS u, «uuid()» AS v FROM orders", ""),
    ("NON_DETERMINISTIC", "/* a\nb */ SELECT id, upper(«uuid()») AS u FROM orders", ""),
    ("NON_DETERMINISTIC", "SELECT id FROM orders WHERE id IN (SELECT id FROM refunds WHERE «rand()» > 0.1)", ""),
    ("NON_DETERMINISTIC", "SELECT id, «chance(id)» AS c FROM orders", ""),
    (
        "NON_DETERMINISTIC",
        "WITH c AS (SELECT id, «monotonically_increasing_id()» AS m FROM orders) SELECT * FROM c",
        "",
    ),
    ("CLOCK", "SELECT id, «current_user()» AS u FROM orders", ""),
    ("CLOCK", "SELECT id FROM orders WHERE region = «current_timezone()»", ""),
    ("SAMPLE", "SELECT id FROM orders «TABLESAMPLE (10 PERCENT)»", ""),
    ("SOURCE_NOT_DELTA", "SELECT o.id FROM orders o JOIN «events» e ON o.id = e.id", ""),
    ("NOT_COMPARABLE", "SELECT id, «payload» FROM payloads", " is of type VARIANT"),
    ("NOT_COMPARABLE", "SELECT id, «payload AS p» FROM payloads", " is of type VARIANT"),
    ("NOT_COMPARABLE", "SELECT o.*, «p.payload» FROM orders o JOIN payloads p ON o.id = p.id", " is of type VARIANT"),
    ("COLLATION", "SELECT id, «CAST(region AS STRING COLLATE UTF8_LCASE) AS r» FROM orders", _LCASE),
    (
        "COLLATION",
        "SELECT count(*) AS n FROM orders GROUP BY id, «CAST(region AS STRING COLLATE UTF8_LCASE)»",
        _LCASE,
    ),
    (
        "COLLATION",
        "SELECT count(*) AS n\nFROM (SELECT DISTINCT «CAST(region AS STRING COLLATE UTF8_LCASE) r» FROM orders)",
        _LCASE,
    ),
    ("ROUND_TRIP", "SELECT count(*) AS n FROM orders «GROUP BY window(ts, '1 hour')»", ""),
    ("ROUND_TRIP", "SELECT «region COLLATE UTF8_LCASE AS r» FROM orders", ""),
    (
        "ORDER_DEPENDENT",
        "SELECT a.ids, r.id\nFROM (SELECT region, «collect_list(id)» AS ids FROM orders GROUP BY region) a\n"
        "JOIN refunds r ON a.region = r.region",
        "",
    ),
    ("ORDER_DEPENDENT", "SELECT id, «sum(weight) OVER (PARTITION BY region ORDER BY id)» AS s FROM orders", ""),
    ("RECURSION", "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL «SELECT n + 1 FROM t WHERE n < 5») SELECT n FROM t", ""),
    ("UDF", "SELECT id, «twice(id)» AS t FROM orders", ""),
    ("UDF", "«SELECT region, twice(max(id)) AS t FROM orders GROUP BY region»", ""),
    ("ORDER_BY", "SELECT id FROM (SELECT id FROM orders «ORDER BY id») WHERE id > 3", ""),
    ("LIMIT", "SELECT m FROM orders «LIMIT 3»", ""),
    ("LATERAL", "SELECT * FROM «variant_explode(parse_json('[1, 2]'))»", ""),
    (
        "NORMAL_FORM",
        "SELECT id, v.* «FROM payloads, LATERAL variant_explode(payload) v»",
        " [UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_CORRELATED_REFERENCE_DATA_TYPE]",
    ),
    ("SUBQUERY", "SELECT id, «(SELECT r.id FROM refunds r WHERE r.id > o.id)» AS m FROM orders o", ""),
    ("UNKNOWN_OPERATOR", "«SELECT TRANSFORM(id) USING 'cat' AS (x STRING) FROM orders»", ""),
]
UNREACHED = {"SET_OPERATION"}
"""Spark turns all set operations into joins today."""
LEAKED = re.compile(
    r"#\d|__ps|\$\$|org\.apache|io\.delta|py4j|\b(Project|Filter|Join|Aggregate|Window|Generate|Sort|GlobalLimit|Relation"
    r"|LogicalRelation|LogicalRDD|UnionLoop|Repartition\w*|ScriptTransformation|precisetimestampconversion)\b"
)
"""What plans are made of."""


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StreamTables]:
    from warehouses import warehouse

    root: Path = tmp_path_factory.mktemp("reasons")
    with warehouse(spark, root, "reasons") as ps:
        ps.sql("""
            CREATE TABLE orders (id BIGINT, region STRING, amount DECIMAL(12,2), weight DOUBLE, ts TIMESTAMP,
                                 m MAP<STRING, INT>);
            CREATE TABLE refunds (id BIGINT, region STRING);
            CREATE TABLE payloads (id BIGINT, payload VARIANT);
            CREATE TABLE events (id BIGINT) USING parquet;
            CREATE VIEW luck AS SELECT id, rand() AS r FROM orders;
            CREATE FUNCTION twice(x BIGINT) RETURNS BIGINT RETURN x * 2;
            CREATE FUNCTION chance(x BIGINT) RETURNS DOUBLE NOT DETERMINISTIC RETURN x * rand()""")
        yield ps


def marked(query: str) -> tuple[str, str, int, int]:
    """The query, the words between the marks, and their line and column."""
    before, words, after = re.split("[«»]", query)
    return before + words + after, words, before.count("\n") + 1, len(before) - before.rfind("\n")


@pytest.mark.parametrize(("code", "query", "said"), REFUSED, ids=[f"{code} {query[:60]}" for code, query, _ in REFUSED])
def test_a_reason_names_what_was_written_and_where(shop: StreamTables, code: str, query: str, said: str) -> None:
    text, words, line, column = marked(query)
    told = shop.explain(text)
    assert told.reason_code == code
    assert told.reason == (
        f"{words} at line {line}, column {column} of the query{said}. {advice_of(told.reason)} See {link(code)}."
    )
    assert len(told.reason) < 360
    assert not LEAKED.search(told.text())


def advice_of(reason: str | None) -> str:
    assert reason is not None
    return reason.split(" See docs/")[0].rpartition(". ")[2]


def test_every_reason_that_refuses_has_a_case_here() -> None:
    assert {code for code, _, _ in REFUSED} | UNREACHED == set(ADVICE)


def test_what_is_long_is_cut_at_its_end(shop: StreamTables) -> None:
    told = shop.explain("SELECT region,\n  twice(max(id)) AS t\nFROM orders GROUP BY region")
    assert (told.reason or "").startswith("SELECT region,… at line 1, column 1 of the query. ")
    told = shop.explain(
        f"SELECT id, sum(weight) OVER (PARTITION BY {_LONG.replace('uuid()', 'region')} ORDER BY id) AS s FROM orders"
    )
    assert (told.reason or "").startswith("sum(weight) OVER (PARTITION BY concat(region, '0', '1', ")
    assert "… at line 1, column 12 of the query." in (told.reason or "")


def test_what_stands_in_a_view_is_told_by_the_view(shop: StreamTables) -> None:
    reason = shop.explain("SELECT * FROM luck").reason or ""
    assert reason.startswith("rand() at line 1, column 12 of the view reasons.luck. ")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT count(DISTINCT uuid()) AS c FROM orders", '"count(DISTINCT uuid())" should not appear'),
        (
            "SELECT o.id FROM orders o JOIN refunds r ON o.id = r.id AND rand() > 0.5",
            'is "((id = id) AND (rand() > 0.5))"',
        ),
        ("SELECT DISTINCT m FROM orders", "the type of column `m` is"),
    ],
)
def test_a_query_that_spark_refuses_is_told_without_its_plan(shop: StreamTables, query: str, said: str) -> None:
    with pytest.raises(QueryInvalid) as refused:
        shop.explain(query)
    sentence, _, place = refused.value.text.partition("\n\n")
    assert said in sentence
    assert "\n" not in sentence
    assert [line.strip() for line in place.splitlines()] == [query, "^"]
    assert not LEAKED.search(str(refused.value))


def test_a_source_that_changed_is_told_by_its_name(shop: StreamTables) -> None:
    shop.sql("CREATE STREAM TABLE upper AS SELECT id, amount FROM orders")
    shop.sql("CREATE STREAM TABLE lower AS SELECT sum(amount) AS total FROM upper")
    shop.sql("CREATE OR REPLACE STREAM TABLE upper AS SELECT id, amount * 2 AS amount FROM orders")
    done = shop.refresh("lower")
    assert done.reason == (
        f"column amount was decimal(12,2) and is now decimal(14,2) in reasons.upper, see {link('SOURCE_CHANGED')}"
    )


def test_a_column_that_a_star_brought_is_named(shop: StreamTables) -> None:
    reason = shop.explain("SELECT * FROM payloads").reason or ""
    assert reason.startswith("payload in * at line 1, column 8 of the query is of type VARIANT. ")


def test_a_reason_is_the_same_wherever_it_is_told(shop: StreamTables) -> None:
    query = "SELECT id, rand() AS r\nFROM orders"
    said = f"rand() at line 1, column 12 of the query, see {link('NON_DETERMINISTIC')}"
    told = f"NON_DETERMINISTIC: {said}"
    with pytest.raises(NotIncremental) as refused:
        shop.create_stream_table("never", query, refresh_mode="INCREMENTAL")
    assert "NON_DETERMINISTIC: rand() at line 1, column 12 of the query" in refused.value.text
    assert link("NON_DETERMINISTIC") in refused.value.advice
    made = answer(shop, f"CREATE STREAM TABLE lots AS {query}").message or ""
    assert f"maintained FULL ({said})" in made
    assert {row.name: row.reason for row in shop.status()}["reasons.lots"] == told
    assert shop.info("lots")[0]["reason"] == told
    assert ["Reason", said] in [list(row[:2]) for row in shop.sql("DESCRIBE EXTENDED STREAM TABLE lots").rows]
    shop.sql("INSERT INTO orders (id) VALUES (1)")
    done = shop.refresh("lots")
    assert (done.to_json()["reason_code"], done.to_json()["reason"]) == ("NON_DETERMINISTIC", said)
    assert shop.history("lots")[0].reason == told
    [row] = shop.sql("SELECT reason FROM penstock_status WHERE name = 'reasons.lots'").collect()
    assert row.reason == told
    explained = shop.explain("lots").text()
    assert "rand() at line 1, column 12 of the query. " in explained
    assert link("NON_DETERMINISTIC") in explained
    [always] = [each for each in shop.diagnose("lots").findings if each.code == "ALWAYS_FULL"]
    assert "rand() at line 1, column 12 of the query" in always.text
    assert link("NON_DETERMINISTIC") in always.advice


def test_an_altered_query_is_told_as_a_new_one_is(shop: StreamTables) -> None:
    shop.sql("CREATE STREAM TABLE swift AS SELECT id FROM orders")
    shop.sql("ALTER STREAM TABLE swift SET REFRESH MODE INCREMENTAL")
    with pytest.raises(NotIncremental, match=r"uuid\(\) at line 2, column 3 of the query"):
        shop.sql("ALTER STREAM TABLE swift AS SELECT id,\n  uuid() AS u FROM orders")
    shop.sql("ALTER STREAM TABLE swift SET REFRESH MODE AUTO")
    shop.sql("ALTER STREAM TABLE swift AS SELECT id,\n  uuid() AS u FROM orders")
    said = f"uuid() at line 2, column 3 of the query, see {link('NON_DETERMINISTIC')}"
    row = next(row for row in shop.status() if row.name == "reasons.swift")
    assert (row.effective_mode, row.reason) == ("FULL", f"NON_DETERMINISTIC: {said}")
    alert = next(
        each for each in shop.alerts() if each.stream_table == "reasons.swift" and each.event.value == "mode_changed"
    )
    assert alert.facts["reason"] == f"NON_DETERMINISTIC: {said}"


def test_the_reason_of_every_kind_of_refresh_links_to_its_page(
    shop: StreamTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.sql("""
        CREATE TABLE goods (id BIGINT, price INT);
        INSERT INTO goods VALUES (1, 10);
        CREATE VIEW dear AS SELECT id, price FROM goods WHERE price > 5""")
    seen: dict[str, str] = {}

    def note(done: RefreshResult | None) -> None:
        assert done is not None
        assert done.reason_code is not None
        assert done.reason is not None
        seen[done.reason_code] = done.reason
        assert shop.history(done.name)[0].reason == f"{done.reason_code}: {done.reason}"

    note(shop.create_stream_table("shelf", "SELECT id, price FROM dear").refresh)
    shop.sql("CREATE OR REPLACE VIEW dear AS SELECT id, price FROM goods WHERE price > 7")
    note(shop.refresh("shelf"))
    shop.alter_stream_table("shelf", refresh_mode="FULL")
    shop.sql("INSERT INTO goods VALUES (2, 20)")
    note(shop.refresh("shelf"))
    shop.alter_stream_table("shelf", refresh_mode="INCREMENTAL")
    with monkeypatch.context() as patched:
        patched.setattr(compute, "_delta", _raising)
        shop.sql("INSERT INTO goods VALUES (3, 30)")
        note(shop.refresh("shelf"))
    shop.create_stream_table("over", "SELECT count(*) AS n FROM shelf")
    shop.sql("ALTER STREAM TABLE shelf SUSPEND")
    note(shop.refresh("over"))
    assert set(seen) == {"FIRST_FILL", "VIEW_CHANGED", "AS_ASKED", "DELTA_RAISED", "UPSTREAM_BLOCKED"}
    for code, reason in seen.items():
        assert reason.endswith(f", see {link(code)}")
        assert not LEAKED.search(reason)


def _raising(*_: object) -> Any:
    raise QueryFailed(name="shelf", why="division by zero")


def doubled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def test_a_dataframe_is_told_in_the_words_of_its_calls(shop: StreamTables) -> None:
    orders = shop.spark.table("orders")
    for frame, told in [
        (
            orders.select("id", (F.rand(7) + 1).alias("r")),
            r"NON_DETERMINISTIC, rand\(7\)\n",
        ),
        (orders.select("id").sample(0.5, 3), "SAMPLE, sample"),
        (orders.select("id").sort("id").where("id > 3"), "ORDER_BY, sort"),
        (orders.select("id").mapInArrow(doubled, "id BIGINT"), "UNKNOWN_OPERATOR, map in arrow"),
        (shop.spark.sql("SELECT id, rand() AS r FROM orders"), "NON_DETERMINISTIC, rand\\(\\) at line 1, column 12 of"),
        (shop.spark.table("events"), r"SOURCE_NOT_DELTA, reasons\.events\n"),
    ]:
        with pytest.raises(QueryInvalid, match=told) as refused:
            shop.create_stream_table("odd", frame)
        assert not LEAKED.search(str(refused.value))
