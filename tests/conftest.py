"""One Spark and one PostgreSQL for the whole run, started for the first test that asks for it.

A test is marked by the fixtures that it asks for; `starts.py` says how.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from longest_first import longest_first
from starts import Guard

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from postgres import Postgres

# Seeded, and nothing is judged by how long it took: a busy machine must not make a test fail.
settings.load_profile("ci")


# What says how wide and how colourful the command line prints, and the variables of ours that tests are steered by.
LOOKS = {"COLUMNS", "LINES", "TERMINAL_WIDTH", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"}
STEERING = {"PENSTOCK_JARS", "PENSTOCK_GOLDEN", "PENSTOCK_SEEDS"}


def pytest_sessionstart() -> None:
    """Settings of the shell do not reach the tests, nor the processes that they start.

    Before anything is collected, because some are read when a module is imported.
    """
    for name in list(os.environ):
        if name in LOOKS or (name.startswith("PENSTOCK_") and name not in STEERING):
            del os.environ[name]
    # A shell that starts a run in the background has it ignore Ctrl-C, and with it all processes that it starts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Guard(), "starts")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        items[:] = longest_first(items)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    # Imported here, so that a run without Spark tests does not load it.
    from penstock.engine.spark.session import start_session
    from penstock.settings import Settings

    # Thousands of tiny queries: generated and well compiled code, parallel collection, and stages planned one by one
    # cost more than they bring. What the engine sets for its own queries, it sets here too.
    brisk = {
        "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    small = Settings(driver_memory="2g", shuffle_partitions=2)
    session = start_session(tmp_path_factory.mktemp("warehouse"), small, extra=brisk)
    # Else the default schema would lie where the first session with names of its own puts it.
    session._jsparkSession.sharedState().externalCatalog()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    from postgres import discard, start_postgres

    server = start_postgres()
    yield server
    discard(server)
