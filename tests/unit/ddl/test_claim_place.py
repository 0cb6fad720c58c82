"""Where a warehouse is opened, against where it was: moved, copied, interrupted, with a catalog elsewhere."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.api import open_lazily, repair
from penstock.catalog import (
    Action,
    Dependency,
    KnownKind,
    KnownTable,
    RefreshRecord,
    RefreshStatus,
    SourceType,
    StreamTableMeta,
    open_catalog,
)
from penstock.catalog.identity_file import IDENTITY_FILE, read_identity
from penstock.catalog.model import Subscriber, WarehouseIdentity
from penstock.catalog.open_catalog import catalog_place
from penstock.catalog.ownership import COPIED
from penstock.catalog.sql_catalog import SqlCatalog
from penstock.ddl import claim_place as claiming
from penstock.ddl.claim_place import Opened, claim_place
from penstock.engine.delta.definition import Definition
from penstock.engine.run.workspace import Logs
from penstock.engine.write.apply import Change
from penstock.engine.write.commit import commit
from penstock.engine.write.storage import Storage
from penstock.engine.write.storage_state import StorageState, records, storage_state
from penstock.engine.write.table_properties import DEFINITION_KEY, ID_KEY, Layout
from penstock.errors import CatalogUnusable
from penstock.names import WEIGHT, TableName
from stored import record, schema, table

NOW = datetime(2026, 5, 1, tzinfo=UTC)
BAG = schema(k="long", **{WEIGHT: "long"})
ST = "stream_tables/default/revenue-0123"
NAME = TableName.parse("default.revenue")


@contextmanager
def opened(root: Path, catalog: str = "") -> Iterator[SqlCatalog]:
    """A warehouse's catalog, as opening the warehouse leaves it."""
    root = root.resolve()
    root.mkdir(exist_ok=True)
    place = catalog_place(root, catalog)
    with open_catalog(place, root) as held:
        claim_place(Opened(root, held, place, Logs(str(root)), NOW))
        yield held


def furnish(root: Path, catalog: SqlCatalog, sources: dict[str, str] | None = None) -> None:
    """A filled stream table over three tables: inside, outside, and named by its path; held by a worker."""
    written = f"{root}/raw/events"
    kept = sources or {"orders": "tables/orders", "far": "/far/away", "events": written}
    definition = Definition(
        id="id-1",
        name=str(NAME),
        query=f"SELECT k FROM orders, far, delta.`{written}`",
        database="default",
        settings={},
        target_lag_seconds=None,
        refresh_mode="AUTO",
        key=(),
        columns=(("k", "k", "long"),),
        weighted=True,
        has_hidden_rows=False,
        sources=kept,
    )
    properties = {ID_KEY: definition.id, DEFINITION_KEY: definition.to_json()}
    storage = Storage.create(root / ST, Layout(BAG, None), properties)
    rows, pin = table(BAG, [{"k": 1, WEIGHT: 1}]), storage.pin()
    filled = record(stream_table_id="id-1")
    commit(storage, pin, Change("append", rows), filled, applier="delta-rs", transaction_number=pin.next_transaction)
    number = catalog.insert(
        StreamTableMeta(
            name=NAME, table_id=storage.table_id, path=storage.path, query=definition.query, definition_hash="h"
        ),
        [
            Dependency(source_id=source, source_name=name, source_type=SourceType.TABLE, source_path=path)
            for source, name, path in (
                ("orders", "default.orders", f"{root}/tables/orders"),
                ("far", "default.far", "/far/away"),
                ("events", f"delta.`{written}`", written),
            )
        ],
        now=NOW,
    )
    for table_name, path in (("orders", f"file:{root}/tables/orders"), ("far", "file:/far/away")):
        catalog.remember_table(
            KnownTable(schema="default", table=table_name, kind=KnownKind.TABLE, path=path, text="MANAGED")
        )
    lease = catalog.acquire_lease(number, "elsewhere:1:abc", timedelta(hours=1), now=NOW)
    catalog.start_refresh(
        RefreshRecord(
            refresh_id="r-1",
            stream_table_id=number,
            name=str(NAME),
            action=Action.FULL,
            status=RefreshStatus.RUNNING,
            started_at=NOW,
            owner=lease.holder,
            lease_token=lease.token,
        )
    )
    catalog.add_subscriber(Subscriber("billing", storage.table_id, str(NAME), 1, NOW))


def at(root: Path) -> StorageState:
    """Where the stream table stands by its own log."""
    return storage_state(Logs(str(root)).at(ST))


