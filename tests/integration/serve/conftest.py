"""The warehouse, the stream table and the server that the tests of the server share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import Server, sales

from penstock.testing.published import Published, PublishedTable


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Published]:
    with Published.open(tmp_path / "warehouse") as opened:
        yield opened


@pytest.fixture
def table(world: Published) -> PublishedTable:
    """`sales`, which stands at LSN 4."""
    return sales(world)


@pytest.fixture
def server(world: Published, table: PublishedTable) -> Iterator[Server]:
    """A server without tokens, which serves `sales`."""
    with Server(world.tables) as running:
        yield running


@pytest.fixture
def port(server: Server) -> int:
    return server.port
