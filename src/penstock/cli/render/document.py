"""Anything the API returns, as JSON that loses nothing.

Decimals become strings, durations seconds, moments ISO text; an object with `to_json` becomes what that returns.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

from penstock.names import TableName


def plain(value: Any) -> Any:
    """The value in terms of JSON.

    >>> plain({"lag": timedelta(minutes=1), "total": Decimal("1.10"), "share": float("nan")})
    {'lag': 60.0, 'total': '1.10', 'share': 'NaN'}
    """
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, float):
        # JSON has no NaN and no infinities.
        return value if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, TableName):
        return str(value)
    if callable(to_json := getattr(value, "to_json", None)):
        document = to_json()
        return json.loads(document) if isinstance(document, str) else plain(document)
    return _plain_container(value)


def _plain_container(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if callable(as_dict := getattr(value, "asDict", None)):
        return plain(as_dict())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value)


def dumps(value: Any) -> str:
    """The value as one JSON document."""
    return json.dumps(plain(value), indent=2, ensure_ascii=False)
