"""Everything Penstock can raise, sorted by what the caller should do about it.

    PenstockError
    ├── UsageError                the call cannot be carried out as made                NEVER
    │   ├── InvalidName, InvalidTargetLag, InvalidMode, InvalidSetting, InvalidStatement, InvalidRun, InvalidFilter
    │   ├── InvalidArgument, InvalidValue, CalledByProgress, PackageMissing, StreamTableGone, NoKey
    │   ├── NotRetained, NotReached, SubscriptionExists, SubscriptionNotFound, SubscriptionEnded
    │   ├── TableExists, SchemaNotFound, StreamTableNotFound, HasConsumers, CycleInGraph, NoCommonInstant
    │   ├── IsStreamTable, SchemaHoldsStreamTables, HasReaders, ReadersBreak, OnlyTables
    │   ├── NotAuthenticated, NotGranted, TooManyClients, TooSlow, RequestTooLarge, RequestRefused, ServerStopping
    │   ├── InvalidTokens, OpenToOthers, PortTaken, NotConfirmed
    │   ├── RetentionCut          clean-up would take what a stream table still needs
    │   ├── CatalogLost, ReadOnly
    │   └── SessionMisconfigured, JavaUnusable, JarsUnavailable, WarehouseUnusable, CatalogUnusable
    ├── QueryError                the defining query is at fault                        CHANGE
    │   ├── QueryInvalid          Spark cannot analyse it
    │   ├── StatementFailed       Spark refuses a plain statement, or cannot finish it
    │   ├── QueryFailed           it raises when run (division by zero, overflow, …)
    │   ├── NotIncremental        it has no local delta rule: carries a reason code
    │   ├── KeyViolated           a declared KEY is not unique
    │   ├── KeyColumnMissing      a declared KEY names a column that the result lacks
    │   └── UnstorableColumn      a Delta table cannot hold a column of the result
    ├── SourceError               a source has changed or is gone
    │   ├── SourceMissing         dropped, or moved away                                CHANGE
    │   ├── SourceCopied          two folders hold the files of one Delta table         CHANGE
    │   ├── SourceChanged         columns the query uses were renamed, dropped, retyped  REINITIALIZE
    │   └── FrontierLost          the old version can no longer be read                 REINITIALIZE
    ├── StorageError
    │   ├── CommitConflict        another writer committed first                        BACKOFF
    │   ├── LeaseLost             another worker took the table over                    BACKOFF
    │   ├── TableBusy             another worker is refreshing it now                   BACKOFF
    │   ├── StorageMissing        the stream table's own Delta table is gone            CHANGE
    │   └── StateDamaged          stored rows contradict the delta (weight below zero)  REINITIALIZE
    ├── SystemTrouble             neither query nor data are at fault                   BACKOFF
    │   ├── OutOfMemory           Spark, or this process
    │   ├── DiskFull              no space left to write
    │   ├── EngineUnavailable     Spark was stopped, lost an executor, or is gone
    │   ├── JobCancelled        the work of Spark was cancelled
    │   └── StorageUnreachable    files could not be read or written for the moment
    ├── ChangeError               a change event is at fault                            NEVER
    │   ├── InvalidChange         it contradicts itself, or does not fit its type
    │   ├── UnreadableChange      its bytes are damaged, or of another format
    │   ├── NotConvertible        another notation cannot express it
    │   └── NotOneRowPerKey       two rows have one key at the same time
    ├── RecordError               a change record cannot be read, written or applied
    │   ├── InvalidChangeRecord   it is damaged, or holds nothing that can be applied   NEVER
    │   ├── LsnGap                records before it are missing                         NEVER
    │   ├── PayloadDiverged       another record was applied under its LSN              REINITIALIZE
    │   └── StaleTerm             its sender was replaced                               NEVER
    ├── NotAllRefreshed           of all stream tables, some could not be refreshed     NEVER
    ├── FuseBlown                 far more changed than usual; a person should look     NEVER
    ├── CatalogError              the catalog database failed                           BACKOFF
    └── InternalError             a bug in Penstock                                     BUG

`condition` is stable and public, `retry` is all that a scheduler looks at, `message` says what happened, `hint` what to
do next.
"""

from __future__ import annotations

import errno
from enum import StrEnum
from typing import Any, ClassVar, Final

