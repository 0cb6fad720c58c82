"""Log lines for machines: one JSON object per line.

time, level, logger, message  and, where the line has them,  stream_table, refresh_id, event, facts, error
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final, TextIO

FIELDS: Final = ("stream_table", "refresh_id", "event", "facts")
"""What log calls of Penstock give as `extra`."""

TEXT: Final = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {field: getattr(record, field) for field in FIELDS if getattr(record, field, None) is not None}
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            line["error"] = {
                "type": type(error).__name__,
                "text": str(error),
                "trace": self.formatException(record.exc_info),
            }
        return json.dumps(line, ensure_ascii=False, default=str)


def log_to(form: str, stream: TextIO | None = None) -> logging.Handler:
    """Write the log of Penstock to standard error, as `text` or `json`; a handler that was put there before goes."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else logging.Formatter(TEXT))
    handler.set_name("penstock")
    logger = logging.getLogger("penstock")
    for held in [each for each in logger.handlers if each.get_name() == "penstock"]:
        logger.removeHandler(held)
    logger.addHandler(handler)
    return handler