def sources(root: Path) -> dict[str, str]:
    return Definition.from_json(at(root).definition).sources


def places(catalog: SqlCatalog) -> dict[str, str | None]:
    found: dict[str, str | None] = {each.source_id: each.source_path for each in catalog.all_dependencies()}
    return {**found, **{f"known {each.table}": each.path for each in catalog.known_tables()}}


@pytest.fixture
def a(tmp_path: Path) -> Path:
    with opened(tmp_path / "A") as catalog:
        furnish(tmp_path / "A", catalog)
    return tmp_path / "A"


def identity(root: Path) -> WarehouseIdentity:
    found = read_identity(root)
    assert found is not None
    return found


class TestTheSamePlace:
    def test_a_new_warehouse_says_who_it_is_and_where(self, tmp_path: Path) -> None:
        with opened(tmp_path / "A") as catalog:
            assert catalog.identity() == identity(tmp_path / "A")
        assert identity(tmp_path / "A").place == str(tmp_path / "A")

    def test_opening_again_writes_nothing(self, a: Path) -> None:
        before = (identity(a), at(a).version, (a / IDENTITY_FILE).stat().st_ino)
        with opened(a):
            pass
        assert (identity(a), at(a).version, (a / IDENTITY_FILE).stat().st_ino) == before

    def test_a_lost_file_is_written_again_from_the_catalog_and_a_lost_catalog_from_the_file(self, a: Path) -> None:
        before = identity(a)
        (a / IDENTITY_FILE).unlink()
        with opened(a):
            assert identity(a) == before
        (a / "catalog.sqlite").unlink()
        with opened(a) as catalog:
            assert catalog.identity() == before

    def test_a_link_to_the_folder_is_the_folder(self, a: Path, tmp_path: Path) -> None:
        before = identity(a)
        a.rename(tmp_path / "B")
        a.symlink_to(tmp_path / "B")
        with opened(tmp_path / "B") as catalog:
            held = catalog.identity()
            assert held is not None
            assert (held.id, held.place) == (before.id, str(tmp_path / "B"))

    def test_a_backup_that_is_restored_in_its_place_is_the_warehouse_that_it_was(self, a: Path, tmp_path: Path) -> None:
        before = identity(a)
        shutil.copytree(a, tmp_path / "backup")
        shutil.rmtree(a)
        shutil.copytree(tmp_path / "backup", a)
        with opened(a) as catalog:
            assert catalog.identity() == identity(a) == before
            assert catalog.find_subscriber("billing") is not None
        assert at(a).configuration[ID_KEY] == "id-1"


class TestMoved:
    def test_paths_below_the_folder_go_with_it_and_others_stay(self, a: Path, tmp_path: Path) -> None:
        before = identity(a)
        a.rename(tmp_path / "M")
        with opened(tmp_path / "M") as catalog:
            assert catalog.get_by_name(NAME).path == str(tmp_path / "M" / ST)
            assert places(catalog) == {
                "orders": f"{tmp_path}/M/tables/orders",
                "far": "/far/away",
                "events": f"{a}/raw/events",
                "known orders": f"file:{tmp_path}/M/tables/orders",
                "known far": "file:/far/away",
            }
            assert {each.text for each in catalog.known_tables()} == {"MANAGED"}
            assert catalog.find_subscriber("billing") is not None
        now = identity(tmp_path / "M")
        assert (now.id, now.place) == (before.id, str(tmp_path / "M"))
        assert at(tmp_path / "M").configuration[ID_KEY] == "id-1"

    def test_a_catalog_that_is_opened_alone_finds_the_folder(self, a: Path, tmp_path: Path) -> None:
        a.rename(tmp_path / "M")
        with opened(tmp_path / "M"), open_catalog(tmp_path / "M" / "catalog.sqlite") as alone:
            assert alone.get_by_name(NAME).path == str(tmp_path / "M" / ST)

    def test_a_new_warehouse_at_the_former_place_is_another_one(self, a: Path, tmp_path: Path) -> None:
        before = identity(a).id
        a.rename(tmp_path / "M")
        with opened(a), opened(tmp_path / "M") as catalog:
            held = catalog.identity()
            assert held is not None
            assert held.id == before != identity(a).id


