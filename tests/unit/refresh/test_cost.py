"""AUTO's choice: priors before the first run, past runs after, probes within a budget, other modes never looked at."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from penstock.catalog.model import Action, RefreshMode, RefreshRecord, RefreshStatus
from penstock.refresh.stages.cost import PROBE, Size, choose, prior
from penstock.refresh.stages.decide import Facts, choose_action

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def run(
    number: int,
    action: Action,
    seconds: float,
    changed: int = 100,
    at_rest: int = 1_000_000,
    owner: str = "here",
    reason: str | None = None,
) -> RefreshRecord:
    return RefreshRecord(
        refresh_id=f"{owner}-{number}",
        stream_table_id=1,
        name="t",
        action=action,
        status=RefreshStatus.COMPLETED,
        started_at=NOON + timedelta(minutes=number),
        ended_at=NOON + timedelta(minutes=number, seconds=seconds),
        delta_rows=changed,
        rows_at_rest=at_rest,
        rows_written=1000,
        # The stages are never all of it.
        timings={"compute": seconds * 0.5, "commit": seconds * 0.25},
        owner=owner,
        reason=reason,
    )


def newest_first(*runs: RefreshRecord) -> list[RefreshRecord]:
    return list(reversed(runs))


@pytest.mark.parametrize(
    ("changed", "at_rest", "action"),
    [
        (100, 1_000_000, Action.INCREMENTAL),
        (100, 10_000, Action.INCREMENTAL),
        (20_000, 1_000_000, Action.INCREMENTAL),
        (1_000_000, 1_000_000, Action.FULL),
        (10_000, 10_000, Action.INCREMENTAL),
    ],
)
def test_before_any_run_the_prior_speaks(changed: int, at_rest: int, action: Action) -> None:
    choice = choose(Size(changed, at_rest, 1000), [], 2)
    assert (choice.action, choice.probe) == (action, False)
    assert choice.incremental.runs == choice.full.runs == 0


def test_past_runs_overrule_the_prior() -> None:
    size = Size(100, 1_000_000, 1000)
    slow = newest_first(
        run(0, Action.FULL, 3.0), *(run(n, Action.INCREMENTAL, 4.0) for n in range(1, 5)), run(5, Action.FULL, 1.0)
    )
    choice = choose(size, slow, 0)
    assert choice.action is Action.FULL
    assert choice.incremental.seconds == pytest.approx(4.0, rel=0.5)
    assert choice.full.seconds == pytest.approx(1.0, rel=0.5)


def test_wide_rows_make_recomputing_dear() -> None:
    narrow, wide = (Size(1000, 1_000_000, 1000, at_rest_bytes=size) for size in (10_000_000, 1_000_000_000))
    assert prior(Action.FULL, wide) > 5 * prior(Action.FULL, narrow)
    assert prior(Action.INCREMENTAL, wide) == prior(Action.INCREMENTAL, narrow)


def test_runs_of_alike_stream_tables_speak_before_ones_own() -> None:
    size = Size(100, 1_000_000, 1000, operators=frozenset({"scan", "window", "bag"}))
    slow = [replace(run(n, Action.INCREMENTAL, 30.0), stream_table_id=2) for n in range(9)]
    alike = [replace(each, operators=("bag", "scan", "window")) for each in slow]
    unlike = [replace(each, operators=("filter", "folded groups")) for each in slow]
    guessed = choose(size, [], 2).incremental.seconds
    told = choose(size, [], 2, alike).incremental
    assert told.seconds > 2 * guessed
    assert str(told).endswith("(not tried yet, 9 runs of other stream tables)")
    assert choose(size, [], 2, unlike).incremental.seconds == pytest.approx(guessed)
    # Its own runs have the louder voice.
    own = newest_first(*(run(n, Action.INCREMENTAL, 0.2) for n in range(4)))
    assert choose(size, own, 2, alike).incremental.seconds < 1


def test_what_is_stored_and_who_works_on_it_make_changes_dear() -> None:
    """A changed row of a projection is a stored row too, one of an aggregate is not; the driver's rows are cheap."""
    known: dict[str, Any] = {"at_rest_bytes": 30_000_000, "operators": frozenset({"scan", "project", "folded groups"})}
    folded, copied = (Size(200_000, 1_000_000, stored, **known) for stored in (1000, 1_000_000))
    assert prior(Action.INCREMENTAL, copied) > 2 * prior(Action.INCREMENTAL, folded)
    assert [choose(size, [], 2).action for size in (folded, copied)] == [Action.INCREMENTAL, Action.FULL]
    few, many = (Size(200_000, 10_000_000, 1000, driver_rows=rows) for rows in (200_000, 199_999))
    assert prior(Action.INCREMENTAL, many) > 5 * prior(Action.INCREMENTAL, few)


