"""The parameters of a request, read strictly: a value that cannot be read and a name that is not known are refused."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from difflib import get_close_matches
from typing import Final, TypeVar

from starlette.requests import HTTPConnection

from penstock.errors import InvalidValue
from penstock.serve.http.operation import START
from penstock.subscribe.start import Start

TOKEN: Final = "access_token"
CHOOSING: Final = ("where", "columns")
Word = TypeVar("Word", bound=str)
STARTING: Final = tuple(parameter.name for parameter in START)


class Query:
    """The parameters of one request."""

    def __init__(self, request: HTTPConnection, known: Collection[str]) -> None:
        self._values = {name: value for name, value in request.query_params.multi_items() if name != TOKEN}
        given = [name for name, _ in request.query_params.multi_items() if name != TOKEN]
        for name in given:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                meant = f"; did you mean {near[0]}?" if near else ""
                allowed = ", ".join(known) or "no parameter at all"
                raise InvalidValue(what=name, value=self._values[name], allowed=f"{allowed}{meant}")
        if len(given) > len(self._values):
            twice = next(name for name in self._values if given.count(name) > 1)
            raise InvalidValue(what=twice, value=", ".join(request.query_params.getlist(twice)), allowed="one value")

    def text(self, name: str) -> str | None:
        """Any text; None if it was not given, or is empty."""
        return self._values.get(name) or None

    def whole(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        text = self._values.get(name)
        if text is None:
            return default
        # int() would also take 1_000, and digits of other scripts.
        if not text.isascii() or not text.isdecimal() or len(text) > 20 or not low <= int(text) <= high:
            raise InvalidValue(what=name, value=text, allowed=f"a whole number from {low} to {high}")
        return int(text)

    def seconds(self, name: str, high: float) -> float:
        """A duration from 0 on; what is longer than `high` is that long."""
        text = self._values.get(name, "0")
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value < 1e9:
            raise InvalidValue(what=name, value=text, allowed=f"seconds, from 0 to {high:g}")
        return min(value, high)

    def one_of(self, name: str, allowed: Collection[Word], default: Word) -> Word:
        """One of several words."""
        text = self._values.get(name, default)
        for word in allowed:
            if text == word:
                return word
        raise InvalidValue(what=name, value=text, allowed=", ".join(allowed))

    def columns(self) -> tuple[str, ...] | None:
        """Names separated by commas."""
        text = self.text("columns")
        return None if text is None else tuple(name.strip() for name in text.split(","))

    def start(self, last_event_id: str | None = None) -> Start:
        """Where a stream begins: after the last event that the client received, else where the parameters say."""
        if last_event_id:
            if not last_event_id.isascii() or not last_event_id.isdecimal() or len(last_event_id) > 20:
                raise InvalidValue(what="Last-Event-ID", value=last_event_id, allowed="the id of an event, an LSN")
            return Start.after(int(last_event_id))
        moment = self.text("timestamp")
        try:
            timestamp = None if moment is None else datetime.fromisoformat(moment)
        except ValueError:
            raise InvalidValue(
                what="timestamp", value=moment, allowed="a moment such as 2026-01-31T12:00:00Z"
            ) from None
        return Start.of(
            self.text("start"),
            lsn=self.whole("since_lsn", 0, 0, 2**63 - 1) if "since_lsn" in self._values else None,
            version=self.whole("version", 0, 0, 2**63 - 1) if "version" in self._values else None,
            timestamp=timestamp,
        )
