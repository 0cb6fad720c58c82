"""The rows of a Delta table as delta-rs reads them, deletion vectors included: other eyes than ours, without Spark."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable


def rows_of(path: str, version: int | None = None) -> pa.Table:
    """All rows at a version; delta-rs says which ones vectors hide, and leaves it to its callers to leave them out."""
    table = DeltaTable(path, version=version)
    if "deletionVectors" not in (table.protocol().reader_features or ()):
        return table.to_pyarrow_table()
    marks = pa.table(table.deletion_vectors())
    kept = dict(zip(map(str, marks.column("filepath")), marks.column("selection_vector").to_pylist(), strict=True))
    schema = pa.schema(table.schema().to_arrow())
    parts = [schema.empty_table()]
    for uri in table.file_uris():
        rows = pq.ParquetFile(uri.removeprefix("file://")).read(schema.names).cast(schema)
        mask = kept.get(uri if uri.startswith("file://") else f"file://{uri}", [])
        parts.append(rows.filter(pa.array(mask + [True] * (rows.num_rows - len(mask)), pa.bool_())))
    return pa.concat_tables(parts)