NOT_WRITABLE: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""The system's error numbers for a place that this user may not write to; see `ReadOnly`."""


class Retry(StrEnum):
    """What to do after an error of this class."""

    NEVER = "never"
    CHANGE = "change"
    REINITIALIZE = "reinitialize"
    BACKOFF = "backoff"
    BUG = "bug"


class PenstockError(Exception):
    """Base of every error Penstock raises on purpose."""

    condition: ClassVar[str] = "PENSTOCK"
    retry: ClassVar[Retry] = Retry.NEVER
    message: ClassVar[str] = "{detail}"
    hint: ClassVar[str] = ""
    hint_while_defining: ClassVar[str] = ""
    """The hint in CREATE and ALTER … AS, if it differs there: a definition that fails leaves nothing behind."""

    def __init__(self, **facts: Any) -> None:
        self.facts = facts
        self.text = self.message.format(**facts)
        hint = self.hint_while_defining if facts.get("defining") and self.hint_while_defining else self.hint
        self.advice = hint.format(**facts)
        super().__init__(self.text)

    def while_defining(self) -> PenstockError:
        """The same error, raised while a stream table was created or given another query."""
        return type(self)(**{**self.facts, "defining": True})

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.facts)

    def __str__(self) -> str:
        return f"[{self.condition}] {self.text}" + (f"\n  {self.advice}" if self.advice else "")

    def to_json(self) -> dict[str, Any]:
        """The error as plain data, for `--json` and for the history table."""
        return {
            "condition": self.condition,
            "retry": self.retry.value,
            "message": self.text,
            "hint": self.advice,
            "facts": {name: str(value) for name, value in self.facts.items()},
        }


def _again(kind: type[PenstockError], facts: dict[str, Any]) -> PenstockError:
    """An error that crossed a process border."""
    return kind(**facts)


class UsageError(PenstockError):
    """The call cannot be carried out as made; nothing was changed."""

    condition = "USAGE"


class InvalidName(UsageError):
    """A table, column or schema name that cannot be used."""

    condition = "INVALID_NAME"
    message = "{name!r} cannot be used as a name: {why}"
    hint = "{fix}"


class InvalidTargetLag(UsageError):
    """A target lag that cannot be read or is out of range."""

    condition = "INVALID_TARGET_LAG"
    message = "target lag {value!r} cannot be used: {why}"
    hint = "Write a duration such as {examples}, or DOWNSTREAM."


class InvalidMode(UsageError):
    """A refresh mode or status that does not exist."""

    condition = "INVALID_MODE"
    message = "{what} {value!r} does not exist"
    hint = "Use one of: {allowed}."


class InvalidSetting(UsageError):
    """A setting outside its range, of the wrong type, or unknown."""

    condition = "INVALID_SETTING"
    message = "setting {name} = {value!r} is refused: {why}"
    hint = "Allowed: {allowed}."


class InvalidArgument(UsageError):
    """A call with an argument of the wrong type, one too many, or one too few."""

    condition = "INVALID_ARGUMENT"
    message = "{call}() {why}"
    hint = "{fix}"


class CalledByProgress(UsageError):
    """A progress function asked for work on a stream table, while the work that it observes waits for it."""

    condition = "CALLED_BY_PROGRESS"
    message = "a progress function cannot refresh or optimize: the work on {name} waits until it returns"
    hint = "Let the function note what to do, and do it after the refresh has returned."


class InvalidValue(UsageError):
    """A call with an argument that is not one of the allowed values."""

    condition = "INVALID_VALUE"
    message = "{what} = {value!r} is refused"
    hint = "Allowed: {allowed}."


class PackageMissing(UsageError):
    """The call needs a package that is not installed."""

    condition = "PACKAGE_MISSING"
    message = "{what} needs the package {package}, which is not installed"
    hint = "Install it: pip install {package}"


class InvalidStatement(UsageError):
    """A stream table statement that cannot be parsed, or that does not exist."""

    condition = "INVALID_STATEMENT"
    message = "cannot read this statement: {why}{where}"
    hint = "Expected: {expected}"


class InvalidRun(UsageError):
    """Changes that the ring cannot take."""

    condition = "INVALID_RUN"
    message = "the ring refuses these changes: {why}"
    hint = "Emit as many ids and rows as there are events, in the order of their LSNs."


