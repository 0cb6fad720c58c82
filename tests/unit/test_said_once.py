"""A log says one thing of one subject once."""

from __future__ import annotations

from penstock.said_once import SaidOnce


def test_the_same_text_of_the_same_subject_is_news_once() -> None:
    said = SaidOnce()
    assert [said.is_news("a", text) for text in ("x", "x", "y", "x")] == [True, False, True, True]
    assert said.is_news("b", "x")


def test_what_was_forgotten_is_news_again() -> None:
    said = SaidOnce()
    said.forget("never said")
    assert said.is_news("a")
    assert not said.is_news("a")
    said.forget("a")
    assert said.is_news("a")
