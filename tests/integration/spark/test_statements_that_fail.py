"""A statement that Spark refuses is one error of ours: what, where in the text, what to do; nothing else is printed."""

from __future__ import annotations

import logging
import subprocess
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException

from penstock.engine.failures import silence
from penstock.errors import QueryInvalid, StatementFailed

if TYPE_CHECKING:
    from penstock.api import StreamTables

REFUSED = [
    (
        "SELECT id,\n  idd FROM orders",
        "cannot be resolved [UNRESOLVED_COLUMN.WITH_SUGGESTION] (line 2, column 3)\n\n      idd FROM orders\n      ^",
        "Did you mean one of the following? [`id`, `qty`].",
    ),
    (
        "SELECT * FROM ordes",
        "The table or view `ordes` cannot be found [TABLE_OR_VIEW_NOT_FOUND] (line 1, column 15)\n\n"
        "    SELECT * FROM ordes\n                  ^",
        "Did you mean orders?",
    ),
    (
        "SELECT 1 +",
        "[PARSE_SYNTAX_ERROR] (line 1, column 11)\n\n    SELECT 1 +\n              ^",
        "",
    ),
    (
        "INSERT INTO orders SELECT id, raises(qty) FROM orders",
        "ZeroDivisionError: integer division or modulo by zero [PYTHON_EXCEPTION]",
        "",
    ),
    (
        "INSERT INTO orders SELECT id, CAST('x' AS INT) FROM orders",
        'The value \'x\' of the type "STRING" cannot be cast to "INT" because it is malformed [CAST_INVALID_INPUT] '
        "(line 1, column 31)",
        "Use `try_cast`",
    ),
    (
        "INSERT INTO orders SELECT id, CAST(10 DIV qty AS INT) FROM orders",
        "Division by zero [DIVIDE_BY_ZERO] (line 1, column 36)",
        "Use `try_divide`",
    ),
]


def test_what_spark_refuses_is_told_with_its_place_and_advice(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE orders (id BIGINT, qty INT); INSERT INTO orders VALUES (1, 0), (2, 3)")
    ps.spark.udf.register("raises", lambda quantity: quantity // 0, "int")
    for statement, told, advice in REFUSED:
        with pytest.raises(StatementFailed) as refused:
            ps.sql(statement)
        error = refused.value
        assert told in error.text
        assert advice in error.advice
        assert "SQLSTATE" not in str(error)
        assert len(str(error)) < 600
        # A traceback shows where it was raised, not what py4j did; who asks finds the cause.
        assert "py4j" not in "".join(traceback.format_exception(error))
        assert error.__context__ is not None
    assert ps.sql("SELECT count(*) AS n FROM orders").first().n == 2


def test_in_a_session_that_was_handed_in_only_the_users_own_mistakes_are_logged(
    ps: StreamTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(silence, "_ours", None)
    told: list[logging.LogRecord] = []
    listener = logging.Handler()
    monkeypatch.setattr(listener, "emit", told.append)
    logger = logging.getLogger("SQLQueryContextLogger")
    level = logger.level
    logger.addHandler(listener)
    try:
        with pytest.raises(StatementFailed):
            ps.sql("SELECT nope")
        with pytest.raises(QueryInvalid):
            ps.sql("CREATE STREAM TABLE x AS SELECT nope")
        assert not told
        with pytest.raises(AnalysisException):
            ps.spark.sql("SELECT nope")
        assert len(told) == 1
        assert logger.level == level
    finally:
        logger.removeHandler(listener)


SCRIPT = """
import sys, penstock
with penstock.open(sys.argv[1]) as ps:
    ps.sql("CREATE TABLE orders (id BIGINT, qty INT); INSERT INTO orders VALUES (1, 0), (2, 3)")
    for statement in sys.argv[2:]:
        try:
            ps.sql(statement).collect()
            print("no error:", statement)
        except Exception as error:
            print(type(error).__name__)
"""


@pytest.mark.jvm
@pytest.mark.process
@pytest.mark.slow
def test_nothing_but_the_error_reaches_the_terminal(tmp_path: Path) -> None:
    statements = [
        *(statement for statement, _, _ in REFUSED),
        "SELECT 10 DIV qty FROM orders",
        "SELECT CAST(concat('x', id) AS INT) FROM orders",
        "SELECT raise_error('no') FROM orders",
        "CREATE TABLE orders (id INT)",
        "CREATE STREAM TABLE x AS SELECT nope FROM orders",
        "CREATE STREAM TABLE x AS SELECT 10 DIV qty AS d FROM orders",
    ]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "warehouse"), *statements],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "no error" not in done.stdout
    assert len(done.stdout.splitlines()) == len(statements)
    assert "at org.apache" not in done.stderr
    assert "{" not in done.stderr
    # What our own log says of the stream table that could not be filled.
    assert all(line.startswith("default.x ") for line in done.stderr.splitlines()), done.stderr
