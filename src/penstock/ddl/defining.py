"""What fails in CREATE or ALTER STREAM TABLE, or where a query is explained, says that nothing was changed.

The errors are those of a refresh, which speak of rows that stay and of refreshing again; a definition that was refused
has to be written again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import PenstockError


@contextmanager
def defining() -> Iterator[None]:
    """Errors of the block give the advice of a definition."""
    try:
        yield
    except PenstockError as error:
        raise error.while_defining() from error.__cause__
