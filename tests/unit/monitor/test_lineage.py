"""Lineage events, read back by the classes that the OpenLineage project generates from its specification."""

from __future__ import annotations

import json
import shutil
import socket
import types
import typing
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import attr
import pytest
from monitored import NOON, Add, Receiver, ended
from openlineage.client import facet_v2
from openlineage.client.event_v2 import InputDataset, OutputDataset, Run, RunEvent, RunState
from openlineage.client.generated.base import Job
from openlineage.client.serde import Serde

from penstock.catalog import Action, RefreshRecord, RefreshStatus, SqliteCatalog
from penstock.engine.delta.definition import Definition
from penstock.engine.run.workspace import Logs
from penstock.engine.write.table_properties import DEFINITION_KEY
from penstock.monitor.lineage import Lineage
from penstock.monitor.lineage_event import run_id
from penstock.names import Frontier

FACETS = {
    "sql": facet_v2.sql_job.SQLJobFacet,
    "jobType": facet_v2.job_type_job.JobTypeJobFacet,
    "nominalTime": facet_v2.nominal_time_run.NominalTimeRunFacet,
    "errorMessage": facet_v2.error_message_run.ErrorMessageRunFacet,
    "symlinks": facet_v2.symlinks_dataset.SymlinksDatasetFacet,
    "storage": facet_v2.storage_dataset.StorageDatasetFacet,
    "version": facet_v2.dataset_version_dataset.DatasetVersionDatasetFacet,
    "schema": facet_v2.schema_dataset.SchemaDatasetFacet,
    "outputStatistics": facet_v2.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet,
}
OWN = {"penstock_refresh"}


def read(kind: Any, data: Any, at: str) -> Any:
    """The value as the class says it must be: no field too many, none missing, every one of its type."""
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        (kind,) = [each for each in typing.get_args(kind) if each is not type(None)]
    if typing.get_origin(kind) is list:
        assert isinstance(data, list), at
        return [read(typing.get_args(kind)[0], each, at) for each in data]
    if not attr.has(kind):
        assert type(data) is kind, f"{at}: {data!r} is not {kind.__name__}"
        return data
    hints = typing.get_type_hints(kind)
    given = dict(data)
    stamps = {name: given.pop(name) for name in ("_schemaURL", "schemaURL") if name in given}
    fields = {field.name: field for field in attr.fields(kind) if field.init}
    assert given.keys() <= fields.keys(), f"{at}: {given.keys() - fields.keys()}"
    made = kind(
        **{
            fields[name].alias: value if isinstance(value, dict) else read(hints[name], value, f"{at}.{name}")
            for name, value in given.items()
        }
    )
    for name, stamp in stamps.items():
        assert getattr(made, name) == stamp, f"{at}: the schema is {getattr(made, name)}"
    return made


def facets(data: dict[str, Any], at: str) -> dict[str, Any]:
    for name in OWN & data.keys():
        assert data[name]["_producer"].startswith("urn:penstock:")
        assert data[name]["_schemaURL"]
    return {name: read(FACETS[name], each, f"{at}.{name}") for name, each in data.items() if name not in OWN}


def valid(event: dict[str, Any]) -> dict[str, Any]:
    """Check an event against the classes of the specification, there and back."""
    run, job = event["run"], event["job"]
    made = RunEvent(
        eventTime=event["eventTime"],
        eventType=RunState(event["eventType"]),
        producer=event["producer"],
        run=Run(run["runId"], facets(run["facets"], "run")),
        job=Job(job["namespace"], job["name"], facets(job["facets"], "job")),
        inputs=[
            InputDataset(
                each["namespace"],
                each["name"],
                facets=facets(each["facets"], "input"),
                inputFacets=facets(each["inputFacets"], "input"),
            )
            for each in event["inputs"]
        ],
        outputs=[
            OutputDataset(
                each["namespace"],
                each["name"],
                facets=facets(each["facets"], "output"),
                outputFacets=facets(each["outputFacets"], "output"),
            )
            for each in event["outputs"]
        ],
    )
    again = json.loads(Serde.to_json(made))
    for name in OWN & run["facets"].keys():
        again["run"]["facets"][name] = run["facets"][name]
    for dataset in again["outputs"] + again["inputs"]:
        for field in dataset["facets"].get("schema", {}).get("fields", []):
            assert field.pop("fields", []) == []
    assert again == event
    return event


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    definition = Definition(
        id="d",
        name="default.revenue",
        query="q",
        database="default",
        settings={},
        target_lag_seconds=60,
        refresh_mode="AUTO",
        key=(),
        columns=(("region", "region", "string"), ("total", "total", "decimal(22,2)")),
        weighted=False,
        has_hidden_rows=False,
    )
    root = tmp_path / "revenue"
    (root / "_delta_log").mkdir(parents=True)
    actions = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "id-revenue",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": []}),
                "partitionColumns": [],
                "configuration": {DEFINITION_KEY: definition.to_json()},
            }
        },
    ]
    (root / "_delta_log" / f"{0:020d}.json").write_text("\n".join(json.dumps(action) for action in actions))
    return root


@pytest.fixture
def revenue(add: Add, storage: Path) -> int:
    return add("revenue", {"orders": "file:/data/orders", "items": "s3://lake/raw/items"}, path=str(storage))


@pytest.fixture
def lineage(catalog: SqliteCatalog, tmp_path: Path) -> Iterator[Lineage]:
    made = Lineage(f"file://{tmp_path}/events.jsonl", "penstock:/warehouse", catalog, Logs())
    yield made
    made.background.close()


def started(number: int, **fields: Any) -> RefreshRecord:
    return ended(number, status=RefreshStatus.RUNNING, ended_at=None, data_timestamp=NOON, **fields)


