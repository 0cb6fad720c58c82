"""Whether a person is at the other end of a stream. Python has None for a stream that its caller closed."""

from __future__ import annotations

from typing import TextIO


def is_terminal(stream: TextIO | None) -> bool:
    """True if the stream is a terminal."""
    return stream is not None and stream.isatty()
