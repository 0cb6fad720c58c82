"""Stream tables from Python: `open` a warehouse, and ask its `StreamTables`.

StreamTables  the public methods: each checks its arguments and delegates
opening       `open`, `open_lazily` and `repair`
script        SQL: which statement calls which method, and the results as rows
definitions   CREATE and ALTER: from arguments to a definition with rows
refreshing    one stream table, all of them, or those that are due
restore_session what Spark's catalog has to know when a session starts
"""

from penstock.api.opening import look, open, open_lazily, repair
from penstock.api.statement_result import SqlResult, StatementResult
from penstock.api.stream_tables import StreamTables

__all__ = ["SqlResult", "StatementResult", "StreamTables", "look", "open", "open_lazily", "repair"]
