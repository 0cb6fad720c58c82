"""From a commit in the log until its event is at 500 clients of server-sent events, each with a socket of its own.

Three processes, as in life: one commits, `penstock serve` follows, this one is all the clients. The moment of a commit
is that of its file in the log. `python -m benchmarks.changes.sse` prints the distribution.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import statistics
import subprocess
import sys
import time
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import quote

from benchmarks.changes.cell import Cell
from penstock.testing.published import Published

CLIENTS = 500
COMMITS = 20
PAUSE = 0.1
"""Seconds between two commits."""

_ID = re.compile(rb"^id: (\d+)$", re.MULTILINE)


class _Processes:
    """The one that commits, and the server."""

    def __init__(self) -> None:
        root = Path(mkdtemp(prefix="penstock-sse-"))
        self._writer = _start(["benchmarks.changes.sse", os.fspath(root)])
        self._log = Path(self._answer()) / "_delta_log"
        self.lsn = int(self._answer())
        self._server = _start(["penstock.cli.main", "serve", "--port", "0", "-w", os.fspath(root)])
        assert self._server.stdout is not None
        found = re.search(r":(\d+);", self._server.stdout.readline())
        assert found is not None
        self.port = int(found[1])
        atexit.register(self.end)

    def commit(self) -> None:
        """One more commit; each has one event, so LSNs and versions go together."""
        assert self._writer.stdin is not None
        self._writer.stdin.write("\n")
        self._writer.stdin.flush()
        self.lsn = int(self._answer())

    def committed_at(self, lsn: int) -> float:
        """When the commit with this event was there."""
        return (self._log / f"{lsn:020d}.json").stat().st_mtime_ns / 1e9

    def end(self) -> None:
        """Stop both."""
        for process in (self._writer, self._server):
            process.terminate()
            process.wait()

    def _answer(self) -> str:
        assert self._writer.stdout is not None
        return self._writer.stdout.readline().strip()


class _Client(asyncio.Protocol):
    """Notes when events come; `arrived` is shared by all clients."""

    def __init__(self, path: str, begun: asyncio.Semaphore, arrived: list[tuple[int, float]]) -> None:
        self._path, self._begun, self._arrived = path, begun, arrived
        self._is_begun = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(f"GET {self._path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        now = time.time()
        if b"event: change" in data:
            self._arrived += [(int(lsn), now) for lsn in _ID.findall(data)]
        elif b"event: watermark" in data and not self._is_begun:
            self._is_begun = True
            self._begun.release()


@cache
def _processes() -> _Processes:
    return _Processes()


def delays(shared: bool = True, clients: int = CLIENTS, commits: int = COMMITS) -> list[float]:
    """Seconds from commit to client, of every event at every client; not `shared` gives each client its own choice."""
    return asyncio.run(_measure(_processes(), shared, clients, commits))


async def _measure(processes: _Processes, shared: bool, clients: int, commits: int) -> list[float]:
    loop, begun, arrived = asyncio.get_running_loop(), asyncio.Semaphore(0), list[tuple[int, float]]()
    transports = []
    for number in range(clients):
        choice = "" if shared else "?where=" + quote(f"v > {-1 - number}")
        path = f"/tables/followed/stream{choice}"
        transport, _ = await loop.create_connection(partial(_Client, path, begun, arrived), "127.0.0.1", processes.port)
        transports.append(transport)
    async with asyncio.timeout(120):
        for _ in range(clients):
            await begun.acquire()
    first = processes.lsn + 1
    for _ in range(commits):
        await asyncio.to_thread(processes.commit)
        await asyncio.sleep(PAUSE)
    async with asyncio.timeout(60):
        while len(arrived) < clients * commits:
            await asyncio.sleep(0.01)
    for transport in transports:
        transport.close()
    moments = {lsn: processes.committed_at(lsn) for lsn in range(first, first + commits)}
    return [at - moments[lsn] for lsn, at in arrived]


def _p99(found: list[float]) -> float:
    return statistics.quantiles(found, n=100)[98]


def _start(module: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", *module]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _write(root: Path) -> None:
    """The process that commits: once for every line."""
    with Published.open(root) as world:
        table = world.keyed("followed", {"id": "long", "v": "long"}, ("id",))
        record = table.commit(put=[{"id": 0, "v": 0}])
        print(table.storage.path, record.first_lsn, sep="\n", flush=True)
        for number, _ in enumerate(sys.stdin, 1):
            print(table.commit(put=[{"id": 0, "v": number}]).first_lsn, flush=True)


CELLS = [
    Cell(
        f"commit to {CLIENTS} SSE clients, p99",
        0.25,
        lambda: _p99(delays()),
        lambda: _p99(delays(shared=False, commits=3)),
    )
]


def main() -> None:
    """Print the distribution; the first round warms up."""
    delays(commits=5)
    for name, shared in (("the same choice", True), ("each its own choice", False)):
        found = sorted(delays(shared))
        print(
            f"{CLIENTS} clients, {name}: p50 {statistics.median(found) * 1e3:.1f} ms, "
            f"p99 {_p99(found) * 1e3:.1f} ms, most {found[-1] * 1e3:.1f} ms, {len(found)} events"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _write(Path(sys.argv[1]))
    else:
        main()
