"""A test that starts something without its marker fails; which marker a program needs is read off its name."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from starts import FIXTURES, MARKERS, Guard, kind_of_program


@pytest.fixture
def guard(pytestconfig: pytest.Config) -> Guard:
    found = pytestconfig.pluginmanager.get_plugin("starts")
    assert isinstance(found, Guard)
    return found


def refused(guard: Guard) -> str:
    """What was refused; it does not count any more."""
    said = "; ".join(guard.refused)
    guard.refused.clear()
    return said


@pytest.mark.parametrize(
    ("program", "marker"),
    [
        ("/usr/lib/jvm/bin/java", "jvm"),
        ("spark-submit", "jvm"),
        ("/opt/pginstall18/bin/postgres", "postgres"),
        (sys.executable, "process"),
        ("mvn", "process"),
    ],
)
def test_a_program_needs_the_marker_of_its_kind(program: str, marker: str) -> None:
    assert kind_of_program(program) == marker


def test_a_script_in_place_of_java_is_an_ordinary_process(tmp_path: Path) -> None:
    (tmp_path / "java").write_text("#!/bin/sh\n")
    assert kind_of_program(str(tmp_path / "java")) == "process"


def test_every_marker_is_declared(pytestconfig: pytest.Config) -> None:
    declared = {line.split(":")[0] for line in pytestconfig.getini("markers")}
    assert declared >= MARKERS
    assert MARKERS.issuperset(marker for brought in FIXTURES.values() for marker in brought)


@pytest.mark.parametrize(
    ("command", "marker"), [(["java", "-version"], "jvm"), (["postgres"], "postgres"), (["true"], "process")]
)
def test_a_program_is_refused_without_its_marker(guard: Guard, command: list[str], marker: str) -> None:
    with pytest.raises(pytest.fail.Exception, match=f"needs the marker {marker}"):
        subprocess.run(command, check=True)
    assert marker in refused(guard)


def test_what_the_code_under_test_swallows_is_remembered(guard: Guard) -> None:
    with suppress(BaseException):
        subprocess.run(["java"], check=True)
    assert "java" in refused(guard)


def test_another_machine_is_out_of_reach_and_this_one_is_not(guard: Guard) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        assert not guard.refused
    # An address for documentation: nobody answers there.
    with socket.socket() as line, pytest.raises(pytest.fail.Exception, match="network"):
        line.connect(("192.0.2.1", 80))
    assert "192.0.2.1" in refused(guard)


@pytest.mark.process
def test_a_process_of_a_test_without_the_marker_jvm_finds_no_java() -> None:
    code = "from penstock.engine.spark.java import require_java; require_java()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "JAVA_UNUSABLE" in done.stderr