class InvalidFilter(UsageError):
    """The condition of a subscription cannot be read, or does not fit the columns."""

    condition = "INVALID_FILTER"
    message = "{why}"
    hint = "{fix}"


class TableExists(UsageError):
    """The name is taken."""

    condition = "TABLE_EXISTS"
    message = "{name} already exists as a {kind}"
    hint = "Choose another name, drop it first, or use CREATE OR REPLACE / IF NOT EXISTS for a stream table."


class SchemaNotFound(UsageError):
    """The schema (database) of a name does not exist."""

    condition = "SCHEMA_NOT_FOUND"
    message = "schema {schema} does not exist"
    hint = "Create it with: CREATE SCHEMA {schema}"


class StreamTableNotFound(UsageError):
    """No stream table of that name."""

    condition = "STREAM_TABLE_NOT_FOUND"
    message = "there is no stream table named {name}"
    hint = "{nearest}"


class SubscriptionExists(UsageError):
    """A durable subscription has that name already."""

    condition = "SUBSCRIPTION_EXISTS"
    message = "a subscription named {name} already exists"
    hint = "It reads {stream_table}. Choose another name, or drop it: penstock subscriptions --drop {name}"


class SubscriptionNotFound(UsageError):
    """No durable subscription of that name."""

    condition = "SUBSCRIPTION_NOT_FOUND"
    message = "there is no subscription named {name}"
    hint = "`penstock subscriptions` lists the durable subscriptions."


class SubscriptionEnded(UsageError):
    """A subscription was asked for changes after it was cancelled or closed."""

    condition = "SUBSCRIPTION_ENDED"
    message = "the subscription to {name} has ended: {why}"
    hint = "Subscribe again, after LSN {position}."


class StreamTableGone(UsageError):
    """The stream table that a subscription follows is gone."""

    condition = "STREAM_TABLE_GONE"
    message = "{name} can no longer be followed: {why}"
    hint = "If a stream table of that name exists again, subscribe to it again."


class NoKey(UsageError):
    """A watch needs a key, and the stream table has none."""

    condition = "NO_KEY"
    message = "{name} has no key to watch: its rows have no key, or a column of the key is hidden"
    hint = "Create it with KEY (…), or select every column that it groups by; or subscribe to all its changes."


class NotRetained(UsageError):
    """The requested changes are no longer kept."""

    condition = "NOT_RETAINED"
    message = "{what} of {name} is no longer retained (earliest retained is {earliest})"
    hint = "Begin with a snapshot, then follow it. To keep more, raise delta.logRetentionDuration and VACUUM's RETAIN."


class NotReached(UsageError):
    """The requested changes begin after a point that the stream table has not reached."""

    condition = "NOT_REACHED"
    message = "{what} of {name} does not exist yet (the newest is {newest})"
    hint = "Ask for an earlier point, or for the changes from now on."


class InvalidTokens(UsageError):
    """A file of tokens that cannot be used."""

    condition = "INVALID_TOKENS"
    message = "{path} cannot be used as a file of tokens: {why}"
    hint = 'Each client has a section, [name] with token = "…" (or sha256) and tables = ["…"].'


class OpenToOthers(UsageError):
    """A server without tokens would be open to other hosts."""

    condition = "OPEN_TO_OTHERS"
    message = "without tokens, anyone who reaches {host} could read every stream table"
    hint = "Give --tokens FILE, listen on 127.0.0.1, or add --open if you want this."


class PortTaken(UsageError):
    """A server cannot listen at the given address."""

    condition = "PORT_TAKEN"
    message = "cannot listen on {host}:{port}: {why}"
    hint = "Choose another --port (0 takes a free one) or --host."


class NotConfirmed(UsageError):
    """A command that removes or rebuilds needs a confirmation, and has no terminal to ask at."""

    condition = "NOT_CONFIRMED"
    message = "this needs your confirmation: {question}"
    hint = "Nothing was done. Add --yes to confirm."


class NotAuthenticated(UsageError):
    """A request without a token that the server knows."""

    condition = "NOT_AUTHENTICATED"
    message = "the client is not authenticated: {why}"
    hint = "Send the header Authorization: Bearer TOKEN; EventSource and WebSocket may use ?access_token=TOKEN."


