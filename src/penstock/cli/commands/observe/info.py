"""`penstock info`: everything that the catalog knows about stream tables."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import typer

from penstock.cli.context.command_context import opened_lazily
from penstock.cli.context.options import HERE, AsJson, OptionalName, Warehouse
from penstock.cli.render.durations import format_duration, format_moment
from penstock.cli.render.no_stream_tables import no_stream_tables


def info(ctx: typer.Context, name: OptionalName = None, warehouse: Warehouse = HERE, as_json: AsJson = False) -> None:
    """Show everything that the catalog knows about stream tables.

    Definition, frontier, storage and errors.

    \b
    Examples:
      penstock info revenue
      penstock info --json
    """
    with opened_lazily(ctx, warehouse, as_json) as command:
        found = command.tables.info(name)
        if as_json:
            command.document(found)
            return
        if not found:
            command.print(no_stream_tables(command.tables))
            return
        from penstock.cli.render.tables import console, print_fields

        out = console()
        for number, fields in enumerate(found):
            if number:
                command.print()
            named = {each["id"]: each["name"] for each in fields.get("sources", ())}
            print_fields(out, [_line(field, value, named) for field, value in fields.items()])


_DURATIONS: Final = {"_seconds": 1.0, "_ms": 0.001}


def _line(field: str, value: Any, sources: Mapping[str, str]) -> tuple[str, Any]:
    """A field as people read it: its name without its unit, and its value in words."""
    for ending, unit in _DURATIONS.items():
        if field.endswith(ending):
            text = "–" if value is None else format_duration(value * unit)
            return field.removesuffix(ending).replace("_", " "), text
    return field.replace("_", " "), _frontier(value, sources) if field == "frontier" and value else _value(value)


def _value(value: Any) -> Any:
    if value is None or value in ((), [], {}):
        return "–"
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, datetime):
        return format_moment(value) + " UTC"
    if isinstance(value, Mapping):
        return "\n".join(f"{name} = {_value(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        records = any(isinstance(item, Mapping) for item in value)
        return "\n".join(map(_source, value)) if records else ", ".join(str(_value(item)) for item in value)
    return value


def _source(source: Mapping[str, Any]) -> str:
    used = ", ".join(source["columns_used"])
    return f"{source['name']} ({source['type'].lower().replace('_', ' ')})" + (f": {used}" if used else "")


def _frontier(frontier: Mapping[str, Any], sources: Mapping[str, str]) -> str:
    """A line per source: the version that the rows show, and when it was committed."""
    lines = []
    for source, held in frontier["sources"].items():
        at = held.get("snapshot_ts")
        committed = f", committed {format_moment(datetime.fromisoformat(at))} UTC" if at else ""
        lines.append(f"{sources.get(source, source)}: version {held['version']}{committed}")
    return "\n".join(lines) or "–"
