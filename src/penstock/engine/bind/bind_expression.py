"""Printing Catalyst expressions as SQL with holes for the columns.

Each node prints itself through its own `sql`, with placeholders in the place of its children, so that any expression
Spark knows can be carried. What this prints is read back by Spark and compared with the original (`verify`); an
expression that does not come back the same is refused with ROUND_TRIP, never used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from penstock.engine.spark.catalyst import Catalyst, node_kind
from penstock.names import quote

Parts = tuple[str | int, ...]

_HOLE = re.compile(r"(__psx\d+x)")
_ORDERED_SET = {"PercentileCont": "percentile_cont", "PercentileDisc": "percentile_disc"}


class RefusedExpression(Exception):
    """An expression that has no delta rule, and why; `note` follows its words in the message."""

    def __init__(self, reason: str, expression: Any, note: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.expression = expression
        self.note = note


class ExpressionPrinter:
    """Prints expressions; `attribute_id` numbers the columns in order of appearance."""

    def __init__(self, catalyst: Catalyst, attribute_id: Callable[[Any], int]) -> None:
        self._catalyst = catalyst
        self._attribute_id = attribute_id
        self._variables: dict[int, int] = {}

    def parts(self, node: Any, replaced: Sequence[tuple[Any, int]] = ()) -> Parts:
        """The node's text in pieces; a subtree equal to one in `replaced` becomes a read of that attribute."""
        self._variables = {}
        return _merge(self._print(node, replaced))

    def _print(self, node: Any, replaced: Sequence[tuple[Any, int]]) -> list[str | int]:
        kind = node_kind(node)
        for candidate, attribute in replaced:
            if node.semanticEquals(candidate):
                return [attribute]
        if kind == "AttributeReference":
            return [self._attribute_id(node)]
        if kind == "Alias":
            return self._print(node.child(), replaced)
        if kind == "Literal":
            # Of a type with parts, Spark writes NULL without its type.
            typed = node.value() is None and _has_parts(node)
            return [f"CAST(NULL AS {node.dataType().sql()})" if typed else node.sql()]
        if kind == "NamedLambdaVariable":
            key = int(node.exprId().id())
            return [f"__psv{self._variables.setdefault(key, len(self._variables))}"]
        if kind == "LambdaFunction":
            variables = [str(self._print(each, replaced)[0]) for each in self._catalyst.items(node.arguments())]
            head = variables[0] if len(variables) == 1 else f"({', '.join(variables)})"
            return [f"{head} -> ", *self._print(node.function(), replaced)]
        self._refuse(node, kind)
        if kind == "AggregateExpression":
            return self._aggregate(node, replaced)
        if kind == "WindowExpression":
            return self._window(node, replaced)
        if kind == "PythonUDF" or (kind == "ScalaUDF" and node.udfName().isDefined()):
            name = str(node.name() if kind == "PythonUDF" else node.udfName().get())
            if not self._catalyst.spark.catalog.functionExists(quote(name)):
                raise RefusedExpression("UDF", node, f" calls {name}, a function that is not registered")
            return self._call(quote(name), self._catalyst.items(node.children()), replaced)
        if kind in _ORDERED_SET:
            return self._percentile(node, kind, replaced)
        if kind == "Cast" and _again(node):
            return self._print(node.child(), replaced)
        if kind == "Cast" and _has_parts(node):
            # Spark leaves a cast to a type with parts out of its SQL.
            word = "TRY_CAST" if str(node.evalMode().toString()) == "TRY" else "CAST"
            return [f"{word}(", *self._print(node.child(), replaced), f" AS {node.dataType().sql()})"]
        if kind == "DateAdd" and (days := _interval_days(node.right())) is not None:
            sign, interval = days
            return ["(", *self._print(node.left(), replaced), f" {sign} ", *self._print(interval, replaced), ")"]
        if kind == "RaiseError" and node_kind(node.right()) == "CreateMap":
            # It prints its message only, which is the last of its children's children.
            return self._call("raise_error", self._catalyst.items(node.right().children())[1:], replaced)
        if kind == "Extract":
            return self._call("date_part", self._catalyst.items(node.parameters()), replaced)
        if kind == "CreateNamedStruct":
            return self._call("named_struct", self._catalyst.items(node.children()), replaced)
        if kind == "JsonToStructs" and node.options().isEmpty():
            schema = node.schema().sql().replace("\\", "\\\\").replace("'", "\\'")
            return ["from_json(", *self._print(node.child(), replaced), f", '{schema}')"]
        if self._catalyst.is_a(node, "InheritAnalysisRules"):
            return self._replaceable(node, replaced)
        return self._by_itself(node, lambda copy: str(copy.sql()), replaced)

    def _refuse(self, node: Any, kind: str) -> None:
        if self._catalyst.is_a(node, "PlanExpression") or kind == "OuterReference":
            raise RefusedExpression("SUBQUERY", node)
        if kind in {"PythonUDAF", "ScalaAggregator", "ScalaUDAF", "SQLFunctionExpression", "SQLScalarFunction"}:
            raise RefusedExpression("UDF", node)

    def _aggregate(self, node: Any, replaced: Sequence[tuple[Any, int]]) -> list[str | int]:
        function = node.aggregateFunction()
        distinct = bool(node.isDistinct())
        kind = node_kind(function)
        if kind in _ORDERED_SET:
            text = self._percentile(function, kind, replaced)
        elif self._catalyst.is_a(function, "InheritAnalysisRules"):
            text = self._replaceable(function, replaced)
        else:
            text = self._by_itself(function, lambda copy: str(copy.sql(distinct)), replaced)
        if node.filter().isDefined():
            text = [*text, " FILTER (WHERE ", *self._print(node.filter().get(), replaced), ")"]
        return text

    def _window(self, node: Any, replaced: Sequence[tuple[Any, int]]) -> list[str | int]:
        spec, function = node.windowSpec(), node.windowFunction()
        pieces = [*self._print(function, replaced), " OVER ("]
        for head, members in (("PARTITION BY ", spec.partitionSpec()), (" ORDER BY ", spec.orderSpec())):
            for index, each in enumerate(self._catalyst.items(members)):
                pieces.append(", " if index else head)
                if node_kind(each) == "SortOrder":
                    pieces += self._print(each.child(), replaced)
                    pieces.append(f" {each.direction().sql()} {each.nullOrdering().sql()}")
                else:
                    pieces += self._print(each, replaced)
        # Offset functions have a frame of their own that must not be written.
        if not self._catalyst.is_a(function, "OffsetWindowFunction") or self._catalyst.is_a(function, "NthValue"):
            pieces.append(f" {spec.frameSpecification().sql()}")
        return [*pieces, ")"]

    def _percentile(self, node: Any, kind: str, replaced: Sequence[tuple[Any, int]]) -> list[str | int]:
        direction = " DESC" if node.reverse() else ""
        value, share = self._print(node.left(), replaced), self._print(node.right(), replaced)
        return [f"{_ORDERED_SET[kind]}(", *share, ") WITHIN GROUP (ORDER BY ", *value, f"{direction})"]

    def _replaceable(self, node: Any, replaced: Sequence[tuple[Any, int]]) -> list[str | int]:
        # The parameters are what the user wrote; the child is Spark's replacement, which often has no SQL form.
        parameters = self._catalyst.items(node.parameters())
        if not all(parameter.references().subsetOf(node.references()) for parameter in parameters):
            return self._replacement(node, replaced)
        holes = [f"__psx{index}x" for index in range(len(parameters))]
        text = str(node.makeSQLString(self._catalyst.seq(holes)))
        return _fill(text, [self._print(parameter, replaced) for parameter in parameters])

    def _replacement(self, node: Any, replaced: Sequence[tuple[Any, int]]) -> list[str | int]:
        """The text of a replaced call. Where a relation occurs twice, Spark forgets the parameters: read the child."""
        child = self._catalyst.items(node.children())[0]
        if node_kind(node) == "Between":
            low, high = (side.right() for side in self._catalyst.items(child.child().children()))
            return self._call("between", [child.defs().apply(0).child(), low, high], replaced)
        if node_kind(child) == "With":
            raise RefusedExpression("ROUND_TRIP", node)
        return self._print(child, replaced)

    def _call(self, name: str, arguments: Sequence[Any], replaced: Sequence[tuple[Any, int]]) -> list[str | int]:
        pieces: list[str | int] = [f"{name}("]
        for index, argument in enumerate(arguments):
            pieces += [", "] if index else []
            pieces += self._print(argument, replaced)
        return [*pieces, ")"]

    def _by_itself(self, node: Any, text: Callable[[Any], str], replaced: Sequence[tuple[Any, int]]) -> list[str | int]:
        children = self._catalyst.items(node.children())
        if not children:
            return [text(node)]
        holes: list[Any] = []
        inner: list[list[str | int]] = []
        for index, child in enumerate(children):
            name = f"__psx{index}x"
            kind = node_kind(child)
            if kind == "Literal":
                # Some nodes look into their literal children to print themselves.
                holes.append(child)
                inner.append([])
            elif kind == "SortOrder":
                holes.append(child.withNewChildren(self._catalyst.seq([self._catalyst.attribute(name, child.child())])))
                inner.append(self._print(child.child(), replaced))
            else:
                inner.append(self._print(child, replaced))
                holes.append(self._catalyst.attribute(name, child))
        return _fill(text(node.withNewChildren(self._catalyst.seq(holes))), inner)

    def verify(
        self,
        printed: Sequence[tuple[Any, str]],
        inputs: Mapping[int, Any],
        names: Mapping[int, str],
        grouping: Sequence[str] | None = None,
        window: bool = False,
    ) -> None:
        """Read each text back over the same attributes and compare it with its expression.

        `printed` pairs expressions with text over `names`; `inputs` are the attributes those names stand for.
        With `grouping`, the expressions are the select list of an aggregate with these keys; with `window`, they are
        window functions.
        """
        if not printed:
            return
        catalyst = self._catalyst
        relation = catalyst.logical.LocalRelation(
            catalyst.seq(attribute.withName(names[held]) for held, attribute in inputs.items()),
            catalyst.seq([]),
            False,
            catalyst.none,
        )
        try:
            items = catalyst.seq(
                catalyst.alias(catalyst.parse_expression(text), f"x{index}") for index, (_, text) in enumerate(printed)
            )
            if window:
                again = self._window_functions(catalyst.analyse(catalyst.logical.Project(items, relation)))
            elif grouping is None:
                again = catalyst.items(catalyst.analyse(catalyst.logical.Project(items, relation)).projectList())
            else:
                keys = catalyst.seq(catalyst.parse_expression(text) for text in grouping)
                aggregate = catalyst.logical.Aggregate(keys, items, relation, catalyst.none)
                again = catalyst.items(catalyst.analyse(aggregate).aggregateExpressions())
        except (Py4JError, PySparkException) as error:
            if len(printed) == 1:
                raise RefusedExpression("ROUND_TRIP", printed[0][0]) from error
            for pair in printed:
                self.verify([pair], inputs, names, grouping, window)
            raise
        for (original, _), alias in zip(printed, again, strict=True):
            expression = original.child() if node_kind(original) == "Alias" else original
            if not self._same(alias.child(), expression):
                raise RefusedExpression("ROUND_TRIP", expression)

    def _window_functions(self, plan: Any) -> list[Any]:
        while node_kind(plan) == "Project":
            plan = plan.child()
        return self._catalyst.items(plan.windowExpressions())

    def _typed_null(self, node: Any) -> Any:
        """`CAST(NULL AS t)` is read as a cast of nothing; what was printed may have been a NULL of that type."""
        if node_kind(node) != "Cast" or node_kind(node.child()) != "Literal":
            return None
        if node.child().value() is not None or str(node.child().dataType().sql()) != "VOID":
            return None
        return self._catalyst.expressions.Literal(None, node.dataType())

    def _same(self, again: Any, original: Any) -> bool:
        if not again.dataType().equals(original.dataType()):
            return False
        if again.semanticEquals(original):
            return True
        one, other = (self._catalyst.replaced(each, self._typed_null) for each in (again, original))
        # Lambda variables get new ids at every reading, which Catalyst takes for a difference; their text does not.
        return bool(one.semanticEquals(other)) or (
            "__psv" in str(self.parts(original)) and self.parts(again) == self.parts(original)
        )


