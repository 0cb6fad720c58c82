"""Binding: a query's analysed plan, read out of Spark into a bound tree.

Spark's analyser has the only word on names, types and structure. Nodes are read by an allow-list; anything else ends
the reading with a reason code, and the query can still be run in full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

from penstock.compile.bound import (
    Bound,
    BoundAggregate,
    BoundDistinct,
    BoundFilter,
    BoundJoin,
    BoundProject,
    BoundQuery,
    BoundScan,
    BoundUnion,
    Refused,
)
from penstock.compile.reasons import REASONS
from penstock.engine.bind_expression import ExpressionPrinter, RefusedExpression
from penstock.engine.catalyst import Catalyst, unlogged
from penstock.errors import QueryInvalid
from penstock.operators.expression import AggregateCall, Attribute, Expression
from penstock.operators.source import Source

_REFUSED_NODES = {
    "Window": "WINDOW",
    "GlobalLimit": "LIMIT",
    "LocalLimit": "LIMIT",
    "Offset": "LIMIT",
    "Tail": "LIMIT",
    "Sort": "ORDER_BY",
    "Intersect": "SET_OPERATION",
    "Except": "SET_OPERATION",
    "Expand": "GROUPING_SETS",
    "Pivot": "GROUPING_SETS",
    "Generate": "LATERAL",
    "LateralJoin": "LATERAL",
    "UnionLoop": "RECURSION",
    "UnionLoopRef": "RECURSION",
    "Sample": "SAMPLE",
    "OneRowRelation": "CONSTANT",
    "LocalRelation": "CONSTANT",
    "Range": "CONSTANT",
}
_REFUSED_JOINS = {
    "LeftOuter": "OUTER_JOIN",
    "RightOuter": "OUTER_JOIN",
    "FullOuter": "OUTER_JOIN",
    "LeftSemi": "SEMI_JOIN",
    "LeftAnti": "SEMI_JOIN",
}
_OTHER_SOURCES = {
    "DataSourceV2Relation",
    "DataSourceV2ScanRelation",
    "HiveTableRelation",
    "LogicalRDD",
    "InMemoryRelation",
}
_TRANSPARENT = {"SubqueryAlias", "ResolvedHint", "UnresolvedHint"}


class _Refusal(Exception):
    def __init__(self, reason: str, construct: str) -> None:
        super().__init__(reason, construct)
        self.refused = Refused(reason, construct, _fix(reason))


class SparkAnalyzer:
    """The port `Analyzer`, on a live session."""

    def __init__(
        self,
        spark: SparkSession,
        source_at: Callable[[str, str], Source | None],
        stream_table: Callable[[str], Source | None],
    ) -> None:
        """`source_at(path, name)` identifies a Delta table; `stream_table(name)` the stream table behind a view."""
        self._catalyst = Catalyst(spark)
        self._spark = spark
        self._source_at = source_at
        self._stream_table = stream_table

    def bind(self, query: str) -> BoundQuery:
        """Analyse a query without running it; QueryInvalid if Spark refuses it."""
        with unlogged():
            return self._bound(query)

    def _bound(self, query: str) -> BoundQuery:
        try:
            plan = self._catalyst.analyzed(self._spark.sql(query))
        except ParseException as error:
            raise QueryInvalid(why=first_lines(error), fix="Mend the query.") from error
        except AnalysisException as error:
            raise QueryInvalid(why=first_lines(error), fix="Mend the query, or create what it reads.") from error
        return _Binding(self._catalyst, self._source_at, self._stream_table).query(plan)


class _Binding:
    def __init__(
        self,
        catalyst: Catalyst,
        source_at: Callable[[str, str], Source | None],
        stream_table: Callable[[str], Source | None],
    ) -> None:
        self._catalyst = catalyst
        self._source_at = source_at
        self._stream_table = stream_table
        self._numbers: dict[int, int] = {}
        self._attributes: dict[int, Attribute] = {}
        self._originals: dict[int, Any] = {}
        self._printer = ExpressionPrinter(catalyst, self._number)
        self._next = 0

    def query(self, plan: Any) -> BoundQuery:
        sources, views, others = self._sources(plan)
        output = self._catalyst.items(plan.output())
        tree: Bound | Refused
        try:
            self._admit(plan)
            tree = self._read(_below_sort(self._catalyst.inline_ctes(plan)))
        except _Refusal as refusal:
            tree = refusal.refused
        except RefusedExpression as refused:
            tree = Refused(refused.reason, refused.construct, _fix(refused.reason))
        return BoundQuery(
            columns=tuple(self._attribute(each) for each in output),
            sources=tuple(each for each in sources if isinstance(tree, Refused) or each.id in _read_by(tree)),
            columns_used=self._columns_used(tree),
            views=tuple(sorted(views.items())),
            tree=tree,
            restless=others or self._catalyst.contains(plan, "CURRENT_LIKE") or not plan.deterministic(),
        )

    def _admit(self, plan: Any) -> None:
        if self._catalyst.contains(plan, "CURRENT_LIKE"):
            raise _Refusal("CLOCK", "current_timestamp, current_date or the like")
        if not plan.deterministic():
            raise _Refusal("NON_DETERMINISTIC", "rand, uuid, input_file_name or the like")

    def _sources(self, plan: Any) -> tuple[list[Source], dict[str, str], bool]:
        """Delta tables and views anywhere in the plan, and whether it reads anything else."""
        found: dict[str, Source] = {}
        views: dict[str, str] = {}
        others: list[str] = []

        def look(node: Any) -> None:
            kind = str(node.getClass().getSimpleName())
            if kind == "View":
                name = str(node.desc().identifier().unquotedString())
                if not node.isTempView() and self._stream_table(str(node.desc().identifier().quotedString())) is None:
                    text = node.desc().viewText()
                    views[name] = str(text.get()) if text.isDefined() else ""
            elif kind == "LogicalRelation":
                path = self._catalyst.delta_path(node)
                source = self._source_at(path, _relation_name(node, path)) if path else None
                if source is not None:
                    found.setdefault(source.id, source)
                else:
                    others.append(kind)
            elif kind in _OTHER_SOURCES:
                others.append(kind)
            return

        self._catalyst.rewrite(plan, look)
        return sorted(found.values(), key=lambda each: each.name), views, bool(others)

    def _columns_used(self, tree: Bound | Refused) -> tuple[tuple[str, tuple[str, ...]], ...]:
        if isinstance(tree, Refused):
            return ()
        used: dict[str, set[str]] = {}
        wanted = _reads(tree) | {attribute.id for attribute in _output(tree)}
        for scan in _scans(tree):
            used.setdefault(scan.source.id, set()).update(
                name for name, attribute in scan.columns if attribute.id in wanted
            )
        return tuple((source, tuple(sorted(names))) for source, names in sorted(used.items()))

    def _read(self, node: Any) -> Bound:
        kind = str(node.getClass().getSimpleName())
        if kind in _TRANSPARENT:
            return self._read(node.child())
        if kind == "View":
            source = self._stream_table(str(node.desc().identifier().quotedString()))
            return self._scan(source, node) if source is not None else self._read(node.child())
        if kind == "LogicalRelation":
            return self._relation(node)
        if kind == "Project":
            return self._project(node)
        if kind == "Filter":
            child = self._read(node.child())
            return BoundFilter(child, self._conjuncts(node.condition(), node.child()))
        if kind == "Join":
            return self._join(node)
        if kind == "Aggregate":
            return self._aggregate(node)
        if kind == "Distinct":
            return BoundDistinct(self._read(node.child()))
        if kind == "Union":
            return self._union(node)
        if kind in _REFUSED_NODES:
            raise _Refusal(_REFUSED_NODES[kind], _headline(node))
        if kind in _OTHER_SOURCES:
            raise _Refusal("SOURCE_NOT_DELTA", _headline(node))
        raise _Refusal("UNKNOWN_OPERATOR", _headline(node))

    def _relation(self, node: Any) -> Bound:
        path = self._catalyst.delta_path(node)
        if not path:
            raise _Refusal("SOURCE_NOT_DELTA", _headline(node))
        if node.relation().location().isTimeTravelQuery():
            raise _Refusal("TIME_TRAVEL", _relation_name(node, path))
        source = self._source_at(path, _relation_name(node, path))
        if source is None:
            raise _Refusal("SOURCE_NOT_DELTA", _headline(node))
        return self._scan(source, node)

    def _scan(self, source: Source, node: Any) -> BoundScan:
        columns = []
        for attribute in self._catalyst.items(node.output()):
            if str(attribute.name()) == "_metadata":
                raise _Refusal("METADATA_COLUMN", "_metadata")
            columns.append((source.stored_name(str(attribute.name())), self._attribute(attribute)))
        return BoundScan(source, tuple(columns))

    def _project(self, node: Any) -> BoundProject:
        child = self._read(node.child())
        items = [(each, self._expression(each), each) for each in self._catalyst.items(node.projectList())]
        self._verify([(original, expression) for original, expression, _ in items], node.child())
        return BoundProject(child, tuple((expression, self._attribute(each)) for _, expression, each in items))

    def _join(self, node: Any) -> BoundJoin:
        joined = str(node.joinType().toString())
        if joined not in {"Inner", "Cross"}:
            raise _Refusal(_REFUSED_JOINS.get(joined, "UNKNOWN_OPERATOR"), f"{joined} join")
        left, right = self._read(node.left()), self._read(node.right())
        conditions: tuple[Expression, ...] = ()
        if node.condition().isDefined():
            conditions = self._conjuncts(node.condition().get(), node.left(), node.right())
        return BoundJoin(left, right, conditions)

    def _conjuncts(self, condition: Any, *inputs: Any) -> tuple[Expression, ...]:
        """The terms of an AND, in the order in which they were written."""
        terms, split = [condition], []
        while terms:
            term = terms.pop(0)
            if term.getClass().getSimpleName() == "And":
                terms = [term.left(), term.right(), *terms]
            else:
                split.append((term, self._expression(term)))
        self._verify(split, *inputs)
        return tuple(expression for _, expression in split)

    def _aggregate(self, node: Any) -> BoundProject:
        child = self._read(node.child())
        keys: list[tuple[Expression, Attribute]] = []
        replaced: list[tuple[Any, int]] = []
        grouped: list[tuple[Any, Expression]] = []
        for grouping in self._catalyst.items(node.groupingExpressions()):
            expression = self._expression(grouping)
            if expression.attribute is not None:
                attribute = self._attributes[expression.attribute]
            else:
                attribute = self._fresh("key", expression)
                replaced.append((grouping, attribute.id))
            grouped.append((grouping, expression))
            keys.append((expression, attribute))
        calls: list[tuple[AggregateCall, Attribute]] = []
        printed: dict[tuple[str | int, ...], int] = {}
        call_originals: list[tuple[Any, int]] = []
        for each in self._catalyst.items(node.aggregateExpressions()):
            for call in self._calls(each):
                bound = self._call(call)
                if bound.call.parts not in printed:
                    attribute = self._fresh(bound.function.lower(), bound.call)
                    printed[bound.call.parts] = attribute.id
                    calls.append((bound, attribute))
                call_originals.append((call, printed[bound.call.parts]))
        self._verify(grouped, node.child())
        selected = self._catalyst.items(node.aggregateExpressions())
        keys_text = [expression.render(self._attributes) for expression, _ in keys]
        self._verify([(each, self._expression(each)) for each in selected], node.child(), grouping=keys_text)
        items = [(self._expression(each, (*replaced, *call_originals)), self._attribute(each)) for each in selected]
        return BoundProject(BoundAggregate(child, tuple(keys), tuple(calls)), tuple(items))

    def _calls(self, node: Any) -> Iterable[Any]:
        if node.getClass().getSimpleName() == "AggregateExpression":
            yield node
            return
        for child in self._catalyst.items(node.children()):
            yield from self._calls(child)

    def _call(self, node: Any) -> AggregateCall:
        function = node.aggregateFunction()
        condition = self._expression(node.filter().get()) if node.filter().isDefined() else None
        arguments = tuple(self._expression(each) for each in self._catalyst.items(function.children()))
        return AggregateCall(
            function=str(function.getClass().getSimpleName()),
            call=self._expression(node),
            arguments=arguments,
            distinct=bool(node.isDistinct()),
            condition=condition,
        )

    def _union(self, node: Any) -> BoundUnion:
        children = self._catalyst.items(node.children())
        bound = tuple(self._read(child) for child in children)
        inputs = tuple(
            tuple(self._attribute(each) for each in self._catalyst.items(child.output())) for child in children
        )
        columns = []
        for each in self._catalyst.items(node.output()):
            # A union's output reuses the ids of its first child: give it ids of its own.
            columns.append(Attribute(self._take(), str(each.name()), str(each.dataType().sql()), bool(each.nullable())))
            self._numbers[int(each.exprId().id())] = columns[-1].id
            self._attributes[columns[-1].id] = columns[-1]
            self._originals[columns[-1].id] = each
        return BoundUnion(bound, tuple(columns), inputs)

    def _take(self) -> int:
        self._next += 1
        return self._next

    def _number(self, attribute: Any) -> int:
        key = int(attribute.exprId().id())
        if key not in self._numbers:
            raise RefusedExpression("ROUND_TRIP", str(attribute.sql()))
        return self._numbers[key]

    def _attribute(self, named: Any) -> Attribute:
        key = int(named.exprId().id())
        if key not in self._numbers:
            self._numbers[key] = self._take()
            self._attributes[self._numbers[key]] = Attribute(
                self._numbers[key], str(named.name()), str(named.dataType().sql()), bool(named.nullable())
            )
            self._originals[self._numbers[key]] = named.toAttribute()
        return self._attributes[self._numbers[key]]

    def _fresh(self, name: str, expression: Expression) -> Attribute:
        attribute = Attribute(self._take(), name, expression.type, expression.nullable)
        self._attributes[attribute.id] = attribute
        return attribute

    def _expression(self, node: Any, replaced: tuple[tuple[Any, int], ...] = ()) -> Expression:
        return Expression(self._printer.parts(node, replaced), str(node.dataType().sql()), bool(node.nullable()))

    def _verify(self, pairs: list[tuple[Any, Expression]], *inputs: Any, grouping: list[str] | None = None) -> None:
        held = {self._number(each): each for child in inputs for each in self._catalyst.items(child.output())}
        names = {number: self._attributes[number].column for number in held}
        texts = [
            (original, expression.render(self._attributes))
            for original, expression in pairs
            if expression.attribute is None
        ]
        self._printer.verify(texts, held, names, grouping)


def _below_sort(plan: Any) -> Any:
    """ORDER BY at the top of a query orders its presentation, not its rows: it is passed over."""
    while plan.getClass().getSimpleName() in {"Sort", "SubqueryAlias"}:
        plan = plan.child()
    return plan


def _relation_name(node: Any, path: str) -> str:
    table = node.catalogTable()
    if table.isDefined():
        identifier = table.get().identifier()
        database = identifier.database()
        return f"{database.get()}.{identifier.table()}" if database.isDefined() else str(identifier.table())
    return f"delta.`{path}`"


def _headline(node: Any) -> str:
    text = " ".join(str(node.simpleString(40)).split())
    return text if len(text) <= 120 else text[:117] + "…"


def _fix(reason: str) -> str:
    advice = {
        "SUBQUERY": "Write the subquery as a join with a grouped or DISTINCT subquery.",
        "NON_DETERMINISTIC": "Compute the value when the row is written.",
        "CLOCK": "Compare with a column of a small table that you update instead.",
        "ORDER_BY": "Drop the ORDER BY; order when reading.",
        "CONSTANT": "Use REFRESH MODE FULL.",
        "SOURCE_NOT_DELTA": "Write the source as a Delta table.",
        "ROUND_TRIP": "Compute the expression in a view or another way.",
    }
    return advice.get(reason, REASONS[reason][0].upper() + REASONS[reason][1:] + ".")


def first_lines(error: Exception) -> str:
    """The part of a Spark message that is meant for people: before the plan and the stack."""
    text = str(error).split("\n\nJVM stacktrace")[0]
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(("'", "+-", ":-", "   +-")) and not line.startswith("== "):
            break
        lines.append(line)
    return "\n".join(lines).strip().rstrip(";")


def _children(tree: Bound) -> tuple[Bound, ...]:
    if isinstance(tree, BoundScan):
        return ()
    if isinstance(tree, BoundJoin):
        return (tree.left, tree.right)
    if isinstance(tree, BoundUnion):
        return tree.children
    return (tree.child,)


def _scans(tree: Bound) -> Iterable[BoundScan]:
    if isinstance(tree, BoundScan):
        yield tree
    for child in _children(tree):
        yield from _scans(child)


def _read_by(tree: Bound) -> set[str]:
    """Ids of the sources that the tree reads; a CTE that is never used reads none."""
    return {scan.source.id for scan in _scans(tree)}


def _output(tree: Bound) -> tuple[Attribute, ...]:
    if isinstance(tree, BoundScan):
        return tuple(attribute for _, attribute in tree.columns)
    if isinstance(tree, BoundProject):
        return tuple(attribute for _, attribute in tree.items)
    if isinstance(tree, BoundAggregate):
        return tuple(attribute for _, attribute in (*tree.keys, *tree.calls))
    if isinstance(tree, BoundUnion):
        return tree.columns
    if isinstance(tree, BoundJoin):
        return (*_output(tree.left), *_output(tree.right))
    return _output(tree.child)


def _reads(tree: Bound) -> set[int]:
    found: set[int] = set()
    if isinstance(tree, BoundProject):
        found |= {each for expression, _ in tree.items for each in expression.reads}
    elif isinstance(tree, BoundFilter | BoundJoin):
        found |= {each for condition in tree.conditions for each in condition.reads}
    elif isinstance(tree, BoundAggregate):
        found |= {each for expression, _ in tree.keys for each in expression.reads}
        found |= {each for call, _ in tree.calls for each in call.reads}
    elif isinstance(tree, BoundDistinct):
        found |= {attribute.id for attribute in _output(tree.child)}
    elif isinstance(tree, BoundUnion):
        found |= {attribute.id for child in tree.inputs for attribute in child}
    for child in _children(tree):
        found |= _reads(child)
    return found
