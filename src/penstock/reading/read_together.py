"""Reading several stream tables at one instant, as they are stored.

    every base table that two of them read, at one version for both; each as new as that allows

Every commit of a stream table names the versions it shows, and the versions that the rows before it had reached; so
what was stored is enough to find the instant, and nothing has to be computed. See `graph.instant` for the search.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.catalog.model import StreamTableMeta
from penstock.engine.delta.definition import Definition
from penstock.engine.run.workspace import Logs
from penstock.engine.spark.registry import stored_rows_at
from penstock.engine.write.storage_state import records, storage_state
from penstock.errors import NoCommonInstant
from penstock.graph.instant import Disagreement, common_instant
from penstock.names import Frontier
from penstock.refresh.stored_frontier import stored_frontier
from penstock.refresh.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class StoredState:
    """A version of a storage, and the versions of all base tables at which its rows are the query's."""

    version: int
    bases: Mapping[str, int]


def rows_at_one_instant(warehouse: Warehouse, metas: Iterable[StreamTableMeta]) -> list[DataFrame]:
    """The rows of stream tables at the newest instant that all of them can show; NoCommonInstant if there is none."""
    wanted = list(metas)
    tables = {meta.table_id: meta for meta in warehouse.catalog.get_all()}
    states = {meta.table_id: stored_states(warehouse.logs, meta, tables) for meta in wanted}
    found = common_instant(states)
    if isinstance(found, Disagreement):
        raise _refused(warehouse, tables, wanted, found)
    return [
        stored_rows_at(warehouse.spark, warehouse.definition(meta), meta.path, found[meta.table_id].version)
        for meta in wanted
    ]


def stored_states(logs: Logs, meta: StreamTableMeta, stream_tables: Container[str]) -> Iterator[StoredState]:
    """What a stream table can show, newest first, as far back as it had its present definition."""
    log = logs.at(meta.path)
    now = storage_state(log)
    if now.damaged or now.record is None:
        return
    definition = Definition.from_json(now.definition)
    reached: Frontier | None = stored_frontier(meta, now)
    for version, record in records(log):
        if record.definition_hash != definition.hash:
            return
        for frontier in (reached, record.frontier):
            bases = None if frontier is None else frontier.base_versions(stream_tables)
            if bases is not None:
                yield StoredState(version, bases)
        reached = record.before


def _refused(
    warehouse: Warehouse, tables: Mapping[str, StreamTableMeta], wanted: Iterable[StreamTableMeta], parted: Disagreement
) -> NoCommonInstant:
    names = ", ".join(str(meta.name) for meta in wanted)
    ahead = tables[parted.ahead].name
    if parted.base is None or parted.behind is None:
        why = f"{ahead} has no stored state that says which versions it shows"
        return NoCommonInstant(names=names, why=why, stale=ahead)
    behind = tables[parted.behind].name
    dependencies = warehouse.catalog.all_dependencies()
    base = next((each.source_name for each in dependencies if each.source_id == parted.base), parted.base)
    why = f"{ahead} no longer shows {base} as old as {behind} does"
    return NoCommonInstant(names=names, why=why, stale=behind)
