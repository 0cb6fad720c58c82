"""Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; bars and line breaks inside a cell are made harmless.

    >>> print(table(["a", "b"], [["1|2", "3"]]))
    | a | b |
    |---|---|
    | 1\\|2 | 3 |
    """
    lines = [head, ["---"] * len(head), *([_cell(cell) for cell in row] for row in rows)]
    texts = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([texts[0], texts[1].replace(" ", ""), *texts[2:]])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").strip()


def code(text: str) -> str:
    """Text as inline code; nothing stays nothing."""
    if not text:
        return ""
    fence = "``" if "`" in text else "`"
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"
