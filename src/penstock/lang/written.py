"""The table into which a statement inserts rows that Spark does not count: INSERT, CREATE or REPLACE TABLE … AS."""

from __future__ import annotations

from penstock.lang.statements import PassThrough
from penstock.lang.tokens import read_tokens, word


def inserted_into(statement: PassThrough) -> str | None:
    """The one table that rows are inserted into, as it was written; None if there is none, or several.

    >>> inserted_into(PassThrough("INSERT INTO a SELECT * FROM b", "dml", "a", verb="INSERT"))
    'a'
    >>> inserted_into(PassThrough("CREATE TABLE a (b INT)", "ddl", "a", "table", "CREATE"))
    """
    creates = statement.defines == "table" and not statement.temporary
    if statement.target is None or not (creates or statement.verb == "INSERT"):
        return None
    words = [word(token) for token in read_tokens(statement.sql)]
    if creates:
        return statement.target if "SELECT" in words or "VALUES" in words else None
    return statement.target if words.count("INSERT") == 1 else None
