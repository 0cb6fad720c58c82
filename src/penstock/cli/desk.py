"""What every command has at hand: the opened warehouse, a place to print, and the rule how it fails.

`Openers` is the seam: commands reach the API only through it, so tests put a fake there. The API, and with it Spark, is
imported when a warehouse is opened and not before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import typer

from penstock.cli import failure
from penstock.cli.none_yet import say_lost
from penstock.cli.spinner import Reporter, working

_REPEATED: Final = frozenset({"refresh_failed", "auto_suspended"})


def _open(path: Path) -> Any:
    return import_module("penstock.api").open(path)


def _look(path: Path) -> Any:
    return import_module("penstock.api").look(path)


def _fault(path: Path) -> str | None:
    from penstock.catalog.fault import fault
    from penstock.catalog.open_catalog import catalog_place
    from penstock.settings import Settings

    return fault(catalog_place(path, Settings.load(path).catalog))


def _repair(path: Path) -> Any:
    return import_module("penstock.api").repair(path)


def _diagnose(path: Path, deep: bool) -> Any:
    return import_module("penstock.engine.spark.doctor").diagnose(path, deep=deep)


@dataclass(frozen=True)
class Openers:
    """Where the API comes from."""

    open: Callable[[Path], Any] = _open
    look: Callable[[Path], Any] = _look
    """The same without starting Spark."""
    fault: Callable[[Path], str | None] = _fault
    """Why the catalog cannot be used, if so."""
    repair: Callable[[Path], Any] = _repair
    diagnose: Callable[[Path, bool], Any] = _diagnose


@dataclass
class Desk:
    """One command at work."""

    tables: Any
    """The opened `StreamTables`."""
    as_json: bool

    def document(self, value: Any) -> None:
        """Print the one JSON document."""
        from penstock.cli.document import dumps

        typer.echo(dumps(value))

    def print(self, value: Any = "") -> None:
        """Print for a person; text goes out as it is, never folded."""
        if isinstance(value, str):
            typer.echo(value)
            return
        from penstock.cli.tables import console

        console().print(value)

    def working(self, text: str) -> AbstractContextManager[Reporter]:
        """Show `text` on a terminal while the block runs."""
        return working(text)


def openers(ctx: typer.Context) -> Openers:
    """The seam of this run."""
    return ctx.obj if isinstance(ctx.obj, Openers) else Openers()


@contextmanager
def failing(as_json: bool) -> Iterator[None]:
    """Turn any error of the block into a message and an exit code; that nobody reads any more is none."""
    try:
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
        raise
    except KeyboardInterrupt as error:
        if as_json:
            from penstock.cli.document import dumps

            typer.echo(dumps({"error": failure.told(error)}))
        raise
    except Exception as error:
        if as_json:
            from penstock.cli.document import dumps

            typer.echo(dumps({"error": failure.told(error)}))
        else:
            failure.show(error)
        raise typer.Exit(failure.exit_code(error)) from None


@contextmanager
def opened(ctx: typer.Context, warehouse: Path, as_json: bool, *, goes_on: bool = False) -> Iterator[Desk]:
    """Open the warehouse for a command that computes, and that `goes_on` or ends when a refresh fails."""
    with failing(as_json):
        require_warehouse(warehouse)
        with working("starting Spark…"):
            tables = openers(ctx).open(warehouse)
        with tables, nullcontext() if goes_on else _said_once():
            say_lost(ctx, tables)
            yield Desk(tables, as_json)


@contextmanager
def _said_once() -> Iterator[None]:
    """Keep warnings that only repeat the error that the command ends with from the terminal."""
    logger = logging.getLogger("penstock")
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.addFilter(lambda record: getattr(record, "event", None) not in _REPEATED)
    # Who set up logging, as `log_format = "json"` does, wants all of it.
    if logger.hasHandlers():
        yield
        return
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


@contextmanager
def looking(ctx: typer.Context, warehouse: Path, as_json: bool, *, tells_lost: bool = False) -> Iterator[Desk]:
    """Open the warehouse for a command that only looks, and that may tell of lost stream tables in its answer.

    Spark stays where it is.
    """
    with failing(as_json):
        require_warehouse(warehouse)
        with openers(ctx).look(warehouse) as tables:
            if not tells_lost:
                say_lost(ctx, tables)
            yield Desk(tables, as_json)


def require_warehouse(path: Path) -> None:
    """Refuse a folder that is no warehouse."""
    # Here and not above: help needs no catalog.
    from penstock.catalog import warehouse_folder

    warehouse_folder.require_warehouse(path)
