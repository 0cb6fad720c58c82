"""Silence over PySpark's errors leaves its logger as PySpark needs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

SCRIPT = """
import logging
from penstock.engine.failures.silence import unlogged
with unlogged():
    logging.getLogger("SQLQueryContextLogger").error("ours", errorClass="TOLD_BY_US")
    logging.getLogger("DataFrameQueryContextLogger").error("ours", errorClass="TOLD_BY_US")
logging.getLogger("SQLQueryContextLogger").error("a mistake", errorClass="NO_SUCH_COLUMN")
"""


def test_errors_of_a_users_own_query_are_logged_by_pyspark_as_before() -> None:
    # In a process of its own: the first to name a logger decides its class for good.
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "NO_SUCH_COLUMN" in done.stderr
    assert "TOLD_BY_US" not in done.stderr
