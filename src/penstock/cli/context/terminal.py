"""Whether there is a person at the other end of a stream. A stream that was closed by the caller is None in Python."""

from __future__ import annotations

from typing import TextIO


def is_terminal(stream: TextIO | None) -> bool:
    """True if the stream is a terminal."""
    return stream is not None and stream.isatty()