class NotGranted(UsageError):
    """A request for a stream table that its token does not grant."""

    condition = "NOT_GRANTED"
    message = "{who} may not read {name}"
    hint = "Add it to the tables of [{who}] in the file of tokens, and restart the server."


class RequestRefused(UsageError):
    """A request from a web page, or to a host name, that the server does not allow."""

    condition = "REQUEST_REFUSED"
    message = "the request is refused: {why}"
    hint = "{fix}"


class RequestTooLarge(UsageError):
    """A request with more bytes than the server reads."""

    condition = "REQUEST_TOO_LARGE"
    message = "the request has {size} bytes; {limit} are allowed"
    hint = "Put everything into the address, and send no body."


class TooManyClients(UsageError):
    """The server has reached its limit of connections."""

    condition = "TOO_MANY_CLIENTS"
    retry = Retry.BACKOFF
    message = "the server already has {limit} connections, its limit"
    hint = "Try again later, close streams that are not in use, or raise --connections."


class TooSlow(UsageError):
    """A client with policy=close fell behind its stream."""

    condition = "TOO_SLOW"
    message = "this client is too slow: {events} events of {name} left memory before it had read them"
    hint = "Go on after LSN {position}, or use policy=block, which reads missed events from the table itself."


class ServerStopping(UsageError):
    """The server is stopping, so its streams end."""

    condition = "SERVER_STOPPING"
    retry = Retry.BACKOFF
    message = "the server is stopping"
    hint = "Connect again, after LSN {position}."


class HasConsumers(UsageError):
    """Other stream tables read this one."""

    condition = "HAS_CONSUMERS"
    message = "{name} is read by {consumers}"
    hint = "Drop those first, or drop all of them with: DROP STREAM TABLE {name} CASCADE"


class IsStreamTable(UsageError):
    """A statement for plain tables and views would take a stream table's name or change its storage."""

    condition = "IS_STREAM_TABLE"
    message = "{statement} cannot be used here: {name} is {what}"
    hint = "{fix}"


class SchemaHoldsStreamTables(UsageError):
    """A statement would drop a schema that holds stream tables."""

    condition = "SCHEMA_HOLDS_STREAM_TABLES"
    message = "{statement} would remove the names of {names}, but not stop their refreshes"
    hint = "Drop them first, readers before the tables that they read: {drops}"


class HasReaders(UsageError):
    """A statement would drop, rename or replace what stream tables read."""

    condition = "HAS_READERS"
    message = "{statement} would take {sources} from {readers}"
    hint = (
        "The stored rows would stay; the next refresh would rebuild them, or fail until the name is back. To do "
        "it anyway: penstock sql --yes, or ps.sql(…, yes=True)."
    )


class ReadersBreak(UsageError):
    """The new query of a stream table would break the queries of stream tables that read it."""

    condition = "READERS_BREAK"
    message = "with this query {name} could no longer be read by {readers}"
    hint = (
        "Keep those columns, or change the readers' queries first. To do it anyway, and leave the readers with their "
        "rows and an error: CASCADE before AS, penstock … --yes, or cascade=True."
    )


class CycleInGraph(UsageError):
    """The stream tables would read each other in a circle."""

    condition = "CYCLE_IN_GRAPH"
    message = "this would make a cycle: {path}"
    hint = "A stream table may not read itself, directly or through others or through views."


class NoCommonInstant(UsageError):
    """The stored rows of several stream tables have no instant in common."""

    condition = "NO_COMMON_INSTANT"
    message = "{names} cannot be shown at one instant: {why}"
    hint = "Refresh {stale} and read again, or read with fresh=True."


class OnlyTables(UsageError):
    """Spark allows a clause or function on tables only, and the name of a stream table is a view to Spark."""

    condition = "ONLY_TABLES"
    message = "{asked} works on tables only, and to Spark the name of the stream table {name} is a view"
    hint = "Write instead: {instead}"


class RetentionCut(UsageError):
    """A clean-up would remove files that a stream table still needs."""

    condition = "RETENTION_CUT"
    message = "{statement} would remove what {names} still needs of {source}: {why}"
    hint = "{fix}"


