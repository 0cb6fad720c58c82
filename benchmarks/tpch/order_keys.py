"""Order keys: sparse, as in dbgen.

    the order of index i in sequence s  has the key  (i div 8) × 32 + s × 8 + i mod 8

The data is sequence 0 and uses 8 of every 32 keys. New orders of the refresh functions are sequence 1: they fall
between the keys that are there, in the range of the orders that are deleted.
"""

from __future__ import annotations

DATA, INSERTED = 0, 1


def order_key(index: int, sequence: int = DATA) -> int:
    """The key of an order; indexes count from 1.

    >>> [order_key(index) for index in (1, 7, 8, 9)], order_key(9, INSERTED)
    ([1, 7, 32, 33], 41)
    """
    return index // 8 * 32 + sequence * 8 + index % 8


def index_sql(key: str) -> str:
    """The index of the order that has this key."""
    return f"({key} DIV 32 * 8 + {key} % 8)"


def order_key_sql(index: str, sequence: int) -> str:
    """`order_key` of an expression."""
    return f"({index} DIV 8 * 32 + {sequence * 8} + {index} % 8)"


def within_sql(key: str, first: int, count: int, sequence: int) -> str:
    """True for the keys of `count` orders of one sequence from index `first` on; a range, for file statistics."""
    low, high = order_key(first, sequence), order_key(first + count - 1, sequence)
    return f"({key} BETWEEN {low} AND {high} AND {key} % 32 DIV 8 = {sequence})"
