"""Silence over PySpark's errors leaves its logger as PySpark needs it."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import logging
from penstock.engine.catalyst import unlogged
with unlogged():
    assert logging.getLogger("SQLQueryContextLogger").disabled
logging.getLogger("SQLQueryContextLogger").error("a mistake", errorClass="NO_SUCH_COLUMN")
"""


def test_errors_of_a_users_own_query_are_logged_by_pyspark_as_before() -> None:
    # In a process of its own: the first to name a logger decides its class for good.
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "NO_SUCH_COLUMN" in done.stderr
