"""Which columns an update changed: those whose value differs, and those that only one of the two rows has.

Values are compared as a table keeps them: NULL equals NULL, NaN equals NaN, and −0.0 is not 0.0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def changed_columns(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """Columns of the new row in their order, then those that are gone.

    >>> changed_columns({"id": 1, "email": "a", "age": 3}, {"id": 1, "email": "b", "nick": None})
    ('email', 'nick', 'age')
    """
    changed = [name for name, value in after.items() if name not in before or not _same(before[name], value)]
    return (*changed, *(name for name in before if name not in after))


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)
