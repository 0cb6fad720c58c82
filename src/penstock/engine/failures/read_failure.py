"""Why a file of a table could not be read: one of our errors, by whether trying again can help.

    not for the moment   descriptors, permissions, network, disk, memory: `SystemTrouble`, so it is tried again
    never                the bytes are there and are not what they should be: `StateDamaged`

A file that is not there is neither: `FileNotFoundError` passes, because only the caller knows what it means.
"""

from __future__ import annotations

import pyarrow as pa

from penstock.engine.failures.spark_errors import system_error
from penstock.errors import PenstockError, StateDamaged, StorageUnreachable

READ_ERRORS = (OSError, pa.ArrowException, MemoryError)
"""What reading a file can raise."""


def unreachable(error: BaseException, name: str, file: str = "") -> PenstockError:
    """The error as trouble that may pass."""
    why = f"{file}: {error}" if file else str(error)
    return system_error(error, name) or StorageUnreachable(name=name, why=why)


def read_failure(error: BaseException, name: str, file: str, *, local: bool) -> PenstockError:
    """The error by its kind: on a local disk, an error without a number means that the bytes are damaged."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and (error.errno is not None or not local)):
        return unreachable(error, name, file)
    return StateDamaged(name=name, why=f"its file {file} cannot be read ({error})")
