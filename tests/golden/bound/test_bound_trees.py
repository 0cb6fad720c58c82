"""What is recorded of Spark's bindings is what Spark binds now. Run `make golden` to rewrite the files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from penstock.operators.source import Source
from penstock.testing.bound_json import encode
from penstock.testing.recorded_bindings import RecordedBindings, recorded
from recorded_queries import FOLDER, SCHEMAS, queries_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.engine.bind.bind_query import SparkAnalyzer

REWRITE = os.environ.get("PENSTOCK_GOLDEN") == "rewrite"


@pytest.fixture(scope="module")
def analyzer(spark: SparkSession) -> Iterator[SparkAnalyzer]:
    from penstock.engine.bind.bind_query import SparkAnalyzer

    tables = [table for schema in SCHEMAS.values() for table in schema.tables]
    for table in tables:
        spark.sql(table.ddl)
    # The path of a table differs from run to run, so its name stands for it.
    yield SparkAnalyzer(spark, lambda path, name: Source(name, name, f"/{name}"), lambda name: None, {}, spark)
    for table in tables:
        spark.sql(f"DROP TABLE {table.name}")


@pytest.mark.parametrize("name", SCHEMAS)
def test_bound_trees(name: str, analyzer: SparkAnalyzer) -> None:
    path = FOLDER / f"{name}.json"
    if REWRITE:
        path.write_text(recorded(SCHEMAS[name], queries_of(name), analyzer), "utf-8")
    written = {each["text"]: each["bound"] for each in json.loads(path.read_text("utf-8"))["queries"]}
    for query in RecordedBindings.read(path).queries:
        assert encode(analyzer.bind(query.text)) == written[query.text], query.text