class SessionMisconfigured(UsageError):
    """The Spark session that was passed in lacks something that Penstock needs."""

    condition = "SESSION_MISCONFIGURED"
    message = "this Spark session cannot be used: {what}"
    hint = "{fix}"


class JavaUnusable(UsageError):
    """Java is missing or too old."""

    condition = "JAVA_UNUSABLE"
    message = "Java 17 or later is needed; found: {found}"
    hint = "Install a JDK or JRE 17, and set JAVA_HOME if it is not on the PATH."


class JarsUnavailable(UsageError):
    """The Delta jars could not be found or fetched."""

    condition = "JARS_UNAVAILABLE"
    message = "the Delta jars could not be resolved: {why}"
    hint = "Put {coordinates} as jar files into {folder}, or set PENSTOCK_JARS to a folder that has them."


class WarehouseUnusable(UsageError):
    """The warehouse folder cannot be used."""

    condition = "WAREHOUSE_UNUSABLE"
    message = "{path} cannot be used as a warehouse: {why}"
    hint = "{fix}"


class CatalogUnusable(UsageError):
    """The catalog cannot be used until a person changes something."""

    condition = "CATALOG_UNUSABLE"
    message = "{place} cannot be used as a catalog: {why}"
    hint = "{fix}"


class CatalogLost(UsageError):
    """The warehouse holds tables, and their catalog is missing."""

    condition = "CATALOG_LOST"
    message = "the warehouse holds tables, but there is no catalog of them at {place}"
    hint = "Run `penstock repair`: it rebuilds the catalog from the tables themselves."


class ReadOnly(UsageError):
    """The call would write where this user may only read."""

    condition = "READ_ONLY"
    message = "this user cannot write to {place}"
    hint = "Reading works. To change anything, work as a user who may write there."


class QueryError(PenstockError):
    """The defining query is at fault."""

    condition = "QUERY"
    retry = Retry.CHANGE


class QueryInvalid(QueryError):
    """Spark cannot analyse the query, or it is not a query at all."""

    condition = "QUERY_INVALID"
    message = "the query cannot be used: {why}"
    hint = "{fix}"


class QueryFailed(QueryError):
    """The query itself raises on the present data."""

    condition = "QUERY_FAILED"
    message = "the query of {name} fails on the present data: {why}"
    hint = (
        "The stored rows stay as they were. Mend the data or the query, then refresh again, or leave that to the "
        "scheduler."
    )
    hint_while_defining = "Nothing was changed. Mend the data or the query, then run the statement again."


class StatementFailed(QueryError):
    """Spark refuses or cannot finish a statement that Penstock hands on as it stands."""

    condition = "STATEMENT_FAILED"
    message = "{why} [{condition}]{where}"
    hint = "{fix}"


class NotIncremental(QueryError):
    """The query has no local delta rule."""

    condition = "NOT_INCREMENTAL"
    message = "this query cannot be maintained incrementally: {reason}: {detail}"
    hint = "{fix} Or use REFRESH MODE AUTO or FULL, which recompute it."


class KeyViolated(QueryError):
    """A declared KEY is not unique in the result."""

    condition = "KEY_VIOLATED"
    message = "KEY ({key}) of {name} is not unique: {sample}"
    hint = "Nothing was committed. Choose a key that identifies a row, or create the stream table without KEY."


class UnstorableColumn(QueryError):
    """A result column that a Delta table cannot hold, or whose name is reserved or used twice."""

    condition = "UNSTORABLE_COLUMN"
    message = "result column {column} cannot be stored: {why}"
    hint = "{fix}"


class KeyColumnMissing(QueryError):
    """A declared KEY names a column that the query does not return."""

    condition = "KEY_COLUMN_MISSING"
    message = "KEY names {column}, and the result has no such column"
    hint = "{meant}The columns are: {columns}."


class SourceError(PenstockError):
    """A source has changed or is gone."""

    condition = "SOURCE"
    hint_while_defining = "Nothing was changed. Mend the source or the query, then run the statement again."


class SourceMissing(SourceError):
    """A source was dropped or its files are gone."""

    condition = "SOURCE_MISSING"
    retry = Retry.CHANGE
    message = "source {source} is gone: {why}"
    hint = (
        "The stored rows stay readable. Bring the source back, then refresh, or leave that to the scheduler; or drop "
        "the stream table."
    )


