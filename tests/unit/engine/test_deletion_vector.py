"""Deletion vectors come back as they were written, and a damaged one is not believed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.delta.deletion_vector import DeletionVector, write_vectors

POSITIONS = st.one_of(
    st.sets(st.integers(0, 2**20), max_size=50),
    st.sets(st.integers(0, 2**40), max_size=5),
    # Every other row of a long stretch, and all of one: other containers inside the bitmap.
    st.integers(0, 9000).map(lambda end: set(range(0, 2 * end, 2))),
    st.integers(0, 9000).map(lambda end: set(range(70_000, 70_000 + end))),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(POSITIONS, min_size=1, max_size=4))
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, sets: list[set[int]]) -> None:
    root = str(tmp_path_factory.mktemp("vectors"))
    vectors = write_vectors(root, [np.array(sorted(each), np.int64) for each in sets])
    again = [DeletionVector.of(vector.entry()) for vector in vectors]
    assert [each.places(root).tolist() for each in again] == [sorted(each) for each in sets]
    assert again == vectors
    assert len({each.id for each in vectors}) == len(sets)


def test_the_example_of_the_protocol() -> None:
    """The inline vector that Delta's protocol shows."""
    text = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
    vector = DeletionVector("i", text, None, 40, 6)
    assert vector.places("/nowhere").tolist() == [3, 4, 7, 11, 18, 29]
    assert vector.id == f"i{text}"


def test_damage_is_noticed(tmp_path: Path) -> None:
    (vector,) = write_vectors(str(tmp_path), [np.array([1, 5, 9], np.int64)])
    path = Path(vector.path(str(tmp_path)))
    whole = path.read_bytes()
    for at in range(1, len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(ValueError, match="damaged"):
            vector.places(str(tmp_path))
    path.write_bytes(whole)
    assert vector.places(str(tmp_path)).tolist() == [1, 5, 9]
    with pytest.raises(ValueError, match="holds 3 rows, not 4"):
        replace(vector, cardinality=4).places(str(tmp_path))
    path.unlink()
    with pytest.raises(FileNotFoundError):
        vector.places(str(tmp_path))


def test_a_vector_elsewhere(tmp_path: Path) -> None:
    (vector,) = write_vectors(str(tmp_path), [np.array([2], np.int64)])
    far = DeletionVector("p", f"file://{vector.path(str(tmp_path))}", vector.offset, vector.size, 1)
    assert far.places("/somewhere/else").tolist() == [2]
    with pytest.raises(ValueError, match="not lie on this disk"):
        replace(far, place="s3://bucket/v.bin").places(str(tmp_path))