def test_three_runs_are_enough_to_see_that_incremental_loses() -> None:
    """As TPC-H's Q15 does, whose changes touch every supplier: 4.6 s against 2.3 s."""
    size = Size(12_000, 6_010_000, 10_000, 3, at_rest_bytes=250_000_000, stored_bytes=200_000)
    runs = [run(0, Action.FULL, 6.0, at_rest=6_010_000)]
    runs += [run(n, Action.INCREMENTAL, 4.6, changed=12_000, at_rest=6_010_000) for n in range(1, 5)]
    assert choose(size, newest_first(*runs), 0).action is Action.FULL


def test_the_first_run_of_a_process_hardly_counts() -> None:
    size = Size(100, 1_000_000, 1000)
    cold = newest_first(run(0, Action.FULL, 30.0), run(1, Action.INCREMENTAL, 30.0))
    choice = choose(size, cold, 2)
    assert choice.action is Action.INCREMENTAL
    assert choice.incremental.seconds < 2 * prior(Action.INCREMENTAL, size)
    again = newest_first(*reversed(cold), run(2, Action.INCREMENTAL, 0.2), run(3, Action.INCREMENTAL, 40, owner="next"))
    assert choose(size, again, 2).incremental.seconds < 1


def test_a_first_run_is_told_with_the_figure_of_history() -> None:
    size = Size(100, 1_000_000, 1000)
    first = run(0, Action.FULL, 18.0)
    full = choose(size, [first], 2).full
    assert full.last == first.seconds == 18.0
    assert str(full).endswith("(from 1 run, which took 18.00 s as the first of its process)")
    again = choose(size, newest_first(first, run(1, Action.FULL, 0.9)), 2).full
    assert str(again).endswith("(from 2 runs, the last took 0.90 s)")
    assert choose(size, [first], 2).to_json()["full_last_seconds"] == 18.0


def test_a_fill_that_took_longer_than_any_start_is_believed_until_more_is_known() -> None:
    """By itself the prior would recompute; where the only fill took 18 s, that is no good guess."""
    size = Size(10, 5_000, 5_000, statements=3)
    fill, usual = (run(0, Action.FULL, seconds, changed=5_000, at_rest=5_000) for seconds in (18.0, 3.0))
    assert [choose(size, runs, 2).action for runs in ([], [usual])] == [Action.FULL, Action.FULL]
    choice = choose(size, [fill], 2)
    assert choice.action is Action.INCREMENTAL
    assert choice.full.seconds > 2
    assert choice.full.last == 18.0
    again = newest_first(fill, run(1, Action.FULL, 0.2, changed=5_000, at_rest=5_000))
    assert choose(size, again, 2).action is Action.FULL


def test_first_runs_alone_teach_too() -> None:
    """Each refresh in a process of its own, as by the command line: nothing else is ever seen."""
    size = Size(100, 1_000_000, 1000)
    runs = [run(0, Action.FULL, 4.0, owner="0"), *(run(n, Action.INCREMENTAL, 60.0, owner=str(n)) for n in range(1, 9))]
    assert choose(size, newest_first(*runs[:2]), 0).action is Action.INCREMENTAL
    assert choose(size, newest_first(*runs), 0).action is Action.FULL


def test_what_is_not_in_a_stage_counts_as_well() -> None:
    size = Size(100, 1_000_000, 1000)
    whole = [run(n, Action.INCREMENTAL, 4.0) for n in range(5)]
    stages = [replace(each, timings={"compute": 0.1}) for each in whole]
    assert choose(size, stages, 0).incremental == choose(size, whole, 0).incremental


