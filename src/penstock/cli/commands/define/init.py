"""`penstock init`: make a folder a warehouse. Doing it twice changes nothing."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.context.command_context import CommandContext, openers, reporting_errors
from penstock.cli.context.options import HERE, AsJson
from penstock.cli.context.progress_line import working
from penstock.errors import WarehouseUnusable
from penstock.settings import FILE_NAME, Settings


def init(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The folder; it is created if it is missing.")] = HERE,
    as_json: AsJson = False,
) -> None:
    """Make a folder a warehouse.

    The folder holds the tables, the catalog and penstock.toml. You can move or copy it as a whole.

    \b
    Examples:
      penstock init my-warehouse
      penstock init .
    """
    with reporting_errors(as_json):
        from penstock.catalog.warehouse_folder import is_warehouse, warehouse_folder

        warehouse_folder(path)
        existed = is_warehouse(path)
        settings = path / FILE_NAME
        try:
            path.mkdir(parents=True, exist_ok=True)
            if not settings.exists():
                settings.write_text(settings_text(), "utf-8")
        except OSError as error:
            fix = "Choose a folder that you may write to."
            raise WarehouseUnusable(path=path, why=error.strerror or str(error), fix=fix) from None
        with working("creating the catalog…"), openers(ctx).open(path) as tables:
            command = CommandContext(as_json, tables)
            if as_json:
                command.document({"warehouse": str(path.resolve()), "created": not existed, "settings": str(settings)})
        if not as_json:
            _print_next_steps(path, existed)


def settings_text() -> str:
    """A settings file that changes nothing and explains everything."""
    parts = ["# Settings of this Penstock warehouse. Every line is optional; the values shown are the defaults.\n"]
    for setting in Settings.describe():
        value = json.dumps(setting.default)  # TOML writes booleans, whole numbers and plain text the same way
        parts.append(f"# {setting.doc}\n# Allowed: {setting.allowed}.\n# {setting.name} = {value}\n")
    return "\n".join(parts)


def _print_next_steps(path: Path, existed: bool) -> None:
    where = "" if path.resolve() == Path.cwd().resolve() else f" -w {shlex.quote(str(path))}"
    if existed:
        typer.echo(f"{path} was a warehouse already; see how it is with: penstock status{where}")
        return
    typer.secho(f"{path} is a warehouse now", fg="green")
    typer.echo(
        f"""
What to type next:

  penstock sql{where} -e "CREATE TABLE orders (id BIGINT, region STRING, amount DECIMAL(12,2))"
  penstock create{where} revenue "SELECT region, sum(amount) AS total FROM orders GROUP BY region"
  penstock sql{where} -e "INSERT INTO orders VALUES (1, 'north', 10.00)"
  penstock refresh{where} revenue
  penstock sql{where} -e "SELECT * FROM revenue"
""".rstrip()
    )
