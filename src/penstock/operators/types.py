"""What the engine must know of Spark's types, read off their SQL text."""

from __future__ import annotations

import re

INTEGERS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}
_RANGEABLE = {*INTEGERS, "DATE", "STRING", "TIMESTAMP", "TIMESTAMP_NTZ"}
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_INEXACT = re.compile(r"\b(FLOAT|DOUBLE|MAP|VARIANT|GEOMETRY|GEOGRAPHY)\b")


def decimal(type_: str) -> tuple[int, int] | None:
    """Precision and scale of a decimal type, else None.

    >>> decimal("DECIMAL(12,2)"), decimal("INT")
    ((12, 2), None)
    """
    found = _DECIMAL.fullmatch(type_)
    return (int(found.group(1)), int(found.group(2))) if found else None


def rangeable(type_: str) -> bool:
    """True if file statistics of the type can be trusted, so that its values can bound what is read.

    >>> rangeable("BIGINT"), rangeable("DECIMAL(15,2)"), rangeable("DOUBLE"), rangeable("STRING COLLATE UTF8_LCASE")
    (True, True, False, False)
    """
    known = decimal(type_)
    return type_ in _RANGEABLE if known is None else known[0] <= 15


def equal_by_text(type_: str) -> bool:
    """True if SQL equality of the type is coarser than its bits (−0.0 and 0.0) or does not exist (maps)."""
    return bool(_INEXACT.search(type_))


def groupable(type_: str) -> bool:
    """True if Spark can group and join by the type."""
    return "VARIANT" not in type_ and "GEOMETRY" not in type_ and "GEOGRAPHY" not in type_


def binary_collation(type_: str) -> bool:
    """True unless the type holds strings that compare equal without being the same."""
    return "COLLATE" not in type_ or set(re.findall(r"COLLATE\s+(\w+)", type_)) <= {"UTF8_BINARY"}


def same(left: str, right: str, type_: str) -> str:
    """SQL that is true exactly when two values of the type are the same to the bit, NULLs included."""
    if not equal_by_text(type_):
        return f"({left} <=> {right})"
    # Text tells −0.0 from 0.0, but not ['a, b'] from ['a', 'b'].
    text = f"(CAST({left} AS STRING) <=> CAST({right} AS STRING))"
    if "MAP" in type_:
        return f"({text} AND (to_json(struct({left})) <=> to_json(struct({right}))))"
    return f"({text} AND ({left} <=> {right}))"