def _fill(text: str, inner: Sequence[list[str | int]]) -> list[str | int]:
    pieces: list[str | int] = []
    for piece in _HOLE.split(text):
        if _HOLE.fullmatch(piece):
            pieces += inner[int(piece[5:-1])]
        elif piece:
            pieces.append(piece)
    return pieces


def _merge(pieces: Sequence[str | int]) -> Parts:
    merged: list[str | int] = []
    for piece in pieces:
        if isinstance(piece, str) and merged and isinstance(merged[-1], str):
            merged[-1] += piece
        else:
            merged.append(piece)
    return tuple(merged)


def _again(cast: Any) -> bool:
    # Datetime arithmetic is analysed into a cast to its own type, which reading the text back adds once more.
    inner = node_kind(cast.child())
    return inner in {"TimestampAddInterval", "DateAddInterval"} and cast.dataType().equals(cast.child().dataType())


def _interval_days(days: Any) -> tuple[str, Any] | None:
    """The interval that was added to a date or taken from it, if its days are what is added."""
    sign = "+"
    if node_kind(days) == "UnaryMinus":
        sign, days = "-", days.child()
    return (sign, days.child()) if node_kind(days) == "ExtractANSIIntervalDays" else None


def _has_parts(node: Any) -> bool:
    return str(node.dataType().sql()).startswith(("ARRAY<", "MAP<", "STRUCT<"))
