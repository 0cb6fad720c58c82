"""What only a server brings: lost connections, restarts, rights, listeners, other clocks, other machines."""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest
from places import PostgresPlace
from test_leases import run_process

from penstock.catalog import (
    Alert,
    AlertEvent,
    Dependency,
    RefreshMode,
    SourceType,
    StreamTableMeta,
    current_owner,
    open_catalog,
    postgres_session,
)
from penstock.catalog.postgres import PostgresCatalog, read_state
from penstock.errors import CatalogError, CatalogUnusable, PenstockError, Retry, TableBusy
from penstock.names import TableName
from postgres import Postgres, discard, start_postgres

MINUTE = timedelta(minutes=1)
META = StreamTableMeta(name=TableName.parse("a"), table_id="id-a", path="/a", query="SELECT 1", definition_hash="h")

pytestmark = pytest.mark.postgres


@pytest.fixture
def catalog(postgres_place: PostgresPlace) -> Iterator[PostgresCatalog]:
    with PostgresCatalog(postgres_place.address, busy_timeout=timedelta(seconds=5)) as opened:
        yield opened


@pytest.fixture(scope="module")
def second_server() -> Iterator[Postgres]:
    server = start_postgres()
    yield server
    discard(server)


@pytest.fixture
def own_server(second_server: Postgres) -> Iterator[Postgres]:
    """A server that a test may stop."""
    yield second_server
    if second_server.process is None:
        second_server.start()
    second_server.sql("DROP SCHEMA IF EXISTS penstock CASCADE")


def test_a_restart_of_the_server_goes_unnoticed(own_server: Postgres, now: datetime) -> None:
    with PostgresCatalog(own_server.url()) as catalog:
        a = catalog.insert(META, [], now=now)
        for write in (False, True):
            own_server.stop()
            again = threading.Timer(0.5, own_server.start)
            again.start()
            if write:
                assert catalog.record_failure(a, "x", now=now) == 1
            else:
                assert catalog.get_by_id(a).id == a
            again.join()


