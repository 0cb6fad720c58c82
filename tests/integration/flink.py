"""Flink's reader of Debezium JSON, in a JVM of its own: six jars, no cluster.

The jars are fetched by the resolver that fetches Delta's; the gateway is the one Spark brings.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

import penstock.engine.spark.ivy

VERSION = "2.1.0"
COORDINATES = [
    *(
        f"org.apache.flink:flink-{name}:{VERSION}"
        for name in ("json", "core", "core-api", "table-common", "annotations")
    ),
    "org.apache.flink:flink-shaded-jackson:2.18.2-20.0",
]
_SPARK = Path(pyspark.__file__).parent / "jars"
_NULLABLE = {
    "BIGINT": lambda row, at: row.getLong(at),
    "STRING": lambda row, at: row.getString(at).toString(),
    "DECIMAL": lambda row, at: Decimal(row.getDecimal(at, 38, 18).toString()),
    "DOUBLE": lambda row, at: row.getDouble(at),
    "TIMESTAMP_LTZ": lambda row, at: _timestamp(row.getTimestamp(at, 6)).replace(tzinfo=UTC),
    "TIMESTAMP": lambda row, at: _timestamp(row.getTimestamp(at, 6)),
    "DATE": lambda row, at: date(1970, 1, 1) + timedelta(days=row.getInt(at)),
    "BOOLEAN": lambda row, at: row.getBoolean(at),
    "BYTES": lambda row, at: bytes(row.getBinary(at)),
}


def fetch(folder: Path) -> None:
    """Put the jars into the folder."""
    command = [sys.executable, penstock.engine.spark.ivy.__file__, str(folder), *COORDINATES]
    subprocess.run(command, check=True, capture_output=True, timeout=600)


class DebeziumReader:
    """Reads envelopes of rows of the given columns, as a Flink source does."""

    def __init__(self, jars: Path, columns: Mapping[str, str]) -> None:
        self._columns = columns
        path = [*jars.glob("*.jar"), *_SPARK.glob("slf4j-api-*.jar"), *_SPARK.glob("commons-lang3-*.jar")]
        port, token = launch_gateway(
            jarpath=str(next(_SPARK.glob("py4j-*.jar"))),
            classpath=":".join(map(str, path)),
            javaopts=["-Xmx256m"],
            die_on_exit=True,
            enable_auth=True,
        )
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
        flink = self._gateway.jvm.org.apache.flink
        types = flink.table.api.DataTypes
        makers = {
            "DECIMAL": lambda: types.DECIMAL(38, 18),
            "TIMESTAMP_LTZ": lambda: types.TIMESTAMP_WITH_LOCAL_TIME_ZONE(6),
            "TIMESTAMP": lambda: types.TIMESTAMP(6),
        }
        fields = self._gateway.new_array(types.Field, len(columns))
        for at, (name, kind) in enumerate(columns.items()):
            fields[at] = types.FIELD(name, makers.get(kind, getattr(types, kind))())
        self._schema = flink.formats.json.debezium.DebeziumJsonDeserializationSchema(
            types.ROW(fields),
            self._gateway.jvm.java.util.ArrayList(),
            # What it says it produces is not looked at outside a job.
            flink.api.common.typeinfo.BasicTypeInfo.STRING_TYPE_INFO,
            False,
            False,
            flink.formats.common.TimestampFormat.ISO_8601,
        )
        self._schema.open(None)

    def read(self, envelopes: Iterable[bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Row kinds and rows."""
        rows = self._gateway.jvm.java.util.ArrayList()
        collector = self._gateway.jvm.org.apache.flink.api.common.functions.util.ListCollector(rows)
        for envelope in envelopes:
            self._schema.deserialize(envelope, collector)
        for row in rows:
            values = {
                name: None if row.isNullAt(at) else _NULLABLE[kind](row, at)
                for at, (name, kind) in enumerate(self._columns.items())
            }
            yield row.getRowKind().shortString(), values

    def close(self) -> None:
        """End the JVM."""
        self._gateway.shutdown()


def _timestamp(value: Any) -> datetime:
    micros = value.getMillisecond() * 1000 + value.getNanoOfMillisecond() // 1000
    return datetime(1970, 1, 1) + timedelta(microseconds=micros)
