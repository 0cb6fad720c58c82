"""What a refresh has to do. Pure: facts in, decision out.

rebuild first, then nothing, then the mode; AUTO takes the cheaper of two ways, the other modes never look at costs
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.catalog.model import Action, RefreshMode
from penstock.compile.reasons import with_link
from penstock.refresh.stages.cost import PROBE, Choice


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
    choice: Choice | None = None
    """What both modes are estimated to cost; None if that is not known or does not matter."""


@dataclass(frozen=True, slots=True)
class Decision:
    """An action and why."""

    action: Action
    reason_code: str | None = None
    reason: str | None = None


def decide(facts: Facts) -> Decision:
    """The action for these facts; its reason says where more is said of it."""
    decision = _decided(facts)
    if decision.reason_code is None or decision.reason is None:
        return decision
    return replace(decision, reason=with_link(decision.reason_code, decision.reason))


def _decided(facts: Facts) -> Decision:
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
    choice = facts.choice
    if facts.mode is RefreshMode.AUTO and choice is not None:
        if choice.probe:
            return Decision(choice.action, PROBE, choice.why)
        if choice.action is Action.FULL:
            return Decision(Action.FULL, "CHEAPER", choice.why)
    return Decision(Action.INCREMENTAL)
