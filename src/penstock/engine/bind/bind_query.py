"""Binding: a query's analysed plan, read out of Spark into a bound tree.

Spark's analyser alone decides on names, types and structure. The binder reads an allow-list of nodes; any other node
ends the reading with a reason code, and the query can still be computed in full.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.compile.bound import (
    Bound,
    BoundAggregate,
    BoundClock,
    BoundConstant,
    BoundDistinct,
    BoundFilter,
    BoundGenerate,
    BoundJoin,
    BoundLimit,
    BoundProject,
    BoundQuery,
    BoundScan,
    BoundUnion,
    BoundWindow,
    JoinKind,
    Refused,
)
from penstock.compile.passes.lower import operator_tree
from penstock.compile.reasons import ADVICE
from penstock.engine.bind.bind_comparison import comparison
from penstock.engine.bind.bind_expression import ExpressionPrinter, RefusedExpression
from penstock.engine.bind.columns_referred_to import columns_referred_to
from penstock.engine.bind.deterministic_order import BY_PEERS, deterministic_order, orderable, takes_rows_in_order
from penstock.engine.bind.deterministic_sums import deterministic_sums
from penstock.engine.bind.functions import OPAQUE, function_code, functions_called
from penstock.engine.bind.normalise import normalise
from penstock.engine.bind.pinned_query import same_folder
from penstock.engine.bind.query_words import Written
from penstock.engine.bind.temporary_views import is_shared, missing_temporary_view, of_this_session
from penstock.engine.failures.data_errors import data_errors
from penstock.engine.failures.silence import unlogged
from penstock.engine.failures.spark_errors import system_error
from penstock.engine.spark.catalyst import Catalyst, node_kind
from penstock.engine.spark.columns_as_defined import Reads, frame_as_defined
from penstock.engine.spark.python_query import is_python
from penstock.engine.spark.registry import view_statements
from penstock.engine.spark.statement import refused_query
from penstock.errors import QueryInvalid, SourceCopied
from penstock.names import TableName, quote
from penstock.operators.clock import NOW
from penstock.operators.expression import AggregateCall, Attribute, Expression
from penstock.operators.reproducible import reproducible
from penstock.operators.scan import Scan
from penstock.operators.source import Source
from penstock.operators.types import binary_collation, groupable
from penstock.operators.window import WindowCall

_log = logging.getLogger("penstock.engine")

_Typed = TypeVar("_Typed", Attribute, Expression)

_REFUSED_NODES = {
    "Tail": "LIMIT",
    "Sort": "ORDER_BY",
    "Intersect": "SET_OPERATION",
    "Except": "SET_OPERATION",
    "LateralJoin": "LATERAL",
    "DomainJoin": "SUBQUERY",
    "UnionLoopRef": "RECURSION",
    "Sample": "SAMPLE",
}
_JOINS = {
    "Inner": JoinKind.INNER,
    "Cross": JoinKind.INNER,
    "LeftOuter": JoinKind.LEFT,
    "RightOuter": JoinKind.RIGHT,
    "FullOuter": JoinKind.FULL,
    "LeftSemi": JoinKind.SEMI,
    "LeftAnti": JoinKind.ANTI,
}
_GENERATORS = {
    "Explode": "explode",
    "PosExplode": "posexplode",
    "Inline": "inline",
    "JsonTuple": "json_tuple",
    "Stack": "stack",
}
_OTHER_SOURCES = {
    "DataSourceV2Relation",
    "DataSourceV2ScanRelation",
    "HiveTableRelation",
    "LogicalRDD",
    "InMemoryRelation",
}
_CONDITION = re.compile(r"\[[A-Z][A-Z_.]+\]")
_TRANSPARENT = {"SubqueryAlias", "ResolvedHint", "UnresolvedHint"}


class _Refusal(Exception):
    """A construct without a delta rule, in the user's words."""

    def __init__(self, reason: str, construct: str) -> None:
        super().__init__(reason, construct)
        self.refused = Refused(reason, construct, ADVICE[reason])


