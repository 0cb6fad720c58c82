"""Who may read what, and from where."""

from __future__ import annotations

import hashlib
import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import PATIENCE, Events, Server, get, sales
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from penstock.errors import InvalidTokens, OpenToOthers, PortTaken
from penstock.serve.access import Access
from penstock.testing.published import Published

ANN, BOB, EVE = "ann's token, which is long", "bob's token, which is long", "a token that nobody has"


@pytest.fixture
def world(world: Published) -> Published:
    """Two stream tables, of which one is not for everybody."""
    sales(world, "sales")
    sales(world, "secrets")
    return world


@pytest.fixture
def access(tmp_path: Path) -> Access:
    file = tmp_path / "tokens.toml"
    file.write_text(
        f'[ann]\ntoken = "{ANN}"\ntables = ["*"]\n\n'
        f'[bob]\nsha256 = "{hashlib.sha256(BOB.encode()).hexdigest()}"\ntables = ["Sales"]\n'
    )
    return Access.read(file)


@pytest.fixture
def port(world: Published, access: Access) -> Iterator[int]:
    with Server(world.tables, access) as server:
        yield server.port


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


PATHS = ["changes", "stream?since_lsn=0", "arrow?since_lsn=0"]


@pytest.mark.parametrize("path", PATHS)
def test_without_a_good_token_nothing_is_told(port: int, path: str) -> None:
    for headers in ({}, bearer(EVE), bearer(""), {"Authorization": f"Basic {ANN}"}):
        got = get(port, f"/tables/sales/{path}", headers)
        assert (got.status, got.condition) == (401, "NOT_AUTHENTICATED")
        assert got.headers["www-authenticate"] == "Bearer"
        assert got.json["error"]["hint"]


@pytest.mark.parametrize("path", PATHS)
def test_a_token_opens_only_its_tables(port: int, path: str) -> None:
    got = get(port, f"/tables/secrets/{path}", bearer(BOB))
    assert (got.status, got.condition) == (403, "NOT_GRANTED")
    # What is not there looks like what is not granted.
    assert get(port, f"/tables/nothing/{path}", bearer(BOB)).condition == "NOT_GRANTED"


def test_a_token_reads_what_it_opens(port: int) -> None:
    assert get(port, "/tables/sales/changes", bearer(BOB)).json["next_lsn"] == 4
    assert get(port, "/tables/SALES/changes", bearer(BOB)).status == 200
    assert get(port, "/tables/default.sales/changes", bearer(BOB)).status == 200
    assert get(port, "/tables/secrets/changes", bearer(ANN)).status == 200


def test_the_list_shows_only_what_a_token_opens(port: int) -> None:
    def names(token: str) -> list[str]:
        return [each["name"] for each in get(port, "/tables", bearer(token)).json["tables"]]

    assert names(BOB) == ["default.sales"]
    assert names(ANN) == ["default.sales", "default.secrets"]
    assert get(port, "/tables").status == 401


def test_streams_take_the_token_in_the_address_and_pages_do_not(port: int) -> None:
    with Events(port, "/tables/sales/stream", since_lsn=0, access_token=BOB) as events:
        assert len(events.take(4)) == 4
    assert get(port, "/tables/sales/changes", access_token=BOB).status == 401
    assert get(port, "/tables/sales/arrow", since_lsn=0, access_token=BOB).status == 401


def test_websockets_need_a_token_too(port: int) -> None:
    address = f"ws://127.0.0.1:{port}/tables/sales/ws"
    for refused, status in ((address, 401), (f"{address}?access_token={EVE.replace(' ', '%20')}", 401)):
        with pytest.raises(InvalidStatus) as answer, connect(refused, open_timeout=PATIENCE):
            pass
        assert answer.value.response.status_code == status
    with connect(address, additional_headers=bearer(BOB), open_timeout=PATIENCE) as socket:
        assert "subscribed" in str(socket.recv(timeout=PATIENCE))
    with connect(f"{address}?access_token={BOB.replace(' ', '%20')}", open_timeout=PATIENCE) as socket:
        assert "subscribed" in str(socket.recv(timeout=PATIENCE))
    with (
        pytest.raises(InvalidStatus) as answer,
        connect(address.replace("sales", "secrets"), additional_headers=bearer(BOB), open_timeout=PATIENCE),
    ):
        pass
    assert answer.value.response.status_code == 403


