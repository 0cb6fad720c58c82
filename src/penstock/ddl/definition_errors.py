"""What fails in CREATE or ALTER STREAM TABLE, or where a query is explained, says that nothing was changed.

The errors are those of a refresh, whose advice is about rows that stay and about refreshing again. Here the user has to
change the definition instead, so the advice is another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import PenstockError


@contextmanager
def definition_errors() -> Iterator[None]:
    """Errors of the block give the advice of a definition."""
    try:
        yield
    except PenstockError as error:
        raise error.while_defining() from error.__cause__
