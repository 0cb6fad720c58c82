"""Arrow record batches as bytes and back.

Bytes are never trusted: what is read is validated in full before it is returned.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from penstock.errors import InvalidChange, UnreadableChange


def batches_to_bytes(batches: Sequence[pa.RecordBatch]) -> bytes:
    """The batches, all of one schema, as an Arrow IPC stream; nothing for none."""
    if not batches:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            if not batch.schema.equals(batches[0].schema):
                raise InvalidChange(
                    what="one stream of batches",
                    why="their columns differ",
                    fix="Write batches of one schema together.",
                )
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def batches_from_bytes(data: bytes | memoryview) -> list[pa.RecordBatch]:
    """The inverse of `batches_to_bytes`; damaged bytes are an UnreadableChange."""
    if not data:
        return []
    try:
        with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
            batches = list(reader)
        for batch in batches:
            batch.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError) as error:
        raise UnreadableChange(what="an Arrow stream", why=str(error).split("\n", 1)[0]) from error
    return batches
