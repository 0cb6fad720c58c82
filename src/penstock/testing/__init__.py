"""Public kit for testing stream tables and Penstock itself."""

from penstock.testing.clock import FakeClock

__all__ = ["FakeClock"]
