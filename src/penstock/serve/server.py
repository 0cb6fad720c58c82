"""The server: a socket and an event loop. When it stops, it ends every stream with a message that says so."""

from __future__ import annotations

import asyncio
import ipaddress
import resource
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import Final

import uvicorn

from penstock.api import StreamTables
from penstock.errors import OpenToOthers, PortTaken
from penstock.serve.access import Access
from penstock.serve.app import app
from penstock.serve.context import Context
from penstock.serve.limits import Limits

PARTING_SECONDS: Final = 5.0
"""Clients that have not taken the end of their stream by then are cut off."""

SPARE_FILES: Final = 256
"""Files that the process opens beside its connections."""

LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Server:
    """Listens from the beginning; `run` answers until `stop`, SIGTERM or SIGINT."""

    def __init__(
        self,
        tables: StreamTables,
        access: Access | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        open_to_others: bool = False,
        origins: Sequence[str] = (),
        limits: Limits | None = None,
    ) -> None:
        access, limits = access or Access(), limits or Limits()
        if access.is_open and not open_to_others and not is_loopback(host):
            raise OpenToOthers(host=host)
        self.context = Context(tables, access, limits)
        self._socket = _listen(host, port)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.port}"
        hosts = LOCAL_NAMES | {host} if access.is_open and not open_to_others else None
        config = uvicorn.Config(
            app(self.context, origins=origins, hosts=hosts),
            http="h11",
            ws="websockets-sansio",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            backlog=4096,
            timeout_graceful_shutdown=round(PARTING_SECONDS),
            h11_max_incomplete_event_size=limits.request_bytes,
            ws_max_size=limits.request_bytes,
            ws_ping_interval=20.0,
            ws_ping_timeout=20.0,
        )
        self._server = _Uvicorn(config, self.context)
        _allow_files(limits.connections + SPARE_FILES)

    def run(self) -> None:
        """Answer requests until `stop` or a signal; then end every stream and close the socket."""
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Let `run` end; from any thread."""
        self._server.should_exit = True

    def __enter__(self) -> Server:
        """Answer in a thread until the block ends."""
        self._thread = threading.Thread(target=self.run, name="penstock-serve")
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        self._thread.join()


class _Uvicorn(uvicorn.Server):
    """Ends streams before it waits for connections to close; those of streams never would."""

    def __init__(self, config: uvicorn.Config, context: Context) -> None:
        super().__init__(config)
        self._context = context

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # The signal is obeyed here and not raised again afterwards: an end that was asked for is not a failure.
        self.force_exit = self.should_exit
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._context.broadcasts.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(PARTING_SECONDS):
                while self._context.connections.open:
                    await asyncio.sleep(0.01)
        await super().shutdown(sockets)
        self._context.broadcasts.close()


def is_loopback(host: str) -> bool:
    """True if only this host can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=4096)
    except OSError as error:
        raise PortTaken(host=host, port=port, why=error.strerror or error) from None


def _allow_files(wanted: int) -> None:
    """Each connection is an open file, and many systems begin with 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