class SourceCopied(SourceError):
    """A stream table reads two folders, and one is a copy of the other: both have the id of one Delta table."""

    condition = "SOURCE_COPIED"
    retry = Retry.CHANGE
    message = "{folder} and {other} have the same Delta table id: the files of one were copied to the other"
    hint = (
        "Read only one of them, or make the copy a table of its own and read that: "
        "CREATE TABLE … AS SELECT * FROM delta.`{other}`. The stored rows stay as they are."
    )
    hint_while_defining = (
        "Nothing was changed. Read only one of them, or make the copy a table of its own and read that: "
        "CREATE TABLE … AS SELECT * FROM delta.`{other}`."
    )


class SourceChanged(SourceError):
    """A source changed in a way that its change rows do not show."""

    condition = "SOURCE_CHANGED"
    retry = Retry.REINITIALIZE
    message = "source {source} changed: {why}"
    hint = "The next refresh rebuilds the stream table (REINITIALIZE)."


class FrontierLost(SourceError):
    """The version a stream table was built from can no longer be read."""

    condition = "FRONTIER_LOST"
    retry = Retry.REINITIALIZE
    message = "version {version} of {source} can no longer be read: {why}"
    hint = (
        "The next refresh rebuilds the stream table. Keep delta.logRetentionDuration and VACUUM's RETAIN above its lag."
    )


class StorageError(PenstockError):
    """The stream table's own storage is at fault."""

    condition = "STORAGE"


class CommitConflict(StorageError):
    """Another commit landed between pin and commit."""

    condition = "COMMIT_CONFLICT"
    retry = Retry.BACKOFF
    message = "another writer committed to {name} first: {why}"
    hint = "Nothing was lost; refresh again."
    hint_while_defining = "Nothing was changed; run the statement again."


class LeaseLost(StorageError):
    """The worker's lease on the table ended before it could commit."""

    condition = "LEASE_LOST"
    retry = Retry.BACKOFF
    message = "{holder} took over the lease on {name}"
    hint = "Nothing is lost: the new holder goes on from the newest commit of the table."


class TableBusy(StorageError):
    """Another process is refreshing this stream table."""

    condition = "TABLE_BUSY"
    retry = Retry.BACKOFF
    message = "{name} is being refreshed by {holder}"
    hint = "Try again when it has finished; its lease ends by {until} at the latest."


class StorageMissing(StorageError):
    """The Delta table behind a stream table is gone or is another table."""

    condition = "STORAGE_MISSING"
    retry = Retry.CHANGE
    message = "the storage of {name} is missing: {why}"
    hint = (
        "Restore the folder {path}, then refresh, or leave that to the scheduler; or drop the stream table and create "
        "it again."
    )


class StateDamaged(StorageError):
    """Stored rows contradict the delta."""

    condition = "STATE_DAMAGED"
    retry = Retry.REINITIALIZE
    message = "the stored rows of {name} contradict the changes: {why}"
    hint = "Another writer may have changed its storage. The next refresh rebuilds it."


class ChangeError(PenstockError):
    """A change event, or a batch of them, is at fault."""

    condition = "CHANGE"


class InvalidChange(ChangeError):
    """A change that contradicts itself, or does not fit the type that should hold it."""

    condition = "INVALID_CHANGE"
    message = "{what} is not valid: {why}"
    hint = "{fix}"


class UnreadableChange(ChangeError):
    """Bytes that cannot be read as a change, an envelope or a checkpoint."""

    condition = "UNREADABLE_CHANGE"
    message = "{what} cannot be read: {why}"
    hint = (
        "None of it was used. Read it again from its origin; if the error remains, it is damaged or of another format."
    )


class NotConvertible(ChangeError):
    """A change that another notation cannot express, or only with more information."""

    condition = "NOT_CONVERTIBLE"
    message = "{what} cannot be written as {target}: {why}"
    hint = "{fix}"


class NotOneRowPerKey(ChangeError):
    """Changes collapsed by a key that does not identify a row."""

    condition = "NOT_ONE_ROW_PER_KEY"
    message = "key {key} would have {rows} rows at once"
    hint = "Collapse by columns that identify a row, or keep the changes with their weights."


class RecordError(PenstockError):
    """A change record is at fault; nothing of it was applied."""

    condition = "RECORD"


