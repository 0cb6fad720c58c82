"""The SQL surface: text in, statements out. Nothing here knows Spark; Spark's own statements pass through untouched.

`api` runs the statements, `cli` and `ddl` ask what a text names; of other packages it imports `changes` for filters.
"""

from penstock.lang.check_query import check_query
from penstock.lang.parse import parse, parse_one
from penstock.lang.predicate import parse_predicate
from penstock.lang.split import split_script
from penstock.lang.statements import (
    AlterStreamTable,
    AuditStreamTable,
    CreateStreamTable,
    DescribeHistory,
    DescribeStreamTable,
    DropStreamTable,
    ExplainStreamTable,
    OptimizeStreamTable,
    PassThrough,
    RefreshStreamTable,
    RefreshStreamTables,
    ShowCreateStreamTable,
    ShowStreamTables,
    Statement,
    Subscribe,
)

__all__ = [
    "AlterStreamTable",
    "AuditStreamTable",
    "CreateStreamTable",
    "DescribeHistory",
    "DescribeStreamTable",
    "DropStreamTable",
    "ExplainStreamTable",
    "OptimizeStreamTable",
    "PassThrough",
    "RefreshStreamTable",
    "RefreshStreamTables",
    "ShowCreateStreamTable",
    "ShowStreamTables",
    "Statement",
    "Subscribe",
    "check_query",
    "parse",
    "parse_one",
    "parse_predicate",
    "split_script",
]
