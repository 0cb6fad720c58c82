"""What a refresh has to do, from facts alone: rebuild first, then nothing, then the mode."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.catalog.model import Action, RefreshMode
from penstock.compile.reasons import link
from penstock.refresh.stages.cost import PROBE, Choice, Estimate
from penstock.refresh.stages.decide import Decision, Facts, choose_action

MOVED = Facts(
    mode=RefreshMode.AUTO,
    is_populated=True,
    incremental=True,
    refusal=None,
    rebuild=None,
    data_changed=True,
    volatile=False,
)
QUIET = replace(MOVED, data_changed=False)
REFUSED = replace(MOVED, incremental=False, refusal=("NON_DETERMINISTIC", "rand"))
REBUILD = ("SOURCE_CHANGED", "column a was renamed to b")
FULL_IS_CHEAPER = Choice(Estimate(2, 5), Estimate(1, 5), Action.FULL)


@pytest.mark.parametrize(
    ("facts", "action", "code"),
    [
        pytest.param(replace(QUIET, is_populated=False, rebuild=REBUILD), Action.FULL, "FIRST_FILL", id="never filled"),
        pytest.param(replace(QUIET, rebuild=REBUILD), Action.REINITIALIZE, "SOURCE_CHANGED", id="rebuild before quiet"),
        pytest.param(
            replace(MOVED, mode=RefreshMode.FULL, rebuild=REBUILD),
            Action.REINITIALIZE,
            "SOURCE_CHANGED",
            id="rebuild before mode",
        ),
        pytest.param(QUIET, Action.NO_DATA, None, id="quiet"),
        pytest.param(replace(QUIET, mode=RefreshMode.FULL), Action.NO_DATA, None, id="quiet in mode FULL"),
        pytest.param(replace(QUIET, volatile=True), Action.INCREMENTAL, None, id="the clock moved"),
        pytest.param(replace(MOVED, mode=RefreshMode.FULL), Action.FULL, "AS_ASKED", id="mode FULL"),
        pytest.param(REFUSED, Action.FULL, "NON_DETERMINISTIC", id="no delta rule"),
        pytest.param(MOVED, Action.INCREMENTAL, None, id="changes"),
        pytest.param(replace(MOVED, choice=FULL_IS_CHEAPER), Action.FULL, "CHEAPER", id="cheaper in full"),
        pytest.param(
            replace(MOVED, mode=RefreshMode.INCREMENTAL, choice=FULL_IS_CHEAPER),
            Action.INCREMENTAL,
            None,
            id="INCREMENTAL is never silently full",
        ),
        pytest.param(
            replace(MOVED, choice=replace(FULL_IS_CHEAPER, probe=True)), Action.FULL, PROBE, id="the loser is tried"
        ),
    ],
)
def test_decision(facts: Facts, action: Action, code: str | None) -> None:
    made = choose_action(facts)
    assert (made.action, made.reason_code) == (action, code)
    assert code is None or (made.reason or "").endswith(f", see {link(code)}")


def test_a_decision_against_the_mode_says_why() -> None:
    told = f"rand, see {link('NON_DETERMINISTIC')}"
    assert choose_action(REFUSED) == Decision(Action.FULL, "NON_DETERMINISTIC", told)
    cheaper = f"{FULL_IS_CHEAPER.why}, see {link('CHEAPER')}"
    assert choose_action(replace(MOVED, choice=FULL_IS_CHEAPER)).reason == cheaper
