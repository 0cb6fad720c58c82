"""What Spark says when something goes wrong, for people."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

_COLUMN: Final = re.compile(r"(?<!\.)`([^`]+?)(?:_\d+)?`")
"""A column as our queries name it: numbered, so that no two are alike."""
_NAME: Final = re.compile(r"^\s*\[[\w.]+\]\s*")
_FOR_MACHINES: Final = re.compile(r"\s*(?:;\n|\bSQLSTATE: \w{5}|[;,]? \(?line \d+,? pos \d+|\n== SQL)")
_SENTENCE: Final = re.compile(r"""((?>'[^']*'|"[^"]*"|`[^`]*`|.)*?)\. (?=\S)""")
"""Up to the first full stop that is not in quotes."""


def first_lines(error: Exception | str) -> str:
    """The part of a Spark message that is meant for people: before the plan and the stack."""
    text = str(error).split("\n\nJVM stacktrace")[0]
    said, mark, context = text.partition("\n== ")
    lines: list[str] = []
    for line in (said.split(";\n")[0] + mark + context).splitlines():
        if line.startswith(("'", "+-", ":-", "   +-")) and not line.startswith("== "):
            break
        lines.append(line)
    return "\n".join(lines).strip().rstrip(";")


def parted(message: str) -> tuple[str, str]:
    """What happened, and what Spark advises; without names, codes, places, plans and frames, which are for machines.

    >>> parted("[DIVIDE_BY_ZERO] Division by zero. Use `try_divide`. SQLSTATE: 22012\\n== SQL (line 1, position 8) ==")
    ('Division by zero', 'Use `try_divide`.')
    >>> parted("Delta table `a` doesn't exist.;\\nAppendData RelationV2[] a, false")
    ("Delta table `a` doesn't exist", '')
    """
    said = _joined(_NAME.sub("", _FOR_MACHINES.split(first_lines(message), maxsplit=1)[0]))
    first = _SENTENCE.match(said)
    return (first[1], said[first.end() :]) if first else (said.removesuffix("."), "")


def _joined(said: str) -> str:
    """In one line, and of a function of the user's only what it raised: the frames of Python's worker say less."""
    head, trace, frames = said.partition("Traceback (most recent call last):")
    raised = [line for line in frames.splitlines() if line and not line.startswith(" ")]
    return " ".join(" ".join([head, *raised] if trace else [said]).split())


def on_our_query(message: str) -> str:
    """A message about a query that Penstock wrote, in one line: the user knows only the expression that failed.

    >>> at = "SELECT `id_1`, 100 / `v_2` AS `x_3`"
    >>> on_our_query(f"Division by zero.\\n== SQL (line 1, position 15) ==\\n{at}\\n{' ' * 15}{'^' * 11}\\n")
    'Division by zero. In: 100 / v'
    """
    said, _, context = first_lines(message).partition("\n== ")
    sentence = _joined(said)
    for text, marks in pairwise(context.splitlines()):
        if set(marks.strip()) == {"^"}:
            failed = _COLUMN.sub(r"\1", text[marks.index("^") : len(marks)])
            return sentence if "__ps_" in failed else f"{sentence} In: {failed}"
    return sentence
