"""Everything Penstock can raise, sorted by what the caller should do about it.

    PenstockError
    ├── UsageError                what was asked for cannot be done as asked            NEVER
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
    │   ├── StatementFailed       Spark refuses a statement of its own, or cannot finish it
    │   ├── QueryFailed           it raises when run (division by zero, overflow, …)
    │   ├── NotIncremental        it has no local delta rule: carries a reason code
    │   ├── KeyViolated           a declared KEY is not unique
    │   ├── KeyColumnMissing      it names no column of the result
    │   └── UnstorableColumn      a result column that a stream table cannot hold
    ├── SourceError               a source is not what it was
    │   ├── SourceMissing         dropped, or moved away                                CHANGE
    │   ├── SourceCopied          two folders hold the files of one table               CHANGE
    │   ├── SourceChanged         columns the query uses were renamed, dropped, retyped  REINITIALIZE
    │   └── FrontierLost          the old version can no longer be read                 REINITIALIZE
    ├── StorageError
    │   ├── CommitConflict        somebody else committed first                         BACKOFF
    │   ├── LeaseLost             another worker took the table over                    BACKOFF
    │   ├── TableBusy             another worker is refreshing it now                   BACKOFF
    │   ├── StorageMissing        the stream table's own Delta table is gone            CHANGE
    │   └── StateDamaged          stored rows contradict the delta (weight below zero)  REINITIALIZE
    ├── SystemTrouble             neither query nor data are at fault                   BACKOFF
    │   ├── OutOfMemory           Spark, or this process
    │   ├── DiskFull              no space left to write
    │   ├── EngineUnavailable     Spark was stopped, lost an executor, or is gone
    │   ├── JobCancelled          somebody cancelled what Spark was doing
    │   └── StorageUnreachable    files could not be read or written for the moment
    ├── ChangeError               a change event is at fault                            NEVER
    │   ├── InvalidChange         it contradicts itself, or does not fit its type
    │   ├── UnreadableChange      the bytes are not what they should be
    │   ├── NotConvertible        another notation needs what it does not have
    │   └── NotOneRowPerKey       two rows of one key at once
    ├── RecordError               a change record cannot be read, written or applied
    │   ├── InvalidChangeRecord   it is damaged, or says nothing that can be applied      NEVER
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
"""What the system answers where this user may not write; see `ReadOnly`."""


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
    """What to do if it happens in CREATE or ALTER … AS, where that is something else: nothing of them stays."""

    def __init__(self, **facts: Any) -> None:
        self.facts = facts
        self.text = self.message.format(**facts)
        hint = self.hint_while_defining if facts.get("defining") and self.hint_while_defining else self.hint
        self.advice = hint.format(**facts)
        super().__init__(self.text)

    def while_defining(self) -> PenstockError:
        """The same error where a stream table was being created, or given another query."""
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
    """A call of a function with an argument of the wrong type, one too many, or one too few."""

    condition = "INVALID_ARGUMENT"
    message = "{call}() {why}"
    hint = "{fix}"


class CalledByProgress(UsageError):
    """A function for progress asked for work on a stream table, and the work that it is told of waits for it."""

    condition = "CALLED_BY_PROGRESS"
    message = "a function that is told of the progress of {name} cannot refresh or optimize: that work waits for it"
    hint = "Let it note what is to be done, and do that when the refresh has returned."


class InvalidValue(UsageError):
    """An argument of a call that is none of those it can be."""

    condition = "INVALID_VALUE"
    message = "{what} = {value!r} is refused"
    hint = "Allowed: {allowed}."


class PackageMissing(UsageError):
    """Something was asked for that needs a package which is not installed."""

    condition = "PACKAGE_MISSING"
    message = "{what} needs the package {package}, which is not installed"
    hint = "Install it: pip install {package}"


class InvalidStatement(UsageError):
    """A stream table statement that cannot be parsed, or is not one of ours."""

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
    message = "there is a subscription named {name} already"
    hint = "It reads {stream_table}. Choose another name, or drop it: penstock subscriptions --drop {name}"


class SubscriptionNotFound(UsageError):
    """No durable subscription of that name."""

    condition = "SUBSCRIPTION_NOT_FOUND"
    message = "there is no subscription named {name}"
    hint = "`penstock subscriptions` lists those that there are."


class SubscriptionEnded(UsageError):
    """A subscription was asked for changes after it was cancelled or closed."""

    condition = "SUBSCRIPTION_ENDED"
    message = "the subscription to {name} has ended: {why}"
    hint = "Subscribe again, after LSN {position}."


class StreamTableGone(UsageError):
    """A stream table that somebody follows is no longer there."""

    condition = "STREAM_TABLE_GONE"
    message = "{name} can no longer be followed: {why}"
    hint = "If there is a stream table of that name again, subscribe to it anew."


class NoKey(UsageError):
    """The keys of a stream table were to be watched that has none."""

    condition = "NO_KEY"
    message = "{name} has no key that could be watched: its rows have none, or a part of it is not shown"
    hint = "Create it with KEY (…), or show all columns that it groups by; or subscribe to all its changes."


class NotRetained(UsageError):
    """Changes were asked for that are no longer kept."""

    condition = "NOT_RETAINED"
    message = "{what} of {name} is no longer retained (earliest retained is {earliest})"
    hint = "Begin with a snapshot, then follow it. To keep more, raise delta.logRetentionDuration and VACUUM's RETAIN."


class NotReached(UsageError):
    """Changes were asked for after a point that the stream table has not reached."""

    condition = "NOT_REACHED"
    message = "{what} of {name} is not there yet (the newest is {newest})"
    hint = "Ask for an earlier point, or for the changes from now on."


class InvalidTokens(UsageError):
    """A file of tokens that cannot be used."""

    condition = "INVALID_TOKENS"
    message = "{path} cannot be used as a file of tokens: {why}"
    hint = 'Each client has a section, [name] with token = "…" (or sha256) and tables = ["…"].'


class OpenToOthers(UsageError):
    """A server without tokens would be seen by other hosts."""

    condition = "OPEN_TO_OTHERS"
    message = "without tokens everybody who reaches {host} could read every stream table"
    hint = "Give --tokens FILE, listen on 127.0.0.1, or say with --open that this is wanted."


class PortTaken(UsageError):
    """A server cannot listen where it was told to."""

    condition = "PORT_TAKEN"
    message = "cannot listen on {host}:{port}: {why}"
    hint = "Choose another --port (0 takes a free one) or --host."


class NotConfirmed(UsageError):
    """A command that removes or rebuilds was given where nobody can be asked."""

    condition = "NOT_CONFIRMED"
    message = "this needs a yes, and nobody can be asked here: {question}"
    hint = "Add --yes to do it without being asked. Nothing was done."


class NotAuthenticated(UsageError):
    """A request without a token that is known."""

    condition = "NOT_AUTHENTICATED"
    message = "who asks is not known: {why}"
    hint = "Send the header Authorization: Bearer TOKEN; EventSource and WebSocket may use ?access_token=TOKEN."


class NotGranted(UsageError):
    """A request for a stream table that its token does not open."""

    condition = "NOT_GRANTED"
    message = "{who} may not read {name}"
    hint = "Add it to the tables of [{who}] in the file of tokens, and start the server anew."


class RequestRefused(UsageError):
    """A request that comes through a web page, or under a name, that was not allowed."""

    condition = "REQUEST_REFUSED"
    message = "the request is refused: {why}"
    hint = "{fix}"


class RequestTooLarge(UsageError):
    """A request with more bytes than any of ours needs."""

    condition = "REQUEST_TOO_LARGE"
    message = "the request has {size} bytes, of {limit} allowed"
    hint = "Everything can be asked in the address; send no body."


class TooManyClients(UsageError):
    """The server has as many connections as it may."""

    condition = "TOO_MANY_CLIENTS"
    retry = Retry.BACKOFF
    message = "the server has its {limit} connections already"
    hint = "Try again later, close streams that nobody reads, or raise --connections."


class TooSlow(UsageError):
    """A client of a stream fell behind and had asked to be cut off then."""

    condition = "TOO_SLOW"
    message = "{events} events of {name} came before this client had taken those before them"
    hint = "Go on after LSN {position}, or use policy=block, which reads what was missed from the table itself."


class ServerStopping(UsageError):
    """The server stops, so streams end."""

    condition = "SERVER_STOPPING"
    retry = Retry.BACKOFF
    message = "the server stops"
    hint = "Connect again, after LSN {position}."


class HasConsumers(UsageError):
    """Other stream tables read this one."""

    condition = "HAS_CONSUMERS"
    message = "{name} is read by {consumers}"
    hint = "Drop those first, or drop all of them with: DROP STREAM TABLE {name} CASCADE"


class IsStreamTable(UsageError):
    """A statement for plain tables and views would take a stream table's name or change what is stored for it."""

    condition = "IS_STREAM_TABLE"
    message = "{name} is {what}, and this is no statement for one: {statement}"
    hint = "{fix}"


