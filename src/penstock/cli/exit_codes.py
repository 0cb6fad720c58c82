"""The exit codes of commands, on which scripts and shells can rely."""

from __future__ import annotations

from typing import Final

FAILED: Final = 1
"""The command did not do what was asked, or what it checked is not well."""
CALLED_WRONGLY: Final = 2
"""An option is missing or does not fit; nothing was done."""
INTERRUPTED: Final = 130
"""Ctrl-C; what shells give a command that SIGINT has ended."""