def make_old(root: Path) -> None:
    """What a Penstock left that kept whole paths and did not know who it was."""
    with open_catalog(root / "catalog.sqlite", root) as catalog, catalog._write() as db:
        db.execute("DELETE FROM warehouse")
        db.execute("UPDATE stream_tables SET path = ? || '/' || path", (str(root),))
        db.execute(
            "UPDATE dependencies SET source_path = ? || '/' || source_path WHERE source_id = 'orders'", (str(root),)
        )
        db.execute(
            "UPDATE known_tables SET path = 'file:' || ? || '/tables/orders' WHERE table_name = 'orders'", (str(root),)
        )
    (root / IDENTITY_FILE).unlink()
    storage = Storage.open(root / ST)
    held = json.loads(storage.configuration[DEFINITION_KEY])
    held["sources"]["orders"] = f"{root}/tables/orders"
    storage.set_configuration({DEFINITION_KEY: json.dumps(held)})


@pytest.mark.parametrize("how", ["opened where it was", "moved", "copied"])
def test_whole_paths_of_an_older_penstock_become_relative(a: Path, tmp_path: Path, how: str) -> None:
    make_old(a)
    hash_before = Definition.from_json(at(a).definition).hash
    root = a if how == "opened where it was" else tmp_path / "B"
    if how == "moved":
        a.rename(root)
    elif how == "copied":
        shutil.copytree(a, root)
    with opened(root) as catalog:
        assert catalog.get_by_name(NAME).path == str(root / ST)
        assert places(catalog)["orders"] == f"{root}/tables/orders"
        assert places(catalog)["known orders"] == f"file:{root}/tables/orders"
        assert places(catalog)["events"] == f"{a}/raw/events"
    logs = Logs(str(root))
    assert logs.folder(sources(root)["orders"]) == f"{root}/tables/orders"
    assert sources(root)["events"] == f"{a}/raw/events", "a path in the query is the user's word"
    assert Definition.from_json(at(root).definition).hash == hash_before
    if how != "opened where it was":
        assert (at(root).configuration[ID_KEY] == "id-1") == (how == "moved")