class SchemaHoldsStreamTables(UsageError):
    """A schema with stream tables in it would be dropped."""

    condition = "SCHEMA_HOLDS_STREAM_TABLES"
    message = "{statement} would take the names of {names} away, which would go on being refreshed"
    hint = "Drop them first, those that read others before these: {drops}"


class HasReaders(UsageError):
    """What stream tables read would be dropped, renamed or put in another's place."""

    condition = "HAS_READERS"
    message = "{statement} would take {sources} from {readers}"
    hint = (
        "The stored rows would stay; the next refresh would rebuild them, or be an error until the name is back. To do "
        "it all the same: penstock sql --yes, or ps.sql(…, yes=True)."
    )


class ReadersBreak(UsageError):
    """Another query for a stream table, under which others could not read it any more."""

    condition = "READERS_BREAK"
    message = "with this query {name} could not be read any more by {readers}"
    hint = (
        "Keep those columns, or give the readers another query first. To do it all the same, and leave them with their "
        "rows and an error: CASCADE before AS, penstock … --yes, or cascade=True."
    )


class CycleInGraph(UsageError):
    """The stream tables would read each other in a circle."""

    condition = "CYCLE_IN_GRAPH"
    message = "this would make a cycle: {path}"
    hint = "A stream table may not read itself, directly or through others or through views."


