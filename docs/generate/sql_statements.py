"""The SQL page, from the grammar that the parser itself prints in its errors."""

from __future__ import annotations

from generate.table import code, table
from penstock.api import StreamTables
from penstock.lang.parse import GRAMMAR
from penstock.settings import DEFAULT_LAG

PAGE = "reference/sql.md"

_ABOUT: dict[str, tuple[str, str, str]] = {
    "CREATE": (
        "Defines a stream table and fills it. Everything is checked first: name, query, key, mode, graph. A "
        "statement that "
        "is refused leaves nothing behind.\n\n"
        f"- `TARGET LAG` says how old the rows may get. Left out it is {DEFAULT_LAG}. `DOWNSTREAM` takes the smallest "
        "lag of the "
        "stream tables that read this one.\n"
        "- `REFRESH MODE AUTO` (the default) is incremental where every part of the query has a delta rule, else "
        "full with a "
        "reason code. `INCREMENTAL` refuses such a query instead. `FULL` always recomputes.\n"
        "- `INITIALIZE ON SCHEDULE` leaves the table empty until the first refresh.\n"
        "- `KEY (…)` declares columns that identify a row of the result. They are checked at every refresh; if they "
        "are "
        "not unique, nothing is committed (KEY_VIOLATED). Group keys and DISTINCT need no declaration.\n"
        "- `OR REPLACE` gives an existing stream table another definition; the rows are rebuilt in one commit, and "
        "stay if "
        "nothing that matters has changed. `IF NOT EXISTS` leaves an existing one alone.\n"
        "- `CASCADE`, with `OR REPLACE`: replace the query even if stream tables could then no longer read this one. "
        "Without it the statement is refused, and the error names them (READERS_BREAK). They keep their rows and "
        "have an error "
        "until they get another query.\n\n"
        "Clauses may come in any order before `AS`.",
        "CREATE STREAM TABLE revenue TARGET LAG '5 minutes' AS\nSELECT region, sum(amount) AS total FROM orders "
        "GROUP BY region",
        "A message.",
    ),
    "ALTER": (
        "Changes one thing. A new query is checked as in CREATE and the rows are rebuilt at once, in one commit. A "
        "suspended "
        "stream table is left out by `tick`; a refresh by name still runs and does not resume it. RESUME forgets "
        "counted errors. A query that would break the queries of other stream tables is refused, and the error names "
        "them (READERS_BREAK); `CASCADE` replaces the query anyway.",
        "ALTER STREAM TABLE revenue SET TARGET LAG '1 hour'",
        "A message.",
    ),
    "DROP": (
        "Removes the view, the stored rows, the catalog entry and the history. A stream table that others read is "
        "dropped "
        "only with CASCADE, its readers first.",
        "DROP STREAM TABLE IF EXISTS revenue CASCADE",
        "A message.",
    ),
    "REFRESH": (
        "Refreshes a stream table, its upstream stream tables first, all at one version of every source.",
        "REFRESH STREAM TABLE revenue",
        "One row: name, action, reason, rows_inserted, rows_deleted, version, seconds.",
    ),
    "REFRESH ALL": (
        "Refreshes all stream tables that are not suspended, all at one version of every source. A refresh that fails "
        "does not stop the others; the statement then ends with NOT_ALL_REFRESHED.\n\n"
        "`REFRESH [TABLE] name` without the word STREAM is Spark's own. On a stream table it does what `REFRESH STREAM "
        "TABLE` does; on other tables it does what it does in Spark, and the answer says so.",
        "REFRESH STREAM TABLES",
        "A row each: name, action, reason, rows_inserted, rows_deleted, version, seconds.",
    ),
    "SHOW": (
        "Lists stream tables. In the pattern `*` stands for any text and `|` for or.",
        "SHOW STREAM TABLES LIKE 'rev*'",
        "A row each: name, status, refresh_mode, effective_mode, target_lag, current_lag, last_refresh, errors.",
    ),
    "SHOW CREATE": (
        "The text that, run again, gives the same definition: statement, options and query. Where the session is in "
        "another schema than the query was written in, or has other settings that a result depends on, `USE` and "
        "`SET` come first. `INITIALIZE ON SCHEDULE` is in it as long as the table has not been filled.",
        "SHOW CREATE STREAM TABLE revenue",
        "One row, one column: statement.",
    ),
    "DESCRIBE": (
        "The columns that a reader sees, with their types. `EXTENDED` adds lag, mode, key, status, sources, query and "
        "location.",
        "DESCRIBE EXTENDED STREAM TABLE revenue",
        "A row each: column, type.",
    ),
    "DESCRIBE HISTORY": (
        "The newest refreshes first, 20 without LIMIT. Without the words STREAM TABLE the statement is Delta's own.",
        "DESCRIBE HISTORY STREAM TABLE revenue LIMIT 5",
        "A row each: started_at, action, status, reason, rows_inserted, rows_deleted, delta_rows, rows_read, "
        "rows_at_rest, rows_written, commit_version, seconds.",
    ),
    "EXPLAIN": (
        "How a stream table is maintained, or how a query would be: verdict and reason, operator tree with the rule "
        "of each "
        "node, versions of the sources, and in mode AUTO what both ways are estimated to take. EXTENDED adds the "
        "delta as SQL that runs as printed.",
        "EXPLAIN STREAM TABLE SELECT DISTINCT region FROM orders",
        "One column, a row per line.",
    ),
    "AUDIT": (
        "Recomputes the query at the stored frontier, through Delta's own reader and without any rule of Penstock, and "
        "compares with the stored rows as bags, both ways.",
        "AUDIT STREAM TABLE revenue",
        "One row: name, verdict (`exact` or `DIFFERS`), missing_rows, extra_rows, rows, seconds.",
    ),
    "OPTIMIZE": (
        "Sorts and compacts the stored files by the columns that changes touch them by, see "
        "[Layout](../concepts/layout.md). No row changes; a table that is laid out well is left alone. Without the "
        "words STREAM TABLE the statement is Delta's own.",
        "OPTIMIZE STREAM TABLE revenue",
        "One row: name, done, reason, files_before, files_after, touched_before, touched_after, seconds.",
    ),
    "SUBSCRIBE": (
        "The changes of a stream table, commit by commit. Without a start they begin with the next commit.\n\n"
        "- `AS OF VERSION` and `AS OF TIMESTAMP` begin after that version, or after the one in force at that moment.\n"
        "- `AFTER LSN` begins after that change, so it is how a reader goes on where it stopped.\n"
        "- `WITH SNAPSHOT` gives the rows as they are, then their changes.\n"
        "- `WHERE` keeps the rows that satisfy a condition. An update into the condition is an insert, out of it a "
        "delete.\n\n"
        "A condition compares columns and literals: `AND`, `OR`, `NOT`, `=`, `<>`, `<`, `<=`, `>`, `>=`, `<=>`, "
        "`BETWEEN`, `IN`, `LIKE`, `IS [NOT] NULL`, `TRUE`, `FALSE` and `DISTINCT FROM`. It means what it means to "
        "Spark; functions, arithmetic and comparisons of text with numbers are refused. A timestamp without an "
        "offset is read in the time zone of the stream table's definition, in `AS OF TIMESTAMP` in UTC.",
        "SUBSCRIBE revenue AFTER LSN 1200 WHERE region IN ('north', 'south') AND total > 1000",
        "A `Subscription`, which gives changes until it is cancelled; `penstock sql` shows them until Ctrl-C. The "
        "statement can only be the last of a script.",
    ),
}


