"""`penstock optimize`: how files lie, how they should, and doing it. No row changes."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from penstock.cli.context.command_context import Desk, opened
from penstock.cli.context.options import HERE, AsJson, Warehouse
from penstock.cli.render.durations import spoken


def optimize(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME...]", help="Stream tables, or sources of some.", show_default=False),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """Sort and compact files, so that a change touches few of them.

    Without names, every stream table that needs it; for sources it says what you can run. A source is sorted only if
    you name it. Rows do not change, and what is laid out well is left alone.

    \b
    Examples:
      penstock optimize --dry-run
      penstock optimize
      penstock optimize revenue orders
    """
    with opened(ctx, warehouse, as_json) as desk:
        results: list[Any] = []
        asked: list[str | None] = [*names] if names else [None]
        for name in asked:
            with desk.working(f"looking at {name}…" if name else "looking at the tables…") as progress:
                found = desk.tables.optimize(name, dry_run=dry_run, progress=progress)
            results += found
            if not as_json:
                for result in found:
                    _tell(desk, result)
        if as_json:
            desk.document(results)
        elif not results:
            desk.print("there is nothing to lay out")


def _tell(desk: Desk, result: Any) -> None:
    advice, after = result.advice, result.after
    kind = "" if advice.is_stream_table else "source "
    if not result.done:
        desk.print(f"{kind}{result.table}: {result.reason}")
        if advice.command:
            desk.print(f"  run: {advice.command}")
        return
    desk.print(f"{kind}{result.table}: {', '.join(result.done)} in {spoken(result.seconds)}, because {result.reason}")
    before = advice.layout
    desk.print(f"  files {before.files} → {after.files}, {_size(before.bytes)} → {_size(after.bytes)}")
    if before.touched is not None and after.touched is not None:
        keys = ", ".join(advice.columns)
        desk.print(f"  a key of {keys} touches {before.touched:.0%} → {after.touched:.0%} of them")


def _size(size: int) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024  # type: ignore[assignment]
    return f"{size:.1f} TiB"