class TestCopied:
    @pytest.fixture
    def b(self, a: Path, tmp_path: Path) -> Path:
        shutil.copytree(a, tmp_path / "B")
        return tmp_path / "B"

    def test_the_first_look_makes_it_one_and_says_so(
        self, a: Path, b: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with open_lazily(b) as tables:
            assert [row.name for row in tables.status()] == [str(NAME)]
        assert [told.getMessage() for told in caplog.records] == [
            f"{b} is a copy of {a}: it is a warehouse of its own from here on"
        ]
        assert identity(b).id != identity(a).id
        before = identity(b)
        (tmp_path / "link").symlink_to(b)
        monkeypatch.chdir(tmp_path)
        for spelling in ("B", "./A/../B", "link", f"{b}/"):
            with open_lazily(spelling) as tables:
                assert tables.path == b
        assert (identity(b), len(caplog.records)) == (before, 1)

    def test_it_lets_go_of_what_belongs_to_the_original(self, a: Path, b: Path) -> None:
        with opened(b) as catalog:
            (meta,) = catalog.get_all()
            assert catalog.get_lease(meta.id) is None
            (ran,) = catalog.recent_history()
            assert (ran.status, ran.error_message) == (RefreshStatus.FAILED, COPIED)
            assert catalog.subscribers() == []
            assert {each.table: each.text for each in catalog.known_tables()} == {"orders": "MANAGED", "far": None}
            fresh = catalog.acquire_lease(meta.id, "here:1:abc", timedelta(hours=1), now=NOW)
            assert fresh.token == 2, "tokens only grow"
        with opened(a) as catalog:
            assert catalog.get_lease(catalog.get_all()[0].id) is not None
            assert catalog.find_subscriber("billing") is not None

    def test_its_stream_tables_get_ids_of_their_own_and_keep_rows_frontier_and_history(self, a: Path, b: Path) -> None:
        with opened(b):
            pass
        before, after = at(a), at(b)
        assert identity(b).id != identity(a).id
        assert after.configuration[ID_KEY] != before.configuration[ID_KEY]
        assert Definition.from_json(after.definition).id == after.configuration[ID_KEY]
        assert after.table_id == before.table_id
        assert (after.record, after.record_version, after.damaged) == (before.record, before.record_version, None)
        assert [version for version, _ in records(Logs().at(str(b / ST)))] == [1]

    def test_a_refresh_of_a_copy_commits_under_its_own_id(self, b: Path) -> None:
        with opened(b):
            pass
        storage = Storage.open(b / ST)
        pin, own = storage.pin(), storage.stream_table_id
        rows = table(BAG, [{"k": 2, WEIGHT: 1}])
        commit(
            storage,
            pin,
            Change("append", rows),
            record(stream_table_id=own),
            applier="delta-rs",
            transaction_number=pin.next_transaction,
        )
        assert [each.stream_table_id for _, each in records(Logs().at(str(b / ST)))] == [own, "id-1"]

    def test_it_knows_what_it_is_a_copy_of_also_when_it_is_moved_or_copied_again(
        self, a: Path, b: Path, tmp_path: Path
    ) -> None:
        with opened(b):
            assert identity(b).copy_of == str(a)
        b.rename(tmp_path / "M")
        with opened(tmp_path / "M"):
            assert identity(tmp_path / "M").copy_of == str(a)
        shutil.copytree(tmp_path / "M", tmp_path / "C")
        with opened(tmp_path / "C"):
            assert identity(tmp_path / "C").copy_of == str(tmp_path / "M")
        assert len({identity(each).id for each in (a, tmp_path / "M", tmp_path / "C")}) == 3
        assert len({at(each).configuration[ID_KEY] for each in (a, tmp_path / "M", tmp_path / "C")}) == 3

    def test_nothing_is_done_twice(self, b: Path) -> None:
        with opened(b):
            before = (identity(b), at(b).version)
        with opened(b) as catalog:
            assert (catalog.identity(), at(b).version) == before

    @pytest.mark.parametrize("step", ["adopt", "write_identity", "finish_copy"])
    def test_one_that_was_interrupted_is_finished_at_the_next_open(
        self, a: Path, b: Path, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        def killed(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(SqlCatalog if step == "finish_copy" else claiming, step, killed)
            with pytest.raises(KeyboardInterrupt), opened(b):
                pass
        ids = at(b).configuration[ID_KEY]
        with opened(b) as catalog:
            assert catalog.identity() == identity(b)
            assert identity(b).place == str(b)
            assert catalog.subscribers() == []
        assert at(b).configuration[ID_KEY] != "id-1"
        assert step == "adopt" or at(b).configuration[ID_KEY] == ids, "what was done stays"
        assert identity(a).place == str(a)

    def test_several_that_open_it_at_once_agree(self, b: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        plain = claiming.adopt
        second: list[WarehouseIdentity | None] = []

        def meanwhile(*args: Any, **kwargs: Any) -> None:
            monkeypatch.setattr(claiming, "adopt", plain)
            with opened(b) as other:
                second.append(other.identity())
                other.acquire_lease(other.get_all()[0].id, "there:1:abc", timedelta(hours=1), now=NOW)
            plain(*args, **kwargs)

        monkeypatch.setattr(claiming, "adopt", meanwhile)
        with opened(b) as catalog:
            assert [catalog.identity()] == second == [identity(b)]
            assert catalog.get_lease(catalog.get_all()[0].id) is not None, "the lease of the faster one holds"

    def test_without_its_catalog_it_is_a_copy_all_the_same(self, b: Path) -> None:
        (b / "catalog.sqlite").unlink()
        with opened(b) as catalog:
            assert catalog.identity() == identity(b)
            assert identity(b).place == str(b)
        assert at(b).configuration[ID_KEY] != "id-1"


class TestACatalogElsewhere:
    @pytest.fixture(params=["a file", pytest.param("a server", marks=pytest.mark.postgres)])
    def shared(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
        if request.param == "a file":
            yield str(tmp_path / "shared.sqlite")
            return
        server, schema = request.getfixturevalue("postgres"), f"settle_{uuid.uuid4().hex}"
        yield server.url(schema)
        server.sql(f"DROP SCHEMA {schema} CASCADE")

    @pytest.fixture
    def far(self, tmp_path: Path, shared: str) -> Path:
        with opened(tmp_path / "A", shared) as catalog:
            furnish(tmp_path / "A", catalog)
        return tmp_path / "A"

    def test_a_copy_is_refused_and_goes_on_with_a_catalog_of_its_own(
        self, far: Path, shared: str, tmp_path: Path
    ) -> None:
        shutil.copytree(far, tmp_path / "B")
        for _ in range(2):
            with pytest.raises(CatalogUnusable, match="is a copy of") as refused, opened(tmp_path / "B", shared):
                pass
        assert "penstock repair" in refused.value.advice
        with opened(tmp_path / "B") as own:
            assert own.get_all() == []
        assert at(tmp_path / "B").configuration[ID_KEY] != "id-1"
        with pytest.raises(CatalogUnusable, match="belongs to another warehouse"), opened(tmp_path / "B", shared):
            pass
        with opened(far, shared) as catalog:
            assert catalog.get_lease(catalog.get_all()[0].id) is not None

    def test_a_moved_one_goes_on(self, far: Path, shared: str, tmp_path: Path) -> None:
        far.rename(tmp_path / "M")
        with opened(tmp_path / "M", shared) as catalog:
            assert catalog.get_by_name(NAME).path == str(tmp_path / "M" / ST)

    def test_of_two_that_were_moved_apart_the_one_that_somebody_names_keeps_the_catalog(
        self, far: Path, shared: str, tmp_path: Path
    ) -> None:
        shutil.copytree(far, tmp_path / "B")
        far.rename(tmp_path / "M")
        with opened(tmp_path / "B", shared):
            assert identity(tmp_path / "B").place == str(tmp_path / "B"), "nothing tells which is the copy"
        with pytest.raises(CatalogUnusable, match="is a copy of") as refused, opened(tmp_path / "M", shared):
            pass
        said = f'{{"place": "{tmp_path}/M"}}'
        assert said in refused.value.advice
        (tmp_path / "M" / IDENTITY_FILE).write_text(said)
        with opened(tmp_path / "M", shared) as catalog:
            assert catalog.identity() == identity(tmp_path / "M")
        with pytest.raises(CatalogUnusable, match="is a copy of"), opened(tmp_path / "B", shared):
            pass

    def test_from_another_machine_a_move_is_not_certain_until_somebody_says_so(
        self, far: Path, shared: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        far.rename(tmp_path / "M")
        monkeypatch.setattr(claiming.socket, "gethostname", lambda: "another")
        with pytest.raises(CatalogUnusable, match="lies at") as refused, opened(tmp_path / "M", shared):
            pass
        said = f'{{"place": "{tmp_path}/M"}}'
        assert said in refused.value.advice
        (tmp_path / "M" / IDENTITY_FILE).write_text(said)
        with opened(tmp_path / "M", shared) as catalog:
            assert catalog.identity() == identity(tmp_path / "M")
            assert identity(tmp_path / "M").host == "another"


class TestARepairOfABrokenCatalogElsewhere:
    @pytest.fixture
    def far(self, a: Path, tmp_path: Path) -> Path:
        """The catalog of the warehouse A, broken and at its whole path in the settings."""
        place = tmp_path / "A" / "catalog.sqlite"
        place.write_bytes(b"no database" * 1000)
        (a / "penstock.toml").write_text(f'catalog = "{place}"\n')
        return place

    def test_a_copy_leaves_the_file_where_it_is_and_says_what_to_do(self, a: Path, far: Path, tmp_path: Path) -> None:
        shutil.copytree(a, tmp_path / "B")
        before = sorted(each.name for each in a.iterdir()), far.read_bytes()
        with pytest.raises(CatalogUnusable, match=f"may be the one of {a}") as refused:
            repair(tmp_path / "B")
        assert f"a catalog of its own: set `catalog` in {tmp_path}/B/penstock.toml" in refused.value.advice
        assert (sorted(each.name for each in a.iterdir()), far.read_bytes()) == before

    def test_a_file_that_somebody_else_may_use_stays_until_a_move_is_certain(
        self, a: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        outside = tmp_path / "shared.sqlite"
        a.rename(tmp_path / "M")
        claiming.refuse_broken_foreign(tmp_path / "M", outside)
        monkeypatch.setattr(claiming.socket, "gethostname", lambda: "another")
        with pytest.raises(CatalogUnusable, match="from where") as refused:
            claiming.refuse_broken_foreign(tmp_path / "M", outside)
        claiming.refuse_broken_foreign(tmp_path / "M", tmp_path / "M" / "catalog.sqlite")
        said = f'{{"place": "{tmp_path}/M"}}'
        assert said in refused.value.advice
        (tmp_path / "M" / IDENTITY_FILE).write_text(said)
        claiming.refuse_broken_foreign(tmp_path / "M", outside)

    def test_the_whole_path_of_a_folder_that_was_moved_is_told_with_what_to_write(
        self, a: Path, far: Path, tmp_path: Path
    ) -> None:
        a.rename(tmp_path / "M")
        for call in (open_lazily, repair):
            with pytest.raises(CatalogUnusable, match=f"there is no folder {a}\n") as refused:
                call(tmp_path / "M")
            assert "as a relative path" in refused.value.advice
        assert not a.exists()
