"""What every command has at hand: the opened warehouse, where to print, and how errors end it.

`Openers` is the seam: commands reach the API only through it, so tests put a fake there. The API, and with it Spark, is
imported when a command opens a warehouse, and not before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from penstock.cli.context import failure
from penstock.cli.context.lost_stream_tables import print_lost
from penstock.cli.context.progress_line import Reporter, working

if TYPE_CHECKING:
    from penstock.cli.context.stream_tables import CommandTables
    from penstock.ddl.repair import RepairReport
    from penstock.engine.spark.doctor import Check

_REPEATED: Final = frozenset({"refresh_failed", "auto_suspended"})


def _open(path: Path) -> CommandTables:
    from penstock import api

    return api.open(path)


def _open_lazily(path: Path) -> CommandTables:
    from penstock import api

    return api.open_lazily(path)


def _catalog_fault(path: Path) -> str | None:
    from penstock.catalog.fault import fault
    from penstock.catalog.open_catalog import catalog_place
    from penstock.settings import Settings

    return fault(catalog_place(path, Settings.load(path).catalog))


def _repair(path: Path) -> RepairReport:
    from penstock import api

    return api.repair(path)


def _check_machine(path: Path, deep: bool) -> list[Check]:
    from penstock.engine.spark import doctor

    return doctor.diagnose(path, deep=deep)


@dataclass(frozen=True)
class Openers:
    """Where the API comes from."""

    open: Callable[[Path], CommandTables] = _open
    open_lazily: Callable[[Path], CommandTables] = _open_lazily
    """The same; Spark starts only when something has to be computed."""
    catalog_fault: Callable[[Path], str | None] = _catalog_fault
    """Why the catalog cannot be used; None if it can."""
    repair: Callable[[Path], RepairReport] = _repair
    check_machine: Callable[[Path, bool], list[Check]] = _check_machine


@dataclass
class Output:
    """Where a command prints: for a person, or one JSON document."""

    as_json: bool

    def document(self, value: Any) -> None:
        """Print the one JSON document."""
        from penstock.cli.render.document import dumps

        typer.echo(dumps(value))

    def print(self, value: Any = "") -> None:
        """Print for a person; text goes out as it is, never folded."""
        if isinstance(value, str):
            typer.echo(value)
            return
        from penstock.cli.render.tables import console

        console().print(value)

    def working(self, text: str) -> AbstractContextManager[Reporter]:
        """Show `text` on a terminal while the block runs."""
        return working(text)


@dataclass
class CommandContext(Output):
    """One command at work in an opened warehouse."""

    tables: CommandTables


def openers(ctx: typer.Context) -> Openers:
    """The seam of this run."""
    return ctx.obj if isinstance(ctx.obj, Openers) else Openers()


@contextmanager
def reporting_errors(as_json: bool) -> Iterator[None]:
    """Turn an error of the block into a message and an exit code. A closed pipe is no error."""
    try:
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
        raise
    except KeyboardInterrupt as error:
        if as_json:
            from penstock.cli.render.document import dumps

            typer.echo(dumps({"error": failure.as_data(error)}))
        raise
    except Exception as error:
        if as_json:
            from penstock.cli.render.document import dumps

            typer.echo(dumps({"error": failure.as_data(error)}))
        else:
            failure.print_error(error)
        raise typer.Exit(failure.exit_code(error)) from None


@contextmanager
def opened(
    ctx: typer.Context, warehouse: Path, as_json: bool, *, keeps_running: bool = False
) -> Iterator[CommandContext]:
    """Open the warehouse with Spark. A command that `keeps_running` after a failed refresh prints every warning."""
    with reporting_errors(as_json):
        require_warehouse(warehouse)
        with working("starting Spark…"):
            tables = openers(ctx).open(warehouse)
        with tables, nullcontext() if keeps_running else _without_repeated_warnings():
            print_lost(ctx, tables)
            yield CommandContext(as_json, tables)


@contextmanager
def _without_repeated_warnings() -> Iterator[None]:
    """Hide the warnings that only repeat the error with which the command ends."""
    logger = logging.getLogger("penstock")
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.addFilter(lambda record: getattr(record, "event", None) not in _REPEATED)
    # Logging that is set up already, as `log_format = "json"` does, gets all of it.
    if logger.hasHandlers():
        yield
        return
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


@contextmanager
def opened_lazily(
    ctx: typer.Context, warehouse: Path, as_json: bool, *, names_lost: bool = False
) -> Iterator[CommandContext]:
    """Open the warehouse for a command that needs no Spark, and that may name lost stream tables in its answer."""
    with reporting_errors(as_json):
        require_warehouse(warehouse)
        with openers(ctx).open_lazily(warehouse) as tables:
            if not names_lost:
                print_lost(ctx, tables)
            yield CommandContext(as_json, tables)


def require_warehouse(path: Path) -> None:
    """Refuse a folder that is not a warehouse."""
    # Here and not above: help needs no catalog.
    from penstock.catalog import warehouse_folder

    warehouse_folder.require_warehouse(path)
