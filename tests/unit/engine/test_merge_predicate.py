from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from penstock.engine.read.sql_literals import Dialect, literal, text_literal
from penstock.engine.write.merge_predicate import MergeRange, match, within


def test_keys_are_matched_null_safely_each_in_parentheses() -> None:
    fields = {"a": "long", 'b"`': "string"}
    assert match(("a", 'b"`'), fields, "datafusion") == (
        '(t."a" IS NOT DISTINCT FROM s."a") AND (t."b""`" IS NOT DISTINCT FROM s."b""`")'
    )
    assert match(("a", 'b"`'), fields, "spark") == '(t.`a` <=> s.`a`) AND (t.`b"```` <=> s.`b"````)'.replace(
        "````", "```"
    )


@pytest.mark.parametrize("dialect", ["datafusion", "spark"])
def test_the_empty_key_matches_the_single_row(dialect: Dialect) -> None:
    assert match((), {"n": "long"}, dialect) == "(1 = 1)"


def test_spark_compares_a_map_by_its_entries() -> None:
    fields = {"m": {"type": "map", "keyType": "string", "valueType": "long"}}
    assert match(("m",), fields, "spark") == "(map_entries(t.`m`) <=> map_entries(s.`m`))"


def test_a_range_lets_null_keys_through_only_if_there_are_any() -> None:
    fields = {"k": "long"}
    assert within({"k": MergeRange(-3, 9, False)}, fields, "datafusion") == '((t."k" >= (-3)) AND (t."k" <= 9))'
    assert within({"k": MergeRange(-3, 9, True)}, fields, "spark") == (
        "(((t.`k` >= (-3)) AND (t.`k` <= 9)) OR (t.`k` IS NULL))"
    )
    assert within({"k": MergeRange(None, None, True)}, fields, "spark") == "(t.`k` IS NULL)"


def test_a_timestamp_range_allows_for_bounds_cut_to_milliseconds() -> None:
    at = datetime(2024, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)
    text = within({"k": MergeRange(at, at, False)}, {"k": "timestamp"}, "spark")
    assert "'2024-01-01 00:00:00.122456+00:00'" in text
    assert "'2024-01-01 00:00:00.124456+00:00'" in text


def test_a_range_that_cannot_be_written_is_left_out() -> None:
    fields = {"s": "string", "t": "timestamp_ntz", "k": "long"}
    spans = {
        "s": MergeRange("a", "b" * 5000, False),
        "t": MergeRange(datetime(1, 1, 1), datetime(2024, 1, 1), False),
        "k": MergeRange(1, 2, False),
    }
    assert within(spans, fields, "datafusion") == '((t."k" >= 1) AND (t."k" <= 2))'


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (Decimal("-0.10"), "decimal(15,2)", "CAST('-0.10' AS DECIMAL(15,2))"),
        (Decimal("1E+3"), "decimal(15,0)", "CAST('1000' AS DECIMAL(15,0))"),
        (date(1, 2, 3), "date", "CAST('0001-02-03' AS DATE)"),
        (datetime(2024, 1, 1), "timestamp_ntz", "TIMESTAMP_NTZ '2024-01-01 00:00:00.000000'"),
        (True, "boolean", None),
        (1.5, "double", None),
    ],
)
def test_literals(value: Any, kind: str, text: str | None) -> None:
    assert literal(value, kind, "spark") == text


def test_spark_must_not_substitute_variables_inside_a_literal() -> None:
    assert text_literal("a'b\\${x}\n", "spark") == "'a\\u0027b\\u005c\\u0024{x}\\u000a'"
    assert text_literal("a'b\\${x}", "datafusion") == "'a''b\\${x}'"
