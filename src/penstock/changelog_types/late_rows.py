"""Which rows come too late.

a window is closed when watermark ≥ end + allowed lateness; a row of a closed window is late
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def late_rows(window_ends: npt.NDArray[np.int64], watermark: int, allowed_lateness: int = 0) -> npt.NDArray[np.bool_]:
    """True for each row whose window is closed. Times are milliseconds."""
    # One side in Python integers: an end near the largest 64-bit number must not wrap around.
    newest_closed = watermark - allowed_lateness
    if newest_closed < -(2**63):
        return np.zeros(window_ends.shape, np.bool_)
    return window_ends <= np.int64(min(newest_closed, 2**63 - 1))