class NoCommonInstant(UsageError):
    """Stream tables that cannot be read together as they are stored."""

    condition = "NO_COMMON_INSTANT"
    message = "{names} cannot be shown at one instant: {why}"
    hint = "Refresh {stale} and read again, or read with fresh=True."


class OnlyTables(UsageError):
    """Something that Spark answers of tables alone was asked of a stream table's name, which is a view."""

    condition = "ONLY_TABLES"
    message = "{asked} is for tables, and to Spark the name of the stream table {name} is a view"
    hint = "Write instead: {instead}"


class RetentionCut(UsageError):
    """A clean-up would remove files that a stream table still needs."""

    condition = "RETENTION_CUT"
    message = "{statement} would remove what {names} still needs of {source}: {why}"
    hint = "{fix}"


class SessionMisconfigured(UsageError):
    """A Spark session that was passed in lacks something Penstock needs."""

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
    """The catalog cannot be used before somebody changes something."""

    condition = "CATALOG_UNUSABLE"
    message = "{place} cannot be used as a catalog: {why}"
    hint = "{fix}"


class CatalogLost(UsageError):
    """There are tables of a warehouse, and no catalog that knows them."""

    condition = "CATALOG_LOST"
    message = "there are tables, but no catalog of them at {place}"
    hint = "Run `penstock repair`: it rebuilds the catalog from the tables themselves."


class ReadOnly(UsageError):
    """Something was to be changed where this user may only look."""

    condition = "READ_ONLY"
    message = "{place} cannot be written to by this user"
    hint = "It can be looked at. To change anything, work as a user who may write there."


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
    """The query itself raises on the data as it is."""

    condition = "QUERY_FAILED"
    message = "the query of {name} fails on the present data: {why}"
    hint = (
        "The stored rows stay as they were. Mend the data or the query, then refresh again, or leave that to the "
        "scheduler."
    )
    hint_while_defining = "Nothing was changed. Mend the data or the query, then write it again."


class StatementFailed(QueryError):
    """A statement that Spark runs as it stands, and refuses or cannot finish."""

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
    """A result column that a Delta table cannot hold, or whose name is reserved or doubled."""

    condition = "UNSTORABLE_COLUMN"
    message = "result column {column} cannot be stored: {why}"
    hint = "{fix}"


class KeyColumnMissing(QueryError):
    """A KEY that names a column which the query does not return."""

    condition = "KEY_COLUMN_MISSING"
    message = "KEY names {column}, which is no column of the result"
    hint = "{meant}The columns are: {columns}."


class SourceError(PenstockError):
    """A source is not what it was."""

    condition = "SOURCE"
    hint_while_defining = "Nothing was changed. Mend the source or the query, then write it again."


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
    """Two folders hold the files of one Delta table, because somebody copied them, and one stream table sees both."""

    condition = "SOURCE_COPIED"
    retry = Retry.CHANGE
    message = "{folder} and {other} bear the id of one Delta table: the files of one were copied to the other"
    hint = (
        "Read one of them only, or make the copy a table of its own and read that: "
        "CREATE TABLE … AS SELECT * FROM delta.`{other}`. The stored rows stay as they are."
    )
    hint_while_defining = (
        "Nothing was changed. Read one of them only, or make the copy a table of its own and read that: "
        "CREATE TABLE … AS SELECT * FROM delta.`{other}`."
    )


class SourceChanged(SourceError):
    """A source changed in a way that the interval cannot express."""

    condition = "SOURCE_CHANGED"
    retry = Retry.REINITIALIZE
    message = "source {source} changed: {why}"
    hint = "The next refresh rebuilds the stream table (REINITIALIZE)."


