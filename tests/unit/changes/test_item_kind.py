"""Every kind has one of seven public words (REDDB-45 to 49)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.changes.ring.item_kind import public_item_kind


@pytest.mark.parametrize(
    ("kind", "public"),
    [
        ("table", "row"),
        ("entity", "row"),
        ("row", "row"),
        ("graph_node", "node"),
        ("node", "node"),
        ("graph_edge", "edge"),
        ("edge", "edge"),
        ("kv", "kv"),
        ("document", "document"),
        ("vector", "vector"),
        ("my_kv_store", "kv"),
        ("documents", "document"),
        ("vector_index", "vector"),
        ("vector_document_kv", "kv"),
        ("vector_document", "document"),
        ("refresh", "item"),
        ("tables", "item"),
        ("Row", "item"),
        ("KV", "item"),
        ("", "item"),
    ],
)
def test_the_public_word(kind: str, public: str) -> None:
    assert public_item_kind(kind) == public


@given(st.text())
def test_a_public_word_is_its_own_public_word(kind: str) -> None:
    public = public_item_kind(kind)
    assert public in {"row", "node", "edge", "kv", "document", "vector", "item"}
    assert public_item_kind(public) == public
