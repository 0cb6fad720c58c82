"""The public kind of an item: one of seven words, whatever its internal name."""

from __future__ import annotations

from typing import Final

ROW, NODE, EDGE, KV, DOCUMENT, VECTOR, ITEM = "row", "node", "edge", "kv", "document", "vector", "item"

_EXACT: Final = {
    "table": ROW,
    "entity": ROW,
    "row": ROW,
    "graph_node": NODE,
    "node": NODE,
    "graph_edge": EDGE,
    "edge": EDGE,
}
_CONTAINED: Final = (KV, DOCUMENT, VECTOR)
"""Looked for in this order, so `kv_document` is a kv."""


def public_item_kind(entity_kind: str) -> str:
    """The public kind. Several internal kinds share a word, so there is no way back.

    >>> [public_item_kind(kind) for kind in ("table", "graph_edge", "vector_document", "refresh")]
    ['row', 'edge', 'document', 'item']
    """
    exact = _EXACT.get(entity_kind)
    if exact is not None:
        return exact
    return next((word for word in _CONTAINED if word in entity_kind), ITEM)
