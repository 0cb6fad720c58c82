"""The statements of Penstock: one frozen dataclass each.

Names stay as the user wrote them (`sales.revenue`, backticks included): only the session knows the current schema, so
`TableName.parse(statement.name, current_schema)` is the caller's step. Queries are exact slices of the source text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

RefreshMode: TypeAlias = Literal["AUTO", "INCREMENTAL", "FULL"]
Kind: TypeAlias = Literal["query", "ddl", "dml", "other"]
Defined: TypeAlias = Literal["table", "view", "schema"]


@dataclass(frozen=True, slots=True)
class CreateStreamTable:
    """CREATE STREAM TABLE. `target_lag` None without `downstream` means that none was given."""

    name: str
    query: str
    target_lag: str | None = None
    downstream: bool = False
    refresh_mode: RefreshMode = "AUTO"
    initialize: bool = True
    key: tuple[str, ...] = ()
    or_replace: bool = False
    if_not_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class AlterStreamTable:
    """ALTER STREAM TABLE. Exactly one of the fields after `name` is set, and `cascade` only with a query."""

    name: str
    set_target_lag: str | None = None
    set_downstream: bool = False
    set_refresh_mode: RefreshMode | None = None
    suspend: bool = False
    resume: bool = False
    as_query: str | None = None
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class DropStreamTable:
    """DROP STREAM TABLE; with `cascade` its consumers go too."""

    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class RefreshStreamTable:
    """REFRESH STREAM TABLE: bring it and its upstreams up to now."""

    name: str


@dataclass(frozen=True, slots=True)
class RefreshStreamTables:
    """REFRESH STREAM TABLES: bring all of them up to now, at one version of every source."""


@dataclass(frozen=True, slots=True)
class ShowStreamTables:
    """SHOW STREAM TABLES; `like` is a Spark pattern (`*` any text, `|` or)."""

    like: str | None = None


@dataclass(frozen=True, slots=True)
class ShowCreateStreamTable:
    """SHOW CREATE STREAM TABLE: the text that makes it again."""

    name: str


@dataclass(frozen=True, slots=True)
class DescribeStreamTable:
    """DESCRIBE STREAM TABLE: its columns, and if `extended` what else is known of it."""

    name: str
    extended: bool = False


@dataclass(frozen=True, slots=True)
class DescribeHistory:
    """DESCRIBE HISTORY STREAM TABLE. Plain DESCRIBE HISTORY is Delta's own and passes through."""

    name: str
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ExplainStreamTable:
    """EXPLAIN STREAM TABLE of a name or of a query; exactly one of the two is set."""

    name: str | None = None
    query: str | None = None
    extended: bool = False
    """With the SQL of the delta."""


@dataclass(frozen=True, slots=True)
class AuditStreamTable:
    """AUDIT STREAM TABLE: compare the stored rows with a recomputation at the same frontier."""

    name: str


@dataclass(frozen=True, slots=True)
class OptimizeStreamTable:
    """OPTIMIZE STREAM TABLE: lay the stored files out anew, sorted; no row changes."""

    name: str


@dataclass(frozen=True, slots=True)
class Subscribe:
    """SUBSCRIBE: the changes of a stream table, from now on unless a start is given.

    At most one of the four fields after `name` is set. `where` is the condition as it was written; it can be read.
    """

    name: str
    as_of_version: int | None = None
    as_of_timestamp: str | None = None
    after_lsn: int | None = None
    with_snapshot: bool = False
    where: str | None = None


@dataclass(frozen=True, slots=True)
class PassThrough:
    """A statement for Spark, untouched.

    `verb` is its first word, `target` the object it writes, defines or drops, judged by its words, and `defines`
    what a CREATE or REPLACE brings into being; what is `temporary` ends with the session.
    """

    sql: str
    kind: Kind
    target: str | None = None
    defines: Defined | None = None
    verb: str = ""
    temporary: bool = False


Statement: TypeAlias = (
    CreateStreamTable
    | AlterStreamTable
    | DropStreamTable
    | RefreshStreamTable
    | RefreshStreamTables
    | ShowStreamTables
    | ShowCreateStreamTable
    | DescribeStreamTable
    | DescribeHistory
    | ExplainStreamTable
    | AuditStreamTable
    | OptimizeStreamTable
    | Subscribe
    | PassThrough
)
