from __future__ import annotations

from hashlib import blake2b

import pyarrow as pa

from penstock.changes.ring.entity_ids import entity_ids


def digest(text: bytes) -> int:
    return int.from_bytes(blake2b(text, digest_size=8).digest())


def test_an_id_is_the_hash_of_the_key_alone() -> None:
    before = pa.table({"region": ["eu", "us"], "total": [1, 2]})
    after = pa.table({"total": [7, 8], "region": ["eu", "us"]})
    assert entity_ids(before, ("region",)).tolist() == [digest(b'["eu"]'), digest(b'["us"]')]
    assert entity_ids(after, ("region",)).tolist() == entity_ids(before, ("region",)).tolist()


def test_without_a_key_it_is_the_hash_of_the_row() -> None:
    rows = pa.table({"a": [1, 1, None], "b": [0.5, 0.5, 2.0]})
    assert entity_ids(rows, ()).tolist() == [digest(b"[1,0.5]"), digest(b"[1,0.5]"), digest(b"[null,2]")]


def test_rows_without_columns_and_no_rows_have_ids_too() -> None:
    assert entity_ids(pa.table({"a": pa.array([], pa.int64())}), ()).tolist() == []
    assert entity_ids(pa.table({"a": [1, 2]}).select([]), ()).tolist() == [digest(b"[]")] * 2
