"""The key of a row as one text, so that a row can be named in an address and rows can be watched by a prefix.

    key values joined by "."    eu.Paris.3      JSON's text of each value, strings without quotes
    NULL                        \\N
    \\ and * in a value          \\\\ and \\*
    . in a value                \\.              only where the key has several columns

So no two keys have the same text, and a text never ends in `.*`: that ending asks for all keys that begin with what
stands before the star.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from penstock.changes.wire.canonical_json import canonical_json
from penstock.changes.wire.payload import json_column

_PREFIX: Final = ".*"
_NULL: Final = "\\N"


def key_texts(rows: pa.Table, key: Sequence[str]) -> list[str]:
    """The key text of every row.

    >>> key_texts(pa.table({"region": ["eu", None], "at": [1.5, 2.0]}), ("region", "at"))
    ['eu.1\\\\.5', '\\\\N.2']
    """
    special = re.compile(r"[\\\\*]" if len(key) == 1 else r"[\\\\*.]")
    columns = [[_text(value, special) for value in json_column(rows.column(name))] for name in key]
    return [".".join(values) for values in zip(*columns, strict=True)]


def matches(text: str, wanted: str) -> bool:
    """True if a key text is the one wanted, or begins with the prefix that is wanted.

    >>> [matches(text, "cart.*") for text in ("cart.1", "cart", "carton.1")]
    [True, False, False]
    """
    return text.startswith(wanted[:-1]) if is_prefix(wanted) else text == wanted


def is_prefix(wanted: str) -> bool:
    """True if all keys under a prefix are wanted."""
    return wanted.endswith(_PREFIX)


def _text(value: Any, special: re.Pattern[str]) -> str:
    if value is None:
        return _NULL
    text = value if isinstance(value, str) else canonical_json(value).decode()
    return special.sub(r"\\\g<0>", text)
