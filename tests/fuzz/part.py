"""A query as a tree of parts: text with holes, so that a part can be left out or made simpler while shrinking.

A part knows its kind, not its meaning. Smaller trees need not be valid queries; Spark is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Union

Piece = Union[str, "Part"]


@dataclass(frozen=True)
class Part:
    """Pieces of text and parts. Parts of one kind can stand for each other; `plain` are simpler texts for it."""

    kind: str
    pieces: tuple[Piece, ...]
    plain: tuple[str, ...] = ()
    glue: str = ""
    """What stands between the pieces of a list."""
    least: int = 1
    """How many pieces of a list must stay."""

    @property
    def text(self) -> str:
        """The SQL."""
        return self.glue.join(piece if isinstance(piece, str) else piece.text for piece in self.pieces)

    def __str__(self) -> str:
        return self.text


def part(kind: str, *pieces: Piece, plain: tuple[str, ...] = ()) -> Part:
    """A part of these pieces."""
    return Part(kind, pieces, plain)


def listed(glue: str, pieces: list[Part], least: int = 1) -> Part:
    """A list whose members can be left out."""
    return Part("list", tuple(pieces), glue=glue, least=least)


def optional(*pieces: Piece) -> Part:
    """A clause that can be left out."""
    return Part("clause", pieces, plain=("",))


def smaller(tree: Part) -> Iterator[Part]:
    """Trees with one part left out or made simpler, the largest cuts first."""
    found = sorted(_cuts(tree), key=lambda each: len(each.text))
    seen = {tree.text}
    for each in found:
        if each.text not in seen and len(each.text) < len(tree.text):
            seen.add(each.text)
            yield each


def _cuts(tree: Part) -> Iterator[Part]:
    for text in tree.plain:
        yield Part(tree.kind, (text,))
    if tree.kind != "list":
        for inner in _inside(tree):
            if inner.kind == tree.kind:
                yield inner
    elif len(tree.pieces) > tree.least:
        for place in range(len(tree.pieces)):
            yield replace(tree, pieces=tree.pieces[:place] + tree.pieces[place + 1 :])
    for place, piece in enumerate(tree.pieces):
        if isinstance(piece, Part):
            for cut in _cuts(piece):
                yield replace(tree, pieces=(*tree.pieces[:place], cut, *tree.pieces[place + 1 :]))


def _inside(tree: Part) -> Iterator[Part]:
    for piece in tree.pieces:
        if isinstance(piece, Part):
            yield piece
            yield from _inside(piece)
