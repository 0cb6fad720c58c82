"""`penstock serve`: the changes of stream tables over HTTP, until stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.context.command_context import opened_lazily
from penstock.cli.context.options import HERE, Warehouse

MEGABYTE = 1024 * 1024


def serve(
    ctx: typer.Context,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 8321,
    tokens: Annotated[
        Path | None,
        typer.Option(
            "--tokens",
            metavar="FILE",
            help="Accept only clients with a token in this file; needed to listen to other hosts.",
            show_default=False,
            dir_okay=False,
        ),
    ] = None,
    open_to_others: Annotated[bool, typer.Option("--open", help="Listen to other hosts without tokens.")] = False,
    cors: Annotated[
        list[str] | None,
        typer.Option("--cors", metavar="ORIGIN", help="Let web pages of this origin read; repeat it for several."),
    ] = None,
    connections: Annotated[
        int, typer.Option("--connections", min=1, max=1_000_000, help="Clients at the same time; more get a 503.")
    ] = 10_000,
    buffer: Annotated[
        int,
        typer.Option(
            "--buffer",
            metavar="MB",
            min=1,
            max=65536,
            help="Changes kept in memory, per kind of stream.",
        ),
    ] = 4,
    warehouse: Warehouse = HERE,
) -> None:
    """Serve the changes of stream tables over HTTP until stopped.

    It serves pages, server-sent events, WebSockets and Arrow; /openapi.json describes them. It needs no Spark:
    refreshes can run anywhere else.

    \b
    Examples:
      penstock serve
      penstock serve --port 9000 --cors https://dashboard.example
      penstock serve --host 0.0.0.0 --tokens tokens.toml -w warehouse/
    """
    with opened_lazily(ctx, warehouse, as_json=False) as command:
        from penstock.api import StreamTables
        from penstock.serve.access import Access
        from penstock.serve.limits import Limits
        from penstock.serve.server import Server

        access = Access() if tokens is None else Access.read(tokens)
        # The server reads changelogs, which only a real warehouse has.
        assert isinstance(command.tables, StreamTables)
        server = Server(
            command.tables,
            access,
            host=host,
            port=port,
            open_to_others=open_to_others,
            origins=tuple(cors or ()),
            limits=Limits(connections=connections, buffer_bytes=buffer * MEGABYTE),
        )
        token = "" if access.is_open else ' -H "Authorization: Bearer $TOKEN"'
        command.print(f"serving {command.tables.path} at {server.url}; stop with Ctrl-C or SIGTERM")
        command.print(f"  curl{token} {server.url}/tables")
        command.print(f"  curl -N{token} '{server.url}/tables/NAME/stream?start=snapshot'")
        server.run()
        command.print("stopped; every stream was ended")
