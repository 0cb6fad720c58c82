"""What updates become to a reader who sees only some rows.

before and after match → update      only before → delete      only after → insert      neither → nothing
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def split_updates(
    before: pa.Table, after: pa.Table, before_mask: pa.BooleanArray, after_mask: pa.BooleanArray
) -> tuple[pa.Table, pa.Table, pa.Table, pa.Table]:
    """Deleted rows, then before and after of what stays an update, row by row, then inserted rows."""
    stay = pc.and_(before_mask, after_mask)
    return (
        before.filter(pc.and_not(before_mask, after_mask)),
        before.filter(stay),
        after.filter(stay),
        after.filter(pc.and_not(after_mask, before_mask)),
    )
