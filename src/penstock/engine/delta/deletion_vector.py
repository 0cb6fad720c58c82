"""Deletion vectors: the rows of a data file that no longer count, in the binary form of the Delta protocol.

    live rows of (file, vector)  =  rows of the file at positions that the vector does not hold

A vector is a roaring bitmap of row positions. Ours lie together in one file per commit; others may lie inside the log
entry itself or anywhere by an absolute path. The checksum of every vector that comes from a file is compared.
"""

from __future__ import annotations

import base64
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap, BitMap64

from penstock.engine.delta.log_storage import local_path

Places = NDArray[np.int64]
"""Positions of rows in a file, ascending."""

_FORMAT = b"\x01"
_PORTABLE = 1681511377
"""First number of a vector in the form that writers use today, with bitmaps of 64 bits."""
_NATIVE = 1681511376
"""And of the older form, which may still be met: bitmaps of 32 bits, one after the other."""
_INLINE, _BESIDE, _ELSEWHERE = "i", "u", "p"
_UUID_LENGTH = 20
_PYTHONS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_DELTAS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_TO_DELTA = str.maketrans(_PYTHONS, _DELTAS)
_TO_PYTHON = str.maketrans(_DELTAS, _PYTHONS)


@dataclass(frozen=True, slots=True)
class DeletionVector:
    """Where a vector is, as a log entry says it."""

    kind: str
    place: str
    offset: int | None
    size: int
    cardinality: int

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> DeletionVector:
        """From the `deletionVector` of an action."""
        return cls(
            entry["storageType"],
            entry["pathOrInlineDv"],
            entry.get("offset"),
            entry["sizeInBytes"],
            entry["cardinality"],
        )

    def entry(self) -> dict[str, Any]:
        """For the `deletionVector` of an action."""
        body: dict[str, Any] = {"storageType": self.kind, "pathOrInlineDv": self.place}
        if self.offset is not None:
            body["offset"] = self.offset
        return {**body, "sizeInBytes": self.size, "cardinality": self.cardinality}

    @property
    def id(self) -> str:
        """What distinguishes this vector from every other one of its table."""
        return f"{self.kind}{self.place}" + ("" if self.offset is None else f"@{self.offset}")

    def places(self, root: str) -> Places:
        """The positions that it holds, for a table at a root on this disk.

        OSError if it cannot be read, ValueError if it is damaged or of a form that is not known.
        """
        data = self._data(root)
        if data[:4] == struct.pack("<I", _PORTABLE):
            found = np.frombuffer(BitMap64.deserialize(data[4:]).to_array(), np.uint64).astype(np.int64)
        elif data[:4] == struct.pack(">I", _NATIVE):
            found = _native(data)
        else:
            raise ValueError(f"deletion vector {self.id} has an unknown form")
        if len(found) != self.cardinality:
            raise ValueError(f"deletion vector {self.id} holds {len(found)} rows, not {self.cardinality}")
        return found

    def alive(self, root: str, rows: int) -> NDArray[np.bool_]:
        """Which of a file's rows it leaves; see `places` for errors."""
        return alive(self.places(root), rows)

    def _data(self, root: str) -> bytes:
        if self.kind == _INLINE:
            return base64.b85decode(self.place.translate(_TO_PYTHON))[: self.size]
        with open(self.path(root), "rb") as file:
            file.seek(self.offset or 0)
            head, data, tail = file.read(4), file.read(self.size), file.read(4)
        if head != struct.pack(">I", self.size) or tail != struct.pack(">I", zlib.crc32(data)):
            raise ValueError(f"deletion vector {self.id} is damaged")
        return data

    def path(self, root: str) -> str:
        """The file that it lies in; ValueError if it does not lie in one on this disk."""
        if self.kind == _BESIDE:
            prefix, name = self.place[:-_UUID_LENGTH], self.place[-_UUID_LENGTH:]
            identity = UUID(bytes=base64.b85decode(name.translate(_TO_PYTHON)))
            return os.path.join(root, prefix, _name(identity))
        path = local_path(self.place) if self.kind == _ELSEWHERE else None
        if path is None:
            raise ValueError(f"deletion vector {self.id} does not lie on this disk")
        return path


def alive(hidden: Places, rows: int) -> NDArray[np.bool_]:
    """Which rows of a file are left without the hidden ones."""
    left = np.ones(rows, bool)
    left[hidden] = False
    return left


def write_vectors(root: str, deleted: Sequence[Places]) -> list[DeletionVector]:
    """One vector for each set of positions, all in one new file in the table's folder."""
    identity = uuid4()
    place = base64.b85encode(identity.bytes).decode().translate(_TO_DELTA)
    vectors = []
    with open(os.path.join(root, _name(identity)), "xb") as file:
        file.write(_FORMAT)
        for positions in deleted:
            data = struct.pack("<I", _PORTABLE) + BitMap64(positions.tolist()).serialize()
            vectors.append(DeletionVector(_BESIDE, place, file.tell(), len(data), len(positions)))
            file.write(struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data)))
    return vectors


def _native(data: bytes) -> Places:
    (count,) = struct.unpack_from(">I", data, 4)
    at, parts = 8, [np.zeros(0, np.int64)]
    for high in range(count):
        (size,) = struct.unpack_from(">I", data, at)
        low = np.frombuffer(BitMap.deserialize(data[at + 4 : at + 4 + size]).to_array(), np.uint32)
        parts.append(low.astype(np.int64) + (high << 32))
        at += 4 + size
    return np.concatenate(parts)


def _name(identity: UUID) -> str:
    return f"deletion_vector_{identity}.bin"
