"""VACUUM: which table, how much history it keeps, and whether it is a dry run.

VACUUM (table | 'path' | delta.`path`) [LITE | FULL] [USING INVENTORY …] [RETAIN n HOURS] [DRY RUN]
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from penstock.lang.classify import read_name
from penstock.lang.statements import PassThrough
from penstock.lang.tokens import TokenType, read_tokens, word


@dataclass(frozen=True, slots=True)
class Vacuum:
    """One VACUUM. Exactly one of `table` (as written) and `path` is set; `retain` None is the table's own retention."""

    table: str | None = None
    path: str | None = None
    retain: timedelta | None = None
    dry_run: bool = False


def read_vacuum(statement: PassThrough) -> Vacuum | None:
    """What a statement vacuums; None if it is no VACUUM, or if its target is not plain.

    >>> read_vacuum(PassThrough("VACUUM shop.orders RETAIN 12 HOURS", "other", verb="VACUUM"))
    Vacuum(table='shop.orders', path=None, retain=datetime.timedelta(seconds=43200), dry_run=False)
    >>> read_vacuum(PassThrough("VACUUM delta.`/data/orders` DRY RUN", "other", verb="VACUUM"))
    Vacuum(table=None, path='/data/orders', retain=None, dry_run=True)
    """
    if statement.verb != "VACUUM":
        return None
    tokens = read_tokens(statement.sql)
    words = [word(token) for token in tokens]
    retain = None
    if "RETAIN" in words[:-1]:
        number = tokens[words.index("RETAIN") + 1]
        if number.token_type is not TokenType.NUMBER:
            return None
        retain = timedelta(hours=float(number.text))
    dry_run = words[-2:] == ["DRY", "RUN"]
    if len(tokens) > 1 and tokens[1].token_type is TokenType.STRING:
        return Vacuum(path=tokens[1].text, retain=retain, dry_run=dry_run)
    if words[1:2] == ["DELTA"] and len(tokens) > 3 and tokens[3].token_type is TokenType.IDENTIFIER:
        return Vacuum(path=tokens[3].text, retain=retain, dry_run=dry_run)
    name, _ = read_name(tokens, 1)
    return None if name is None else Vacuum(table=name, retain=retain, dry_run=dry_run)
