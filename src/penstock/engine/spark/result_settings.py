"""The Spark settings that a query's result can depend on.

A definition keeps them, and every refresh, audit and fresh read puts them into force, so that a session with another
time zone or without ANSI mode cannot change what a stream table means.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from penstock.engine.spark.carried_functions import carry_functions
from penstock.engine.spark.refresh_conf import REFRESH_CONF

LEGACY = "spark.sql.legacy."

RESULT_SETTINGS = (
    "spark.sql.session.timeZone",
    "spark.sql.ansi.enabled",
    "spark.sql.ansi.doubleQuotedIdentifiers",
    "spark.sql.caseSensitive",
    "spark.sql.decimalOperations.allowPrecisionLoss",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.parser.escapedStringLiterals",
    "spark.sql.parser.quotedRegexColumnNames",
    "spark.sql.groupByAliases",
    "spark.sql.groupByOrdinal",
    "spark.sql.timestampType",
    "spark.sql.storeAssignmentPolicy",
    "spark.sql.lateralColumnAlias.enableImplicitResolution",
)


def is_result_setting(name: str) -> bool:
    """True if a result can depend on the setting."""
    return name in RESULT_SETTINGS or name.startswith(LEGACY)


def result_settings(spark: SparkSession) -> dict[str, str]:
    """The session's values of them, and every legacy switch that is set."""
    held = {name: str(spark.conf.get(name)) for name in RESULT_SETTINGS}
    every: Mapping[str, str] = spark.conf.getAll
    held |= {name: value for name, value in every.items() if name.startswith(LEGACY)}
    return dict(sorted(held.items()))


def session_for(spark: SparkSession, settings: Mapping[str, str], database: str) -> SparkSession:
    """A session of its own under these settings: no temporary views, no leftovers; shared tables and functions."""
    session = spark.newSession()
    for name, value in (*REFRESH_CONF.items(), *settings.items()):
        session.conf.set(name, value)
    session.catalog.setCurrentDatabase(database)
    carry_functions(spark, session)
    return session
