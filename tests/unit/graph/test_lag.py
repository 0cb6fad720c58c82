"""Target lags: read, written, and passed upstream."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidTargetLag
from penstock.graph import StreamGraph, format_lag, parse_target_lag, resolve_lags

MINIMUM = timedelta(seconds=60)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5m", 300),
        ("1 minute", 60),
        ("90 seconds", 90),
        ("1 hour 30 minutes", 5400),
        ("1 hour, 30 minutes", 5400),
        ("1h30m", 5400),
        ("2h", 7200),
        (" 2 HRS ", 7200),
        ("1.5 minutes", 90),
        ("1 week 1 day 1 sec", 691_201),
        ("0.1 s", 0.1),
    ],
)
def test_spellings(text: str, expected: float) -> None:
    assert parse_target_lag(text) == seconds(expected)


def test_downstream_and_durations_pass() -> None:
    assert parse_target_lag(None) is None
    assert parse_target_lag(" downstream ", MINIMUM) is None
    assert parse_target_lag(MINIMUM, MINIMUM) == MINIMUM


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("", "empty"),
        ("0s", "zero"),
        ("0 hours 0 minutes", "zero"),
        ("-5m", "negative"),
        (timedelta(0), "zero"),
        (timedelta(seconds=-1), "negative"),
        ("5", "expected a number and a unit"),
        ("m", "expected a number and a unit"),
        ("5 minutes later", "expected a number and a unit at 'later'"),
        ("5 months", "'months' is not a unit"),
        ("59 seconds", "smallest allowed is 1 minute"),
        (timedelta(seconds=59), "smallest allowed is 1 minute"),
        ("40000 days", "largest allowed"),
        ("999999999999999999999 weeks", "largest allowed"),
        (timedelta(days=40_000), "largest allowed"),
        (60, "int, not text"),
    ],
)
def test_unusable_lags_are_refused(value: object, why: str) -> None:
    with pytest.raises(InvalidTargetLag, match=why):
        parse_target_lag(value, MINIMUM)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lag", "text"),
    [
        (seconds(60), "1 minute"),
        (seconds(90_061), "1 day 1 hour 1 minute 1 second"),
        (seconds(120), "2 minutes"),
        (seconds(1.5), "1.5 seconds"),
        (seconds(100), "1 minute 40 seconds"),
        (seconds(0), "0 seconds"),
    ],
)
def test_written_for_people(lag: timedelta, text: str) -> None:
    assert format_lag(lag) == text


@given(st.timedeltas(min_value=timedelta(microseconds=1), max_value=timedelta(days=36_500)))
def test_what_is_written_reads_back(lag: timedelta) -> None:
    assert parse_target_lag(format_lag(lag)) == lag


def test_downstream_takes_the_smallest_lag_of_its_consumers_through_chains(draw: Callable[..., StreamGraph]) -> None:
    graph = draw("A -> a -> b -> c; b -> d; a -> e", c=300, d=120, e=600)
    lags = resolve_lags(graph, MINIMUM)
    assert {key: held.lag for key, held in lags.items()} == {
        "a": seconds(120),
        "b": seconds(120),
        "c": seconds(300),
        "d": seconds(120),
        "e": seconds(600),
    }
    assert (lags["a"].from_consumer, lags["b"].from_consumer, lags["d"].from_consumer) == ("b", "d", None)
    assert not any(held.warnings for held in lags.values())


def test_an_explicit_lag_is_never_overridden_but_the_price_is_named(draw: Callable[..., StreamGraph]) -> None:
    lags = resolve_lags(draw("A -> a -> b", a=600, b=120), MINIMUM)
    assert lags["a"].lag == seconds(600)
    assert lags["b"].warnings == ("b asks for 2 minutes, so a (10 minutes) is refreshed as often",)
    assert lags["a"].warnings == ()


def test_downstream_that_nobody_reads_gets_the_smallest_lag_and_a_warning(draw: Callable[..., StreamGraph]) -> None:
    lags = resolve_lags(draw("A -> a -> b", a=600), MINIMUM)
    assert lags["b"].lag == MINIMUM
    assert len(lags["b"].warnings) == 2
    assert "nothing reads it" in lags["b"].warnings[0]
    assert "so a (10 minutes)" in lags["b"].warnings[1]
