"""A position in a row of tokens: what stands there, and words that are taken if they do.

The subclasses, which read statements and conditions, say how a failure reads.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NoReturn

from penstock.lang.tokens import Token, word


class TokenCursor(ABC):
    """Reads tokens from the first to the last."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.at = 0

    @property
    def token(self) -> Token | None:
        """The token at the position; None at the end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    @property
    def word(self) -> str:
        """The word at the position; empty at the end, or if it is none."""
        return word(self.token) if self.token else ""

    @abstractmethod
    def fail_here(self, wanted: str) -> NoReturn:
        """Say what was expected at the position, and what is there."""

    def accept(self, *words: str) -> bool:
        """Take these words if they follow."""
        ahead = tuple(word(token) for token in self.tokens[self.at : self.at + len(words)])
        if ahead != words:
            return False
        self.at += len(words)
        return True

    def expect(self, *words: str) -> None:
        """Take these words, or fail."""
        for wanted in words:
            if not self.accept(wanted):
                self.fail_here(wanted if wanted.isalpha() else repr(wanted))
