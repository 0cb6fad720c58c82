"""What a test starts outside its own process, and the guard that holds every test to its markers.

    jvm        Java, here or in a process that the test starts
    process    another process
    postgres   a PostgreSQL server
    network    a connection to another machine

A fixture brings the markers of what it starts. A test that starts something without its marker fails, even where the
code under test catches the error, so `-m "not jvm"` and the like leave out exactly what they name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

FIXTURES: dict[str, tuple[str, ...]] = {
    "spark": ("jvm",),
    "nursery": ("jvm", "process"),
    "postgres": ("postgres",),
}
"""Fixtures that start something, and the markers of the tests that use them."""

MARKERS = frozenset({"jvm", "process", "postgres", "network"})

_JAVA = frozenset({"java", "pyspark", "spark-class", "spark-submit"})
_POSTGRES = frozenset({"initdb", "pg_ctl", "postgres"})
_PROCESSES = frozenset({"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"})
_NO_JAVA = "/a test without the marker jvm has no Java"


def kind_of_program(program: str) -> str:
    """The marker that a test needs to start this program."""
    name = Path(program).name
    if name in _POSTGRES:
        return "postgres"
    # A script that is called java stands in for Java; Spark's own scripts start the real one.
    return "jvm" if name in _JAVA and not (name == "java" and _is_script(program)) else "process"


def _is_script(program: str) -> bool:
    with suppress(OSError), Path(program).open("rb") as file:
        return file.read(2) == b"#!"
    return False


def needs(event: str, arguments: Sequence[Any]) -> tuple[str, str] | None:
    """The marker that an audit event of Python asks for and what the event is about; None if it asks for none."""
    if event == "subprocess.Popen":
        program = os.fsdecode(arguments[0])
        return kind_of_program(program), program
    if event in _PROCESSES:
        return "process", event
    if event == "socket.connect":
        address = arguments[1]
        # Other kinds of address are names of this machine's own.
        if isinstance(address, tuple) and not _is_here(str(address[0])):
            return "network", str(address[0])
    return None


def _is_here(host: str) -> bool:
    return host.startswith("127.") or host in {"localhost", "::1"}


class Guard:
    """Marks tests by their fixtures, and refuses what a test starts without the marker of it."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        """What the running test has tried to start."""
        self._allowed: frozenset[str] | None = None
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: Sequence[Any]) -> None:
        if self._allowed is None or (needed := needs(event, arguments)) is None or needed[0] in self._allowed:
            return
        marker, what = needed
        self.refused.append(f"this test starts {what}: it needs the marker {marker}, or a fixture that brings it")
        pytest.fail(self.refused[-1])

    @pytest.hookimpl
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            for fixture in getattr(item, "fixturenames", ()):
                for marker in FIXTURES.get(fixture, ()):
                    item.add_marker(marker)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._allowed = frozenset(mark.name for mark in item.iter_markers()) & MARKERS
        java = os.environ.get("JAVA_HOME")
        if "jvm" not in self._allowed:
            # The guard does not reach into processes that the test starts; this does.
            os.environ["JAVA_HOME"] = _NO_JAVA
        try:
            return (yield)
        finally:
            self._allowed = None
            if java is None:
                os.environ.pop("JAVA_HOME", None)
            else:
                os.environ["JAVA_HOME"] = java

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        yield
        self._judge()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        yield
        self._judge()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        yield
        self._judge()

    def _judge(self) -> None:
        refused, self.refused = self.refused, []
        if refused:
            pytest.fail(refused[0])
