"""Working on a graph side by side: order, limits, errors, and who does the work."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable

import pytest

from penstock.graph import side_by_side
from penstock.graph.side_by_side import work_side_by_side

Chains = dict[str, set[str]]


class Diary:
    """What was done when, by whom; every entry waits until as many others run as are wanted."""

    def __init__(self, together: int = 1, seconds: float = 0.0) -> None:
        self.done: list[str] = []
        self.most = 0
        self.threads: set[int] = set()
        self._running = 0
        self._meeting = threading.Barrier(together) if together > 1 else None
        self._seconds = seconds
        self._lock = threading.Lock()

    def work(self, key: str) -> None:
        with self._lock:
            self._running += 1
            self.most = max(self.most, self._running)
            self.threads.add(threading.get_ident())
        if self._meeting is not None:
            self._meeting.wait(timeout=60)
        time.sleep(self._seconds)
        with self._lock:
            self._running -= 1
            self.done.append(key)


def run(order: str, waits_for: Chains, work: Callable[[str], None], workers: int = 4) -> None:
    work_side_by_side(list(order), waits_for, work, workers)


def test_a_chain_stays_on_the_callers_thread() -> None:
    diary = Diary()
    run("abcd", {"b": {"a"}, "c": {"b"}, "d": {"c"}}, diary.work)
    assert diary.done == list("abcd")
    assert diary.threads == {threading.get_ident()}


def test_one_worker_follows_the_order() -> None:
    diary = Diary()
    run("abcdef", {"f": {"a"}}, diary.work, workers=1)
    assert (diary.done, diary.threads) == (list("abcdef"), {threading.get_ident()})


def test_independent_nodes_run_at_once() -> None:
    diary = Diary(together=3)
    run("abc", {}, diary.work, workers=3)
    assert sorted(diary.done) == list("abc")
    assert threading.get_ident() in diary.threads


def test_no_more_than_the_workers_run_at_once() -> None:
    diary = Diary(seconds=0.002)
    run("abcdefghijklmnop", {}, diary.work, workers=3)
    assert diary.most <= 3
    assert sorted(diary.done) == list("abcdefghijklmnop")


def test_a_node_starts_as_soon_as_its_own_upstreams_are_done() -> None:
    late = threading.Event()

    def work(key: str) -> None:
        if key == "b":
            # Nobody but `c` ends this wait, and `c` waits for `a` alone.
            assert late.wait(timeout=60)
        if key == "c":
            late.set()

    run("abcd", {"c": {"a"}, "d": {"b", "c"}}, work, workers=2)


def test_what_is_not_in_the_order_counts_as_done() -> None:
    diary = Diary()
    run("b", {"b": {"a", "elsewhere"}}, diary.work)
    assert diary.done == ["b"]


def test_an_error_ends_what_has_not_started_and_waits_for_what_has(monkeypatch: pytest.MonkeyPatch) -> None:
    diary, met, stopped = Diary(), threading.Barrier(2), threading.Event()
    stop = side_by_side._Board.stop

    def stop_and_tell(board: side_by_side._Board, error: BaseException, place: int) -> None:
        stop(board, error, place)
        stopped.set()

    monkeypatch.setattr(side_by_side._Board, "stop", stop_and_tell)

    def work(key: str) -> None:
        if key in "ab":
            met.wait(timeout=60)
        if key == "a":
            raise ValueError("a went wrong")
        assert stopped.wait(60)
        diary.work(key)

    with pytest.raises(ValueError, match="a went wrong"):
        run("abcd", {"c": {"a"}, "d": {"b"}}, work, workers=2)
    assert diary.done == ["b"]


def test_of_two_errors_the_first_in_order_is_raised() -> None:
    met = threading.Barrier(2)

    def work(key: str) -> None:
        met.wait(timeout=60)
        time.sleep(0.02 if key == "a" else 0.0)
        raise ValueError(key)

    with pytest.raises(ValueError, match="a"):
        run("ab", {}, work, workers=2)


def test_an_interrupt_is_raised_after_the_others_have_ended() -> None:
    diary, met = Diary(), threading.Barrier(2)
    caller = threading.get_ident()

    def work(key: str) -> None:
        met.wait(timeout=60)
        if threading.get_ident() == caller:
            raise KeyboardInterrupt
        time.sleep(0.02)
        diary.work(key)

    with pytest.raises(KeyboardInterrupt):
        run("ab", {}, work, workers=2)
    assert len(diary.done) == 1


def test_at_an_interrupt_what_runs_elsewhere_is_hurried() -> None:
    met, hurried = threading.Barrier(2), threading.Event()
    caller, done = threading.get_ident(), list[str]()

    def work(key: str) -> None:
        met.wait(timeout=60)
        if threading.get_ident() == caller:
            raise KeyboardInterrupt
        # Without the on_interrupt this would wait for ever.
        assert hurried.wait(timeout=60)
        done.append(key)

    with pytest.raises(KeyboardInterrupt):
        work_side_by_side(["a", "b"], {}, work, 2, on_interrupt=hurried.set)
    assert len(done) == 1


def test_an_interrupt_while_others_are_waited_for_is_raised_after_them() -> None:
    caller, done = threading.get_ident(), list[str]()
    idle = threading.Event()

    def work(key: str) -> None:
        if threading.get_ident() == caller:
            # The other one is at work by then, and this one goes to wait for it.
            idle.wait(timeout=60)
            return
        idle.set()
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        done.append(key)

    with pytest.raises(KeyboardInterrupt):
        work_side_by_side(["a", "b"], {}, work, 2)
    assert len(done) == 1


def test_a_worker_that_cannot_be_had_is_an_error_and_not_a_wait_for_ever() -> None:
    def no_thread(worker_loop: Callable[[], None], number: int) -> threading.Thread:
        raise RuntimeError("no more threads")

    with pytest.raises(RuntimeError, match="no more threads"):
        work_side_by_side(["a", "b"], {}, lambda key: None, 2, no_thread)


@pytest.mark.parametrize("seed", range(30))
def test_random_graphs_run_every_node_once_after_its_upstreams(seed: int) -> None:
    chance = random.Random(seed)
    order = [f"n{number}" for number in range(chance.randrange(1, 25))]
    waits_for = {
        key: set(chance.sample(order[:place], min(place, chance.randrange(3)))) for place, key in enumerate(order)
    }
    done: list[str] = []

    def work(key: str) -> None:
        assert waits_for[key] <= set(done)
        time.sleep(chance.random() / 2000)
        done.append(key)

    work_side_by_side(order, waits_for, work, chance.randrange(1, 6))
    assert sorted(done) == sorted(order)
