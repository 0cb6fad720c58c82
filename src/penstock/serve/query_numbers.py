"""Numbers in the address of a request. What cannot be read counts as not given: a poller is not turned away for it."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"[0-9]{1,20}")
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_LARGEST = (1 << 64) - 1


def whole_number_in(text: str | None, default: int) -> int:
    """A number from 0 to 2⁶⁴ − 1.

    >>> [whole_number_in(text, 100) for text in ("7", "-7", "7.5", "18446744073709551616", None)]
    [7, 100, 100, 100, 100]
    """
    if text is None or not _DIGITS.fullmatch(text) or int(text) > _LARGEST:
        return default
    return int(text)


def seconds_in(text: str | None) -> float:
    """A duration; 0 if there is none.

    >>> [seconds_in(text) for text in ("2.5", "-1", "nan", None)]
    [2.5, 0.0, 0.0, 0.0]
    """
    return float(text) if text is not None and _SECONDS.fullmatch(text) else 0.0