def test_durable_names_of_one_client_are_not_those_of_another(world: Published, port: int) -> None:
    address = f"ws://127.0.0.1:{port}/tables/sales/ws?durable=feed"
    for token in (ANN, BOB):
        with connect(address, additional_headers=bearer(token), open_timeout=PATIENCE) as socket:
            socket.recv(timeout=PATIENCE)
    assert [each.name for each in world.tables.subscriptions()] == ["ann:feed", "bob:feed"]


def test_health_and_the_document_need_no_token(port: int) -> None:
    assert get(port, "/ready").status == 200
    assert get(port, "/openapi.json").status == 200
    assert get(port, "/health").json["stream_tables"] == 2


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.org"])
def test_without_tokens_only_this_host_is_listened_to(world: Published, host: str) -> None:
    with pytest.raises(OpenToOthers, match="without tokens"):
        Server(world.tables, host=host)


def test_other_hosts_can_be_listened_to_with_tokens_or_on_purpose(world: Published, access: Access) -> None:
    with Server(world.tables, access, host="0.0.0.0") as server:
        assert get(server.port, "/tables").status == 401
    with Server(world.tables, host="0.0.0.0", open_to_others=True) as server:
        assert get(server.port, "/tables", {"Host": "anything.example"}).status == 200


def test_a_name_that_leads_here_by_trickery_is_refused(world: Published) -> None:
    with Server(world.tables) as server:
        got = get(server.port, "/tables", {"Host": "evil.example"})
        assert (got.status, got.condition) == (403, "REQUEST_REFUSED")
        for host in (f"localhost:{server.port}", f"127.0.0.1:{server.port}", "[::1]:1"):
            assert get(server.port, "/tables", {"Host": host}).status == 200


def test_pages_from_elsewhere_read_only_if_allowed(world: Published) -> None:
    page = {"Origin": "https://page.example"}
    with Server(world.tables) as server:
        assert "access-control-allow-origin" not in get(server.port, "/tables", page).headers
    with Server(world.tables, origins=("https://page.example",)) as server:
        got = get(server.port, "/tables/sales/changes", page)
        assert got.headers["access-control-allow-origin"] == "https://page.example"
        other = get(server.port, "/tables", {"Origin": "https://other.example"})
        assert "access-control-allow-origin" not in other.headers
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        asked = {**page, "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}
        connection.request("OPTIONS", "/tables", headers=asked)
        assert connection.getresponse().status == 200
        connection.close()


def test_a_taken_port_is_said(world: Published) -> None:
    with Server(world.tables) as server, pytest.raises(PortTaken, match=str(server.port)):
        Server(world.tables, port=server.port)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "there is no token in it"),
        ("[a", "Expected"),
        ('a = "x"', "outside of a section"),
        ('[a]\ntoken = "short"\ntables = ["*"]', "at least 16"),
        ('[a]\ntoken = 5\ntables = ["*"]', "at least 16"),
        ('[a]\nsha256 = "ABC"\ntables = ["*"]', "64 hexadecimal"),
        ('[a]\ntables = ["*"]', "needs token or sha256"),
        (f'[a]\ntoken = "{ANN}"\nsha256 = "{"0" * 64}"\ntables = ["*"]', "not both"),
        (f'[a]\ntoken = "{ANN}"', "needs tables"),
        (f'[a]\ntoken = "{ANN}"\ntables = "*"', "needs tables"),
        (f'[a]\ntoken = "{ANN}"\ntables = ["a..b"]', "cannot be used as a name"),
        (f'["a:b"]\ntoken = "{ANN}"\ntables = []', "colon"),
        (f'[a]\ntoken = "{ANN}"\ntables = []\nadmin = true', "admin"),
        (f'[a]\ntoken = "{ANN}"\ntables = []\n[b]\ntoken = "{ANN}"\ntables = []', "same token"),
    ],
)
def test_a_file_of_tokens_is_read_strictly(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "tokens.toml").write_text(text)
    with pytest.raises(InvalidTokens, match=why):
        Access.read(tmp_path / "tokens.toml")


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidTokens, match=r"none\.toml"):
        Access.read(tmp_path / "none.toml")