class InvalidChangeRecord(RecordError):
    """A change record that cannot be read or written."""

    condition = "INVALID_CHANGE_RECORD"
    message = "{why}"
    hint = "Ask its sender for the record again. Records are JSON objects, as `ChangeRecord.encode` writes them."


class LsnGap(RecordError):
    """Records are missing between the last one applied and this one."""

    condition = "LSN_GAP"
    message = "LSN gap on apply: last={last} next={next}"
    hint = "Read again from the last LSN. If its origin no longer has the records, make the copy again."


class PayloadDiverged(RecordError):
    """Another record was applied under the same LSN."""

    condition = "PAYLOAD_DIVERGED"
    retry = Retry.REINITIALIZE
    message = "LSN {lsn} of {collection} was applied with payload {held} and now comes with {came}"
    hint = "The copy and its origin differ. Find out who wrote to the copy, then make the copy again."


class StaleTerm(RecordError):
    """A record of a sender that was replaced."""

    condition = "STALE_TERM"
    message = "the record at LSN {lsn} is of term {term}, but term {current} has begun"
    hint = "Read from the sender of the newer term; the older one should stop."


class NotAllRefreshed(PenstockError):
    """A refresh of all stream tables failed for some of them."""

    condition = "NOT_ALL_REFRESHED"
    message = "{failed} of {count} stream tables could not be refreshed: {names}"
    hint = "The others were refreshed. To see what to do, run: penstock diagnose {one}"


class FuseBlown(PenstockError):
    """So much changed at once that a person should look before it is applied."""

    condition = "FUSE_BLOWN"
    message = "{pending} changed rows wait for {name}; its largest recent refresh had {usual} (limit: {factor}×)"
    hint = (
        "The stored rows stay. If you want the changes: REFRESH STREAM TABLE {name}, then: ALTER STREAM TABLE {name} "
        "RESUME"
    )


class SystemTrouble(PenstockError):
    """The system failed: neither the query nor its data are at fault, and it may be over in a moment."""

    condition = "SYSTEM"
    retry = Retry.BACKOFF
    message = "the work on {name} failed: {why}"
    hint = "The stored rows stay as they were. A scheduler tries again by itself."
    hint_while_defining = "Nothing was changed. Mend the cause, then run the statement again."


class OutOfMemory(SystemTrouble):
    """Spark or this process ran out of memory."""

    condition = "OUT_OF_MEMORY"
    message = "memory ran out while working on {name}: {why}"
    hint = (
        "The stored rows stay as they were. Give Spark more memory (setting driver_memory), or run fewer refreshes at "
        "once (max_concurrent_refreshes)."
    )


class DiskFull(SystemTrouble):
    """There is no space left to write to."""

    condition = "DISK_FULL"
    message = "no space was left while working on {name}: {why}"
    hint = "The stored rows stay as they were. Make room on the disk; the next VACUUM removes what the attempt left."


class EngineUnavailable(SystemTrouble):
    """Spark was stopped, lost an executor, or its process is gone."""

    condition = "ENGINE_UNAVAILABLE"
    message = "Spark could not finish its work on {name}: {why}"
    hint = "The stored rows stay as they were. If Spark is gone, open the warehouse again; otherwise refresh again."


class JobCancelled(SystemTrouble):
    """Spark's work was cancelled."""

    condition = "JOB_CANCELLED"
    message = "Spark's work on {name} was cancelled: {why}"
    hint = "The stored rows stay as they were. Refresh again."


class StorageUnreachable(SystemTrouble):
    """Files could not be read or written: network, time-out, or an overloaded store."""

    condition = "STORAGE_UNREACHABLE"
    message = "the files of {name} could not be reached: {why}"
    hint = "The stored rows stay as they were. Check network and storage, then refresh again."


class CatalogError(PenstockError):
    """The catalog database failed."""

    condition = "CATALOG"
    retry = Retry.BACKOFF
    message = "the catalog failed: {why}"
    hint = "{fix}"


class InternalError(PenstockError):
    """A bug in Penstock."""

    condition = "INTERNAL"
    retry = Retry.BUG
    message = "internal error: {why}"
    hint = "Please report this with the output of `penstock explain` and `penstock doctor`."
