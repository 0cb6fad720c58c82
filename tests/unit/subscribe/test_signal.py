"""The signal: no change between a question and the sleep goes unnoticed, by a thread or by a coroutine."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from penstock.subscribe.signal import Signal


def test_threads_and_coroutines_hear_of_a_change() -> None:
    signal, state = Signal(), {"done": False}

    def question() -> bool | None:
        return True if state["done"] else None

    def change() -> None:
        time.sleep(0.05)
        with signal:
            state["done"] = True
            signal.notify()

    threading.Thread(target=change).start()
    assert signal.wait(question, time.monotonic() + 30)
    state["done"] = False
    threading.Thread(target=change).start()
    assert asyncio.run(signal.wait_async(question, time.monotonic() + 30))


def test_the_deadline_is_a_no() -> None:
    signal = Signal()
    assert not signal.wait(lambda: None, time.monotonic())
    assert not signal.wait(lambda: None, time.monotonic() + 0.05)
    assert not asyncio.run(signal.wait_async(lambda: None, time.monotonic() + 0.05))
    assert signal.wait(lambda: True, time.monotonic() - 1)


def test_an_answer_or_an_error_ends_the_wait() -> None:
    signal = Signal()
    assert not signal.wait(lambda: False)
    with pytest.raises(ZeroDivisionError):
        signal.wait(lambda: 1 / 0 > 0)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(signal.wait_async(lambda: 1 / 0 > 0))


def test_a_wait_that_is_given_up_leaves_no_sleeper() -> None:
    signal = Signal()

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(signal.wait_async(lambda: None), 0.05)

    asyncio.run(give_up())
    assert not signal._sleepers


def test_no_change_is_missed_between_question_and_sleep() -> None:
    signal, count = Signal(), [0]

    def change() -> None:
        for _ in range(500):
            with signal:
                count[0] += 1
                signal.notify()

    for at in range(1, 4):
        changer = threading.Thread(target=change)
        changer.start()
        for wanted in range(500 * (at - 1) + 1, 500 * at + 1):
            assert signal.wait(lambda wanted=wanted: True if count[0] >= wanted else None, time.monotonic() + 30)
        changer.join()
