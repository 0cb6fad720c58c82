"""The user-defined functions that a query calls: which they are, and what each does now.

    SQL function             parameters, type, body, and the settings it was defined under
    Python function          a fingerprint of its code, see `python_code`
    Java or Scala function   cannot be read, so Penstock does not notice a change of it

A name without a schema is a function of the session, one with a schema is kept in the catalog.
"""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.engine.bind.python_code import fingerprint
from penstock.engine.spark.catalyst import Catalyst, node_kind
from penstock.engine.spark.jvm import java

OPAQUE = ""
"""The code of a function that cannot be read."""

_IN_SESSION = ("session", "system")
"""Where Spark keeps the functions of a session: schema and catalog."""


def functions_called(catalyst: Catalyst, plan: Any) -> list[str]:
    """The names of all user-defined functions that an analysed plan calls, views and other functions included."""
    found: set[str] = set()

    def in_expression(expression: Any) -> None:
        kind = node_kind(expression)
        if kind in {"PythonUDF", "PythonUDAF"}:
            found.add(str(expression.name()))
        elif kind in {"ScalaUDF", "ScalaAggregator"}:
            name = expression.udfName() if kind == "ScalaUDF" else expression.aggregatorName()
            found.add(str(name.get()) if name.isDefined() else kind)
        elif kind == "SQLScalarFunction":
            found.add(_plain(expression.function().name()))

    def in_plan(node: Any) -> None:
        if node_kind(node) == "SQLFunctionNode":
            found.add(_plain(node.function().name()))

    if any(catalyst.contains(plan, each) for each in ("PYTHON_UDF", "SCALA_UDF", "SQL_SCALAR_FUNCTION")):
        catalyst.rewrite_expressions(plan, in_expression)
    catalyst.rewrite(plan, in_plan)
    return sorted(found)


def function_code(spark: SparkSession, name: str) -> str | None:
    """What a function does, as text that changes when the function does; None if it is gone, `OPAQUE` if unreadable."""
    state, jvm = spark._jsparkSession.sessionState(), java(spark)
    *schema, function = name.split(".")
    parser = state.sqlParser()
    sql_function = jvm.org.apache.spark.sql.catalyst.catalog.SQLFunction
    if schema:
        external = state.catalog().externalCatalog()
        if not external.databaseExists(schema[-1]) or not external.functionExists(schema[-1], function):
            return None
        held = external.getFunction(schema[-1], function)
        if not sql_function.isSQLFunction(held.className()):
            return OPAQUE
        return _body(sql_function.fromCatalogFunction(held, parser))
    option = jvm.scala.Some
    identifier = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(function, *map(option, _IN_SESSION))
    registry = state.functionRegistry()
    if not registry.functionExists(identifier):
        return None
    info = registry.lookupFunction(identifier).get()
    if sql_function.isSQLFunction(info.getClassName()):
        return _body(sql_function.fromExpressionInfo(info, parser))
    return _python(jvm, registry.lookupFunctionBuilder(identifier).get())


def _plain(identifier: Any) -> str:
    """`schema.name`, or the name alone of a function of the session."""
    database = identifier.database()
    return f"{database.get()}.{identifier.funcName()}" if database.isDefined() else str(identifier.funcName())


def _body(function: Any) -> str:
    parts = (function.inputParam(), function.returnType(), function.exprText(), function.queryText())
    configured = function.getSQLConfigs()
    settings = [configured.get(name).toString() for name in ("spark.sql.ansi.enabled", "spark.sql.session.timeZone")]
    return "\n".join([*(str(each.toString()) for each in parts), *map(str, settings)])


def _python(jvm: Any, builder: Any) -> str:
    nothing = jvm.scala.jdk.javaapi.CollectionConverters.asScala(jvm.java.util.ArrayList()).toSeq()
    try:
        expression = builder.apply(nothing)
        if node_kind(expression) not in {"PythonUDF", "PythonUDAF"}:
            return OPAQUE
        command = expression.func().command().toArray(jvm.scala.reflect.ClassTag.Byte())
    except (Py4JError, PySparkException):
        # Other builders count their arguments, and have no code to show either.
        return OPAQUE
    code = fingerprint(bytes(command))
    return code and f"{code} {expression.dataType().json()} {expression.evalType()} {expression.udfDeterministic()}"