def test_more_changes_than_rows_are_recomputed_whatever_was_measured() -> None:
    """An upstream of 8,300 rows was rewritten three times over; applying that took 8 s, the fill 0.5 s."""
    rewritten = Size(27_000, 8_300, 8_300)
    fill = run(0, Action.FULL, 0.5, changed=8_300, at_rest=8_300)
    choice = choose(rewritten, [fill], 2)
    assert (choice.action, choice.probe) == (Action.FULL, False)
    assert choice.why.startswith("27,000 rows changed, more than the 8,300 that there are; incremental ")
    quick = newest_first(fill, *(run(n, Action.INCREMENTAL, 0.01, changed=27_000, at_rest=8_300) for n in range(1, 9)))
    assert choose(rewritten, quick, 2).action is Action.FULL
    assert choose(replace(rewritten, changed=8_300), quick, 2).action is Action.INCREMENTAL
    # A handful is not worth a word.
    assert choose(Size(6, 3, 3), [], 2).action is Action.INCREMENTAL


def test_a_run_counts_less_the_more_its_size_differs() -> None:
    runs = newest_first(
        run(0, Action.INCREMENTAL, 0.2), *(run(n, Action.INCREMENTAL, 20.0, changed=500_000) for n in range(1, 9))
    )
    near, far = (choose(Size(n, 1_000_000, 1000), runs, 2).incremental.seconds for n in (500_000, 100))
    assert near == pytest.approx(20, rel=0.3)
    assert far / prior(Action.INCREMENTAL, Size(100, 1_000_000, 1000)) < 1.5


def test_the_loser_is_probed_rarely_and_within_the_budget() -> None:
    size = Size(100, 1_000_000, 1000)
    runs = [run(0, Action.FULL, 2.0), *(run(n, Action.INCREMENTAL, 0.2) for n in range(1, 31))]
    history = newest_first(*runs)
    assert not choose(size, history, 0).probe
    choice = choose(size, history, 5)
    assert choice.probe
    assert choice.action is Action.FULL
    assert "trying" in choice.why
    tried = newest_first(*runs, run(31, Action.FULL, 0.9, reason=f"{PROBE}: …"))
    assert not choose(size, tried, 5).probe
    assert not choose(size, history[:5], 5).probe


def test_a_loser_far_behind_is_left_alone() -> None:
    history = newest_first(run(0, Action.FULL, 20.0), *(run(n, Action.INCREMENTAL, 0.1) for n in range(1, 31)))
    assert not choose(Size(100, 1_000_000, 1000), history, 100).probe


@pytest.mark.parametrize("mode", [RefreshMode.INCREMENTAL, RefreshMode.FULL])
def test_a_pinned_mode_never_looks_at_costs(mode: RefreshMode) -> None:
    dear = choose(Size(1_000_000, 1_000_000, 1000), [], 2)
    assert dear.action is Action.FULL
    facts = Facts(
        mode=mode, is_populated=True, incremental=True, refusal=None, rebuild=None, data_changed=True, volatile=False,
        choice=dear,
    )  # fmt: skip
    assert choose_action(facts).action.value == mode.value


def test_auto_says_why_it_recomputes() -> None:
    dear = choose(Size(1_000_000, 1_000_000, 1000), [], 2)
    facts = Facts(
        mode=RefreshMode.AUTO, is_populated=True, incremental=True, refusal=None, rebuild=None, data_changed=True,
        volatile=False, choice=dear,
    )  # fmt: skip
    decision = choose_action(facts)
    assert (decision.action, decision.reason_code) == (Action.FULL, "CHEAPER")
    assert decision.reason is not None
    assert "incremental" in decision.reason
    assert "full" in decision.reason


def test_without_learning_the_sizes_alone_decide_and_nothing_is_tried_out() -> None:
    size = Size(changed=100, at_rest=1_000_000, stored=1000)
    slow = newest_first(*(run(number, Action.INCREMENTAL, 900.0) for number in range(30)))
    learned, guessed = choose(size, slow, 100), choose(size, slow, 100, learn=False)
    assert learned.incremental.seconds > 100
    assert guessed.incremental.seconds == choose(size, [], 0).incremental.seconds
    assert (guessed.probe, guessed.incremental.runs, guessed.incremental.last) == (False, 30, 900.0)
    assert "by sizes alone" in guessed.why
