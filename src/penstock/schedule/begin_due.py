"""One look of the scheduler: what is due or was woken sets out on a graph run, at one version vector for all of it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from penstock.schedule.clock import Clock
from penstock.schedule.dispatcher import Dispatcher
from penstock.schedule.due import Picture
from penstock.schedule.refresh_executor import RefreshExecutor


def begin_due(
    dispatcher: Dispatcher,
    executor: RefreshExecutor,
    picture: Picture,
    clock: Clock,
    alone: AbstractContextManager[Any],
) -> None:
    """Begin what the dispatcher plans. The dispatcher is touched only `alone`; logs are read without holding others up.

    A graph run that cannot be begun is an error; its tables rest a while.
    """
    with alone:
        asleep = dispatcher.asleep(picture, clock.now())
    woken = executor.woken(asleep)
    # Taken before the versions are pinned: whatever was committed by then is in them.
    now = clock.now()
    with alone:
        plan = dispatcher.plan(picture, now, woken)
    try:
        for key, skip in plan.skips.items():
            executor.skip(key, skip, now)
        if not plan.wanted:
            return
        graph_run = executor.begin(plan.wanted, now, plan.resting)
    except Exception:
        with alone:
            dispatcher.not_begun(plan.wanted, clock.now())
        raise
    with alone:
        dispatcher.begun(graph_run)
