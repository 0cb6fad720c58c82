"""Print the changes that a subscription gives until Ctrl-C, SIGTERM or a number of commits ends it.

A durable subscription acknowledges a commit after printing it, so the next run prints again what was cut off.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Literal

from penstock.cli.context.command_context import CommandContext

if TYPE_CHECKING:
    from penstock.changes.wire.commit_changes import CommitChanges
    from penstock.cli.context.stream_tables import Changes


Form = Literal["people", "json", "debezium"]
PrintCommit = Callable[["CommitChanges"], tuple[int, int, int]]
"""Prints a commit; returns how many rows came, went and changed."""


def follow(
    command: CommandContext,
    subscription: Changes,
    *,
    rows: int,
    form: Form = "people",
    commits: int | None = None,
    durable: bool = False,
) -> None:
    """Print commit after commit; for people at most `rows` changes of each, and a summary at the end."""
    print_commit = _block_printer(rows) if form == "people" else _line_printer(form)
    if form == "people":
        reached = f"LSN {subscription.position}, version {subscription.version}"
        command.print(f"following {subscription.stream_table} after {reached}; stop with Ctrl-C\n")
    seen, totals = 0, (0, 0, 0)
    with subscription, _until_stopped(subscription):
        while commits is None or seen < commits:
            changes = subscription.next_commit()
            if changes is None:
                break
            counted = print_commit(changes)
            sys.stdout.flush()
            if durable:
                subscription.acknowledge()
            seen += 1
            totals = (totals[0] + counted[0], totals[1] + counted[1], totals[2] + counted[2])
    if form == "people":
        command.print(_summary(subscription, seen, totals, durable))


def _block_printer(rows: int) -> PrintCommit:
    """For people: a block per commit."""
    from penstock.cli.render.change_block import counts, print_block
    from penstock.cli.render.tables import console

    out = console()

    def print_commit(changes: CommitChanges) -> tuple[int, int, int]:
        print_block(out, changes, rows)
        return counts(changes)

    return print_commit


def _line_printer(form: Form) -> PrintCommit:
    """For programs: a line per change; it counts none."""
    from penstock.changes.wire.commit_lines import changelog_lines, envelope_lines

    lines_of = changelog_lines if form == "json" else envelope_lines

    def print_commit(changes: CommitChanges) -> tuple[int, int, int]:
        sys.stdout.write("".join(line.decode() + "\n" for line in lines_of(changes)))
        return 0, 0, 0

    return print_commit


def _summary(subscription: Changes, commits: int, totals: tuple[int, int, int], durable: bool) -> str:
    from penstock.cli.render.change_block import tally

    done = f"{commits} commit{'' if commits == 1 else 's'}"
    if commits:
        done += f", {tally(*totals)}"
    if subscription.dropped:
        done += f", {subscription.dropped} events left out"
    again = f"; {subscription.id} goes on there" if durable else ""
    return f"stopped at LSN {subscription.position} after {done}{again}"


@contextmanager
def _until_stopped(subscription: Changes) -> Iterator[None]:
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
