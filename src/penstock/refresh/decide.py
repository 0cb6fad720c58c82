"""What a refresh has to do. Pure: facts in, decision out.

rebuild first, then nothing, then the mode
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.catalog.model import Action, RefreshMode


@dataclass(frozen=True, slots=True)
class Facts:
    """All that the decision depends on."""

    mode: RefreshMode
    is_populated: bool
    incremental: bool
    refusal: tuple[str, str] | None
    """Reason code and text, if the query has no delta rule."""
    rebuild: tuple[str, str] | None
    """Reason code and text, if the stored rows cannot be built upon."""
    data_changed: bool
    restless: bool
    """The result can change although no source moved."""


@dataclass(frozen=True, slots=True)
class Decision:
    """An action and why."""

    action: Action
    reason_code: str | None = None
    reason: str | None = None


def decide(facts: Facts) -> Decision:
    """The action for these facts."""
    if not facts.is_populated:
        return Decision(Action.FULL, "FIRST_FILL", "first fill")
    if facts.rebuild is not None:
        return Decision(Action.REINITIALIZE, *facts.rebuild)
    if not facts.data_changed and not facts.restless:
        return Decision(Action.NO_DATA)
    if facts.mode is RefreshMode.FULL:
        return Decision(Action.FULL, "AS_ASKED", "refresh mode FULL")
    if not facts.incremental:
        code, text = facts.refusal or ("UNKNOWN_OPERATOR", "")
        return Decision(Action.FULL, code, text)
    return Decision(Action.INCREMENTAL)
