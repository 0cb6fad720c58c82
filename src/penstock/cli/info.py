"""`penstock info`: everything that is known about stream tables."""

from __future__ import annotations

import typer

from penstock.cli.desk import looking
from penstock.cli.options import HERE, AsJson, OptionalName, Warehouse


def info(ctx: typer.Context, name: OptionalName = None, warehouse: Warehouse = HERE, as_json: AsJson = False) -> None:
    """Show everything that is known about stream tables.

    Definition, frontier, storage and errors.

    \b
    Examples:
      penstock info revenue
      penstock info --json
    """
    with looking(ctx, warehouse, as_json) as desk:
        found = desk.tables.info(name)
        if as_json:
            desk.document(found)
            return
        if not found:
            desk.print("there are no stream tables yet")
            return
        from penstock.cli.tables import console, print_fields

        out = console()
        for number, fields in enumerate(found):
            if number:
                desk.print()
            print_fields(out, [(field.replace("_", " "), _value(value)) for field, value in fields.items()])


def _value(value: object) -> object:
    from datetime import datetime, timedelta

    from penstock.cli.durations import moment, spoken

    if value is None:
        return "–"
    if isinstance(value, timedelta):
        return spoken(value)
    if isinstance(value, datetime):
        return moment(value) + " UTC"
    return value
