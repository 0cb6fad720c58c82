"""Errors of delta-rs as errors of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from deltalake.exceptions import CommitFailedError, DeltaError, DeltaProtocolError, TableNotFoundError

from penstock.engine.failures.spark_errors import system_error
from penstock.errors import CommitConflict, StorageError, StorageMissing


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Errors of delta-rs as ours: CommitConflict for a lost race, StorageMissing for no table, SystemTrouble for a full
    disk and the like, StorageError else.
    """
    try:
        yield
    except CommitFailedError as lost:
        _raise_trouble(lost, name)
        if "Unsupported" in str(lost):
            raise StorageError(detail=f"delta-rs cannot write {name}: {lost}") from lost
        raise CommitConflict(name=name, why=str(lost)) from lost
    except TableNotFoundError as missing:
        raise StorageMissing(name=name, path=name, why=str(missing)) from missing
    except (DeltaError, DeltaProtocolError, OSError, ValueError, MemoryError) as failed:
        _raise_trouble(failed, name)
        raise StorageError(detail=f"delta-rs failed on {name}: {failed}") from failed
    except BaseException as panic:
        # A panic in Rust arrives as a child of BaseException, which `except Exception` would let through.
        if type(panic).__name__ != "PanicException":
            raise
        raise StorageError(detail=f"delta-rs panicked on {name}: {panic}") from panic


def _raise_trouble(error: Exception, name: str) -> None:
    trouble = system_error(error, name)
    if trouble is not None:
        raise trouble from error
