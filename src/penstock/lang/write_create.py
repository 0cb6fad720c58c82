"""CREATE STREAM TABLE as text: the reverse of reading it.

parse_one(write_create(s)) = s
"""

from __future__ import annotations

from penstock.lang.statements import CreateStreamTable
from penstock.names import quote


def write_create(statement: CreateStreamTable) -> str:
    """The statement, every clause on a line of its own; what is not given is not written.

    >>> print(write_create(CreateStreamTable("shop.a", "SELECT 1 AS n", "5 minutes", key=("n",))))
    CREATE STREAM TABLE shop.a
    TARGET LAG '5 minutes'
    REFRESH MODE AUTO
    KEY (`n`)
    AS SELECT 1 AS n
    """
    lines = [
        "CREATE"
        + (" OR REPLACE" if statement.or_replace else "")
        + " STREAM TABLE "
        + ("IF NOT EXISTS " if statement.if_not_exists else "")
        + statement.name
    ]
    if statement.downstream:
        lines.append("TARGET LAG DOWNSTREAM")
    elif statement.target_lag is not None:
        lines.append(f"TARGET LAG '{statement.target_lag}'")
    lines.append(f"REFRESH MODE {statement.refresh_mode}")
    if not statement.initialize:
        lines.append("INITIALIZE ON SCHEDULE")
    if statement.key:
        lines.append(f"KEY ({', '.join(map(quote, statement.key))})")
    return "\n".join([*lines, f"AS {statement.query}"])