class FrontierLost(SourceError):
    """The version a stream table was built from can no longer be read."""

    condition = "FRONTIER_LOST"
    retry = Retry.REINITIALIZE
    message = "version {version} of {source} can no longer be read: {why}"
    hint = "The next refresh rebuilds the stream table. Keep delta.logRetentionDuration and VACUUM above its lag."


class StorageError(PenstockError):
    """The stream table's own storage is at fault."""

    condition = "STORAGE"


class CommitConflict(StorageError):
    """Another commit landed between pin and commit."""

    condition = "COMMIT_CONFLICT"
    retry = Retry.BACKOFF
    message = "another writer committed to {name} first: {why}"
    hint = "Nothing was lost; refresh again."
    hint_while_defining = "Nothing was changed; write it again."


class LeaseLost(StorageError):
    """The worker's lease on the table ended before it could commit."""

    condition = "LEASE_LOST"
    retry = Retry.BACKOFF
    message = "the lease on {name} was taken over by {holder}"
    hint = "Nothing is lost: whoever has it now carries on from its newest commit."


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
    message = "the storage of {name} is not there: {why}"
    hint = (
        "Restore the folder {path}, then refresh, or leave that to the scheduler; or drop the stream table and create "
        "it again."
    )


class StateDamaged(StorageError):
    """Stored rows contradict the delta."""

    condition = "STATE_DAMAGED"
    retry = Retry.REINITIALIZE
    message = "the stored rows of {name} contradict the changes: {why}"
    hint = "Somebody else may have written to its storage. The next refresh rebuilds it."


class ChangeError(PenstockError):
    """A change event, or a batch of them, is at fault."""

    condition = "CHANGE"


class InvalidChange(ChangeError):
    """A change that contradicts itself, or does not fit the type that should hold it."""

    condition = "INVALID_CHANGE"
    message = "{what} cannot be: {why}"
    hint = "{fix}"


class UnreadableChange(ChangeError):
    """Bytes that are not the change, envelope or checkpoint they should be."""

    condition = "UNREADABLE_CHANGE"
    message = "{what} cannot be read: {why}"
    hint = (
        "Nothing of it was used. Read it again from where it came; if it stays so, it is damaged or of another format."
    )


class NotConvertible(ChangeError):
    """A change that another notation has no way to tell, or not without more."""

    condition = "NOT_CONVERTIBLE"
    message = "{what} cannot be told as {target}: {why}"
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
    hint = "Read again from the last LSN. If its origin no longer has the records, make the copy anew."


class PayloadDiverged(RecordError):
    """Another record was applied under the same LSN."""

    condition = "PAYLOAD_DIVERGED"
    retry = Retry.REINITIALIZE
    message = "LSN {lsn} of {collection} was applied with payload {held} and now comes with {came}"
    hint = "The copy and its origin differ. Find out who wrote to the copy, then make it anew."


class StaleTerm(RecordError):
    """A record of a sender that was replaced."""

    condition = "STALE_TERM"
    message = "the record at LSN {lsn} is of term {term}, but term {current} has begun"
    hint = "Read from the sender of the newer term; the older one should stop."


class NotAllRefreshed(PenstockError):
    """All stream tables were to be refreshed, and some could not be."""

    condition = "NOT_ALL_REFRESHED"
    message = "{failed} of {count} stream tables could not be refreshed: {names}"
    hint = "The others were. What to do is said by: penstock diagnose {one}"


class FuseBlown(PenstockError):
    """So much changed at once that a person should look before it is applied."""

    condition = "FUSE_BLOWN"
    message = "{name} has {pending} changed rows before it; its largest refresh lately had {usual} (fuse: {factor}×)"
    hint = (
        "The stored rows stay. If the changes are wanted: REFRESH STREAM TABLE {name}, then: ALTER STREAM TABLE {name} "
        "RESUME"
    )


class SystemTrouble(PenstockError):
    """The machinery failed: neither the query nor its data are at fault, and it may be over in a moment."""

    condition = "SYSTEM"
    retry = Retry.BACKOFF
    message = "{name} could not be worked on: {why}"
    hint = "The stored rows stay as they were, and a scheduler tries again by itself."
    hint_while_defining = "Nothing was changed. Mend that, then write it again."


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
    hint = "The stored rows stay as they were. Make room on the disk; leftovers of the attempt go with the next VACUUM."


class EngineUnavailable(SystemTrouble):
    """Spark was stopped, lost an executor, or its process is gone."""

    condition = "ENGINE_UNAVAILABLE"
    message = "Spark could not go on with {name}: {why}"
    hint = "The stored rows stay as they were. If Spark is gone, open the warehouse again; else refresh again."


class JobCancelled(SystemTrouble):
    """Somebody cancelled what Spark was doing."""

    condition = "JOB_CANCELLED"
    message = "what Spark was doing for {name} was cancelled: {why}"
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
