"""Fourth stage: what the refresh has to do, and why.

    rebuild first, then nothing, then the mode; AUTO takes the cheaper of two ways, the other modes never look at costs

`choose_action` is pure: facts in, decision out. `decide` collects the facts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.catalog.model import Action, RefreshMode
from penstock.catalog.reader import CatalogReader
from penstock.compile.plan import Plan
from penstock.compile.reasons import with_link
from penstock.names import Interval
from penstock.refresh.stages.cost import PROBE, Choice
from penstock.refresh.stages.pin import Pinned
from penstock.refresh.stages.plan import Planned
from penstock.refresh.stages.survey import Surveyed
from penstock.refresh.stages.weigh import weigh
from penstock.settings import Settings


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
    volatile: bool
    """The result can change although no source moved."""
    choice: Choice | None = None
    """What both modes are estimated to cost; None if that is not known or does not matter."""


@dataclass(frozen=True, slots=True)
class Decision:
    """An action and why."""

    action: Action
    reason_code: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Decided:
    """A planned refresh with its decision: all that computing the change needs."""

    planned: Planned
    decision: Decision
    interval: Interval
    """What the delta program covers; empty where all rows are computed."""
    wants_difference: bool
    """Readers follow the changes of this table, so a recomputed result is committed as its difference."""
    settings: Settings

    @property
    def pinned(self) -> Pinned:
        return self.planned.pinned

    @property
    def surveyed(self) -> Surveyed:
        return self.planned.surveyed

    @property
    def plan(self) -> Plan:
        return self.planned.plan


def decide(planned: Planned, catalog: CatalogReader, settings: Settings) -> Decided:
    """The decision over a planned refresh; costs are estimated only where AUTO has a choice."""
    pinned, surveyed, plan, rebuild = planned.pinned, planned.surveyed, planned.plan, planned.rebuild
    meta, before, after = pinned.meta, surveyed.before, surveyed.after
    choice = None
    if meta.refresh_mode is RefreshMode.AUTO and rebuild is None and before is not None:
        stored = planned.workspace.logs.at(pinned.storage.path).snapshot(pinned.state.version)
        choice = weigh(catalog, settings, meta, plan, surveyed.change_sets, stored)
    decision = choose_action(
        Facts(
            mode=meta.refresh_mode,
            is_populated=before is not None,
            incremental=plan.incremental,
            refusal=(plan.refused.reason, plan.refused.construct) if plan.refused else None,
            rebuild=rebuild,
            data_changed=surveyed.data_changed,
            volatile=plan.bound.volatile and not (plan.incremental and before == after),
            choice=choice,
        )
    )
    incremental = before is not None and decision.action is Action.INCREMENTAL
    return Decided(
        planned,
        decision,
        interval=Interval(before if incremental and before is not None else after, after),
        wants_difference=settings.full_changes == "diff"
        or bool(catalog.consumers_of(meta.table_id))
        or bool(catalog.subscribers(meta.table_id)),
        settings=settings,
    )


def choose_action(facts: Facts) -> Decision:
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
    if not facts.data_changed and not facts.volatile:
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
