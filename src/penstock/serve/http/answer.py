"""Answers as JSON, errors among them: `{"ok":false,"error":{"condition":…,"message":…,"hint":…}}`.

The condition is that of `errors.py`. The HTTP status follows from it, for clients that read no body.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from penstock.errors import (
    InternalError,
    InvalidTokens,
    NotAuthenticated,
    NotGranted,
    NotRetained,
    PenstockError,
    RequestRefused,
    RequestTooLarge,
    Retry,
    StreamTableGone,
    StreamTableNotFound,
    SubscriptionEnded,
    SubscriptionExists,
    UsageError,
)

JSON: Final = "application/json"
_STATUS: Final[dict[type[PenstockError], int]] = {
    NotAuthenticated: 401,
    NotGranted: 403,
    RequestRefused: 403,
    StreamTableNotFound: 404,
    SubscriptionExists: 409,
    NotRetained: 410,
    StreamTableGone: 410,
    SubscriptionEnded: 410,
    RequestTooLarge: 413,
    InvalidTokens: 500,
}
_log = logging.getLogger("penstock.serve")


def error_json(error: PenstockError) -> dict[str, Any]:
    """The error as a client gets it."""
    facts: dict[str, Any] = {"condition": error.condition, "message": error.text, "hint": error.advice}
    if isinstance(error, NotRetained):
        earliest = error.facts.get("earliest_lsn", error.facts["earliest"])
        facts["earliest"] = earliest if isinstance(earliest, int) else str(earliest)
    return facts


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON document."""
    return encoded(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(), status, headers)


def encoded(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON document that is bytes already."""
    return Response(body, status, {"Cache-Control": "no-store", **(headers or {})}, JSON)


def refusal(error: PenstockError) -> Response:
    """An error as an answer."""
    headers = {"WWW-Authenticate": "Bearer"} if isinstance(error, NotAuthenticated) else {}
    if status_of(error) == 503:
        headers["Retry-After"] = "1"
    return answer({"ok": False, "error": error_json(error)}, status_of(error), headers)


def status_of(error: PenstockError) -> int:
    """The status of an error."""
    for kind, status in _STATUS.items():
        if isinstance(error, kind):
            return status
    if error.retry is Retry.BACKOFF:
        return 503
    return 400 if isinstance(error, UsageError) else 500


def on_error(request: Request, error: Exception) -> Response:
    """Every error that a route raises."""
    if isinstance(error, PenstockError):
        if status_of(error) == 500:
            _log.error("%s failed: %s", request.url.path, error, extra={"event": "request_failed"})
        return refusal(error)
    if isinstance(error, HTTPException):
        found = {"condition": f"HTTP_{error.status_code}", "message": error.detail, "hint": "See /openapi.json."}
        return answer({"ok": False, "error": found}, error.status_code, error.headers)
    _log.error("%s failed", request.url.path, exc_info=error, extra={"event": "request_failed"})
    return refusal(InternalError(why=type(error).__name__))
