"""The names of plain schemas, tables and views, shared by processes that each have a Spark catalog in memory.

    push_names   what changed in Spark's catalog since both agreed, this process did: the warehouse's catalog notes it
    pull_names   what changed in the warehouse's catalog since then, another process did: Spark's catalog takes it over

So a process never undoes what it has not seen, and a scheduler reads through the names of now. A catalog that outlives
its process, as a metastore does, is shared already, and nothing is noted of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from penstock.catalog.model import KnownTable
from penstock.engine.spark.register_without_reading import unregister
from penstock.engine.spark.registry import registered
from penstock.names import TableName
from penstock.refresh.define import mark_moved
from penstock.refresh.restore_names import drop_left_over, restore_names, unquoted_name
from penstock.refresh.warehouse import Warehouse

Names = Mapping[str, KnownTable]


@dataclass(frozen=True, slots=True)
class LastSync:
    """What both catalogs held when they last agreed. They write a view or a place in their own ways."""

    in_spark: Names
    in_catalog: Names


def begin_sharing(warehouse: Warehouse) -> None:
    """Register what the warehouse's catalog holds, in a session that is new to it.

    A name that the session has already stays as it is there.
    """
    with warehouse.naming:
        known = _by_name(warehouse.catalog.known_tables())
        _take_over(warehouse, LastSync({}, {}), known, list(known))


def push_names(warehouse: Warehouse) -> None:
    """Note what this process has changed, and ask for a rebuild of what reads a name that stands elsewhere now."""
    with warehouse.naming:
        if (last_sync := warehouse.last_sync) is None:
            return
        catalog, present = warehouse.catalog, _plain_names(warehouse)
        changed = _differing(last_sync.in_spark, present)
        # First, so that an error here leaves it all to the next statement.
        mark_moved(catalog, _places(changed, present), warehouse.now())
        for name in changed:
            if name in present:
                catalog.remember_table(present[name])
            elif last_sync.in_spark[name].table:
                catalog.forget_table(TableName(last_sync.in_spark[name].schema, last_sync.in_spark[name].table))
            else:
                catalog.forget_schema(name)
        warehouse.last_sync = LastSync(present, _brought(last_sync.in_catalog, changed, present))


def pull_names(warehouse: Warehouse) -> None:
    """Take over what other processes have noted, and what could not be registered before, because it was away.

    A name that was changed here too stays as it is here.
    """
    with warehouse.naming:
        if (last_sync := warehouse.last_sync) is None:
            return
        known = _by_name(warehouse.catalog.known_tables())
        if changed := _differing(last_sync.in_catalog, known):
            _take_over(warehouse, last_sync, known, changed)
            if not warehouse.catalog.read_only:
                # The process that changed a name cannot see a reader that was being made here meanwhile.
                mark_moved(warehouse.catalog, _places(changed, known), warehouse.now())
        elif waiting := warehouse.unnamed:
            tables = [meta for meta in warehouse.catalog.get_all() if unquoted_name(meta) in waiting]
            restore_names(warehouse, [known[name] for name in waiting if name in known], tables)
            if named := waiting - warehouse.unnamed:
                _agree(warehouse, last_sync, known, named)


def _take_over(warehouse: Warehouse, last_sync: LastSync, known: Names, changed: Collection[str]) -> None:
    """Let the changed names stand for what they are known to, unless this process has given them another meaning."""
    present = _plain_names(warehouse)
    theirs = [name for name in changed if present.get(name) in (last_sync.in_spark.get(name), known.get(name))]
    # What lies in a schema goes before it.
    for name in reversed(theirs):
        if name in present and present[name] != known.get(name):
            unregister(warehouse.spark, present[name])
        elif name in known and known[name].table:
            drop_left_over(warehouse, TableName(known[name].schema, known[name].table))
    looked_at = {*theirs, *warehouse.unnamed}
    restore_names(warehouse, [known[name] for name in looked_at if name in known], warehouse.catalog.get_all())
    _agree(warehouse, last_sync, known, looked_at)


def _agree(warehouse: Warehouse, last_sync: LastSync, known: Names, names: Collection[str]) -> None:
    """Both catalogs agree on these names, as far as Spark's could take them."""
    warehouse.last_sync = LastSync(_brought(last_sync.in_spark, names, _plain_names(warehouse)), known)


def _places(names: Iterable[str], tables: Names) -> dict[str, str]:
    return {name: path for name in names if name in tables and (path := tables[name].path) is not None}


def _plain_names(warehouse: Warehouse) -> Names:
    ours = {unquoted_name(meta) for meta in warehouse.catalog.get_all()}
    return _by_name(each for each in registered(warehouse.spark) if each.name not in ours)


def _by_name(tables: Iterable[KnownTable]) -> dict[str, KnownTable]:
    return {each.name: each for each in tables}


def _differing(before: Names, now: Names) -> list[str]:
    """The names that came, went or changed; schemas first, because the others lie in them."""
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def _brought(held: Names, names: Collection[str], now: Names) -> Names:
    """The same, with these names as they are now."""
    kept = {name: table for name, table in held.items() if name not in names}
    return kept | {name: now[name] for name in names if name in now}
