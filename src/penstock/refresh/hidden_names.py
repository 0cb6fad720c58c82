"""A temporary view hides the table of its name from the statements of its session, and from no stream table.

The author of a query over such a name saw the rows of the view; the stream table would read those of the table.
"""

from __future__ import annotations

from penstock.engine.spark.columns_as_defined import names_read
from penstock.engine.spark.python_query import is_python
from penstock.engine.spark.registry import has_temporary_view, kind_of
from penstock.errors import QueryInvalid
from penstock.names import TableName, quote
from penstock.refresh.warehouse import Warehouse


def refuse_hidden(warehouse: Warehouse, query: str, schema: str) -> None:
    """QueryInvalid if a query, which Spark can analyse, reads a name that means another thing to its writer."""
    if is_python(query):
        return
    for parts in names_read(warehouse.spark, query):
        if len(parts) == 1 and has_temporary_view(warehouse.spark, parts[0]):
            hidden = TableName(schema, parts[0].lower())
            kind = "stream table" if warehouse.catalog.find(hidden) else kind_of(warehouse.spark, hidden) or "table"
            raise QueryInvalid(
                why=f"{parts[0]} is a temporary view of this session, and hides a {kind} of that name; a stream table "
                f"would read the {kind}",
                fix=f"Write {quote(schema)}.{quote(parts[0])} for the {kind}, or drop the view, or write its query "
                "into this one.",
            )
