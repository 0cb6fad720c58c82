"""The scheduler: keeps every stream table of a catalog within its target lag, until it is stopped.

    stand for leadership  ──→  every interval: look, plan, begin a graph run, let checks run  ──→  drain, step down
                               workers: the most urgent ready table, again and again

One thread decides; workers refresh. An error of a table is that table's own; an error of the loop itself is logged, and
the loop goes on after a pause. Without leadership nothing is started; what was lost is taken over by another process,
and whatever still runs here finds its fencing token stale.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from penstock.catalog.writer import CatalogWriter
from penstock.errors import EngineUnavailable, InternalError
from penstock.graph.grid import next_stamp
from penstock.graph.side_by_side import ThreadFactory, plain_thread
from penstock.refresh.graph_run import Arrival
from penstock.refresh.run_graph import Outcome
from penstock.said_once import SaidOnce
from penstock.schedule.backoff import Backoff
from penstock.schedule.begin_due import begin_due
from penstock.schedule.dispatcher import Dispatcher, Task
from penstock.schedule.due import Picture, log_circle
from penstock.schedule.leader import Candidate, Leadership
from penstock.schedule.refresh_executor import RefreshExecutor
from penstock.schedule.steady_clock import SteadyClock
from penstock.settings import Settings

CRASH_PAUSE: Final = 5.0
"""Seconds until the loop goes on after an error of its own."""

STUCK: Final = 300.0
"""Seconds after which a loop that has not come round counts as hanging; a look at all logs should take far fewer."""

_log = logging.getLogger("penstock.scheduler")


class Scheduler:
    """One process's scheduler; `run` returns when it has been stopped."""

    def __init__(
        self,
        executor: RefreshExecutor,
        catalog: CatalogWriter,
        settings: Callable[[], Settings],
        clock: SteadyClock,
        new_thread: ThreadFactory = plain_thread,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._executor = executor
        self._settings = settings
        self._clock = clock
        self._new_thread = new_thread
        self._check = check
        self._candidate = Candidate(catalog, moves=self._moves)
        self._moved_at: float | None = None
        """When the loop last came round; None while it need not."""
        self._said = SaidOnce()
        self._stopping = threading.Event()
        self._changed = threading.Condition()
        self._dispatcher = Dispatcher(settings().max_concurrent_refreshes, Backoff.of(settings()))
        self._leads = threading.Event()
        self._threads: dict[int, threading.Thread] = {}
        self._broken: EngineUnavailable | None = None

    # -- from outside

    def run(self) -> list[str]:
        """Work until `stop`; returns the names of refreshes that did not end in time.

        `EngineUnavailable` if Spark is gone for good: then the whole process has to start anew.
        """
        while not self._stopping.is_set():
            try:
                leadership = self._candidate.stand()
                left = None if leadership is None else self._lead(leadership)
            except EngineUnavailable:
                raise
            except Exception as error:
                self._say_crashed(error)
                self._stopping.wait(CRASH_PAUSE)
                continue
            if left is not None and self._stopping.is_set():
                return left
            self._stopping.wait(1.0)
        # Of a leadership that was lost, something may run still.
        return self._drain()

    def stop(self) -> None:
        """Begin nothing more, let running refreshes end, then return from `run`."""
        self._stopping.set()

    @property
    def leads(self) -> bool:
        """True while this process is the one that acts."""
        return self._leads.is_set()

    @property
    def rival(self) -> str | None:
        """The process that acts instead."""
        return self._candidate.rival

    def at_work(self) -> list[str]:
        """The stream tables that are being refreshed here now."""
        with self._changed:
            return [str(task.graph_run.part.tables[task.key].name) for task in self._dispatcher.running]

    # -- leading

    def _lead(self, leadership: Leadership) -> list[str]:
        settings = self._settings()
        self._dispatcher = Dispatcher(settings.max_concurrent_refreshes, Backoff.of(settings))
        self._threads = {}
        self._leads.set()
        _log.info("leading with token %d", leadership.token, extra={"event": "leading"})
        try:
            while not self._stopping.is_set() and not leadership.is_over and self._broken is None:
                self._guarded_step(leadership)
        finally:
            self._moved_at = None
            self._leads.clear()
            try:
                left = self._drain()
            finally:
                leadership.end()
        # A signal to a whole group of processes stops Spark too: that is no reason to start anew.
        if self._broken is not None and not self._stopping.is_set():
            raise self._broken
        if not self._stopping.is_set():
            _log.warning("lost the leadership; standing by", extra={"event": "lost_leadership"})
        return left

    def _moves(self) -> bool:
        """False if the loop hangs, as in a storage that never answers."""
        moved_at = self._moved_at
        return moved_at is None or time.monotonic() - moved_at < STUCK

    def _guarded_step(self, leadership: Leadership) -> None:
        self._moved_at = time.monotonic()
        try:
            wait = self._step()
        except Exception as error:
            self._say_crashed(error)
            self._note_if_gone(error)
            wait = CRASH_PAUSE
        until = time.monotonic() + wait
        while (left := until - time.monotonic()) > 0 and not (self._stopping.is_set() or leadership.is_over):
            self._moved_at = time.monotonic()
            self._stopping.wait(min(left, 0.5))

    def _step(self) -> float:
        """Look once and begin what is due; returns how long nothing can become due."""
        settings, now = self._settings(), self._clock.now()
        picture = self._executor.picture()
        if picture is not None:
            # The leader before may have had a clock that was ahead of this one.
            self._clock.not_before(picture.newest)
            log_circle(picture, self._said)
        with self._changed:
            self._dispatcher.paused = picture is None
        if picture is not None:
            self._begin(picture)
        self._check()
        interval = settings.scheduler_interval_ms / 1000
        if picture is None or not picture.lags:
            return interval
        # Counted from when this look began: what has become due while it lasted was not seen.
        due_at = next_stamp(now, min(picture.lags.values()))
        return max(0.01, min(interval, (due_at - self._clock.now()).total_seconds()))

    def _begin(self, picture: Picture) -> None:
        settings = self._settings()
        with self._changed:
            self._dispatcher.workers = settings.max_concurrent_refreshes
            self._dispatcher.backoff = Backoff.of(settings)
        begin_due(self._dispatcher, self._executor, picture, self._clock, self._changed)
        with self._changed:
            self._changed.notify_all()
            busy = not self._dispatcher.is_idle
        if busy:
            self._start_workers(settings.max_concurrent_refreshes)

    def _start_workers(self, wanted: int) -> None:
        self._threads = {number: thread for number, thread in self._threads.items() if thread.is_alive()}
        for number in range(1, wanted + 1):
            if number not in self._threads:
                thread = self._new_thread(self._work_on_tasks, number)
                thread.start()
                self._threads[number] = thread

    def _drain(self) -> list[str]:
        with self._changed:
            self._dispatcher.stop()
            self._changed.notify_all()
        deadline = time.monotonic() + self._settings().drain_seconds
        for thread in self._threads.values():
            thread.join(max(0.0, deadline - time.monotonic()))
        return self.at_work()

    # -- the workers

    def _work_on_tasks(self) -> None:
        # Kept: when this process leads again, a refresh of its former term may still be running.
        dispatcher = self._dispatcher
        while (task := self._take(dispatcher)) is not None:
            began = self._clock.now()
            try:
                outcome = self._executor.carry_out(task.graph_run, task.key)
            except BaseException as error:
                # Not of the refresh, which says its errors: of what stands around it. A panic in Rust is no Exception.
                outcome = Outcome(Arrival(blocked=True), InternalError(why=f"{type(error).__name__}: {error}"))
                self._say_crashed(error)
            if outcome.error is not None:
                # Whatever the error was taken for: a JVM that dies is noticed in many places.
                self._note_if_gone(outcome.error)
            now = self._clock.now()
            with self._changed:
                task.graph_run.arrived[task.key] = outcome.arrival
                dispatcher.ended(task, outcome.error, now - began, now)
                self._changed.notify_all()

    def _note_if_gone(self, error: Exception) -> None:
        try:
            gone = self._executor.engine_is_gone()
        except Exception as unanswered:
            # Asked again after the next error; a worker must not end over it, with its table in hand.
            self._say_crashed(unanswered)
            return
        if gone:
            self._broken = EngineUnavailable(name="the scheduler's tables", why=str(error))

    def _take(self, dispatcher: Dispatcher) -> Task | None:
        with self._changed:
            while True:
                if not dispatcher.workers:
                    return None
                task = dispatcher.next()
                if task is not None:
                    return task
                self._changed.wait()

    def _say_crashed(self, error: BaseException) -> None:
        _log.error("the scheduler goes on after an error: %s", error, exc_info=error, extra={"event": "crashed"})
