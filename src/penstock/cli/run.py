"""`penstock run`: keep every stream table within its target lag, for ever.

SIGTERM, Ctrl-C   begin nothing more, let running refreshes end, exit with 0 (1 if some did not end in time)
SIGHUP            read the settings again
Spark is gone     start this process anew after a pause
"""

from __future__ import annotations

import os
import signal
import sys
import time
from types import FrameType
from typing import Any, NoReturn

import typer

from penstock.cli.desk import opened
from penstock.cli.options import HERE, Warehouse
from penstock.errors import EngineUnavailable, InvalidSetting

PAUSE = 5.0
"""Seconds before the process starts anew."""


def run(ctx: typer.Context, warehouse: Warehouse = HERE) -> None:
    """Keep every stream table within its target lag until stopped.

    Of several such processes on one catalog one acts; the others stand by and take over within seconds.

    \b
    Examples:
      penstock run
      PENSTOCK_LOG_LEVEL=debug penstock run -w warehouse/
    """
    with opened(ctx, warehouse, as_json=False) as desk:
        _start_log()
        scheduler = desk.tables.scheduler()
        _obey_signals(desk.tables, scheduler)
        desk.print(f"keeping {desk.tables.path} fresh; stop with Ctrl-C or SIGTERM")
        try:
            left = scheduler.run()
        except EngineUnavailable as gone:
            _start_anew(gone)
        if left:
            desk.print(f"stopped; these refreshes were cut off and will be done again: {', '.join(left)}")
            raise typer.Exit(1)
        desk.print("stopped; nothing was left unfinished")


def _start_anew(gone: EngineUnavailable) -> NoReturn:
    typer.echo(f"{gone}\nstarting anew in {PAUSE:.0f} s", err=True)
    time.sleep(PAUSE)
    os.execv(sys.executable, [sys.executable, "-m", "penstock.cli.main", *sys.argv[1:]])


def _obey_signals(tables: Any, scheduler: Any) -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        scheduler.stop()

    def reload(number: int, frame: FrameType | None) -> None:
        try:
            tables.reload()
        except InvalidSetting as refused:
            typer.echo(f"the settings stay as they were: {refused}", err=True)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGHUP, reload)


def _start_log() -> None:
    import logging

    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)-7s %(name)s  %(message)s")
