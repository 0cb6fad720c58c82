"""AUTO without a stopwatch: past runs say nothing, so how fast a machine is today decides no test's mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.refresh.stages import cost


def go_by_guess(patch: Callable[[object, str, Any], None] = setattr) -> None:
    """Let sizes alone decide, and try nothing out; what past runs took is still recorded."""
    patch(cost, "_evidence", lambda *_: (0.0, 0.0))
    patch(cost, "_worth_a_probe", lambda *_: False)