def test_a_restart_goes_unnoticed_by_every_thread(own_server: Postgres, now: datetime) -> None:
    with PostgresCatalog(own_server.url()) as catalog:
        a = catalog.insert(META, [], now=now)
        own_server.stop()
        counts: list[int] = []
        threads = [
            threading.Thread(target=lambda: counts.append(catalog.record_failure(a, "x", now=now))) for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        own_server.start()
        for thread in threads:
            thread.join()
        assert sorted(counts) == [1, 2, 3, 4, 5, 6]


def test_a_server_that_stays_away_is_an_error_that_passes(own_server: Postgres, now: datetime) -> None:
    catalog = PostgresCatalog(own_server.url(), reconnect_timeout=timedelta(milliseconds=300))
    a = catalog.insert(META, [], now=now)
    own_server.stop()
    for ask in (lambda: catalog.get_by_id(a), lambda: catalog.mark_reinit(a, "x", now=now), catalog.now):
        with pytest.raises(CatalogError, match=r"no connection to the server(.|\n)*server runs") as caught:
            ask()
        assert caught.value.retry is Retry.BACKOFF
        assert own_server.password not in "".join(traceback.format_exception(caught.value))
    own_server.start()
    catalog.mark_reinit(a, "x", now=now)
    assert catalog.get_by_id(a).needs_reinit
    catalog.close()


def test_a_write_that_the_server_does_not_survive_did_not_happen(own_server: Postgres, now: datetime) -> None:
    with PostgresCatalog(own_server.url()) as catalog:
        a = catalog.insert(META, [], now=now)

        def interrupted() -> None:
            with catalog._write() as db:
                db.execute("UPDATE stream_tables SET needs_reinit = 1 WHERE id = ?", (a,))
                own_server.stop()
                own_server.start()
                db.execute("UPDATE stream_tables SET reinit_reason = 'x' WHERE id = ?", (a,))

        with pytest.raises(CatalogError, match="no connection"):
            interrupted()
        assert not catalog.get_by_id(a).needs_reinit
        assert catalog.record_failure(a, "x", now=now) == 1


def test_a_single_connection_that_was_ended_is_replaced(catalog: PostgresCatalog, postgres: Postgres) -> None:
    assert catalog.dag_version() == 0
    postgres.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'penstock'")
    assert catalog.dag_version() == 0


def test_readers_do_not_wait_for_a_writer_and_writers_do(
    postgres_place: PostgresPlace, catalog: PostgresCatalog, now: datetime
) -> None:
    hasty = PostgresCatalog(postgres_place.address, busy_timeout=timedelta(milliseconds=100))
    with hasty, catalog._write() as db:
        db.execute("UPDATE meta SET number = 7 WHERE key = 'dag_version'")
        assert hasty.dag_version() == 0
        with pytest.raises(CatalogError, match="try again"):
            hasty.insert(META, [], now=now)
    with hasty:
        assert hasty.dag_version() == 7
        assert hasty.insert(META, [], now=now) == 1


def test_a_reader_in_a_thread_does_not_wait_for_a_writer_in_another(
    postgres_place: PostgresPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The writer is idle while the reader reads, and must not be put out for that.
    monkeypatch.setattr(postgres_session, "_STALLED_SECONDS", 120)
    seen: list[int] = []
    with PostgresCatalog(postgres_place.address) as catalog, catalog._write():
        reader = threading.Thread(target=lambda: seen.append(catalog.dag_version()))
        reader.start()
        reader.join(60)
        assert seen == [0]


def test_a_writer_that_stopped_in_the_middle_is_put_out(
    postgres_place: PostgresPlace, monkeypatch: pytest.MonkeyPatch, now: datetime
) -> None:
    with ExitStack() as opened:
        # First, so that the short time is not for this one.
        other = opened.enter_context(PostgresCatalog(postgres_place.address))
        monkeypatch.setattr(postgres_session, "_STALLED_SECONDS", 1)
        stopped = opened.enter_context(PostgresCatalog(postgres_place.address))

        def stall() -> None:
            with stopped._write() as db:
                db.execute("UPDATE meta SET number = 7 WHERE key = 'dag_version'")
                assert other.insert(META, [], now=now) == 1

        with pytest.raises(CatalogError):
            stall()
        assert other.dag_version() == 1
        assert stopped.get_by_id(1).name == META.name


OPENER = """
    import sys
    from penstock.catalog import open_catalog

    print("ready", flush=True)
    sys.stdin.readline()
    with open_catalog(sys.argv[1]) as catalog:
        print(catalog.dag_version())
"""


@pytest.mark.process
def test_many_processes_may_be_the_first(postgres_place: PostgresPlace) -> None:
    workers = [run_process(OPENER, postgres_place.address) for _ in range(4)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    assert [worker.communicate(timeout=60)[0] for worker in workers] == ["0\n"] * 4


@pytest.mark.process
def test_a_fork_does_not_talk_over_its_parents_connection(catalog: PostgresCatalog, now: datetime) -> None:
    a = catalog.insert(META, [], now=now)
    child = os.fork()
    if child == 0:
        try:
            counts = [catalog.record_failure(a, "child", now=now) for _ in range(20)]
            os._exit(0 if len(set(counts)) == 20 else 1)
        finally:
            os._exit(2)
    for _ in range(20):
        catalog.record_failure(a, "parent", now=now)
    assert os.waitpid(child, 0)[1] == 0
    assert catalog.get_by_id(a).consecutive_errors == 40


def test_the_clock_is_that_of_the_server(catalog: PostgresCatalog, postgres: Postgres) -> None:
    ((before,),) = postgres.sql("SELECT clock_timestamp()")
    now = catalog.now()
    ((after,),) = postgres.sql("SELECT clock_timestamp()")
    assert before <= now <= after
    assert now.tzinfo is UTC


def test_a_holder_elsewhere_is_succeeded_when_its_lease_ends_by_that_clock(catalog: PostgresCatalog) -> None:
    now, short = catalog.now(), timedelta(seconds=1)
    a = catalog.insert(META, [], now=now)
    lease = catalog.acquire_lease(a, "another-host/1:4711:abc", short, now=now)
    with pytest.raises(TableBusy, match="another-host"):
        catalog.acquire_lease(a, current_owner(), MINUTE, now=now + 0.5 * short)
    assert catalog.acquire_lease(a, current_owner(), MINUTE, now=now + 1.1 * short).token == lease.token + 1


def test_an_alert_reaches_who_listens(catalog: PostgresCatalog, postgres: Postgres, now: datetime) -> None:
    alert = Alert(AlertEvent.REFRESH_FAILED, "default.a", now, {"error": 'said "né"', "count": 2})
    with postgres.connected() as listener:
        listener.run("LISTEN penstock_alert")
        catalog.record_alert(alert)
        listener.run("SELECT 1")
        ((_, channel, text),) = listener.notifications
        assert channel == "penstock_alert"
        assert json.loads(text) == alert.to_json()


def test_an_alert_too_long_for_a_notification_is_told_cut_and_kept_whole(
    catalog: PostgresCatalog, postgres: Postgres, now: datetime
) -> None:
    alert = Alert(AlertEvent.REFRESH_FAILED, "default.a", now, {"error": "é" * 9000})
    with postgres.connected() as listener:
        listener.run("LISTEN penstock_alert")
        catalog.record_alert(alert)
        listener.run("SELECT 1")
        ((_, _, text),) = listener.notifications
    assert json.loads(text)["cut"] == ["error"]
    assert catalog.recent_alerts() == [alert]


def test_nobody_is_told_of_an_alert_that_was_not_kept(
    catalog: PostgresCatalog, postgres: Postgres, postgres_place: PostgresPlace, now: datetime
) -> None:
    alert = Alert(AlertEvent.RESUMED, "default.a", now)
    with postgres.connected() as listener:
        listener.run("LISTEN penstock_alert")
        with pytest.raises(RuntimeError), catalog._write() as db:  # noqa: PT012
            catalog._database.announce(db, alert)
            raise RuntimeError("changed its mind")
        listener.run("SELECT 1")
        assert not listener.notifications


def test_a_message_with_a_nul_can_be_kept(catalog: PostgresCatalog, now: datetime) -> None:
    a = catalog.insert(META, [], now=now)
    catalog.record_failure(a, "what\0now", now=now)
    assert catalog.get_by_id(a).last_error == "what\N{REPLACEMENT CHARACTER}now"


def test_more_statements_than_are_kept_prepared(catalog: PostgresCatalog, now: datetime) -> None:
    reads = [Dependency(source_id="s", source_name="s", source_type=SourceType.TABLE)]
    catalog.insert(META, reads, now=now)
    for count in range(1, 260):
        tables, dependencies = catalog.upstream_part(["id-a", *map(str, range(count))])
        assert (len(tables), len(dependencies)) == (1, 1)


def test_nothing_hangs_on_the_defaults_of_the_server(
    postgres: Postgres, postgres_place: PostgresPlace, now: datetime
) -> None:
    postgres.sql("DROP ROLE IF EXISTS odd")
    postgres.sql(f"CREATE ROLE odd LOGIN SUPERUSER PASSWORD '{postgres.password}'")
    for setting in (
        "default_transaction_isolation = 'serializable'",
        "default_transaction_read_only = on",
        "timezone = 'Asia/Kolkata'",
        "datestyle = 'German'",
        "synchronous_commit = off",
        "client_encoding = 'LATIN1'",
        "search_path = 'pg_catalog'",
    ):
        postgres.sql(f"ALTER ROLE odd SET {setting}")
    address = postgres.url(postgres_place.schema, user="odd")
    postgres.sql(f"CREATE SCHEMA {postgres_place.schema}")
    with open_catalog(address) as catalog:
        a = catalog.insert(META, [], now=now)
        catalog.update_definition(a, now=now, query="SELECT '🙂'", refresh_mode=RefreshMode.FULL)
        assert catalog.get_by_id(a).query == "SELECT '🙂'"
        assert abs(catalog.now() - datetime.now(UTC)) < MINUTE
        counts: list[int] = []
        threads = [
            threading.Thread(target=lambda: counts.extend(catalog.record_failure(a, "x", now=now) for _ in range(10)))
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(counts) == list(range(1, 31))
        with catalog._write() as db:
            (row,) = db.execute("SELECT current_setting('synchronous_commit') AS kept")
        assert row["kept"] == "on"


def refused(address: str, kind: type[PenstockError], match: str, caplog: pytest.LogCaptureFixture) -> PenstockError:
    caplog.set_level(logging.DEBUG)
    for ask in (open_catalog, read_state):
        with pytest.raises(kind, match=match) as caught:
            ask(address)
        password = address.split(":")[2].split("@")[0]
        told = "".join(traceback.format_exception(caught.value)) + str(caught.value.to_json()) + caplog.text
        assert password not in told
    return caught.value


def test_a_wrong_password_says_where_it_can_be_given(postgres: Postgres, caplog: pytest.LogCaptureFixture) -> None:
    error = refused(postgres.url(password="wrong-one"), CatalogUnusable, r"28P01(.|\n)*PGPASSWORD", caplog)
    assert error.retry is Retry.NEVER


def test_no_password_at_all_is_a_wrong_one(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    address = postgres.url().replace(f":{postgres.password}@", "@")
    with pytest.raises(CatalogUnusable, match="PGPASSWORD"):
        open_catalog(address)
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    assert read_state(address).server


def test_an_unknown_user_and_an_unknown_database(postgres: Postgres, caplog: pytest.LogCaptureFixture) -> None:
    refused(postgres.url(user="nobody-here"), CatalogUnusable, "Check user and password", caplog)
    missing = postgres.url().replace("/shop?", "/attic?")
    refused(missing, CatalogUnusable, 'CREATE DATABASE "attic"', caplog)


def test_a_server_that_is_not_there(caplog: pytest.LogCaptureFixture) -> None:
    # A port that is held and at which nobody listens.
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        error = refused(f"postgresql://ann:hunter2@127.0.0.1:{port}/shop", CatalogError, "can be reached", caplog)
    assert error.retry is Retry.BACKOFF
    refused("postgresql://ann:hunter2@no-such-host.invalid/shop", CatalogError, "can be reached", caplog)


def test_something_else_that_listens(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_session, "_CONNECT_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        refused(f"postgresql://ann:hunter2@127.0.0.1:{port}/shop", CatalogError, "does not answer", caplog)


def test_a_server_of_another_kind(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def answer() -> None:
            for _ in range(2):
                connection, _ = other.accept()
                with connection:
                    connection.recv(8)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10)

        thread = threading.Thread(target=answer)
        thread.start()
        port = other.getsockname()[1]
        refused(f"postgresql://ann:hunter2@127.0.0.1:{port}/shop", CatalogError, "connection to the server", caplog)
        thread.join()


def test_encryption_that_the_server_does_not_offer(postgres: Postgres, caplog: pytest.LogCaptureFixture) -> None:
    refused(f"{postgres.url()}&sslmode=require", CatalogError, r"refuses SSL(.|\n)*Check sslmode", caplog)


@pytest.fixture
def clerk(postgres: Postgres) -> Iterator[str]:
    """A user without any rights."""
    postgres.sql(f"CREATE ROLE clerk LOGIN PASSWORD '{postgres.password}'")
    yield "clerk"
    postgres.sql("DROP OWNED BY clerk CASCADE")
    postgres.sql("DROP ROLE clerk")


def test_a_user_without_rights_is_told_what_to_ask_for(
    postgres: Postgres, postgres_place: PostgresPlace, clerk: str, caplog: pytest.LogCaptureFixture, now: datetime
) -> None:
    address = postgres.url(postgres_place.schema, user=clerk)
    command = f'CREATE SCHEMA "{postgres_place.schema}" AUTHORIZATION "{clerk}"'
    refused(address, CatalogUnusable, command, caplog)
    postgres.sql(command)
    with open_catalog(address) as catalog:
        assert catalog.insert(META, [], now=now) == 1


def test_a_catalog_of_somebody_else_cannot_be_read_or_written(
    postgres: Postgres, catalog: PostgresCatalog, postgres_place: PostgresPlace, clerk: str, now: datetime
) -> None:
    address = postgres.url(postgres_place.schema, user=clerk)
    with pytest.raises(CatalogUnusable, match="AUTHORIZATION"):
        open_catalog(address)
    postgres.sql(f"GRANT USAGE ON SCHEMA {postgres_place.schema} TO {clerk}")
    postgres.sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA {postgres_place.schema} TO {clerk}")
    with open_catalog(address) as reader:
        assert reader.get_all() == []
        with pytest.raises(CatalogUnusable, match="AUTHORIZATION"):
            reader.insert(META, [], now=now)


def test_a_lost_table_is_a_catalog_error(catalog: PostgresCatalog, postgres_place: PostgresPlace) -> None:
    postgres_place.sql("DROP TABLE known_tables")
    with pytest.raises(CatalogError, match=r"known_tables(.|\n)*penstock repair"):
        catalog.known_tables()


def test_a_database_that_lacks_characters_is_refused(postgres: Postgres) -> None:
    postgres.sql("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(CatalogUnusable, match="LATIN1"):
        open_catalog(postgres.url().replace("/shop?", "/latin?"))


def test_looking_changes_nothing(postgres_place: PostgresPlace, postgres: Postgres) -> None:
    assert read_state(postgres_place.address).schema_version == 0
    assert postgres.sql(f"SELECT 1 FROM pg_namespace WHERE nspname = '{postgres_place.schema}'") == []
    open_catalog(postgres_place.address).close()
    state = read_state(postgres_place.address)
    assert state.schema_version > 3
    assert abs(state.ahead) < MINUTE
