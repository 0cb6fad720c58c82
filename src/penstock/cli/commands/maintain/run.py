"""`penstock run`: keep every stream table within its target lag, until stopped.

SIGTERM, Ctrl-C   begin nothing more, let running refreshes end, exit with 0 (1 if some did not end in time)
the second one    exit with 1 at once, as after a kill
SIGHUP            read the settings again
Spark is gone     start this process anew after a pause
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from penstock.cli.context.command_context import opened
from penstock.cli.context.options import HERE, Warehouse
from penstock.errors import EngineUnavailable, InvalidSetting
from penstock.monitor.json_log import log_to

if TYPE_CHECKING:
    from penstock.cli.context.stream_tables import CommandTables, Refreshing


PAUSE = 5.0
"""Seconds before the process starts anew."""


def run(
    ctx: typer.Context,
    http: Annotated[
        str | None,
        typer.Option(
            "--http", metavar="HOST:PORT", help="Serve /metrics, /health, /ready and /status there.", show_default=False
        ),
    ] = None,
    warehouse: Warehouse = HERE,
) -> None:
    """Keep every stream table within its target lag until stopped.

    Of several such processes on one catalog, one refreshes. The others stand by; if it dies, one takes over within
    seconds.

    \b
    Examples:
      penstock run
      penstock run --http 127.0.0.1:9464
      PENSTOCK_LOG_FORMAT=json penstock run -w warehouse/
    """
    place = None if http is None else _place(http)
    with opened(ctx, warehouse, as_json=False, keeps_running=True) as command:
        log_to(command.tables.settings.log_format)
        scheduler = command.tables.scheduler()
        stopped = _obey_signals(command.tables, scheduler)
        command.print(f"keeping {command.tables.path} fresh; stop with Ctrl-C or SIGTERM")
        if place is not None:
            command.print(f"metrics and health at {_serve_metrics(command.tables, *place)}")
        try:
            left = scheduler.run()
        except EngineUnavailable as gone:
            _start_anew(gone, stopped)
        if left:
            command.print(f"stopped; these refreshes were cut off and will be done again: {', '.join(left)}")
            raise typer.Exit(1)
        command.print("stopped; nothing was left unfinished")


def _start_anew(gone: EngineUnavailable, stopped: threading.Event) -> NoReturn:
    typer.echo(f"{gone}\nstarting anew in {PAUSE:.0f} s", err=True)
    if stopped.wait(PAUSE):
        raise typer.Exit
    os.execv(sys.executable, [sys.executable, "-m", "penstock.cli.main", *sys.argv[1:]])


def _obey_signals(tables: CommandTables, scheduler: Refreshing) -> threading.Event:
    """An event that the first SIGTERM or SIGINT sets."""
    stopped = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        if stopped.is_set():
            # A storage may never answer, and a kill loses nothing: the second signal does not wait.
            os._exit(1)
        stopped.set()
        # In a thread: the signal may have come while this one held the very lock that `stop` needs.
        threading.Thread(target=scheduler.stop).start()

    def reload(number: int, frame: FrameType | None) -> None:
        try:
            tables.reload()
        except InvalidSetting as refused:
            typer.echo(f"the settings stay as they were: {refused}", err=True)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGHUP, reload)
    return stopped


def _serve_metrics(tables: CommandTables, host: str, port: int) -> str:
    try:
        return str(tables.serve_metrics(host, port).url)
    except OSError as error:
        why = error.strerror or error
        raise typer.BadParameter(f"cannot listen on {host}:{port}: {why}", param_hint="--http") from None


def _place(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise typer.BadParameter(f"{text!r} is not HOST:PORT", param_hint="--http")
    return host or "127.0.0.1", int(port)
