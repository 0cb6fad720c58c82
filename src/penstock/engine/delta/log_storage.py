"""Where the bytes of a `_delta_log` folder come from: the local disk, or any storage that deltalake can reach.

Reads only. A file that is not there is always `FileNotFoundError`; a storage that fails is always `OSError`, also when
the library underneath panics (a `BaseException` that `except Exception` would let through).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar
from urllib.parse import unquote

T = TypeVar("T")

Stamp = tuple[int, int, int]
"""Identity of one stored file: it changes whenever another file takes the name (time in ns, size, inode or 0)."""


class LogStorage(Protocol):
    """The files of one `_delta_log` folder, by name relative to it."""

    def names(self) -> list[str]:
        """Every name in the folder; `FileNotFoundError` if there is no such folder."""

    def read(self, name: str) -> bytes:
        """The whole file."""

    def stamp(self, name: str) -> Stamp | None:
        """The identity of a file, or None if there is none."""

    def parquet(self, name: str) -> Any:
        """Something `pyarrow.parquet` can open."""


def modified_at(stamp: Stamp) -> datetime:
    """When the stored file was written."""
    return datetime.fromtimestamp(stamp[0] / 1e9, UTC)


def local_path(root: str) -> str | None:
    """The root as a plain local path, or None if it lies elsewhere.

    Spark shows locations as `file:` URIs, in which odd characters are percent-encoded; a folder whose name really
    holds a `%` is preferred if it exists.

    >>> local_path("file:///tmp/a%20b"), local_path("/tmp/x/"), local_path("s3://bucket/x")
    ('/tmp/a b', '/tmp/x', None)
    """
    if root.startswith("file:"):
        plain = "/" + root.removeprefix("file:").lstrip("/").rstrip("/")
        return plain if os.path.isdir(plain) else unquote(plain)
    if "://" in root:
        return None
    return os.path.abspath(root)


def location(root: str) -> str:
    """The one way in which a root is written: a plain path if it is local, and no slash at its end.

    >>> location("file:///tmp/x/"), location("s3://bucket/x/")
    ('/tmp/x', 's3://bucket/x')
    """
    return local_path(root) or root.rstrip("/")


class LocalLog:
    """A log on the local disk, read with plain system calls."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        return os.listdir(self._folder)

    def read(self, name: str) -> bytes:
        with open(f"{self._folder}/{name}", "rb") as file:
            return file.read()

    def stamp(self, name: str) -> Stamp | None:
        try:
            found = os.stat(f"{self._folder}/{name}")
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def parquet(self, name: str) -> Any:
        return f"{self._folder}/{name}"


class ObjectStoreLog:
    """A log on any storage that deltalake reaches."""

    def __init__(self, root: str) -> None:
        from deltalake.fs import DeltaStorageHandler
        from pyarrow.fs import PyFileSystem

        self._fs: Any = _guarded(lambda: PyFileSystem(DeltaStorageHandler(root)))

    def names(self) -> list[str]:
        from pyarrow.fs import FileSelector

        found = _guarded(lambda: self._fs.get_file_info(FileSelector("_delta_log", allow_not_found=True)))
        if not found:
            raise FileNotFoundError("_delta_log")
        return [info.base_name for info in found]

    def read(self, name: str) -> bytes:
        def whole() -> bytes:
            with self._fs.open_input_file(f"_delta_log/{name}") as file:
                return bytes(file.read())

        return _guarded(whole)

    def stamp(self, name: str) -> Stamp | None:
        from pyarrow.fs import FileType

        info = _guarded(lambda: self._fs.get_file_info(f"_delta_log/{name}"))
        if info.type == FileType.NotFound:
            return None
        return info.mtime_ns or 0, info.size or 0, 0

    def parquet(self, name: str) -> Any:
        return _guarded(lambda: self._fs.open_input_file(f"_delta_log/{name}"))


def log_storage(root: str) -> LogStorage:
    """The log storage of the table at this root."""
    path = local_path(root)
    return ObjectStoreLog(root) if path is None else LocalLog(f"{path}/_delta_log")


def _guarded(call: Callable[[], T]) -> T:
    try:
        return call()
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise OSError(f"the storage library panicked: {error}") from error
        raise
