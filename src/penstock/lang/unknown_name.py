"""The hint for a name that no stream table has: the most similar name, written as the user writes names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.lang.spelling import nearest
from penstock.names import TableName

LOST: Final = "Its rows are in the warehouse, but its catalog does not know it; put it back with: penstock repair"
"""The hint for the name of a stream table that only its own files know."""

DROPPED: Final = "Somebody has dropped it meanwhile."
"""The hint for the name of a stream table that was there a moment ago."""


def lost_ones(names: Sequence[str]) -> str:
    """One line about several stream tables that the catalog has lost.

    >>> lost_ones(["shop.a", "shop.b"])
    'in the warehouse, but not in its catalog: shop.a, shop.b; put them back with: penstock repair'
    """
    return f"in the warehouse, but not in its catalog: {', '.join(names)}; put them back with: penstock repair"


def what_was_meant(written: str, asked: TableName, known: Sequence[TableName]) -> str:
    """The hint for a name that was `written` so and means `asked`, beside the stream tables that there are.

    >>> shop = [TableName("shop", "ranked"), TableName("shop", "revenue")]
    >>> what_was_meant("rankd", TableName("shop", "rankd"), shop)
    'Did you mean ranked?'
    >>> what_was_meant("shop.revenu", TableName("shop", "revenu"), shop)
    'Did you mean shop.revenue?'
    >>> what_was_meant("ranked", TableName("mart", "ranked"), shop)
    'Did you mean shop.ranked?'
    >>> what_was_meant("orders", TableName("shop", "orders"), shop)
    'See them all with: SHOW STREAM TABLES'
    """
    beside = {each.table: each for each in known if each.schema == asked.schema}
    if (near := nearest(asked.table, beside)) is not None:
        whole = str(beside[near])
        return f"Did you mean {whole if '.' in written else whole.removeprefix(f'{asked.schema}.')}?"
    elsewhere = [each for each in known if each.table == asked.table and each.schema != asked.schema]
    if elsewhere:
        return f"Did you mean {min(elsewhere)}?"
    if not known:
        return f"There are none yet. Make one with: CREATE STREAM TABLE {asked} AS query"
    return "See them all with: SHOW STREAM TABLES"
