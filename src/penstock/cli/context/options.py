"""The options that commands share, each described once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

Warehouse = Annotated[
    Path,
    typer.Option(
        "-w",
        "--warehouse",
        metavar="PATH",
        envvar="PENSTOCK_WAREHOUSE",
        help="The warehouse folder.",
        file_okay=False,
    ),
]
HERE = Path(".")

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]

Name = Annotated[str, typer.Argument(metavar="NAME", help="The stream table.", show_default=False)]

OptionalName = Annotated[
    str | None, typer.Argument(metavar="NAME", help="One stream table; all of them if left out.", show_default=False)
]

QueryFile = Annotated[
    list[Path] | None,
    typer.Option(
        "-f", "--file", metavar="FILE", help="A file with the query; - is standard input.", show_default=False
    ),
]

Lag = Annotated[
    str | None,
    typer.Option("--lag", metavar="LAG", help="How old the rows may get: '5 minutes', '1h', … or DOWNSTREAM."),
]

Mode = Annotated[
    str | None, typer.Option("--mode", metavar="MODE", help="AUTO, INCREMENTAL (never silently full) or FULL.")
]


def read_text(path: Path) -> str:
    """The text of a file, or of standard input for `-`."""
    typed = str(path) == "-"
    if typed and sys.stdin is None:
        raise typer.BadParameter("standard input is closed")
    try:
        # A mark of the encoding, which some editors put first, is no part of the text.
        return sys.stdin.read().removeprefix("\ufeff") if typed else path.read_text("utf-8-sig")
    except OSError as error:
        raise typer.BadParameter(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise typer.BadParameter(f"{'standard input' if typed else path} is not UTF-8 text") from None


def read_query(query: str | None, files: list[Path] | None) -> str | None:
    """The one query, given as an argument or as a file; more than one is a usage error."""
    given = len(files or ()) + (query is not None)
    if given > 1:
        raise typer.BadParameter("give one query, as an argument or with --file")
    return read_text(files[0]) if files else query


def lag_value(lag: str) -> str | None:
    """The lag for the API, where None is DOWNSTREAM."""
    return None if lag.strip().upper() == "DOWNSTREAM" else lag