def text() -> str:
    """The page."""
    assert set(_ABOUT) == set(GRAMMAR), "a statement of the grammar is not described, or the reverse"
    parts = [
        "# SQL",
        "*The grammar is generated from `src/penstock/lang/readers`.*",
        f"`{StreamTables.__name__}.sql` and `penstock sql` take any number of statements, separated by semicolons. "
        f"The ones on "
        "this page are Penstock's; every other statement goes to Spark as it was written. A script is parsed whole "
        "before "
        "any of it runs. If a statement for stream tables cannot be read, the error shows the place and the grammar.",
        "Words in capitals are keywords, in any case. Parts in `[ ]` are optional, `|` separates choices. "
        "Names are `table`, "
        "`schema.table` or `catalog.schema.table`, quoted with backticks where needed. `query` is one Spark query; "
        "its text "
        "is kept as it was written, comments included.",
    ]
    for verb, grammar in GRAMMAR.items():
        about, example, result = _ABOUT[verb]
        title = grammar.split("\n")[0].split("name")[0]
        for mark in ("[EXTENDED] ", "[OR REPLACE] ", "[IF NOT EXISTS] ", "[IF EXISTS] ", "[LIKE 'pattern']"):
            title = title.replace(mark, "")
        parts.append(
            f"## "
            f"{title.strip()}\n\n```sql\n{grammar}\n```\n\n{about}\n\nExample:\n\n```sql\n{example}\n```\n\nResult: "
            f"{result}"
        )
    parts.append(
        "## Durations\n\n"
        + table(
            ["Written", "Means"],
            [
                [code("'90 seconds'"), "a minute and a half"],
                [code("'5m'"), "five minutes"],
                [code("'1 hour 30 minutes'"), "ninety minutes"],
                [code("DOWNSTREAM"), "as fresh as the readers need"],
            ],
        )
    )
    parts.append(
        "## Not available yet\n\nThe parser recognises `EMIT …` at the end of a query and refuses it with a message, "
        "so that it is not read as a part of the query."
    )
    return "\n\n".join(parts) + "\n"