class SparkAnalyzer:
    """The port `Analyzer`, on a live session."""

    def __init__(
        self,
        spark: SparkSession,
        source_at: Callable[[str, str], Source | None],
        stream_table: Callable[[str], Source | None],
        reads: Reads,
        home: SparkSession,
    ) -> None:
        """`source_at(path, name)` identifies a Delta table; `stream_table(name)` the stream table behind a view.

        `home` is the user's session, with the temporary views that a query may mean.
        """
        self._home = home
        self._catalyst = Catalyst(spark)
        self._spark = spark
        self._source_at = source_at
        self._stream_table = stream_table
        self._reads = reads

    def bind(self, query: str) -> BoundQuery:
        """Analyse a query without running it; QueryInvalid if Spark refuses it."""
        with unlogged():
            bound = self._bound(query)
            if isinstance(bound.tree, Refused) and bound.tree.reason == "NORMAL_FORM":
                # It may have been a passing trouble of the JVM, which must not change how a table is stored.
                _log.warning("reading the plan of a query failed, once more: %s", bound.tree.construct)
                bound = self._bound(query)
            return bound

    def bind_frame(self, frame: DataFrame) -> BoundQuery:
        """The bound query of a DataFrame."""
        plan = self._catalyst.analyzed(frame)
        with unlogged():
            return _Binding(self._catalyst, self._source_at, self._stream_table, None).query(plan)

    def check(self, query: str, instead: Mapping[TableName, DataFrame]) -> None:
        """QueryInvalid if Spark would refuse the query over other columns of these views."""
        with unlogged():
            self._analyzed(query, instead)

    def _bound(self, query: str) -> BoundQuery:
        text = None if is_python(query) else query
        binding = _Binding(self._catalyst, self._source_at, self._stream_table, text)
        bound = binding.query(self._analyzed(query, {}))
        if binding.passing:
            raise of_this_session(binding.passing[0])
        return bound

    def _analyzed(self, query: str, instead: Mapping[TableName, DataFrame]) -> Any:
        with data_errors("the query"):
            try:
                return self._catalyst.analyzed(frame_as_defined(self._spark, query, self._reads, instead))
            except AnalysisException as error:
                if (passing := missing_temporary_view(self._home, error)) is not None:
                    raise of_this_session(passing) from None
                raise refused_query(self._spark, "" if is_python(query) else query, error) from None


