"""The few doors into Spark's JVM that binding needs: Scala collections, tree rewrites, plan constructors.

Everything here speaks py4j, so that nothing else has to.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession

from penstock.engine.failures.silence import unlogged
from penstock.engine.spark.jvm import java
from penstock.errors import PenstockError
from penstock.names import quote

_callbacks = threading.Lock()


def node_kind(node: Any) -> str:
    """The class of a plan node or expression, without its package."""
    return str(node.getClass().getSimpleName())


class _Partial:
    """A Python function as a Scala partial function; it is defined where it returns something."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self.refusal: PenstockError | None = None
        """What the function raised: to its caller in the JVM that is an exception like any other."""

    def isDefinedAt(self, node: Any) -> bool:
        return self._answer(node) is not None

    def apply(self, node: Any) -> Any:
        return self._answer(node)

    def applyOrElse(self, node: Any, default: Any) -> Any:
        answer = self._answer(node)
        return default.apply(node) if answer is None else answer

    def _answer(self, node: Any) -> Any:
        try:
            return self._function(node)
        except PenstockError as refusal:
            self.refusal = refusal
            raise

    class Java:
        implements = ("scala.PartialFunction",)


class Catalyst:
    """Catalyst as seen from Python."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.jvm = jvm = java(spark)
        self.session: Any = spark._jsparkSession
        catalyst = jvm.org.apache.spark.sql.catalyst
        self.logical: Any = catalyst.plans.logical
        self.expressions: Any = catalyst.expressions
        self.none: Any = getattr(jvm.scala, "None$").__getattr__("MODULE$")
        self._patterns: Any = catalyst.trees.TreePattern
        self._classes: dict[str, Any] = {}
        self._as_scala: Any = jvm.scala.jdk.javaapi.CollectionConverters.asScala
        self._of_rows: Any = self.module(jvm.org.apache.spark.sql.classic, "Dataset").ofRows

    def seq(self, items: Iterable[Any]) -> Any:
        """A Scala Seq."""
        held = self.jvm.java.util.ArrayList()
        for item in items:
            held.add(item)
        return self.as_scala(held).toSeq()

    def as_scala(self, collection: Any) -> Any:
        """A Java collection as a Scala one."""
        return self._as_scala(collection)

    @staticmethod
    def items(seq: Any) -> list[Any]:
        """A Scala Seq as a list."""
        return [seq.apply(index) for index in range(seq.size())]

    def is_a(self, node: Any, trait: str) -> bool:
        """True if the node is an instance of a class or trait: a full name, or one of Catalyst's expressions."""
        return bool(self._class(trait).isInstance(node))

    def _class(self, trait: str) -> Any:
        if trait not in self._classes:
            loader = self.jvm.java.lang.Thread.currentThread().getContextClassLoader()
            name = trait if "." in trait else f"org.apache.spark.sql.catalyst.expressions.{trait}"
            self._classes[trait] = self.jvm.java.lang.Class.forName(name, True, loader)
        return self._classes[trait]

    def class_tag(self, name: str) -> Any:
        """What Scala needs to know of a class to hold many of it."""
        return self.module(self.jvm.scala.reflect, "ClassTag").apply(self._class(name))

    def attributes(self, schema_json: str) -> Any:
        """Fresh attributes for a schema."""
        types = self.jvm.org.apache.spark.sql
        return types.catalyst.types.DataTypeUtils.toAttributes(types.types.DataType.fromJson(schema_json))

    def analyzed(self, frame: DataFrame) -> Any:
        """The analysed plan of a DataFrame."""
        return frame._jdf.queryExecution().analyzed()

    def delta_path(self, node: Any) -> str:
        """The folder of the Delta table that a relation node reads; empty if it is not one."""
        relation = node.relation()
        if not self.is_a(relation, "org.apache.spark.sql.execution.datasources.HadoopFsRelation"):
            return ""
        location = relation.location()
        return str(location.path().toString()) if node_kind(location).startswith("Tahoe") else ""

    def contains(self, plan: Any, pattern: str) -> bool:
        """True if the plan, its expressions or its subqueries contain a tree pattern."""
        return bool(plan.containsPattern(getattr(self._patterns, pattern)()))

    def inline_ctes(self, plan: Any) -> Any:
        """The plan with every CTE reference replaced by its definition."""
        return self.jvm.org.apache.spark.sql.catalyst.optimizer.InlineCTE(True, False).apply(plan)

    def optimizer_rule(self, name: str) -> Any:
        """One of Spark's optimizer rules, an object with `apply`."""
        return self.module(self.jvm.org.apache.spark.sql.catalyst.optimizer, name)

    def analysis_rule(self, name: str) -> Any:
        """One of Spark's analysis rules."""
        return self.module(self.jvm.org.apache.spark.sql.catalyst.analysis, name)

    def join_type(self, name: str) -> Any:
        """A join type such as LeftOuter."""
        return self.module(self.jvm.org.apache.spark.sql.catalyst.plans, name)

    def no_join_hint(self) -> Any:
        """What a join without hints carries."""
        return self.module(self.logical, "JoinHint").NONE()

    @staticmethod
    def module(package: Any, name: str) -> Any:
        """A Scala object."""
        return getattr(package, f"{name}$").__getattr__("MODULE$")

    def some(self, value: Any) -> Any:
        """A Scala Some."""
        return self.jvm.scala.Some(value)

    def replaced(self, expression: Any, change: Callable[[Any], Any]) -> Any:
        """The expression with every node replaced for which `change` returns another, from the top down."""
        new = change(expression)
        if new is not None:
            return new
        children = self.items(expression.children())
        changed = [self.replaced(child, change) for child in children]
        if all(one is other for one, other in zip(changed, children, strict=True)):
            return expression
        if self.is_a(expression, "InheritAnalysisRules"):
            # What the user wrote stays in such a node unchanged; from now on only what it stands for is true.
            return changed[0]
        return expression.withNewChildren(self.seq(changed))

    @staticmethod
    def conjuncts(condition: Any) -> list[Any]:
        """The terms of an AND, in the order in which they were written."""
        terms, split = [condition], []
        while terms:
            term = terms.pop(0)
            if node_kind(term) == "And":
                terms = [term.left(), term.right(), *terms]
            else:
                split.append(term)
        return split

    def ascending(self, expression: Any) -> Any:
        """`expression ASC NULLS FIRST`."""
        return self.expressions.SortOrder(
            expression,
            self.module(self.expressions, "Ascending"),
            self.module(self.expressions, "NullsFirst"),
            self.seq([]),
        )

    def orderable(self, type_: Any) -> bool:
        """True if values of the type can be sorted."""
        return bool(self.expressions.RowOrdering.isOrderable(type_))

    def clock(self, name: str) -> Any:
        """An empty relation with one timestamp column of that name, which stands for the clock."""
        now = self.resolved("timestamp_micros(0L)", {})
        return self.logical.LocalRelation(self.seq([self.attribute(name, now)]), self.seq([]), False, self.none)

    def aggregate_call(self, function: Any, condition: Any | None = None) -> Any:
        """An aggregate function as an expression, with a FILTER condition or without."""
        return self.expressions.aggregate.AggregateExpression(
            function,
            self.module(self.expressions.aggregate, "Complete"),
            False,
            self.none if condition is None else self.some(condition),
            self.expressions.NamedExpression.newExprId(),
        )

    def collected(self, expression: Any, distinct: bool, condition: Any | None) -> Any:
        """`collect_list(expression)`, or `collect_set`, with a FILTER condition or without."""
        functions = self.expressions.aggregate
        function = functions.CollectSet(expression) if distinct else functions.CollectList(expression)
        return self.aggregate_call(function, condition)

    def cast(self, expression: Any, type_: str) -> Any:
        """The expression as another type; as it is, if it has that type."""
        if str(expression.dataType().catalogString()) == type_:
            return expression
        cast = self.resolved(f"CAST(x AS {type_})", {"x": self.attribute("x", expression)})
        return cast.withNewChildren(self.seq([expression]))

    def tag(self, name: str) -> Any:
        """A mark that a node keeps when the tree around it is rewritten."""
        return self.jvm.org.apache.spark.sql.catalyst.trees.TreeNodeTag(name)

    def literal(self, value: Any, type_: Any) -> Any:
        """A value in Spark's internal form as a literal; Python's numbers forget which Java type they were."""
        if isinstance(value, int | float) and str(type_.sql()) in {"TINYINT", "SMALLINT", "BIGINT", "FLOAT"}:
            return self.parse_expression(f"CAST({value} AS {type_.sql()})")
        return self.expressions.Literal(value, type_)

    def resolved(self, text: str, columns: Mapping[str, Any]) -> Any:
        """SQL text as a resolved expression over named attributes."""
        relation = self.logical.LocalRelation(
            self.seq(attribute.withName(name) for name, attribute in columns.items()), self.seq([]), False, self.none
        )
        items = self.seq([self.alias(self.parse_expression(text), "value")])
        return self.analyse(self.logical.Project(items, relation)).projectList().head().child()

    def rewrite(self, plan: Any, function: Callable[[Any], Any]) -> Any:
        """Replace nodes bottom-up, in subqueries too, wherever `function` returns a node."""
        return self._called_back(plan.transformUpWithSubqueries, function)

    def rewrite_expressions(self, plan: Any, function: Callable[[Any], Any]) -> Any:
        """Replace expressions, in subqueries too, wherever `function` returns one."""
        return self._called_back(plan.transformAllExpressionsWithSubqueries, function)

    def _called_back(self, transform: Callable[[Any], Any], function: Callable[[Any], Any]) -> Any:
        self._accept_callbacks()
        partial = _Partial(function)
        try:
            return transform(partial)
        except (PySparkException, Py4JError):
            if partial.refusal is not None:
                raise partial.refusal from None
            raise

    def _accept_callbacks(self) -> None:
        # PySpark looks and starts in two steps, which two threads could both take.
        with _callbacks:
            ensure_callback_server_started(self.spark.sparkContext._gateway)

    def attribute(self, name: str, like: Any) -> Any:
        """A fresh attribute of the type of an expression."""
        return self.expressions.AttributeReference(
            name,
            like.dataType(),
            like.nullable(),
            self.jvm.org.apache.spark.sql.types.Metadata.empty(),
            self.expressions.NamedExpression.newExprId(),
            self.seq([]),
        )

    def alias(self, expression: Any, name: str, expression_id: Any | None = None, qualifier: Any | None = None) -> Any:
        """`expression AS name`, with a given or a fresh id."""
        return self.expressions.Alias(
            expression,
            name,
            expression_id or self.expressions.NamedExpression.newExprId(),
            qualifier or self.seq([]),
            self.none,
            self.seq([]),
        )

    def frame(self, plan: Any) -> DataFrame:
        """A DataFrame of a logical plan."""
        return DataFrame(self._of_rows(self.session, plan), self.spark)

    def parse_expression(self, text: str) -> Any:
        """SQL text as an unresolved expression."""
        return self.session.sessionState().sqlParser().parseExpression(text)

    def parse_plan(self, text: str) -> Any:
        """A statement as Spark's parser reads it, Delta's statements included; nothing is looked up."""
        return self.session.sessionState().sqlParser().parsePlan(text)

    def parse_name(self, text: str) -> Any:
        """The parts of a name."""
        return self.session.sessionState().sqlParser().parseMultipartIdentifier(text)

    def identified(self, plan: Any) -> Any | None:
        """What an IDENTIFIER(…) makes of a plan, if it is one; None if the name is known only later."""
        if node_kind(plan) != "PlanWithUnresolvedIdentifier":
            return plan
        name = self.constant(plan.identifierExpr())
        return None if name is None else plan.planBuilder().apply(self.parse_name(name), plan.children())

    def constant(self, expression: Any) -> str | None:
        """The value of an expression over no row, variables of the session included, as text; None if it is known only
        later, as that of a script's own variable is.
        """
        alone = self.logical.Project(self.seq([self.alias(expression, "value")]), self.logical.OneRowRelation())
        try:
            with unlogged():
                settled = self.analyse(alone).projectList().head().child()
                value = settled.eval(None) if settled.foldable() else None
        except (PySparkException, Py4JError):
            return None
        return None if value is None else str(value)

    def table(self, parts: Any) -> Any:
        """What Spark's own catalog holds under a name; a temporary view of the session comes first."""
        identifier = (
            self.session.sessionState()
            .sqlParser()
            .parseTableIdentifier(".".join(quote(str(part)) for part in self.items(parts)))
        )
        return self.session.sessionState().catalog().getTempViewOrPermanentTableMetadata(identifier)

    def analyse(self, plan: Any) -> Any:
        """A resolved and checked plan."""
        return self.analyzed(self.frame(plan))
