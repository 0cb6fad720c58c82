"""Damaged bytes: what a disk, a network or a wrong length makes of good ones.

Every decoder is given `EXAMPLES` of them at each run, under `thorough`.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

EXAMPLES = 1000
thorough = settings(max_examples=EXAMPLES, deadline=None)


@st.composite
def mutated(draw: st.DrawFn, good: bytes) -> bytes:
    """The good bytes with some overwritten, cut out, put in twice, or cut off."""
    data = bytearray(good)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        match draw(st.sampled_from(("overwrite", "remove", "repeat", "cut", "insert"))):
            case "overwrite":
                data[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
            case "remove":
                del data[at : at + draw(st.integers(1, 8))]
            case "repeat":
                data[at:at] = data[at : at + draw(st.integers(1, 8))]
            case "cut":
                del data[at:]
            case "insert":
                data[at:at] = draw(st.binary(min_size=1, max_size=8))
    return bytes(data)
