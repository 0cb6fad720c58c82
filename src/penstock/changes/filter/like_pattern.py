"""A LIKE pattern as a regular expression.

`%` is any text, `_` one character, line ends included. The escape character may stand only before `%`, `_` and itself.
"""

from __future__ import annotations

import re

from penstock.errors import InvalidFilter


def like_regex(pattern: str, escape: str = "\\") -> str:
    r"""The expression that a whole value must match.

    >>> like_regex("a%b_")
    '\\A(?s:a.*b.)\\z'
    >>> like_regex("50!%", escape="!")
    '\\A(?s:50%)\\z'
    """
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        # First, since the escape character may itself be a wildcard.
        if character == escape:
            at += 1
            if pattern[at : at + 1] not in {"%", "_", escape}:
                raise InvalidFilter(
                    why=f"invalid filter expression: in the pattern {pattern!r} an escape character stands before "
                    + (repr(pattern[at]) if at < len(pattern) else "the end"),
                    fix=f"Write {escape * 2} for the character itself, or choose another with ESCAPE.",
                )
            parts.append(re.escape(pattern[at]))
        else:
            parts.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
        at += 1
    return f"\\A(?s:{''.join(parts)})\\z"