class _Binding:
    def __init__(
        self,
        catalyst: Catalyst,
        source_at: Callable[[str, str], Source | None],
        stream_table: Callable[[str], Source | None],
        text: str | None,
    ) -> None:
        self._catalyst = catalyst
        self._written = Written(catalyst, text)
        self._source_at = source_at
        self._stream_table = stream_table
        self._of_files: list[str] = []
        """Columns that tell of a table's files, which Spark adds to those of the table."""
        self._numbers: dict[int, int] = {}
        self._attributes: dict[int, Attribute] = {}
        self._printer = ExpressionPrinter(catalyst, self._number)
        self._next = 0
        self.passing: list[str] = []
        """Temporary views of the whole application that the plan reads."""

    def query(self, plan: Any) -> BoundQuery:
        sources, views, others = self._sources(plan)
        if self._of_files:
            raise QueryInvalid(
                why=f"it reads {self._of_files[0]}, which describes the file of a row, and any write may move a row",
                fix=f"Leave {self._of_files[0]} out.",
            )
        output = self._catalyst.items(plan.output())
        tree: Bound | Refused
        try:
            self._admit(plan)
            ordered = deterministic_order(self._catalyst, self._unsorted(plan))
            normal = normalise(self._catalyst, deterministic_sums(self._catalyst, ordered))
            reading = self._written.first(normal, lambda node: self._catalyst.contains(node, "CURRENT_LIKE"))
            if reading is not None:
                raise _Refusal("CLOCK", reading)
            tree = self._read(normal)
        except _Refusal as refusal:
            tree = refusal.refused
        except RefusedExpression as refused:
            written = self._written.of(refused.expression) + refused.note
            tree = Refused(refused.reason, written, ADVICE[refused.reason])
        except (PySparkException, Py4JError) as error:
            trouble = system_error(error, "a query")
            if trouble is not None:
                raise trouble from error
            # One of Spark's own rules gave up on the plan; Penstock cannot go on without it.
            tree = Refused("NORMAL_FORM", self._unsettled(plan, error), ADVICE["NORMAL_FORM"])
        return BoundQuery(
            columns=tuple(self._result(plan, place, each) for place, each in enumerate(output)),
            sources=tuple(each for each in sources if isinstance(tree, Refused) or each.id in _read_by(tree)),
            columns_used=self._columns_used(tree) if not isinstance(tree, Refused) else self._referred_to(plan),
            views=tuple(sorted(views.items())),
            tree=tree,
            volatile=others or self._catalyst.contains(plan, "CURRENT_LIKE") or not plan.deterministic(),
            functions=tuple(
                (name, function_code(self._catalyst.spark, name) or OPAQUE)
                for name in functions_called(self._catalyst, plan)
            ),
        )

    def _unsorted(self, plan: Any) -> Any:
        """ORDER BY at the top of a query orders its presentation, not its rows: it is passed over."""
        kind = node_kind(plan)
        if kind in {"Sort", "SubqueryAlias"}:
            return self._unsorted(plan.child())
        if kind == "WithCTE":
            below = self._catalyst.items(plan.cteDefs())
            return plan.withNewChildren(self._catalyst.seq([*below, self._unsorted(plan.plan())]))
        below = plan
        while node_kind(below) in {"Project", "SubqueryAlias"}:
            below = below.child()
        if kind == "Project" and node_kind(below) == "Sort":
            # The sort stands below the choice of columns when it sorts by one that is not shown.
            return plan.withNewChildren(self._catalyst.seq([self._unsorted(plan.child())]))
        return plan

    def _admit(self, plan: Any) -> None:
        if not plan.deterministic():
            chance = self._written.first(plan, lambda node: not node.deterministic())
            raise _Refusal("NON_DETERMINISTIC", chance or "")

    def _unsettled(self, plan: Any, error: Exception) -> str:
        """The first subquery of a plan without normal form, on which Spark's rules failed, and Spark's error name."""
        condition = _CONDITION.match(str(error))
        subquery = self._written.first(plan, lambda node: self._catalyst.contains(node, "PLAN_EXPRESSION"))
        return " ".join(each for each in (subquery or self._written.of(plan), condition and condition[0]) if each)

    def _result(self, plan: Any, place: int, named: Any) -> Attribute:
        attribute = self._attribute(named)
        if _distinguishable(attribute.type):
            return attribute
        return replace(attribute, written=self._written.column(plan, place))

    def _worded(self, value: _Typed, node: Any) -> _Typed:
        """The value with its words, which are looked for only where a refusal will need them."""
        return value if _distinguishable(value.type) else replace(value, written=self._written.of(node))

    def _sources(self, plan: Any) -> tuple[list[Source], dict[str, str], bool]:
        """Delta tables and views anywhere in the plan, and whether it reads anything else."""
        found: dict[str, Source] = {}
        views: dict[str, str] = {}
        others: list[str] = []
        copies: list[tuple[str, str]] = []

        def visit(node: Any) -> None:
            kind = node_kind(node)
            if kind == "View":
                name = str(node.desc().identifier().unquotedString())
                if node.isTempView() and is_shared(name):
                    self.passing.append(name)
                if not node.isTempView() and self._shown_by(node) is None:
                    views[name] = view_statements(node.desc()) if node.desc().viewText().isDefined() else ""
            elif kind == "LogicalRelation":
                path = self._catalyst.delta_path(node)
                source = self._source_at(path, _relation_name(node, path)) if path else None
                if source is not None:
                    if not same_folder(first := found.setdefault(source.id, source).path, source.path):
                        copies.append((first, source.path))
                    stored = set(node.relation().schema().fieldNames())
                    shown = (str(each.name()) for each in self._catalyst.items(node.output()))
                    self._of_files += [name for name in shown if name not in stored]
                else:
                    others.append(kind)
            elif kind in _OTHER_SOURCES:
                others.append(kind)
            return

        self._catalyst.rewrite(plan, visit)
        for one, other in copies:
            raise SourceCopied(folder=one, other=other)
        return sorted(found.values(), key=lambda each: each.name), views, bool(others)

    def _columns_used(self, tree: Bound) -> tuple[tuple[str, tuple[str, ...]], ...]:
        used: dict[str, set[str]] = {}
        root = operator_tree(tree).pruned(frozenset(attribute.id for attribute in tree.output))
        for node in root.nodes():
            if isinstance(node, Scan):
                used.setdefault(node.source.id, set()).update(name for name, _ in node.read)
        return tuple((source, tuple(sorted(names))) for source, names in sorted(used.items()))

    def _referred_to(self, plan: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
        leaves: list[tuple[Source, Any]] = []

        def visit(node: Any) -> None:
            source = self._leaf(node)
            # The storage below a stream table's name is not what the query names.
            if source is not None and source.is_stream_table == (node_kind(node) == "View"):
                leaves.append((source, node))

        self._catalyst.rewrite(plan, visit)
        return columns_referred_to(self._catalyst, plan, leaves)

    def _leaf(self, node: Any) -> Source | None:
        kind = node_kind(node)
        if kind == "View" and not node.isTempView():
            return self._shown_by(node)
        path = self._catalyst.delta_path(node) if kind == "LogicalRelation" else ""
        return self._source_at(path, _relation_name(node, path)) if path else None

    def _shown_by(self, view: Any) -> Source | None:
        """The stream table that a view shows; None for any other view, whatever its name."""
        source, text = self._stream_table(str(view.desc().identifier().quotedString())), view.desc().viewText()
        return source if source is not None and text.isDefined() and quote(source.path) in str(text.get()) else None

    def _read(self, node: Any) -> Bound:
        kind = node_kind(node)
        if kind in _TRANSPARENT:
            return self._read(node.child())
        if kind == "View":
            source = self._shown_by(node)
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
        if kind == "Generate":
            return self._generate(node)
        if kind == "Expand":
            return self._expand(node)
        if kind == "Window":
            return self._window(node)
        if kind in {"GlobalLimit", "LocalLimit", "Offset"}:
            return self._limit(node)
        if kind == "LocalRelation" and [str(each.name()) for each in self._catalyst.items(node.output())] == [NOW]:
            return BoundClock(self._attribute(node.output().head()))
        if kind in {"LocalRelation", "OneRowRelation", "Range"}:
            return self._constant(node, kind)
        if kind == "UnionLoop":
            raise _Refusal("RECURSION", self._written.of(node.recursion()))
        if kind in _REFUSED_NODES:
            raise _Refusal(_REFUSED_NODES[kind], self._written.of(node))
        if kind in _OTHER_SOURCES:
            raise _Refusal("SOURCE_NOT_DELTA", self._written.of(node))
        raise _Refusal("UNKNOWN_OPERATOR", self._written.of(node))

    def _relation(self, node: Any) -> Bound:
        path = self._catalyst.delta_path(node)
        if not path:
            raise _Refusal("SOURCE_NOT_DELTA", self._written.of(node))
        if node.relation().location().isTimeTravelQuery():
            version = node.relation().location().getSnapshot().version()
            return self._named_constant(node, f"delta.{quote(path)} VERSION AS OF {version}")
        source = self._source_at(path, _relation_name(node, path))
        if source is None:
            raise _Refusal("SOURCE_NOT_DELTA", self._written.of(node))
        return self._scan(source, node)

    def _scan(self, source: Source, node: Any) -> BoundScan:
        shown = self._catalyst.items(node.output())
        return BoundScan(source, tuple((source.stored_name(str(each.name())), self._attribute(each)) for each in shown))

    def _project(self, node: Any) -> BoundProject:
        return self._projected(node, self._read(node.child()))

    def _projected(self, node: Any, child: Bound) -> BoundProject:
        items = [(each, self._expression(each), each) for each in self._catalyst.items(node.projectList())]
        self._verify([(original, expression) for original, expression, _ in items], node.child())
        return BoundProject(
            child, tuple((expression, self._worded(self._attribute(each), each)) for _, expression, each in items)
        )

    def _join(self, node: Any) -> BoundJoin:
        joined = str(node.joinType().toString())
        existence = joined.startswith("ExistenceJoin")
        if not existence and joined not in _JOINS:
            single = joined == "LeftSingle"
            written = self._written.of(node.right() if single else node)
            raise _Refusal("SUBQUERY" if single else "UNKNOWN_OPERATOR", written)
        left, right = self._read(node.left()), self._read(node.right())
        conditions: tuple[Expression, ...] = ()
        if node.condition().isDefined():
            conditions = self._conjuncts(node.condition().get(), node.left(), node.right())
        if existence:
            return BoundJoin(left, right, conditions, JoinKind.EXISTENCE, self._attribute(node.joinType().exists()))
        return BoundJoin(left, right, conditions, _JOINS[joined])

    def _generate(self, node: Any) -> BoundGenerate:
        child = self._read(node.child())
        generator = node.generator()
        kind = node_kind(generator)
        arguments = self._catalyst.items(generator.children())
        printed = [self._expression(each) for each in arguments]
        self._verify(list(zip(arguments, printed, strict=True)), node.child())
        if kind == "ReplicateRows":
            # Spark's own way to repeat a row, which has no SQL: the first argument says how often.
            made = tuple(self._renewed(each) for each in self._catalyst.items(node.generatorOutput()))
            row = _call("struct", printed[1:])
            parts = ("inline(array_repeat(", *row, ", CAST(", *printed[0].parts, " AS INT)))")
            return BoundGenerate(child, Expression(parts, "", False), False, made)
        if kind not in _GENERATORS:
            raise _Refusal("LATERAL", self._written.of(generator))
        made = tuple(self._attribute(each) for each in self._catalyst.items(node.generatorOutput()))
        call = Expression(_call(_GENERATORS[kind], printed), "", False)
        return BoundGenerate(child, call, bool(node.outer()), made)

    def _expand(self, node: Any) -> BoundGenerate:
        """Grouping sets: one row per set, made by a generator; columns that are the same in all sets are kept."""
        child = self._read(node.child())
        sets = [self._catalyst.items(each) for each in self._catalyst.items(node.projections())]
        held = {int(each.exprId().id()) for each in self._catalyst.items(node.child().output())}
        places, made = [], []
        for place, attribute in enumerate(self._catalyst.items(node.output())):
            if int(attribute.exprId().id()) not in held:
                places.append(place)
                made.append(self._attribute(attribute))
        rows = [[(each[place], self._expression(each[place])) for place in places] for each in sets]
        self._verify([cell for row in rows for cell in row], node.child())
        structs: list[str | int] = []
        for row in rows:
            cells = [_cast(cell, attribute.type) for (_, cell), attribute in zip(row, made, strict=True)]
            structs += [", " if structs else "", *_call("struct", cells)]
        generator = Expression(("inline(array(", *structs, "))"), "", False)
        return BoundGenerate(child, generator, False, tuple(made))

    def _window(self, node: Any) -> BoundWindow:
        child = self._read(node.child())
        spec = self._catalyst.items(node.partitionSpec())
        partition = [(each, self._expression(each)) for each in spec]
        self._verify(partition, node.child())
        settled = all(orderable(self._catalyst, each) for each in self._catalyst.items(node.child().output()))
        calls = []
        for alias in self._catalyst.items(node.windowExpressions()):
            call = self._window_call(alias.child(), settled)
            self._verify([(alias.child(), call.call)], node.child(), window=True)
            calls.append((call, self._attribute(alias)))
        return BoundWindow(child, tuple(expression for _, expression in partition), tuple(calls))

    def _window_call(self, node: Any, settled: bool) -> WindowCall:
        function = node.windowFunction()
        kind = node_kind(function)
        if kind == "AggregateExpression":
            kind = node_kind(function.aggregateFunction())
        if kind in BY_PEERS:
            total = True
        elif takes_rows_in_order(node):
            total = settled
        else:
            total = node_kind(function) == "AggregateExpression" and reproducible(self._call(function))
        call = self._expression(node)
        return WindowCall(call if total else replace(call, written=self._written.of(function)), kind, total)

    def _limit(self, node: Any) -> Bound:
        """LIMIT and OFFSET over a sorted input; a projection in between is done after cutting."""
        limit: int | None = None
        offset = 0
        projections: list[Any] = []
        top = node
        while (kind := node_kind(node)) != "Sort":
            if kind == "GlobalLimit":
                limit = int(node.limitExpr().eval(None))
            elif kind == "Offset":
                offset = int(node.offsetExpr().eval(None))
            elif kind == "Project":
                projections.append(node)
            elif kind not in {"LocalLimit", "SubqueryAlias"}:
                raise _Refusal("LIMIT", self._written.of(top))
            node = node.child()
        child = self._read(node.child())
        order = [(each.child(), each) for each in self._catalyst.items(node.order())]
        printed = [(original, self._expression(original)) for original, _ in order]
        self._verify(printed, node.child())
        directions = [f"{each.direction().sql()} {each.nullOrdering().sql()}" for _, each in order]
        pairs = tuple((expression, way) for (_, expression), way in zip(printed, directions, strict=True))
        bound: Bound = BoundLimit(child, pairs, limit, offset)
        for projection in reversed(projections):
            bound = self._projected(projection, bound)
        return bound

    def _constant(self, node: Any, kind: str) -> BoundConstant:
        if kind == "Range":
            step = f"range({node.start()}, {node.end()}, {node.step()})"
            return BoundConstant(step, (("`id`", self._attribute(node.output().head())),))
        if kind == "OneRowRelation":
            return BoundConstant("(VALUES (1)) AS v(`one`)", ())
        attributes = self._catalyst.items(node.output())
        rows = []
        for row in self._catalyst.items(node.data()):
            cells = []
            for place, attribute in enumerate(attributes):
                type_ = attribute.dataType()
                value = "NULL"
                if not row.isNullAt(place):
                    value = str(self._catalyst.literal(row.get(place, type_), type_).sql())
                cells.append(f"CAST({value} AS {type_.sql()})")
            rows.append(f"({', '.join(cells)})")
        names = [f"`c{place}`" for place in range(len(attributes))]
        columns = tuple(zip(names, (self._attribute(each) for each in attributes), strict=True))
        if not rows:
            nulls = ", ".join(f"CAST(NULL AS {each.dataType().sql()})" for each in attributes)
            return BoundConstant(f"(SELECT * FROM VALUES ({nulls}) AS v({', '.join(names)}) WHERE false)", columns)
        return BoundConstant(f"(VALUES {', '.join(rows)}) AS v({', '.join(names)})", columns)

    def _named_constant(self, node: Any, relation: str) -> BoundConstant:
        attributes = self._catalyst.items(node.output())
        return BoundConstant(relation, tuple((quote(str(each.name())), self._attribute(each)) for each in attributes))

    def _conjuncts(self, condition: Any, *inputs: Any) -> tuple[Expression, ...]:
        """The terms of an AND, in the order in which they were written."""
        split = [(term, self._expression(term)) for term in self._catalyst.conjuncts(condition)]
        self._verify(split, *inputs)
        return tuple(replace(expression, comparison=comparison(self._catalyst, term)) for term, expression in split)

    def _aggregate(self, node: Any) -> BoundProject:
        child = self._read(node.child())
        keys: list[tuple[Expression, Attribute]] = []
        replaced: list[tuple[Any, int]] = []
        grouped: list[tuple[Any, Expression]] = []
        for grouping in self._catalyst.items(node.groupingExpressions()):
            expression = self._worded(self._expression(grouping), grouping)
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
        if node_kind(node) == "AggregateExpression" or _sorted_list(node):
            yield node
            return
        for child in self._catalyst.items(node.children()):
            yield from self._calls(child)

    def _call(self, node: Any) -> AggregateCall:
        if _sorted_list(node):
            # The list alone could come in any order; sorted it is a function of the group's rows.
            listed = self._call(node.base())
            return replace(listed, function="SortedList", call=self._expression(node))
        function = node.aggregateFunction()
        condition = self._expression(node.filter().get()) if node.filter().isDefined() else None
        arguments = tuple(self._expression(each) for each in self._catalyst.items(function.children()))
        call = AggregateCall(
            function=node_kind(function),
            call=self._expression(node),
            arguments=arguments,
            distinct=bool(node.isDistinct()),
            condition=condition,
        )
        if reproducible(call):
            return call
        return replace(call, call=replace(call.call, written=self._written.of(node)))

    def _union(self, node: Any) -> BoundUnion:
        children = self._catalyst.items(node.children())
        bound = tuple(self._read(child) for child in children)
        inputs = tuple(
            tuple(self._attribute(each) for each in self._catalyst.items(child.output())) for child in children
        )
        columns = tuple(self._renewed(each) for each in self._catalyst.items(node.output()))
        return BoundUnion(bound, columns, inputs)

    def _renewed(self, each: Any) -> Attribute:
        """A number of its own for a column that Spark gives the id of a column below it."""
        attribute = Attribute(self._take(), str(each.name()), str(each.dataType().sql()), bool(each.nullable()))
        self._numbers[int(each.exprId().id())] = attribute.id
        self._attributes[attribute.id] = attribute
        return attribute

    def _take(self) -> int:
        self._next += 1
        return self._next

    def _number(self, attribute: Any) -> int:
        key = int(attribute.exprId().id())
        if key not in self._numbers:
            raise RefusedExpression("ROUND_TRIP", attribute)
        return self._numbers[key]

    def _attribute(self, named: Any) -> Attribute:
        key = int(named.exprId().id())
        if key not in self._numbers:
            self._numbers[key] = self._take()
            self._attributes[self._numbers[key]] = Attribute(
                self._numbers[key], str(named.name()), str(named.dataType().sql()), bool(named.nullable())
            )
        return self._attributes[self._numbers[key]]

    def _fresh(self, name: str, expression: Expression) -> Attribute:
        attribute = Attribute(self._take(), name, expression.type, expression.nullable)
        self._attributes[attribute.id] = attribute
        return attribute

    def _expression(self, node: Any, replaced: tuple[tuple[Any, int], ...] = ()) -> Expression:
        return Expression(self._printer.parts(node, replaced), str(node.dataType().sql()), bool(node.nullable()))

    def _verify(
        self,
        pairs: list[tuple[Any, Expression]],
        *inputs: Any,
        grouping: list[str] | None = None,
        window: bool = False,
    ) -> None:
        held = {self._number(each): each for child in inputs for each in self._catalyst.items(child.output())}
        names = {number: self._attributes[number].column for number in held}
        texts = [
            (original, expression.render(self._attributes))
            for original, expression in pairs
            if expression.attribute is None
        ]
        self._printer.verify(texts, held, names, grouping, window)


def _distinguishable(type_: str) -> bool:
    """True if rows can be told apart by values of the type."""
    return groupable(type_) and binary_collation(type_)


def _read_by(tree: Bound) -> set[str]:
    """Ids of the sources that the tree reads; a CTE that is never used reads none."""
    return {node.source.id for node in tree.nodes() if isinstance(node, BoundScan)}


def _sorted_list(node: Any) -> bool:
    return (
        node_kind(node) == "SortArray"
        and node_kind(node.base()) == "AggregateExpression"
        and node_kind(node.base().aggregateFunction()) in {"CollectList", "CollectSet"}
    )


def _call(name: str, arguments: Iterable[Expression]) -> tuple[str | int, ...]:
    parts: list[str | int] = [f"{name}("]
    for place, argument in enumerate(arguments):
        parts += [", ", *argument.parts] if place else argument.parts
    return (*parts, ")")


def _cast(expression: Expression, type_: str) -> Expression:
    return Expression(("CAST(", *expression.parts, f" AS {type_})"), type_, expression.nullable)


def _relation_name(node: Any, path: str) -> str:
    table = node.catalogTable()
    if table.isDefined():
        identifier = table.get().identifier()
        database = identifier.database()
        return f"{database.get()}.{identifier.table()}" if database.isDefined() else str(identifier.table())
    return f"delta.`{path}`"
