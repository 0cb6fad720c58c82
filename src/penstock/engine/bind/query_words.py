"""What the user wrote: the words behind a node of the plan, and their place in the query.

    of a text         rand() at line 2, column 3 of the query
    of a view's text  rand() at line 1, column 8 of the view shop.luck
    of a DataFrame    rand() + id at job.py:12, if the session keeps that; else rand()

Spark keeps with every node where it came from. Users never see a node's own text, because it has the planner's numbers
and names. Where a rewrite made a node, the place is that of the nodes it was made of, then that of the node around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Any

from penstock.engine.spark.catalyst import Catalyst, node_kind

_LONG = 80
_PLAN = "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan"
_NUMBERED = re.compile(r"#\d+L?")
_CATALOG = "spark_catalog."
_LISTS = {"Project": "projectList", "Aggregate": "aggregateExpressions"}


class Written:
    """The words and places of one query; without a `text`, of a DataFrame."""

    def __init__(self, catalyst: Catalyst, text: str | None) -> None:
        self._catalyst = catalyst
        self._text = text

    def of(self, node: Any) -> str:
        """The words of a plan node or expression with their place; those of the whole query, if it has none."""
        for each in self._downwards(node):
            if found := self._place(each):
                return found
        return self._whole() or self._short(node)

    def first(self, plan: Any, wanted: Callable[[Any], bool]) -> str | None:
        """The innermost node for which `wanted` is true, in the order of writing; None if there is none.

        The body of a function has a text of its own; the place of a node in it is the place of the call.
        """
        found = self._first(plan, wanted, "")
        return found[0] if found is not None else None

    def column(self, plan: Any, place: int) -> str:
        """A result column of a plan, by its place: its words in the select list, else its name."""
        column = self._catalyst.items(plan.output())[place]
        name = str(column.name())
        if self._text is None:
            return name
        item = self._item(column, place)
        found = self._place(item) if item is not None else ""
        if not found:
            return f"{name} in {self._whole()}"
        return f"{name} in {found}" if _star(item) else found

    def _first(self, node: Any, wanted: Callable[[Any], bool], outer: str) -> tuple[str] | None:
        if not wanted(node):
            return None
        here = self._place(node) or outer
        for each in self._children(node):
            found = self._first(each, wanted, here)
            if found is not None:
                return found
        return (here or self._whole() or self._short(node),)

    def _children(self, node: Any) -> list[Any]:
        below = []
        if self._catalyst.is_a(node, _PLAN):
            below += self._catalyst.items(node.expressions())
        elif self._catalyst.is_a(node, "PlanExpression"):
            below.append(node.plan())
        return [*below, *self._catalyst.items(node.children())]

    def _downwards(self, node: Any) -> Iterator[Any]:
        """The node, then what it is made of, level by level."""
        level = [node]
        while level:
            yield from level
            level = [below for each in level for below in self._children(each)]

    def _place(self, node: Any) -> str:
        """The words of this one node with their place; empty if a rewrite made it."""
        origin = node.origin()
        if origin.line().isDefined() and origin.sqlText().isDefined():
            view = _given(origin.objectName())
            text = str(origin.sqlText().get())
            if view is None and self._text is not None and text != self._text:
                return ""
            # Spark counts characters as Python does, and cuts as Java does.
            words = text[int(origin.startIndex().get()) : int(origin.stopIndex().get()) + 1]
            where = f"the view {view.removeprefix(_CATALOG)}" if view is not None else "the query"
            return _with_place(words, int(origin.line().get()), int(origin.startPosition().get()) + 1, where)
        if not origin.pysparkErrorContext().isDefined():
            return ""
        site = str(origin.pysparkErrorContext().get()._2()).splitlines()[0]
        return f"{self._short(node)} at {PurePath(site).name}"

    def _whole(self) -> str:
        return "" if self._text is None else _with_place(self._text, 1, 1, "the query")

    def _short(self, node: Any) -> str:
        if node_kind(node) == "LogicalRelation":
            table = node.catalogTable()
            if not table.isDefined():
                return "a source that is no Delta table"
            return str(table.get().identifier().unquotedString()).removeprefix(_CATALOG)
        if self._catalyst.is_a(node, _PLAN):
            # mapInPandas, cached data and their like: the class says what it is in common words.
            return " ".join(re.findall(r"[A-Z][a-z]+|[A-Z]+(?![a-z])|\d+", node_kind(node))).lower()
        pretty = self._catalyst.module(self._catalyst.jvm.org.apache.spark.sql.catalyst.util, "package")
        return _cut(_NUMBERED.sub("", str(pretty.toPrettySQL(node, True))))

    def _item(self, column: Any, place: int) -> Any | None:
        """The item of the query's select list that made a result column; None if there is no such list."""
        catalyst = self._catalyst
        plan = catalyst.session.sessionState().sqlParser().parsePlan(self._text)
        while node_kind(plan) not in _LISTS:
            below = catalyst.items(plan.children())
            if not below:
                return None
            plan = below[0]
        items = catalyst.items(getattr(plan, _LISTS[node_kind(plan)])())
        stars = [each for each in items if _star(each)]
        if not stars:
            return items[place]
        named = [each for each in items if self._name(each) == str(column.name()).lower()]
        tables = [str(each).lower() for each in catalyst.items(column.qualifier())[-1:]]
        return [*named, *(each for each in stars if self._table(each) in tables), *stars][0]

    def _name(self, item: Any) -> str:
        """What an item of a select list calls its column; empty if that is left to Spark."""
        kind = node_kind(item)
        if kind == "UnresolvedAttribute":
            return str(item.nameParts().last()).lower()
        return str(item.name()).lower() if kind == "Alias" else ""

    def _table(self, star: Any) -> str:
        """The table that a star is of; empty, if it is of all."""
        target = star.target() if node_kind(star) == "UnresolvedStar" else self._catalyst.none
        return str(target.get().last()).lower() if target.isDefined() else ""


def _star(item: Any) -> bool:
    return "Star" in node_kind(item)


def _given(option: Any) -> str | None:
    return str(option.get()) if option.isDefined() else None


def _with_place(words: str, line: int, column: int, where: str) -> str:
    return f"{_cut(words)} at line {line}, column {column} of {where}" if words else ""


def _cut(words: str) -> str:
    """The first line, if it is not too long: what stays is still what was written."""
    first = words.split("\n", 1)[0].rstrip()
    cut = first[:_LONG].rstrip()
    return cut if cut == words else f"{cut}…"
