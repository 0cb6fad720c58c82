"""Encrypted connections. The server of the tests is built without encryption, so one that has it stands before it.

`tls/server.pem` holds a certificate for 127.0.0.1 that signs itself, and its key; both are for nothing but this.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from places import PostgresPlace

from penstock.catalog import open_catalog
from penstock.errors import CatalogError
from postgres import Postgres

CERTIFICATE = Path(__file__).parent / "tls" / "server.pem"


def pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError), source, target:
        while block := source.recv(65536):
            target.sendall(block)


def serve(door: socket.socket, port: int) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    while True:
        try:
            client, _ = door.accept()
        except OSError:
            return
        with suppress(OSError):
            # What a client says first when it wants encryption; S is yes.
            assert client.recv(8) == b"\x00\x00\x00\x08\x04\xd2\x16\x2f"
            client.sendall(b"S")
            inside = context.wrap_socket(client, server_side=True)
            behind = socket.create_connection(("127.0.0.1", port))
            for ends in ((inside, behind), (behind, inside)):
                threading.Thread(target=pump, args=ends, daemon=True).start()


@pytest.fixture
def encrypted(postgres: Postgres, postgres_place: PostgresPlace) -> Iterator[str]:
    """The address of a catalog behind encryption."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        thread = threading.Thread(target=serve, args=(door, postgres.port))
        thread.start()
        yield postgres_place.address.replace(f":{postgres.port}/", f":{door.getsockname()[1]}/")
        door.shutdown(socket.SHUT_RDWR)
    thread.join()


@pytest.mark.parametrize("mode", ["prefer", "require"])
def test_the_catalog_works_encrypted(encrypted: str, mode: str) -> None:
    with open_catalog(f"{encrypted}&sslmode={mode}") as catalog:
        catalog.set_paused(True)
        assert catalog.paused()


def test_a_certificate_is_checked_where_that_is_asked_for(encrypted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CatalogError, match=r"CERTIFICATE_VERIFY_FAILED(.|\n)*SSL_CERT_FILE"):
        open_catalog(f"{encrypted}&sslmode=verify-full")
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    with open_catalog(f"{encrypted}&sslmode=verify-full") as catalog:
        assert not catalog.paused()
