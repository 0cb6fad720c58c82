"""One JSON document posted to an address, tried a few times.

Tried again: no connection, a timeout, 408, 429 and 5xx; the pauses double. Anything else the receiver says is final.
"""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Final

from penstock.version import VERSION

TIMEOUT: Final = 5.0
"""Seconds that a receiver has to answer."""

PAUSES: Final = (0.5, 1.0, 2.0)
"""Seconds between tries; one try more than there are pauses."""

_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


def post(url: str, document: Mapping[str, object], ending: threading.Event, pauses: tuple[float, ...] = PAUSES) -> None:
    """Post it, or raise what the last try met. Once `ending` is set, there is no other try."""
    request = urllib.request.Request(
        url,
        data=json.dumps(document, ensure_ascii=False).encode(),
        headers={"Content-Type": "application/json; charset=utf-8", "User-Agent": f"penstock/{VERSION}"},
        method="POST",
    )
    for pause in (*pauses, None):
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT):
                return
        except urllib.error.HTTPError as error:
            error.close()
            if pause is None or ending.is_set() or error.code not in _PASSING:
                raise
        except (OSError, HTTPException):
            if pause is None or ending.is_set():
                raise
        ending.wait(pause)
