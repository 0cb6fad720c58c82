"""`penstock subscribe`: the changes of a stream table as they are committed, by any process; starts no Spark."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, cast

import typer

from penstock.cli.commands.changes.follow import Form, follow
from penstock.cli.context.command_context import opened_lazily
from penstock.cli.context.options import HERE, Name, Warehouse

if TYPE_CHECKING:
    from penstock.subscribe.fetch import Delivery


def subscribe(
    ctx: typer.Context,
    name: Name,
    start: Annotated[
        str | None,
        typer.Option(
            "--start", metavar="POINT", help="now (the default), or snapshot: all rows first.", show_default=False
        ),
    ] = None,
    version: Annotated[
        int | None,
        typer.Option("--version", metavar="N", min=0, help="Begin after this version.", show_default=False),
    ] = None,
    timestamp: Annotated[
        str | None,
        typer.Option(
            "--timestamp", metavar="T", help="Begin after the version of this moment, in UTC.", show_default=False
        ),
    ] = None,
    lsn: Annotated[
        int | None,
        typer.Option(
            "--lsn", metavar="N", min=0, help="Begin after this LSN; 0 is the whole changelog.", show_default=False
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="PREDICATE", help="Only rows for which this holds.", show_default=False),
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="A,B", help="Only these columns.", show_default=False)
    ] = None,
    delivery: Annotated[
        str, typer.Option("--delivery", metavar="WAY", help="every commit, or the net change of all that wait.")
    ] = "every",
    policy: Annotated[
        str,
        typer.Option(
            "--policy",
            metavar="POLICY",
            help="What to do with commits that come too fast: block, drop_oldest, drop_newest, sample(n).",
        ),
    ] = "block",
    durable: Annotated[
        str | None,
        typer.Option(
            "--durable", metavar="NAME", help="Go on where the last run under this name stopped.", show_default=False
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("-n", "--limit", metavar="N", min=1, help="Stop after this many commits.", show_default=False),
    ] = None,
    rows: Annotated[
        int, typer.Option("--rows", metavar="N", min=0, help="Show at most this many changes of a commit; 0 shows all.")
    ] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print one changelog row per line, as JSON.")] = False,
    debezium: Annotated[bool, typer.Option("--debezium", help="Print one Debezium envelope per line.")] = False,
    warehouse: Warehouse = HERE,
) -> None:
    """Show the changes of a stream table as they happen, until Ctrl-C.

    Without a start, it begins with the next commit.

    \b
    Examples:
      penstock subscribe revenue
      penstock subscribe revenue --start snapshot --where "region = 'north'"
      penstock subscribe revenue --durable mailer --json
    """
    if as_json and debezium:
        raise typer.BadParameter("give --json or --debezium, not both")
    if policy == "demand":
        raise typer.BadParameter("demand is for programs, which ask for commits one by one", param_hint="--policy")
    begin = _timestamp(timestamp)
    chosen = None if columns is None else [each.strip() for each in columns.split(",") if each.strip()]
    # An error among the JSON lines could be taken for a change, so it goes to stderr.
    with opened_lazily(ctx, warehouse, as_json=False) as command:
        subscription = command.tables.subscribe(
            name,
            start=start,
            version=version,
            timestamp=begin,
            lsn=lsn,
            where=where,
            columns=chosen,
            policy=policy,
            delivery=cast("Delivery", delivery),
            durable=durable,
        )
        form: Form = "json" if as_json else "debezium" if debezium else "people"
        follow(command, subscription, rows=rows, form=form, commits=limit, durable=durable is not None)


def _timestamp(text: str | None) -> datetime | None:
    if text is None:
        return None
    from penstock.changes.filter.moments import read_timestamp

    read = read_timestamp(text)
    if read is None:
        raise typer.BadParameter(
            f"{text!r} is not written as 2026-01-31 12:00:00, with an offset such as +01:00 or without",
            param_hint="--timestamp",
        )
    return read
