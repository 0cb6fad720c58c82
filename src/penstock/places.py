"""Paths as the catalog keeps them: relative to the warehouse if they lie inside it, unchanged if they lie outside.

    real(kept(path)) is the folder of path

So a warehouse that is moved or copied as a whole finds its own files, and never those of another. Without a warehouse
folder both directions leave a path as it is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

_FILE: Final = "file:"


@dataclass(frozen=True, slots=True)
class Places:
    """The paths of one warehouse, whose folder is `root`; with None both directions change nothing."""

    root: str | None

    def kept(self, path: str) -> str:
        """The form in which the catalog keeps a path.

        >>> Places("/w").kept("/w/tables/orders"), Places("/w").kept("file:/w/t"), Places("/w").kept("/w2/t")
        ('tables/orders', 'file:t', '/w2/t')
        """
        scheme, plain = _split(path)
        if self.root is None or not plain.startswith("/"):
            return path
        # The path may reach the warehouse through a symbolic link. A link inside the warehouse is not followed.
        for way in (plain, os.path.realpath(plain)):
            if way.startswith(f"{self.root}/"):
                return scheme + way.removeprefix(f"{self.root}/")
        return path

    def real(self, kept: str) -> str:
        """The path of a kept form.

        >>> Places("/w").real("tables/orders"), Places("/w").real("file:t"), Places("/w").real("s3://b/t")
        ('/w/tables/orders', 'file:/w/t', 's3://b/t')
        """
        if self.root is None or lies_outside(kept):
            return kept
        scheme, plain = _split(kept)
        return f"{scheme}{self.root}/{plain}"


def lies_outside(kept: str) -> bool:
    """True if a kept path lies outside the warehouse.

    >>> lies_outside("tables/orders"), lies_outside("file:/data/orders"), lies_outside("s3://b/t")
    (False, True, True)
    """
    plain = _split(kept)[1]
    return plain.startswith("/") or "://" in plain


def _split(path: str) -> tuple[str, str]:
    plain = path.removeprefix(_FILE)
    if plain == path:
        return "", path
    # Spark writes one slash, others write three.
    return _FILE, "/" + plain.lstrip("/") if plain.startswith("/") else plain


def is_written_out(source_name: str) -> bool:
    """True if the user named a source by its path, which then means exactly that folder, in a copy too.

    >>> is_written_out("delta.`/data/orders`"), is_written_out("shop.orders")
    (True, False)
    """
    return source_name.startswith("delta.`")
