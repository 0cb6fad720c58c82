"""What a statement of Spark's does, judged by its leading words alone.

Spark has the last word on every statement; this only has to know what is written, defined or dropped, so that a write
to a stream table can be refused and a new table can be given a change data feed.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.lang.split import opens_script
from penstock.lang.statements import Defined, Kind, PassThrough
from penstock.lang.tokens import Token, TokenType, is_word, word

_DDL = {"CREATE", "REPLACE", "ALTER", "DROP", "COMMENT", "UNDROP"}
_DML = {"INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "COPY", "LOAD", "RESTORE"}
_QUERY = {"SELECT", "VALUES", "TABLE"}
_DEFINED: dict[str, Defined] = {
    "TABLE": "table",
    "VIEW": "view",
    "SCHEMA": "schema",
    "DATABASE": "schema",
    "NAMESPACE": "schema",
}
_BEFORE_KIND = {"OR", "REPLACE", "EXTERNAL", "GLOBAL", "TEMP", "TEMPORARY", "MATERIALIZED", "ON"}
_BEFORE_WRITTEN = {"INTO", "OVERWRITE", "FROM", "TABLE", "WITH", "SCHEMA", "EVOLUTION"}


def classify(sql: str, tokens: Sequence[Token]) -> PassThrough:
    """Sort one statement; `tokens` are those of `sql`, though their offsets may be those of a whole script."""
    if not tokens:
        return PassThrough(sql, "other")
    if any(opens_script(tokens[:at], token) for at, token in enumerate(tokens[:3])):
        return PassThrough(sql, "other", verb="BEGIN")
    body = _body(tokens)
    verb = word(body[0]) if body else ""
    kind: Kind = "other"
    if verb in _QUERY:
        return PassThrough(sql, "query", verb=verb)
    if verb in {"FROM", "WITH"}:
        if insert := _multi_insert(body):
            return PassThrough(sql, "dml", *_target(insert), verb="INSERT")
        return PassThrough(sql, "query", verb=verb)
    if verb in _DDL:
        kind = "ddl"
    elif verb in _DML:
        kind = "dml"
    elif verb not in {"OPTIMIZE", "VACUUM"}:
        return PassThrough(sql, "other", verb=verb)
    target, defines = _target(body)
    leading = body[: _skip(body, 1, _BEFORE_KIND)]
    temporary = defines is not None and any(word(token) in {"TEMP", "TEMPORARY"} for token in leading)
    return PassThrough(sql, kind, target, defines, verb, temporary)


def _body(tokens: Sequence[Token]) -> Sequence[Token]:
    """The statement without opening parentheses and without its WITH list."""
    at = 0
    while at < len(tokens) and tokens[at].token_type is TokenType.L_PAREN:
        at += 1
    if at == len(tokens) or word(tokens[at]) != "WITH":
        return tokens[at:]
    depth = 0
    for end in range(at + 1, len(tokens)):
        kind = tokens[end].token_type
        if kind is TokenType.L_PAREN:
            depth += 1
        elif kind is TokenType.R_PAREN:
            depth -= 1
            # A CTE's parenthesis is followed by the next CTE or by the body; its column list by AS.
            following = word(tokens[end + 1]) if end + 1 < len(tokens) else ""
            if depth == 0 and following not in {",", "AS", "MAX", ""}:
                return _body(tokens[end + 1 :])
    return tokens[at:]


def _multi_insert(tokens: Sequence[Token]) -> Sequence[Token]:
    """The first INSERT of Hive's `FROM t INSERT INTO a … INSERT INTO b …`, or nothing."""
    depth = 0
    for at, token in enumerate(tokens[:-1]):
        if token.token_type is TokenType.L_PAREN:
            depth += 1
        elif token.token_type is TokenType.R_PAREN:
            depth -= 1
        elif depth == 0 and word(token) == "INSERT" and word(tokens[at + 1]) in {"INTO", "OVERWRITE"}:
            return tokens[at:]
    return ()


def _target(tokens: Sequence[Token]) -> tuple[str | None, Defined | None]:
    """What a statement writes, defines or drops, and what kind of thing a CREATE or REPLACE makes of it."""
    verb = word(tokens[0])
    if verb in _DML | {"OPTIMIZE", "VACUUM"}:
        # LOAD DATA INPATH '…' INTO TABLE t is the only form with its target far behind.
        start = next((at for at, token in enumerate(tokens) if word(token) == "INTO"), 1) if verb == "LOAD" else 1
        at = _skip(tokens, start, _BEFORE_WRITTEN)
        to_files = any(word(token) in {"DIRECTORY", "LOCAL"} for token in tokens[at : at + 1]) and verb == "INSERT"
        return (None if to_files else read_name(tokens, at)[0]), None
    at = _skip(tokens, 1, _BEFORE_KIND)
    defines = _DEFINED.get(word(tokens[at])) if at < len(tokens) else None
    if defines is None:
        return None, None
    name, _ = read_name(tokens, _skip_condition(tokens, at + 1))
    return name, defines if verb in {"CREATE", "REPLACE"} else None


def _skip(tokens: Sequence[Token], at: int, words: set[str]) -> int:
    while at < len(tokens) and word(tokens[at]) in words:
        at += 1
    return at


def _skip_condition(tokens: Sequence[Token], at: int) -> int:
    ahead = tuple(word(token) for token in tokens[at : at + 3])
    if ahead == ("IF", "NOT", "EXISTS"):
        return at + 3
    return at + 2 if ahead[:2] == ("IF", "EXISTS") else at


def read_name(tokens: Sequence[Token], at: int) -> tuple[str | None, int]:
    """The dotted name that starts at `at`, quoted where it was quoted, and where it ends."""
    parts: list[str] = []
    while at < len(tokens) and (is_word(tokens[at]) or tokens[at].token_type is TokenType.IDENTIFIER):
        token = tokens[at]
        quoted = token.token_type is TokenType.IDENTIFIER
        parts.append("`" + token.text.replace("`", "``") + "`" if quoted else token.text)
        at += 1
        if at >= len(tokens) or tokens[at].token_type is not TokenType.DOT:
            break
        at += 1
    else:
        return None, at
    # IDENTIFIER(…) is a computed name.
    computed = (
        at < len(tokens)
        and tokens[at].token_type is TokenType.L_PAREN
        and [part.upper() for part in parts] == ["IDENTIFIER"]
    )
    return (None if computed else ".".join(parts)), at
