"""An interrupt waits for the end of a block; the second one does not."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.interrupts import DeferInterrupt, SecondInterrupt


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    # The handler of a signal runs between two steps of Python.
    for _ in range(100):
        pass


def test_it_is_raised_at_the_end_of_the_block() -> None:
    done: list[str] = []

    def block() -> None:
        with DeferInterrupt():
            interrupt()
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        block()
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_comes_in_place_of_the_error_of_the_block() -> None:
    def block() -> None:
        with DeferInterrupt():
            interrupt()
            raise ValueError("the job was cancelled")

    with pytest.raises(KeyboardInterrupt):
        block()


def test_it_hurries_the_block_once() -> None:
    hurried: list[bool] = []
    with pytest.raises(KeyboardInterrupt), DeferInterrupt(lambda block: hurried.append(block.has_ended)):
        interrupt()
    assert hurried == [False]


def test_the_second_one_leaves_the_block_and_is_one_interrupt_outside() -> None:
    done: list[str] = []

    def block() -> None:
        with DeferInterrupt():
            interrupt()
            try:
                interrupt()
                done.append("never")
            except SecondInterrupt:
                done.append("given up")
                raise

    with pytest.raises(KeyboardInterrupt):
        block()
    assert done == ["given up"]


def test_a_handler_that_raises_nothing_has_all_it_wants() -> None:
    told: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: told.append(number))
    hurried: list[Any] = []
    with DeferInterrupt(hurried.append):
        interrupt()
    assert told == [signal.SIGINT]
    assert not hurried


def test_what_a_handler_of_a_users_own_raises_is_raised() -> None:
    def stop(number: int, frame: Any) -> None:
        raise RuntimeError("stop")

    signal.signal(signal.SIGINT, stop)
    with pytest.raises(RuntimeError, match="stop"), DeferInterrupt():
        interrupt()
    assert signal.getsignal(signal.SIGINT) is stop


def test_the_outermost_block_counts() -> None:
    done: list[str] = []

    def block() -> None:
        with DeferInterrupt():
            with DeferInterrupt():
                interrupt()
            done.append("after the inner one")

    with pytest.raises(KeyboardInterrupt):
        block()
    assert done


def test_an_ignored_signal_stays_ignored_and_other_threads_are_left_alone() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with DeferInterrupt():
        interrupt()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    found: list[Any] = []

    def work() -> None:
        with DeferInterrupt():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]
