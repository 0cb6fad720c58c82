"""Who may connect, from which web pages, and who may read which stream table. The app stands behind all of it."""

from penstock.serve.access.tokens import Access, Grant

__all__ = ["Access", "Grant"]
