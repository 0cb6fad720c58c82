"""One object per line, whatever is in the message."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from penstock.monitor.json_log import JsonFormatter, log_to


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    held = logging.getLogger("penstock")
    before, level = list(held.handlers), held.level
    held.setLevel(logging.INFO)
    yield held
    held.handlers[:] = before
    held.setLevel(level)


def test_fields(logger: logging.Logger) -> None:
    out = io.StringIO()
    log_to("json", out)
    extra = {"stream_table": "default.revenue", "refresh_id": "r1", "event": "refreshed", "unknown": 1}
    logging.getLogger("penstock.refresh").info('%s "ok"\nsecond line', "default.revenue", extra=extra)
    (line,) = out.getvalue().splitlines()
    told = json.loads(line)
    assert told.pop("time").endswith("+00:00")
    assert told == {
        "level": "info",
        "logger": "penstock.refresh",
        "message": 'default.revenue "ok"\nsecond line',
        "stream_table": "default.revenue",
        "refresh_id": "r1",
        "event": "refreshed",
    }


def test_an_error_is_a_field(logger: logging.Logger) -> None:
    out = io.StringIO()
    log_to("json", out)
    try:
        raise ValueError("no")
    except ValueError:
        logger.exception("failed")
    error = json.loads(out.getvalue())["error"]
    assert (error["type"], error["text"]) == ("ValueError", "no")
    assert "test_json_log.py" in error["trace"]


def test_there_is_one_handler_however_often_it_is_asked_for(logger: logging.Logger) -> None:
    before = len(logger.handlers)
    log_to("json")
    handler = log_to("text")
    assert len(logger.handlers) == before + 1
    assert not isinstance(handler.formatter, JsonFormatter)
