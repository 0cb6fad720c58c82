"""A statement that is nearly one of ours: a slip of the pen, or the words that another product has for it.

Spark would refuse it with its own grammar, or take `REFRESH STEAM TABLE sales` for a path and answer that all is well.
The parser refuses it and says what to write instead, with the user's own names. It never refuses what Spark can read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.errors import InvalidStatement
from penstock.lang.classify import read_name
from penstock.lang.spelling import is_near
from penstock.lang.tokens import Token, lines_at, word

_PHRASES: Final = tuple(
    tuple(phrase.split())
    for phrase in (
        "CREATE STREAM TABLE",
        "CREATE OR REPLACE STREAM TABLE",
        "ALTER STREAM TABLE",
        "DROP STREAM TABLE",
        "REFRESH STREAM TABLE",
        "REFRESH STREAM TABLES",
        "SHOW STREAM TABLES",
        "SHOW CREATE STREAM TABLE",
        "DESCRIBE STREAM TABLE",
        "DESCRIBE EXTENDED STREAM TABLE",
        "DESCRIBE HISTORY STREAM TABLE",
        "EXPLAIN STREAM TABLE",
        "AUDIT STREAM TABLE",
        "OPTIMIZE STREAM TABLE",
        "SUBSCRIBE",
    )
)
_VERBS: Final = {"CREATE", "ALTER", "DROP", "REFRESH", "SHOW", "DESCRIBE", "DESC", "EXPLAIN"}
_THEIRS: Final = {"DYNAMIC", "MATERIALIZED", "STREAMING", "LIVE", "INCREMENTAL"}
_KINDS: Final = {"TABLE", "TABLES", "VIEW", "VIEWS"}
_NEVER_A_TABLE: Final = {"CREATE", "ALTER", "DROP", "REFRESH", "SHOW", "AUDIT"}
"""Verbs behind which `stream_table` cannot be a table's name with more to follow."""
_ENDINGS: Final = {"CASCADE", "RESUME", "SUSPEND"}
_LONGEST: Final = 160


def refuse_mistaken(text: str, tokens: Sequence[Token]) -> None:
    """InvalidStatement if the statement in `tokens`, a part of `text`, is nearly one of ours."""
    for find, rewrite in ((_misspelt, _corrected), (_of_others, _rewritten)):
        found, meant = find(tokens)
        if found:
            said = " ".join(text[token.start : token.end + 1].upper() for token in tokens[:found])
            raise InvalidStatement(
                why=f"{said} is not a statement, {' '.join(meant)} is",
                where=lines_at(text, tokens[0].start),
                expected=rewrite(text, tokens, found, meant),
            )


def _misspelt(tokens: Sequence[Token]) -> tuple[int, tuple[str, ...]]:
    """How many tokens are leading words of ours with a slip, and the words that were meant; 0 if they are not."""
    words = [word(token) for token in tokens[:6]]
    for phrase in _PHRASES:
        # `DESCRIBE steam table` asks Spark for a column: what is ours goes on with a name.
        ends = phrase[-1] == "TABLES"
        if _are_near(words, phrase) and (ends or len(words) > len(phrase)):
            return len(phrase), phrase
        glued = (*phrase[:-2], "".join(phrase[-2:]))
        said = [each.replace("_", "") for each in words]
        if phrase[0] in _NEVER_A_TABLE and _are_near(said, glued) and (phrase[0] == "SHOW" or len(words) > len(glued)):
            return len(glued), phrase
    if words[:2] == ["REFRESH", "STREAM"] and len(words) > 2:
        return 2, ("REFRESH", "STREAM", "TABLE")
    return 0, ()


def _are_near(words: Sequence[str], phrase: Sequence[str]) -> bool:
    return len(words) >= len(phrase) and all(is_near(said, meant) for said, meant in zip(words, phrase, strict=False))


def _of_others(tokens: Sequence[Token]) -> tuple[int, tuple[str, ...]]:
    """The same for a statement about what other products call dynamic tables or materialized views."""
    words = [word(token) for token in tokens[:7]]
    if not words or words[0] not in _VERBS:
        return 0, ()
    at = 3 if words[1:3] in (["OR", "REPLACE"], ["OR", "REFRESH"]) else 1
    first = at
    while at < len(words) and words[at] in _THEIRS:
        at += 1
    if at == first or at == len(words) or words[at] not in _KINDS:
        return 0, ()
    verb = ("CREATE", "OR", "REPLACE") if first == 3 else (words[0],)
    return at + 1, (*verb, "STREAM", "TABLES" if words[at].endswith("S") else "TABLE")


def _corrected(text: str, tokens: Sequence[Token], found: int, meant: tuple[str, ...]) -> str:
    """The statement with its leading words as they were meant, and nothing else changed, if there is room for it."""
    rest = _in_one_line(text, tokens[found:])
    whole = " ".join([*meant, rest]).strip() if rest is not None else ""
    return whole if whole and len(whole) <= _LONGEST else _rewritten(text, tokens, found, meant)


def _in_one_line(text: str, tokens: Sequence[Token]) -> str | None:
    """The text of some tokens without its line breaks; None where one of them ends a comment."""
    said = text[tokens[0].start : tokens[-1].end + 1] if tokens else ""
    return None if "\n" in said and "--" in said else " ".join(said.split())


def _rewritten(text: str, tokens: Sequence[Token], found: int, meant: tuple[str, ...]) -> str:
    """The statement in our words: up to its name, and its query if it has one and there is room for it."""
    rest = tokens[found:]
    said = " ".join(meant)
    if not rest:
        return said
    condition = 3 if [word(token) for token in rest[:3]] == ["IF", "NOT", "EXISTS"] else 0
    condition = condition or (2 if [word(token) for token in rest[:2]] == ["IF", "EXISTS"] else 0)
    name, at = read_name(rest, condition)
    if name is None:
        return said
    kept = rest[: 0 if "REPLACE" in meant else condition]
    head = " ".join([said, *(word(token) for token in kept), name])
    if meant[0] != "CREATE":
        tail = [word(token) for token in rest[at:]]
        if meant[0] == "ALTER" and tail[:1] == ["REFRESH"]:
            return f"REFRESH STREAM TABLE {name}"
        return " ".join([head, *tail]) if len(tail) == 1 and tail[0] in _ENDINGS else head
    begin = next((place for place, token in enumerate(rest) if place >= at and word(token) == "AS"), len(rest))
    query = _in_one_line(text, rest[begin + 1 :]) or "query"
    return f"{head} AS {query if len(head) + len(query) <= _LONGEST else 'query'}"
