"""`penstock optimize`: sort and compact files so that a change touches few of them. No row changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.context.command_context import CommandContext, opened
from penstock.cli.context.options import HERE, AsJson, Warehouse
from penstock.cli.render.durations import format_duration

if TYPE_CHECKING:
    from penstock.layout.optimize import OptimizeResult


def optimize(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME...]", help="Stream tables, or their sources.", show_default=False),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would do.")] = False,
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """Sort and compact files, so that a change touches few of them.

    Without names, it does so for every stream table that needs it, and says what you can run for sources. It sorts a
    source only if you name it. No row changes, and tables that lie well stay as they are.

    \b
    Examples:
      penstock optimize --dry-run
      penstock optimize
      penstock optimize revenue orders
    """
    with opened(ctx, warehouse, as_json) as command:
        results: list[OptimizeResult] = []
        asked: list[str | None] = [*names] if names else [None]
        for name in asked:
            with command.working(f"looking at {name}…" if name else "looking at the tables…") as progress:
                found = command.tables.optimize(name, dry_run=dry_run, progress=progress)
            results += found
            if not as_json:
                for result in found:
                    _print_result(command, result)
        if as_json:
            command.document(results)
        elif not results:
            command.print("there is nothing to lay out")


def _print_result(command: CommandContext, result: OptimizeResult) -> None:
    advice, after = result.advice, result.after
    kind = "" if advice.is_stream_table else "source "
    if not result.done:
        command.print(f"{kind}{result.table}: {result.reason}")
        if advice.command:
            command.print(f"  run: {advice.command}")
        return
    done = ", ".join(result.done)
    command.print(f"{kind}{result.table}: {done} in {format_duration(result.seconds)}, because {result.reason}")
    before = advice.layout
    command.print(f"  files {before.files} → {after.files}, {_size(before.bytes)} → {_size(after.bytes)}")
    if before.touched is not None and after.touched is not None:
        keys = ", ".join(advice.columns)
        command.print(f"  a key of {keys} touches {before.touched:.0%} → {after.touched:.0%} of them")


def _size(size: int) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024  # type: ignore[assignment]
    return f"{size:.1f} TiB"
