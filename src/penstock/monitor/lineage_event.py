"""A refresh as an OpenLineage event (specification 2-0-2), as plain JSON.

    job       the stream table, in the namespace of its warehouse; its query
    run       the refresh; facet `penstock_refresh`: action, reason, frontiers, data timestamp, rows
    inputs    its sources, each at the version of the new frontier
    outputs   its storage: schema, version, rows and bytes written

A dataset is known by where it lies; its name in the warehouse is a symbolic link to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, UUID, uuid5

from penstock.catalog.model import RefreshRecord, RefreshStatus
from penstock.engine.delta.log_storage import local_path
from penstock.version import VERSION

PRODUCER: Final = f"urn:penstock:{VERSION}"
_SPEC: Final = "https://openlineage.io/spec"
_EVENT_TYPES: Final[Mapping[RefreshStatus, str]] = {
    RefreshStatus.RUNNING: "START",
    RefreshStatus.COMPLETED: "COMPLETE",
    RefreshStatus.FAILED: "FAIL",
}


@dataclass(frozen=True, slots=True)
class LineageTable:
    """A Delta table that takes part in a refresh."""

    name: str
    path: str
    version: int | None = None
    columns: Sequence[tuple[str, str]] = ()
    """Name and type; empty if they are not known."""


def lineage_event(
    record: RefreshRecord, namespace: str, query: str, inputs: Sequence[LineageTable], output: LineageTable
) -> dict[str, Any]:
    """The event of a refresh that starts or has ended; not for one that was skipped."""
    return {
        "eventType": _EVENT_TYPES[record.status],
        "eventTime": (record.ended_at or record.started_at).isoformat(),
        "producer": PRODUCER,
        "schemaURL": f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run_id(record.refresh_id), "facets": _run_facets(record)},
        "job": {
            "namespace": namespace,
            "name": record.name,
            "facets": {
                "sql": _facet("1-1-0/SQLJobFacet", query=query, dialect="spark"),
                "jobType": _facet(
                    "2-0-4/JobTypeJobFacet", processingType="BATCH", integration="PENSTOCK", jobType="STREAM_TABLE"
                ),
            },
        },
        "inputs": [{**_dataset(each, namespace), "inputFacets": {}} for each in inputs],
        "outputs": [{**_dataset(output, namespace), "outputFacets": _output_facets(record)}],
    }


def run_id(refresh_id: str) -> str:
    """The refresh id as the UUID that it is.

    >>> run_id("0" * 32), run_id("by-hand")
    ('00000000-0000-0000-0000-000000000000', 'daeb5b85-91f0-55ee-8409-83465206f2b5')
    """
    try:
        return str(UUID(refresh_id))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, f"urn:penstock:refresh:{refresh_id}"))


def dataset_id(path: str) -> tuple[str, str]:
    """Namespace and name of a place, as OpenLineage names places.

    >>> dataset_id("file:/data/orders"), dataset_id("s3://bucket/lake/orders")
    (('file', '/data/orders'), ('s3://bucket', 'lake/orders'))
    """
    local = local_path(path)
    if local is not None:
        return "file", local
    parts = urlsplit(path)
    return f"{parts.scheme}://{parts.netloc}", parts.path.strip("/")


def _run_facets(record: RefreshRecord) -> dict[str, Any]:
    refresh = {
        "action": record.action.value,
        "status": record.status.value,
        "reason": record.reason,
        "before": record.from_frontier.to_json() if record.from_frontier else None,
        "frontier": record.to_frontier.to_json() if record.to_frontier else None,
        "dataTimestamp": record.data_timestamp.isoformat() if record.data_timestamp else None,
        "deltaRows": record.delta_rows,
        "rowsInserted": record.rows_inserted,
        "rowsDeleted": record.rows_deleted,
        "rowsRead": record.rows_read,
        "applier": record.applier,
    }
    facets = {
        "penstock_refresh": {
            "_producer": PRODUCER,
            "_schemaURL": "urn:penstock:schema:1#/$defs/PenstockRefreshRunFacet",
            **{name: value for name, value in refresh.items() if value is not None},
        }
    }
    if record.data_timestamp is not None:
        facets["nominalTime"] = _facet("1-0-1/NominalTimeRunFacet", nominalStartTime=record.data_timestamp.isoformat())
    if record.error_message is not None:
        facets["errorMessage"] = _facet(
            "1-0-1/ErrorMessageRunFacet", message=record.error_message, programmingLanguage="PYTHON"
        )
    return facets


def _dataset(table: LineageTable, namespace: str) -> dict[str, Any]:
    place, name = dataset_id(table.path)
    link = {"namespace": namespace, "name": table.name, "type": "TABLE"}
    facets = {
        "symlinks": _facet("1-0-1/SymlinksDatasetFacet", identifiers=[link]),
        "storage": _facet("1-0-1/StorageDatasetFacet", storageLayer="delta", fileFormat="parquet"),
    }
    if table.version is not None:
        facets["version"] = _facet("1-0-1/DatasetVersionDatasetFacet", datasetVersion=str(table.version))
    if table.columns:
        fields = [{"name": column, "type": kind} for column, kind in table.columns]
        facets["schema"] = _facet("1-2-0/SchemaDatasetFacet", fields=fields)
    return {"namespace": place, "name": name, "facets": facets}


def _output_facets(record: RefreshRecord) -> dict[str, Any]:
    if record.status is not RefreshStatus.COMPLETED:
        return {}
    rows = record.rows_inserted if record.rows_written is None else record.rows_written
    size = {} if record.bytes_written is None else {"size": record.bytes_written}
    return {"outputStatistics": _facet("1-0-2/OutputStatisticsOutputDatasetFacet", rowCount=rows, **size)}


def _facet(schema: str, **fields: Any) -> dict[str, Any]:
    kind = schema.rsplit("/", 1)[-1]
    return {"_producer": PRODUCER, "_schemaURL": f"{_SPEC}/facets/{schema}.json#/$defs/{kind}", **fields}
