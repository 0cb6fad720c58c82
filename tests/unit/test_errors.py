"""Every error has its own stable condition, says what happened and what to do, and stands in the drawn tree."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

import pytest

from penstock import errors
from penstock.errors import PenstockError, Retry, TableBusy


def descendants(kind: type[PenstockError]) -> Iterator[type[PenstockError]]:
    for child in kind.__subclasses__():
        # Tests and other modules may derive their own; the tree is about this module.
        if child.__module__ == errors.__name__:
            yield child
            yield from descendants(child)


ALL = list(descendants(PenstockError))
LEAVES = [kind for kind in ALL if not kind.__subclasses__()]


def facts(kind: type[PenstockError]) -> dict[str, str]:
    fields = [field for text in (kind.message, kind.hint) for _, field, _, _ in string.Formatter().parse(text) if field]
    return {field: f"<{field}>" for field in fields}


def test_conditions_are_unique_and_spelled_like_the_class() -> None:
    conditions = [kind.condition for kind in ALL]
    assert len(set(conditions)) == len(conditions)
    for kind in LEAVES:
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__.removesuffix("Error")).upper()
        assert kind.condition == words


def test_the_drawn_tree_names_exactly_the_classes() -> None:
    drawn = set(re.findall(r"\b[A-Z][a-z]+[A-Z]\w+", errors.__doc__ or ""))
    assert drawn - {"PenstockError"} == {kind.__name__ for kind in ALL}


@pytest.mark.parametrize("kind", LEAVES, ids=lambda kind: kind.__name__)
def test_every_error_says_what_happened_and_what_to_do(kind: type[PenstockError]) -> None:
    error = kind(**facts(kind))
    assert str(error).startswith(f"[{kind.condition}] ")
    assert error.advice
    assert "{" not in str(error)
    assert not kind.message.endswith("."), "the message is a phrase, the hint a sentence"
    assert isinstance(error.retry, Retry)


def test_facts_with_braces_are_shown_as_they_are() -> None:
    error = TableBusy(name="{name}", holder="{0}", until="{")
    assert error.text == "{name} is being refreshed by {0}"


def test_an_error_as_data() -> None:
    assert TableBusy(name="a", holder="b", until="c").to_json() == {
        "condition": "TABLE_BUSY",
        "retry": "backoff",
        "message": "a is being refreshed by b",
        "hint": "Try again when it has finished; its lease ends by c at the latest.",
        "facts": {"name": "a", "holder": "b", "until": "c"},
    }
