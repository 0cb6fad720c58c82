"""The process that does a piece of work, as `host:pid:nonce`, and whether it can still be alive.

A wrong "dead" would let two workers loose on one table, so every doubt answers "alive": another host, another process
namespace, an unreadable name. The nonce tells a restarted process from its predecessor of the same number.
"""

from __future__ import annotations

import os
import socket
import uuid
from functools import cache
from typing import Final

_nonces: Final[dict[int, str]] = {}


def _nonce(pid: int) -> str:
    # Keyed by pid, so that a forked child does not pass for its parent; all threads that ask first get one answer.
    return _nonces.setdefault(pid, uuid.uuid4().hex[:12])


@cache
def _host() -> str:
    host = socket.gethostname().replace(":", "_")
    try:
        # Containers may share a host name, and then each has its own process 1.
        namespace = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return host
    return f"{host}/{namespace}"


def current_owner() -> str:
    """The name of this process."""
    pid = os.getpid()
    return f"{_host()}:{pid}:{_nonce(pid)}"


def is_dead(owner: str) -> bool:
    """True only if that process certainly no longer runs.

    >>> is_dead(current_owner()), is_dead("elsewhere:1:abc")
    (False, False)
    """
    host, _, rest = owner.partition(":")
    number, _, nonce = rest.partition(":")
    if host != _host() or not number.isdigit() or int(number) == 0:
        return False
    pid = int(number)
    if pid == os.getpid():
        return nonce != _nonce(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
