"""Words that a slip of the pen has made out of each other."""

from __future__ import annotations

from collections.abc import Iterable


def edits(one: str, other: str) -> int:
    """How many letters were left out, put in, replaced or swapped with their neighbour.

    >>> edits("STREAN", "STREAM"), edits("CRAETE", "CREATE"), edits("STEAM", "STREAM"), edits("", "ab")
    (1, 1, 1, 2)
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, start=1):
        above, before, row = before, row, [at]
        for to, wanted in enumerate(other, start=1):
            least = min(before[to] + 1, row[-1] + 1, before[to - 1] + (letter != wanted))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == wanted:
                least = min(least, above[to - 2] + 1)
            row.append(least)
    return row[-1]


def is_near(word: str, meant: str) -> bool:
    """True if `word` may be a slip for `meant`: one letter in words of up to seven, two in longer ones.

    >>> is_near("STEAM", "STREAM"), is_near("SCHEMA", "STREAM"), is_near("a", "b")
    (True, False, False)
    """
    allowed = 0 if len(meant) < 3 else 1 if len(meant) < 8 else 2
    return abs(len(word) - len(meant)) <= allowed and edits(word, meant) <= allowed


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` is most likely a slip for; None if it is near none. Case does not count."""
    close = [(edits(word.lower(), each.lower()), each) for each in known if is_near(word.lower(), each.lower())]
    return min(close)[1] if close else None
