"""Print the changes that a subscription gives until Ctrl-C, SIGTERM or a number of commits ends it.

A durable subscription acknowledges a commit after it was printed: what was cut off is printed again the next time.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Literal

from penstock.cli.context.command_context import Desk

Form = Literal["people", "json", "debezium"]


def follow(
    desk: Desk,
    subscription: Any,
    *,
    rows: int,
    form: Form = "people",
    commits: int | None = None,
    durable: bool = False,
) -> None:
    """Print commit after commit; for people, with `rows` changes of each at most, and a summary at the end."""
    tell = _for_people(rows) if form == "people" else _lines(form)
    if form == "people":
        reached = f"LSN {subscription.position}, version {subscription.version}"
        desk.print(f"following {subscription.stream_table} after {reached}; stop with Ctrl-C\n")
    seen, totals = 0, (0, 0, 0)
    with subscription, _until_stopped(subscription):
        while commits is None or seen < commits:
            changes = subscription.next_commit()
            if changes is None:
                break
            told = tell(changes)
            sys.stdout.flush()
            if durable:
                subscription.acknowledge()
            seen += 1
            totals = (totals[0] + told[0], totals[1] + told[1], totals[2] + told[2])
    if form == "people":
        desk.print(_summary(subscription, seen, totals, durable))


def _for_people(rows: int) -> Callable[[Any], tuple[int, int, int]]:
    from penstock.cli.render.change_block import counts, print_block
    from penstock.cli.render.tables import console

    out = console()

    def tell(changes: Any) -> tuple[int, int, int]:
        print_block(out, changes, rows)
        return counts(changes)

    return tell


def _lines(form: Form) -> Callable[[Any], tuple[int, int, int]]:
    from penstock.changes.wire.commit_lines import changelog_lines, envelope_lines

    lines_of = changelog_lines if form == "json" else envelope_lines

    def tell(changes: Any) -> tuple[int, int, int]:
        sys.stdout.write("".join(line.decode() + "\n" for line in lines_of(changes)))
        return 0, 0, 0

    return tell


def _summary(subscription: Any, commits: int, totals: tuple[int, int, int], durable: bool) -> str:
    from penstock.cli.render.change_block import tally

    told = f"{commits} commit{'' if commits == 1 else 's'}"
    if commits:
        told += f", {tally(*totals)}"
    if subscription.dropped:
        told += f", {subscription.dropped} events left out"
    again = f"; {subscription.id} goes on there" if durable else ""
    return f"stopped at LSN {subscription.position} after {told}{again}"


@contextmanager
def _until_stopped(subscription: Any) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the subscription, not the process."""

    def stop(number: int, frame: FrameType | None) -> None:
        # In a thread: the signal may have come while this one held the very lock that `cancel` needs.
        threading.Thread(target=subscription.cancel).start()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
