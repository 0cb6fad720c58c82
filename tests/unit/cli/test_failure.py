"""Errors of Spark are told without its plan, errors of ours as they are, and the rest as bugs."""

from __future__ import annotations

from penstock.cli.context.failure import as_data
from penstock.errors import InvalidName


class AnalysisException(Exception):
    def getCondition(self) -> str:
        return "TABLE_OR_VIEW_NOT_FOUND"


AnalysisException.__module__ = "pyspark.errors.exceptions.captured"


def test_the_plan_of_spark_is_left_out() -> None:
    text = "[TABLE_OR_VIEW_NOT_FOUND] `x` cannot be found. SQLSTATE: 42P01; line 1 pos 14;\n'Project [*]\n+- 'R\n"
    facts = as_data(AnalysisException(text))
    assert facts["condition"] == "TABLE_OR_VIEW_NOT_FOUND"
    assert facts["message"].endswith("SQLSTATE: 42P01; line 1 pos 14")


def test_a_parse_error_of_spark_keeps_its_fragment() -> None:
    text = (
        "\n[PARSE_SYNTAX_ERROR] Syntax error at 'FORM'. (line 1, pos 9)\n\n== SQL ==\nselect * FORM x\n---------^^^\n"
    )
    assert as_data(AnalysisException(text))["message"].endswith("---------^^^")


def test_our_errors_are_told_as_they_are() -> None:
    error = InvalidName(name="a/b", why="slashes are not allowed", fix="Choose a name without them.")
    assert as_data(error) == error.to_json()


def test_anything_else_is_a_bug() -> None:
    assert as_data(ZeroDivisionError("division by zero"))["condition"] == "INTERNAL"