def completed(number: int) -> RefreshRecord:
    return ended(
        number,
        data_timestamp=NOON,
        reason="CHEAPER: incremental",
        from_frontier=Frontier.of({"orders": 3, "items": 1}, NOON - timedelta(minutes=1)),
        to_frontier=Frontier.of({"orders": 5, "items": 2}, NOON),
        commit_version=0,
        rows_inserted=4,
        rows_deleted=2,
        delta_rows=9,
        rows_read=20,
        rows_written=40,
        bytes_written=1234,
        applier="delta-rs",
    )


def events(lineage: Lineage, path: Path) -> list[dict[str, Any]]:
    lineage.background.close()
    file = path / "events.jsonl"
    return [valid(json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []


def test_a_refresh_is_a_run(lineage: Lineage, revenue: int, tmp_path: Path, storage: Path) -> None:
    lineage.observe(started(revenue))
    lineage.observe(completed(revenue))
    start, end = events(lineage, tmp_path)
    assert [start["eventType"], end["eventType"]] == ["START", "COMPLETE"]
    assert start["run"]["runId"] == end["run"]["runId"] == run_id(completed(revenue).refresh_id)
    assert end["job"]["namespace"] == "penstock:/warehouse"
    assert end["job"]["name"] == "default.revenue"
    assert end["job"]["facets"]["sql"]["query"] == "SELECT * FROM revenue_source"
    assert end["eventTime"] == (NOON + timedelta(seconds=2)).isoformat()
    items, orders = end["inputs"]
    assert (items["namespace"], items["name"]) == ("s3://lake", "raw/items")
    assert (orders["namespace"], orders["name"]) == ("file", "/data/orders")
    assert [each["facets"]["version"]["datasetVersion"] for each in (items, orders)] == ["2", "5"]
    assert orders["facets"]["symlinks"]["identifiers"][0]["name"] == "default.orders"
    assert "version" not in start["inputs"][0]["facets"]
    (output,) = end["outputs"]
    assert (output["namespace"], output["name"]) == ("file", str(storage))
    assert [field["name"] for field in output["facets"]["schema"]["fields"]] == ["region", "total"]
    statistics = output["outputFacets"]["outputStatistics"]
    assert (statistics["rowCount"], statistics["size"]) == (40, 1234)
    own = end["run"]["facets"]["penstock_refresh"]
    assert (own["action"], own["reason"]) == ("INCREMENTAL", "CHEAPER: incremental")
    assert (own["rowsInserted"], own["rowsDeleted"], own["deltaRows"]) == (4, 2, 9)
    assert Frontier.from_json(own["frontier"]) == Frontier.of({"orders": 5, "items": 2}, NOON)
    assert own["dataTimestamp"] == NOON.isoformat()


def test_a_failure_is_told_with_its_message(lineage: Lineage, revenue: int, tmp_path: Path) -> None:
    lineage.observe(started(revenue))
    lineage.observe(ended(revenue, status=RefreshStatus.FAILED, error_message="[QUERY_FAILED] division by zero"))
    _, end = events(lineage, tmp_path)
    assert end["eventType"] == "FAIL"
    assert end["run"]["facets"]["errorMessage"]["message"] == "[QUERY_FAILED] division by zero"
    assert end["outputs"][0]["outputFacets"] == {}


def test_nothing_is_sent_for_what_was_advanced_without_a_run(lineage: Lineage, revenue: int, tmp_path: Path) -> None:
    lineage.observe(ended(revenue, action=Action.NO_DATA))
    assert events(lineage, tmp_path) == []


def test_a_stream_table_that_is_dropped_meanwhile_keeps_its_events(
    catalog: SqliteCatalog, revenue: int, receiver: Receiver, storage: Path
) -> None:
    lineage = Lineage(receiver.url, "penstock:/warehouse", catalog, Logs())
    receiver.hold.clear()
    lineage.observe(started(revenue))
    lineage.observe(completed(revenue))
    catalog.delete(revenue)
    shutil.rmtree(storage)
    receiver.hold.set()
    lineage.background.close()
    assert [valid(event)["eventType"] for event in receiver.posted] == ["START", "COMPLETE"]
    assert [len(event["inputs"]) for event in receiver.posted] == [2, 2]


def test_events_are_posted(catalog: SqliteCatalog, revenue: int, receiver: Receiver) -> None:
    lineage = Lineage(receiver.url, "penstock:/warehouse", catalog, Logs())
    lineage.observe(started(revenue))
    lineage.observe(completed(revenue))
    lineage.background.close()
    assert [valid(event)["eventType"] for event in receiver.posted] == ["START", "COMPLETE"]


def test_a_receiver_that_is_not_there_costs_events_only(catalog: SqliteCatalog, revenue: int) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
    lineage = Lineage(url, "penstock:/warehouse", catalog, Logs())
    lineage.observe(started(revenue))
    lineage.background.close()
    assert lineage.background.failed == 1


def test_the_check_itself_can_fail(lineage: Lineage, revenue: int, tmp_path: Path) -> None:
    lineage.observe(started(revenue))
    (event,) = events(lineage, tmp_path)
    wrong_type = json.loads(json.dumps(event))
    wrong_type["job"]["facets"]["sql"]["query"] = 7
    unknown = json.loads(json.dumps(event))
    unknown["job"]["facets"]["sql"]["querry"] = "q"
    missing = json.loads(json.dumps(event))
    del missing["outputs"][0]["facets"]["symlinks"]["identifiers"][0]["type"]
    old = json.loads(json.dumps(event))
    old["job"]["facets"]["sql"]["_schemaURL"] = "https://openlineage.io/spec/facets/0-0-1/SQLJobFacet.json"
    for broken in (wrong_type, unknown, missing, old):
        with pytest.raises((AssertionError, TypeError)):
            valid(broken)
