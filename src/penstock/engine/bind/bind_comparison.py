"""Conditions that compare one column with constants.

Spark has typed both sides and computes the constants itself. A condition of another shape has no comparison, which is
always right, because the text of the condition has the same meaning.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from py4j.protocol import Py4JError

from penstock.engine.spark.catalyst import Catalyst, node_kind
from penstock.operators.expression import Comparison

_OPERATORS = {"EqualTo": "=", "LessThan": "<", "LessThanOrEqual": "<=", "GreaterThan": ">", "GreaterThanOrEqual": ">="}
_FROM_THE_RIGHT = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_TYPES = {*_INTEGERS, "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "STRING"}


def comparison(catalyst: Catalyst, node: Any) -> Comparison | None:
    """The condition as a comparison, if it is one."""
    kind = node_kind(node)
    if kind in {"IsNull", "IsNotNull"} and node_kind(node.child()) == "AttributeReference":
        return Comparison("IS NULL" if kind == "IsNull" else "IS NOT NULL")
    if kind == "Not" and node_kind(node.child()) == "EqualTo":
        return _with_constants("<>", node.child().left(), [node.child().right()])
    if kind == "In":
        return _with_constants("IN", node.value(), catalyst.items(node.list()))
    if kind not in _OPERATORS:
        return None
    operator = _OPERATORS[kind]
    if node_kind(_bare(node.right())) == "AttributeReference":
        return _with_constants(_FROM_THE_RIGHT[operator], node.right(), [node.left()])
    return _with_constants(operator, node.left(), [node.right()])


def _with_constants(operator: str, column: Any, constants: list[Any]) -> Comparison | None:
    type_ = str(column.dataType().sql())
    if node_kind(_bare(column)) != "AttributeReference" or not (type_ in _TYPES or type_.startswith("DECIMAL(")):
        return None
    values = []
    for constant in constants:
        value = _value(constant, type_)
        if value is None:
            return None
        values.append(value)
    return Comparison(operator, tuple(values))


def _bare(column: Any) -> Any:
    """The column without a cast that only makes an integer longer."""
    if node_kind(column) != "Cast":
        return column
    held, wanted = str(column.child().dataType().sql()), str(column.dataType().sql())
    longer = held in _INTEGERS and wanted in _INTEGERS and _INTEGERS.index(held) < _INTEGERS.index(wanted)
    return column.child() if longer else column


def _value(constant: Any, type_: str) -> bool | int | Decimal | str | None:
    bare = constant
    while node_kind(bare) == "Cast":
        bare = bare.child()
    if node_kind(bare) != "Literal" or str(constant.dataType().sql()) != type_:
        return None
    try:
        value = constant.eval(None)
    except Py4JError:
        # A cast that fails is for the query to report.
        return None
    if value is None or isinstance(value, bool | int):
        return value
    text = str(value.toString())
    return Decimal(text) if type_.startswith("DECIMAL(") else text
