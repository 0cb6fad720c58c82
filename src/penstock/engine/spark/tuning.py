"""Session settings fit for the size of the work; each is sent to Spark only where it changes.

single task     all rows are on the driver: no exchange, no broadcast, no adaptive execution
interpreted     and they are so few that generating code for them takes longer than running without
small, large    some rows are in files: one shuffle partition, or as many as the settings say, and adaptive
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

INTERPRETED_ROWS = 2_000
"""Up to this many rows on the driver, Spark generates no code."""

SINGLE_TASK: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    # A broadcast is a job of its own; sorting a few rows on both sides of a join is not.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    # Arrow batches are then decoded in the task, and not row by row before it.
    "spark.sql.execution.arrow.localRelationThreshold": "0b",
}

INTERPRETED: Mapping[str, str] = {
    **SINGLE_TASK,
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def single_task(rows: int) -> Mapping[str, str]:
    """Settings for a statement over this many rows, all of them on the driver."""
    return INTERPRETED if rows <= INTERPRETED_ROWS else SINGLE_TASK


def over_files(small: bool, partitions: str) -> Mapping[str, str]:
    """Settings for a statement that reads files: a small delta is done before adaptive execution makes up its mind."""
    return {
        "spark.sql.adaptive.enabled": "false" if small else "true",
        "spark.sql.shuffle.partitions": "1" if small else partitions,
    }


class Tuning:
    """The settings of one session that depend on the work at hand."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._held: dict[str, str] = {}
        self._own: dict[str, str] = {}
        """The session's own values; to unset a setting would bring Spark's default back instead."""

    def apply(self, wanted: Mapping[str, str]) -> None:
        """Put these settings into force, and the session's own values of all others that were set here."""
        for name in self._held.keys() - wanted.keys():
            self._session.conf.set(name, self._own[name])
        for name, value in wanted.items():
            if name not in self._own:
                self._own[name] = str(self._session.conf.get(name))
            if self._held.get(name) != value:
                self._session.conf.set(name, value)
        self._held = dict(wanted)
