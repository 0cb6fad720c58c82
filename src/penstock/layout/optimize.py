"""OPTIMIZE lays stream tables out as the advisor says, under their lease, and reports what that brought.

    rewrite        sorted, folded, in files of the right size; purges deletion vectors
    vectors off    where the settings no longer allow deletion vectors; turned on they are by the first commit that
                   needs one

Each is a commit that changes no row, so a crash between them leaves a table that is right. A table that is laid out
well is left alone. Sources are not ours: they are sorted, by Delta's own OPTIMIZE, only if they are named.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from penstock.catalog.model import StreamTableMeta
from penstock.engine.spark.tuning import over_files
from penstock.engine.write.layout import FileLayout, file_layout, file_size, files_wanted, needs_optimizing
from penstock.engine.write.rewrite import forbid_vectors, rewrite, sort_source
from penstock.engine.write.storage import Storage
from penstock.engine.write.table_properties import FILE_SIZE, TARGET_FILE_SIZE
from penstock.layout.advise import LayoutAdvice, advise_one, advise_sources, advise_tables, read_plans
from penstock.names import TableName
from penstock.operators.source import Source
from penstock.refresh.lease import PATIENCE, hold
from penstock.refresh.listener import listener
from penstock.refresh.result import Progress, Report
from penstock.refresh.warehouse import Warehouse

_log = logging.getLogger("penstock.optimize")


@dataclass(frozen=True, slots=True)
class OptimizeResult:
    """What was done to one table, or why nothing was."""

    advice: LayoutAdvice
    """How the table lay before."""
    done: tuple[str, ...]
    """What was done; () if nothing was."""
    reason: str
    """Why it was done, or why not."""
    after: FileLayout
    version: int | None
    """The version that shows the new layout."""
    seconds: float

    @property
    def table(self) -> str:
        """The table's name."""
        return self.advice.table

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **self.advice.to_json(),
            "done": list(self.done),
            "reason": self.reason,
            "files_after": self.after.files,
            "bytes_after": self.after.bytes,
            "share_touched_after": self.after.touched,
            "deletion_vectors_after": self.after.deletion_vectors,
            "version": self.version,
            "seconds": round(self.seconds, 4),
        }


def optimize(
    warehouse: Warehouse, name: TableName | None = None, dry_run: bool = False, report: Report | None = None
) -> list[OptimizeResult]:
    """Optimize a stream table or a source, or every stream table; () if nothing has that name.

    Sources that are not named, and everything in a dry run, are only reported.
    """
    report = listener(report)
    held = None if name is None else warehouse.catalog.find(name)
    if held is not None:
        advice = advise_one(warehouse, held)
        return [_report_only(advice) if dry_run else optimize_table(warehouse, held, advice, report)]
    plans = read_plans(warehouse)
    results = []
    for meta, advice in advise_tables(warehouse, plans) if name is None else ():
        results.append(_report_only(advice) if dry_run else optimize_table(warehouse, meta, advice, report))
    for source, advice in advise_sources(warehouse, plans):
        if name is None:
            results.append(_report_only(advice))
        elif TableName.parse(source.name) == name:
            results.append(_report_only(advice) if dry_run else optimize_source(warehouse, source, advice, report))
    return results


def _report_only(advice: LayoutAdvice) -> OptimizeResult:
    """A result that only reports, because nothing was done to the table."""
    return OptimizeResult(advice, (), advice.text(), advice.layout, None, 0.0)


def optimize_table(
    warehouse: Warehouse, meta: StreamTableMeta, advice: LayoutAdvice, report: Report | None = None
) -> OptimizeResult:
    """Lay a stream table out as advised, waiting for a refresh that is at work on it."""
    started = time.perf_counter()
    workspace = warehouse.workspace(warehouse.definition(meta))
    spark = workspace.session
    done: list[str] = []
    version: int | None = None

    def tell(stage: str, at: int) -> None:
        if report is not None:
            report(Progress(advice.table, stage, stage, at, 2))

    lease = timedelta(seconds=warehouse.settings.lease_seconds)
    with hold(warehouse.catalog, meta.id, lease, warehouse.catalog.now, warehouse.sleep, PATIENCE) as held:
        storage = Storage.open(meta.path)
        log = warehouse.logs.at(storage.path)
        pin = storage.pin()
        snapshot = log.snapshot(pin.version)
        before = file_layout(snapshot, advice.columns)
        found = replace(advice, layout=before)
        if pin.damaged or pin.record is None:
            why = f"{pin.damaged}; the next refresh rebuilds it" if pin.damaged else "it was never filled"
            return OptimizeResult(found, (), why, before, None, time.perf_counter() - started)
        needed = needs_optimizing(snapshot, advice.columns) if pin.laid_out_by != advice.columns else ""
        if before.deletion_vectors and not warehouse.settings.deletion_vector_bytes:
            tell("turning deletion vectors off", 0)
            held.check()
            forbid_vectors(spark, storage)
            done.append("deletion vectors off")
            if any(file.deletion_vector for file in snapshot.files):
                needed = needed or "deletion vectors are purged"
        if needed:
            tell(f"sorting by {', '.join(advice.columns)}" if advice.columns else "compacting", 1)
            _set_file_size(storage, before.bytes)
            pin = storage.pin()
            snapshot = log.snapshot(pin.version)
            held.check()
            with workspace.alone():
                workspace.tuning.apply(over_files(small=False, partitions=str(warehouse.settings.shuffle_partitions)))
                version = rewrite(spark, storage, pin, snapshot, advice.columns, files_wanted(before.bytes))
            done.append("sorted" if advice.columns else "compacted")
        after = file_layout(log.snapshot(), advice.columns)
    tell("done", 2)
    reason = needed or ("the settings do not allow vectors" if done else replace(found, needed="").text())
    result = OptimizeResult(found, tuple(done), reason, after, version, time.perf_counter() - started)
    if done:
        _log.info(
            "%s %s: %d → %d files in %.3f s",
            result.table,
            ", ".join(done),
            before.files,
            after.files,
            result.seconds,
            extra={"stream_table": result.table, "event": "optimized"},
        )
    return result


def optimize_source(
    warehouse: Warehouse, source: Source, advice: LayoutAdvice, report: Report | None = None
) -> OptimizeResult:
    """Sort a source as advised by Delta's own OPTIMIZE."""
    if not advice.needed:
        return _report_only(advice)
    started = time.perf_counter()
    if report is not None:
        report(Progress(advice.table, "sorting", "sorting", 1, 2))
    log = warehouse.logs.at(source.path)
    before = log.latest_version()
    # A table that its owner clusters is compacted along the owner's columns.
    columns = () if "clustering" in log.snapshot().features else advice.columns
    sort_source(warehouse.spark, source.path, columns, file_size(advice.layout.bytes))
    after = log.snapshot()
    done = ("sorted" if columns else "compacted",) if after.version > before else ()
    return OptimizeResult(
        advice,
        done,
        advice.needed if done else "Delta found nothing to do",
        file_layout(after, advice.columns[:1]),
        after.version if done else None,
        time.perf_counter() - started,
    )


def _set_file_size(storage: Storage, size: int) -> None:
    """Tell delta-rs how large the files should be: its merges would put them together again."""
    wanted = file_size(size)
    held = int(storage.configuration.get(FILE_SIZE, TARGET_FILE_SIZE))
    if not wanted <= held < 2 * wanted:
        storage.set_configuration({FILE_SIZE: str(wanted)})
