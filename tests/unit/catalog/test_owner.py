"""Owners: a process that certainly ended is dead, and every doubt counts as alive."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock.catalog import owner
from penstock.catalog.owner import current_owner, is_dead


def parts() -> tuple[str, str, str]:
    host, pid, nonce = current_owner().rsplit(":", 2)
    return host, pid, nonce


def ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_this_process_lives_and_keeps_its_name() -> None:
    assert current_owner() == current_owner()
    assert parts()[1] == str(os.getpid())
    assert not is_dead(current_owner())


def test_a_predecessor_of_the_same_number_is_dead() -> None:
    host, pid, _ = parts()
    assert is_dead(f"{host}:{pid}:another")


@pytest.mark.process
def test_an_ended_process_is_dead_on_this_host_only() -> None:
    host, _, nonce = parts()
    pid = ended_process()
    assert is_dead(f"{host}:{pid}:{nonce}")
    assert not is_dead(f"elsewhere:{pid}:{nonce}")


def test_the_parent_lives() -> None:
    host, _, nonce = parts()
    assert not is_dead(f"{host}:{os.getppid()}:{nonce}")


def test_unreadable_names_count_as_alive() -> None:
    host = parts()[0]
    for unreadable in ("", "worker", host, f"{host}:", f"{host}:x:y", f"{host}:-1:y", f"{host}:0:y"):
        assert not is_dead(unreadable)


def test_threads_that_ask_at_once_are_one_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    all_there = threading.Barrier(4)

    def slowly() -> uuid.UUID:
        all_there.wait(60)
        return real()

    real = uuid.uuid4
    monkeypatch.setattr(owner, "_nonces", {})
    monkeypatch.setattr(uuid, "uuid4", slowly)
    with ThreadPoolExecutor(4) as threads:
        names = list(threads.map(lambda _: current_owner(), range(4)))
    assert len(set(names)) == 1
