"""A warehouse under a scheduler, with writers and a witness: what tests of a hostile world have in common.

Every warehouse has a schema of its own, because all of them share one Spark.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from workers import Nursery, Worker

from kills.runner import SETTINGS
from kills.witness import Witness
from kills.world import BASES, STREAM_TABLES, Writers, statements
from penstock.catalog.model import RefreshRecord
from penstock.catalog.open_catalog import CATALOG_FILE, open_catalog
from penstock.catalog.writer import CatalogWriter

FEW = ("totals", "highest", "both_sides", "pairs")
"""A diamond and a bag."""


def until(true: Callable[[], Any], what: str, seconds: float = 120.0) -> float:
    """Wait until something is so; the seconds that it took."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < seconds, f"{what}: not so after {seconds:.0f} s"
        time.sleep(0.05)
    return time.monotonic() - began


class Scheduled:
    """One such warehouse."""

    def __init__(
        self, nursery: Nursery, folder: Path, schema: str, names: Iterable[str], catalog: str | None, tables: Path
    ) -> None:
        self.folder = folder
        self.schema = schema
        self.names = tuple(names)
        self.place = catalog or str(folder / CATALOG_FILE)
        self.bases = {name: tables / name for name in BASES}
        self._nursery = nursery
        self._given = catalog
        maker = self._open(None)
        maker.ask("sql", text=f"CREATE SCHEMA {schema} LOCATION '{tables}'; USE {schema}")
        for statement in statements(self.names):
            maker.ask("sql", text=statement)
        maker.end()
        self.catalog: CatalogWriter = open_catalog(self.place)
        self.witness = Witness(self.catalog, {name: STREAM_TABLES[name] for name in self.names}, self.bases)
        self.writers = Writers(self.bases, seed=7)

    def _open(self, host: str | None, mend: bool = False, **settings: Any) -> Worker:
        return self._nursery.worker(
            self.folder, host=host, catalog=self._given, mend=mend, **{**SETTINGS, "log_level": "error", **settings}
        )

    def worker(self, host: str | None = None, mend: bool = False, **settings: Any) -> Worker:
        """A process that has it open."""
        born = self._open(host, mend=mend, **settings)
        born.ask("sql", text=f"USE {self.schema}")
        return born

    def scheduler(self, host: str | None = None, **settings: Any) -> Worker:
        """A process that stands for leadership."""
        born = self.worker(host, **settings)
        born.ask("run")
        return born

    def await_level(self, seconds: float = 120.0) -> float:
        """Wait until everything shows the newest versions."""
        return until(self.witness.is_level, "every stream table has caught up", seconds)

    def assert_well(self) -> None:
        """The witness finds nothing."""
        found = self.witness.check()
        assert found.none, str(found)

    def history(self, **facts: Any) -> list[RefreshRecord]:
        """The refreshes with these facts, newest first."""
        found = self.catalog.recent_history(None, 500)
        return [each for each in found if all(getattr(each, name) == value for name, value in facts.items())]

    def status(self, name: str) -> str:
        """The status of a stream table."""
        return next(meta.status.value for meta in self.catalog.get_all() if meta.name.table == name)


@contextmanager
def scheduled(
    nursery: Nursery,
    folder: Path,
    schema: str,
    names: Iterable[str] = FEW,
    catalog: str | None = None,
    tables: Path | None = None,
) -> Iterator[Scheduled]:
    """A warehouse in a folder, with these stream tables; `tables` is where its base tables lie."""
    folder.mkdir(exist_ok=True)
    made = Scheduled(nursery, folder, schema, names, catalog, tables or folder / "tables" / f"{schema}.db")
    try:
        yield made
        made.writers.rest()
    finally:
        with suppress(Exception):
            made.writers.rest()
        made.catalog.close()
        nursery.kill_all()
        cleaner = nursery.worker()
        cleaner.ask("forget", statements=[f"DROP SCHEMA {schema} CASCADE"])
        cleaner.end()
