"""The limits of a server: beyond them it refuses requests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds that keep one client, or many, from taking the server down."""

    connections: int = 10_000
    """Requests and streams at the same time."""
    buffer_bytes: int = 4 * 1024 * 1024
    """Encoded changes kept in memory per stream of the same choice; a client that is further behind counts as slow."""
    request_bytes: int = 64 * 1024
    """Bytes of one request, and of one message of a WebSocket client."""
    page_events: int = 10_000
    """Events in one page."""
    wait_seconds: float = 60.0
    """The longest time that a request waits for the first event of its page."""
