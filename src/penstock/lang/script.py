"""A script is read whole before any of it runs; if it fails half way, the error says what was done and what was not.

A step is one statement with the place where it stands. What a failed script did stays, as nothing spans statements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import InvalidStatement
from penstock.lang.parse import parse
from penstock.lang.split import split_statements
from penstock.lang.statements import (
    AlterStreamTable,
    CreateStreamTable,
    DropStreamTable,
    OptimizeStreamTable,
    PassThrough,
    RefreshStreamTable,
    RefreshStreamTables,
    Statement,
)
from penstock.lang.tokens import read_tokens

_LONGEST = 70
_SHOWN = 10
_CHANGES = (
    CreateStreamTable,
    AlterStreamTable,
    DropStreamTable,
    RefreshStreamTable,
    RefreshStreamTables,
    OptimizeStreamTable,
)


_CHANGES_NOTHING = frozenset(
    {
        "SET",
        "RESET",
        "USE",
        "SHOW",
        "DESCRIBE",
        "DESC",
        "EXPLAIN",
        "CACHE",
        "UNCACHE",
        "CLEAR",
        "ADD",
        "LIST",
    }
)
"""Verbs of Spark's whose statements leave all tables as they are; what others do (BEGIN, CALL, …) only Spark knows."""


@dataclass(frozen=True, slots=True)
class Step:
    """One statement, its text, the line at which it begins, and the file it is from; no file is what was typed."""

    statement: Statement
    text: str
    line: int
    file: str | None = None

    @property
    def place(self) -> str:
        """File and line, for a person."""
        return f"{self.file}, line {self.line}" if self.file else f"line {self.line}"

    @property
    def head(self) -> str:
        """The text in one line, cut where it is long."""
        line = " ".join(self.text.split())
        return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"

    @property
    def changes(self) -> bool:
        """True if the statement may change something, judged by its words."""
        if isinstance(self.statement, PassThrough):
            return self.statement.kind != "query" and self.statement.verb not in _CHANGES_NOTHING
        return isinstance(self.statement, _CHANGES)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"file": self.file, "line": self.line, "sql": self.text}


def read_script(text: str, file: str | None = None) -> list[Step]:
    """The statements of a script, each with its place; one that cannot be read is refused with its own.

    >>> [(step.line, step.text) for step in read_script("SELECT 1;\\n\\nSELECT 2")]
    [(1, 'SELECT 1'), (3, 'SELECT 2')]
    """
    try:
        statements = parse(text)
    except InvalidStatement as error:
        where = str(error.facts["where"])
        named = where.replace(" (line", f" ({file}, line", 1) if file else where
        raise InvalidStatement(**{**error.facts, "where": named}) from None
    return [
        Step(statement, text[tokens[0].start : tokens[-1].end + 1], text.count("\n", 0, tokens[0].start) + 1, file)
        for statement, tokens in zip(statements, split_statements(read_tokens(text)), strict=True)
    ]


def half_way(steps: Sequence[Step], at: int, error: BaseException | None = None) -> str:
    """What to say of a script whose statement number `at` failed: which it was, what was done, what was not.

    An `error` that is Ctrl-C has interrupted it.

    >>> print(half_way(read_script("CREATE TABLE a (x INT);\\nSELECT y FROM a;\\nDROP TABLE a"), 1))
    Statement 2 of 3 failed (line 2): SELECT y FROM a
    Done before it, and kept:
      line 1: CREATE TABLE a (x INT)
    Not run: the statement after it.
    """
    failed, after = steps[at], len(steps) - at - 1
    ended = "was interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
    lines = [f"Statement {at + 1} of {len(steps)} {ended} ({failed.place}): {failed.head}"]
    done = [step for step in steps[:at] if step.changes]
    if done:
        lines.append("Done before it, and kept:")
        lines += [f"  … and {len(done) - _SHOWN} before these"] if len(done) > _SHOWN else []
        lines += [f"  {step.place}: {step.head}" for step in done[-_SHOWN:]]
    elif at:
        lines.append("Those before it changed no table.")
    if after:
        lines.append("Not run: the statement after it." if after == 1 else f"Not run: the {after} statements after it.")
    return "\n".join(lines)
