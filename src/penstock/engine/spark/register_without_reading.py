"""Schemas and tables in Spark's catalog by name and place alone: registered and taken out, the place is not looked at.

`CREATE TABLE … USING delta LOCATION` begins a Delta log where it finds none, and `CREATE SCHEMA` makes a folder. Where
a disk is only away for a moment that would put an empty table in the place of the real one. What is registered here is
what those statements would have registered; the first read finds out whether there is a table. `DROP TABLE` and
`DROP SCHEMA` remove files; what is taken out here keeps them.
"""

from __future__ import annotations

import tempfile
import uuid
from typing import Any

from pyspark.sql import SparkSession

from penstock.catalog.model import KnownTable
from penstock.engine.spark.jvm import java
from penstock.engine.spark.threads import active


def register_schema(spark: SparkSession, schema: str) -> None:
    """A schema at its usual place, which need not exist."""
    catalog = spark._jsparkSession.sessionState().catalog()
    external = catalog.externalCatalog()
    if external.databaseExists(schema):
        return
    # The usual place is a setting, and the JVM asks the session that is active in its thread for it.
    with active(spark):
        place = catalog.makeQualifiedDBPath(catalog.getDefaultDBPath(schema))
    model = external.getDatabase("default")
    # Spark makes the folder of a schema that it creates, and none for one that is moved.
    somewhere = java(spark).java.io.File(tempfile.gettempdir()).toURI()
    external.createDatabase(model.copy(schema, "", somewhere, model.properties()), True)
    external.alterDatabase(model.copy(schema, "", place, model.properties()))


def register_delta_table(spark: SparkSession, schema: str, table: str, path: str, managed: bool) -> None:
    """A Delta table at a folder, which need not exist. `managed`: its files go with it when it is dropped."""
    jvm = java(spark)
    some, catalyst = jvm.scala.Some, jvm.org.apache.spark.sql.catalyst
    kinds = catalyst.catalog.CatalogTableType
    storage = changed(
        catalyst.catalog.CatalogStorageFormat.empty(), locationUri=some(catalyst.catalog.CatalogUtils.stringToURI(path))
    )
    described = _described(
        spark,
        catalyst.TableIdentifier(table, some(schema), some("spark_catalog")),
        kinds.MANAGED() if managed else kinds.EXTERNAL(),
        storage,
        jvm.org.apache.spark.sql.types.StructType(),
        some("delta"),
    )
    whole = changed(described, tracksPartitionsInCatalog=True)
    spark._jsparkSession.sessionState().catalog().createTable(whole, True, False)


def unregister(spark: SparkSession, known: KnownTable) -> None:
    """Take a name out of Spark's catalog and leave every file where it is; a schema that holds something stays."""
    catalog = spark._jsparkSession.sessionState().catalog()
    external = catalog.externalCatalog()
    jvm = java(spark)
    if not known.table:
        # Spark removes the folder of a schema that it drops, and that folder is not ours to remove.
        nowhere = java(spark).java.io.File(tempfile.gettempdir(), f"penstock-{uuid.uuid4().hex}").toURI()
        model = external.getDatabase(known.schema)
        if external.listTables(known.schema).isEmpty() and external.listFunctions(known.schema, "*").isEmpty():
            external.alterDatabase(changed(model, locationUri=nowhere))
            external.dropDatabase(known.schema, True, False)
        return
    table = external.getTable(known.schema, known.table)
    if table.tableType().name() == "MANAGED":
        kinds = jvm.org.apache.spark.sql.catalyst.catalog.CatalogTableType
        external.alterTable(changed(table, tableType=kinds.EXTERNAL()))
    external.dropTable(known.schema, known.table, True, False)
    catalog.refreshTable(table.identifier())


def changed(value: Any, **changes: Any) -> Any:
    """A value of a Scala case class with some of its parts replaced."""
    parts = {str(value.productElementName(at)): value.productElement(at) for at in range(value.productArity())}
    return value.copy(*(parts | changes).values())


def _described(spark: SparkSession, *given: Any) -> Any:
    """A table as Spark describes it, with what Scala fills in for the parameters that are not given."""
    jvm = java(spark)
    described = jvm.org.apache.spark.sql.catalyst.catalog.CatalogTable
    kind = jvm.java.lang.Class.forName(
        described._fqn, True, jvm.java.lang.Thread.currentThread().getContextClassLoader()
    )
    count = kind.getConstructors()[0].getParameterCount()
    rest = (getattr(described, f"apply$default${number}")() for number in range(len(given) + 1, count + 1))
    return described.apply(*given, *rest)
