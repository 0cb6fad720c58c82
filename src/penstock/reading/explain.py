"""EXPLAIN STREAM TABLE: verdict, tree, frontiers, costs then and now; on request, the delta as SQL that runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from penstock.catalog.model import Action, RefreshMode, RefreshRecord, StreamTableMeta
from penstock.compile.explain import runnable, tree_lines
from penstock.compile.plan import Plan, compile_query
from penstock.compile.reasons import REASONS, with_link
from penstock.compile.stored import SHOWN
from penstock.engine.bind.pinned_clock import timestamp_text
from penstock.engine.delta.interval import ChangeSet
from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.read.large_sources import LargeSources
from penstock.errors import QueryInvalid
from penstock.layout.advise import LayoutAdvice, advise_one, advise_sources
from penstock.names import WEIGHT, Frontier, SourceVersion, quote
from penstock.operators.consolidate import group_by_bits, kept_by_bits
from penstock.operators.delta_query import STORED, DeltaQuery, Leaf, LeafKind, Moment
from penstock.operators.source import Source
from penstock.refresh.hidden_names import refuse_hidden
from penstock.refresh.stages.compute import rows_at_rest
from penstock.refresh.stages.cost import RUNS, Choice
from penstock.refresh.stages.survey import changed_since
from penstock.refresh.stages.weigh import weigh
from penstock.refresh.stored_frontier import stored_frontier
from penstock.refresh.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a stream table or a query is maintained."""

    name: str | None
    mode: str
    effective: str
    reason_code: str | None
    reason: str | None
    strategy: str
    tree: tuple[str, ...]
    before: Frontier | None
    after: Frontier
    source_lines: tuple[str, ...]
    statements: tuple[tuple[str, str], ...]
    """Purpose and SQL of each step of the delta program."""
    rows_changed: int
    rows_at_rest: int | None
    """Rows of all tables that the query reads; None if a log does not count them."""
    last: RefreshRecord | None = None
    """The newest refresh that computed something."""
    choice: Choice | None = None
    """What both modes would cost now; None if there is nothing to choose between."""
    supposed: int | None = None
    """The number of changed rows that `choice` supposes, because none wait."""
    layout: tuple[LayoutAdvice, ...] = ()
    """How its own files lie, then the sources that should be laid out anew."""
    unwatched: tuple[str, ...] = ()
    """User-defined functions whose code cannot be read, so that a change of it is not noticed."""
    passes: tuple[tuple[str, str], ...] = ()
    """The compiler's passes that the query went through, each with what it left."""

    def text(self, sql: bool = False) -> str:
        """For the terminal; with `sql`, the statements of the delta follow."""
        lines = [f"stream table {self.name}" if self.name else "query"]
        lines.append(f"  mode       {self.mode} → {self.effective}")
        if self.reason_code:
            lines.append(f"  reason     {self.reason_code}: {REASONS.get(self.reason_code, '')}")
            lines.append(f"             {self.reason}")
        lines.append(f"  stored as  {self.strategy}")
        if (steps := len(self.statements)) and not sql:
            counted = f"{steps} SQL statement{'s' if steps > 1 else ''}"
            lines.append(f"  delta      {counted}, shown by --sql, EXTENDED or text(sql=True)")
        lines += self._costs()
        lines += self._layout()
        if self.unwatched:
            lines.append(f"  functions  {', '.join(self.unwatched)}: code cannot be read, so a change is not noticed")
        lines += ["", "sources", *(f"  {line}" for line in self.source_lines)]
        if self.tree:
            lines += ["", "operators", *(f"  {line}" for line in self.tree)]
        if sql and self.passes:
            lines += ["", "passes of the compiler", *(f"  {name:<15}{outcome}" for name, outcome in self.passes)]
        for number, (purpose, statement) in enumerate(self.statements if sql else (), 1):
            lines += ["", f"-- delta, step {number} of {len(self.statements)}: {purpose}", statement + ";"]
        return "\n".join(lines) + "\n"

    def _costs(self) -> list[str]:
        changed, at_rest = f"{self.rows_changed:,} rows changed", "not counted by the log"
        if self.rows_at_rest is not None:
            at_rest = f"{self.rows_at_rest:,}{_share(self.rows_changed, self.rows_at_rest)}"
        lines = [f"  costs      {changed} since the last refresh, rows at rest: {at_rest}"]
        lines += self._estimates()
        if (last := self.last) is not None:
            read = "not counted by the logs" if last.rows_read is None else f"{last.rows_read:,}"
            share = _share(last.rows_read, last.rows_at_rest)
            lines.append(
                f"  last time  {last.action.value}: {last.delta_rows or 0:,} rows changed, rows read: {read}{share}, "
                f"rows written: {last.rows_written or 0:,}"
            )
        return lines

    def _estimates(self) -> list[str]:
        auto = self.mode == RefreshMode.AUTO.value
        if (choice := self.choice) is not None:
            rows = (
                ""
                if self.supposed is None
                else f"for {self.supposed:,} changed row{'s' if self.supposed != 1 else ''}: "
            )
            return [f"  estimates  {rows}{choice.why} ({f'AUTO → {choice.action.value}' if auto else 'both modes'})"]
        if self.name is None or not auto:
            return []
        if self.before is None:
            return ["  estimates  none before the first fill"]
        if self.effective == RefreshMode.INCREMENTAL.value:
            return ["  estimates  none, the query reads no table"]
        took = "" if self.last is None or self.last.seconds is None else f", the last took {self.last.seconds:.2f} s"
        return [f"  estimates  none, every refresh is a full one{took} (AUTO → FULL)"]

    def _layout(self) -> list[str]:
        lines = []
        for each in self.layout:
            own = each.is_stream_table
            lines.append(f"  layout     {each.text()}" if own else f"             source {each.table}: {each.text()}")
            if own and each.layout.deletion_vectors:
                lines.append("             deletion vectors are on: rows that go are marked, and purged by optimize")
            if each.command:
                lines.append(f"             run: {each.command}")
        return lines

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "mode": self.mode,
            "effective_mode": self.effective,
            "reason_code": self.reason_code,
            "reason": self.reason,
            "strategy": self.strategy,
            "operators": list(self.tree),
            "frontier_before": self.before.to_json() if self.before else None,
            "frontier_after": self.after.to_json(),
            "sources": list(self.source_lines),
            "delta": [{"purpose": purpose, "sql": sql} for purpose, sql in self.statements],
            "rows_changed": self.rows_changed,
            "rows_at_rest": self.rows_at_rest,
            "choice": self.choice.to_json() if self.choice is not None else None,
            "choice_supposes_rows": self.supposed,
            "last_refresh": {
                "action": self.last.action.value,
                "rows_changed": self.last.delta_rows,
                "rows_read": self.last.rows_read,
                "rows_at_rest": self.last.rows_at_rest,
                "rows_written": self.last.rows_written,
            }
            if self.last is not None
            else None,
            "layout": [each.to_json() for each in self.layout],
            "unwatched_functions": list(self.unwatched),
        }


def _share(part: int | None, whole: int | None) -> str:
    """` (0.4% of …)`, or nothing where there is nothing to compare."""
    return f" ({part / whole:.2%} of rows at rest)" if part is not None and whole else ""


def explain_table(warehouse: Warehouse, meta: StreamTableMeta) -> Explanation:
    """Explain a stream table over the interval that its next refresh would cover."""
    definition = warehouse.definition(meta)
    workspace = warehouse.workspace(definition)
    with workspace.alone():
        try:
            plan = workspace.plan_anew(definition.query, definition.key, definition.visible_columns)
        except QueryInvalid:
            workspace.require_sources(definition)
            raise
    state, log = warehouse.storage_state(meta), warehouse.logs.at(meta.path)
    held, before = log.snapshot(state.version), stored_frontier(meta, state)
    stored = f"delta.{quote(log.root)} VERSION AS OF {state.version}"
    changes = _changes(warehouse, plan, before)
    explained = _explain(str(meta.name), plan, meta.refresh_mode, before, changes, stored, {STORED: held})
    runs = warehouse.catalog.effective_runs(meta.id, RUNS)
    waiting = any(change.data_changed for change in changes.values())
    supposed = None if waiting else _usual(runs)
    choice = None
    if before is not None:
        choice = weigh(warehouse.catalog, warehouse.settings, meta, plan, changes, held, supposed)
    wanting = [advice for _, advice in advise_sources(warehouse, [(meta, plan)]) if advice.needed]
    layout = (advise_one(warehouse, meta, plan), *wanting)
    return replace(explained, last=runs[0] if runs else None, choice=choice, supposed=supposed, layout=layout)


def _usual(runs: Sequence[RefreshRecord]) -> int:
    """The changed rows of the newest incremental run; one, if there was none."""
    return next((run.delta_rows or 1 for run in runs if run.action is Action.INCREMENTAL), 1)


def explain_query(warehouse: Warehouse, query: str, settings: dict[str, str], database: str) -> Explanation:
    """Explain a query that may become a stream table."""
    workspace = warehouse.fresh_workspace(settings, database)
    with workspace.alone():
        bound = workspace.bind(query)
        refuse_hidden(warehouse, query, database)
    plan = compile_query(bound, (), settings)
    return _explain(None, plan, RefreshMode.AUTO, None, _changes(warehouse, plan, None), None)


def _changes(warehouse: Warehouse, plan: Plan, before: Frontier | None) -> dict[str, ChangeSet]:
    """What happened to each source since the frontier; nothing where the logs no longer say."""
    return {
        source.id: changed_since(warehouse.logs.at(source.path), source.name, source.id, before, {})[0]
        for source in plan.bound.sources
    }


def _explain(
    name: str | None,
    plan: Plan,
    mode: RefreshMode,
    before: Frontier | None,
    changes: dict[str, ChangeSet],
    stored: str | None,
    held: Mapping[str, Snapshot] = MappingProxyType({}),
) -> Explanation:
    lines = []
    for source in plan.bound.sources:
        change = changes[source.id]
        way = "pinned file list" if change.end.fast else f"Delta's own reader ({change.end.slow_because})"
        feed = "change feed on" if change.feed_on else "change feed off"
        versions = f"version {change.before} → {change.after}"
        lines.append(f"{source.name}: {versions}, {change.rows_estimate:,} change rows, {feed}, {way}")
    after = Frontier(
        {source: SourceVersion(change.after, change.end.committed_at) for source, change in changes.items()}
    )
    statements: list[tuple[str, str]] = []
    snapshots = {source: change.end for source, change in changes.items()}
    query = DeltaQuery(moved=frozenset(changes), clock=True, prunable=LargeSources({**snapshots, **held}))
    root = plan.store.root
    if plan.incremental and root is not None and root.moved(query):
        clock = {Moment.AFTER: "current_timestamp()", Moment.BEFORE: "current_timestamp()"}
        if before is not None and before.data_timestamp is not None:
            clock[Moment.BEFORE] = timestamp_text(before.data_timestamp)
        last = plan.store.change(query)
        done: dict[str, str] = {}
        for step in (*query.steps, last):
            sql = runnable(step, lambda leaf: _leaf_sql(leaf, changes, plan, stored, done, clock))
            done[step.name] = sql
            statements.append((step.purpose, sql))
    refused = plan.refused
    asked = with_link("AS_ASKED", "refresh mode FULL") if mode is RefreshMode.FULL else None
    incremental = plan.incremental and mode is not RefreshMode.FULL
    return Explanation(
        name=name,
        mode=mode.value,
        effective="INCREMENTAL" if incremental else "FULL",
        reason_code=refused.reason if refused else ("AS_ASKED" if asked else None),
        reason=f"{refused.construct}. {refused.advice}" if refused else asked,
        strategy=plan.store.strategy,
        tree=tuple(tree_lines(plan)),
        before=before,
        after=after,
        source_lines=tuple(lines),
        statements=tuple(statements),
        rows_changed=sum(change.rows_estimate for change in changes.values()),
        rows_at_rest=rows_at_rest(change.end for change in changes.values()),
        unwatched=tuple(name for name, code in plan.bound.functions if not code),
        passes=plan.passes,
    )


def _leaf_sql(
    leaf: Leaf,
    changes: dict[str, ChangeSet],
    plan: Plan,
    stored: str | None,
    done: dict[str, str],
    clock: dict[Moment, str],
) -> str:
    if leaf.kind is LeafKind.CLOCK:
        return f"SELECT {clock[leaf.moment or Moment.AFTER]} AS {quote(leaf.columns[0])}"
    if leaf.kind is LeafKind.COLLECTED:
        return done[leaf.name].replace("\n", "\n  ")
    if leaf.kind is LeafKind.STORED:
        if stored is None:
            types = {column.name: column.type for column in plan.store.columns}
            items = ", ".join(f"CAST(NULL AS {types[name]}) AS {quote(name)}" for name in leaf.columns)
            return f"SELECT {items} WHERE FALSE"
        return f"SELECT {', '.join(quote(name) for name in leaf.columns)} FROM {stored}"
    assert leaf.source is not None
    change = changes[leaf.source.id]
    if leaf.kind is LeafKind.AT:
        version = change.before if leaf.moment is Moment.BEFORE else change.after
        return _rows_at(leaf.source, version, leaf.columns, repeat=True)
    columns = tuple(name for name in leaf.columns if name != WEIGHT)
    listed = ", ".join(quote(name) for name in columns)
    weight = quote(WEIGHT)
    if change.feed_on and change.after > change.before:
        path = leaf.source.path.replace("'", "\\'")
        sign = "CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1L ELSE -1L END"
        times = f" * {weight}" if leaf.source.weighted else ""
        shown = f" WHERE {quote(SHOWN)}" if leaf.source.has_hidden_rows else ""
        rows = (
            f"SELECT {listed}, {sign}{times} AS {weight} "
            f"FROM table_changes_by_path('{path}', {change.before + 1}, {change.after}){shown}"
        )
    else:
        ends = [
            f"SELECT {listed}, {sign}{f' * {weight}' if leaf.source.weighted else ''} AS {weight} FROM "
            f"({_rows_at(leaf.source, version, (*columns, *([WEIGHT] if leaf.source.weighted else [])), repeat=False)})"
            for sign, version in (("1L", change.after), ("-1L", change.before))
        ]
        rows = "\n  UNION ALL ".join(ends)
    types = {field.name: field.dataType.simpleString().upper() for field in change.end.schema.fields}
    typed = [(quote(name), types.get(name, "")) for name in columns]
    kept, groups = kept_by_bits(typed), group_by_bits(typed)
    return f"SELECT {kept}, sum({weight}) AS {weight} FROM (\n  {rows}\n  ){groups} HAVING sum({weight}) <> 0"


def _rows_at(source: Source, version: int, columns: tuple[str, ...], repeat: bool) -> str:
    text = (
        f"SELECT {', '.join(quote(name) for name in columns)} FROM delta.{quote(source.path)} VERSION AS OF {version}"
    )
    if source.weighted and repeat:
        text += f" LATERAL VIEW explode(array_repeat(0, CAST({quote(WEIGHT)} AS INT))) c AS `__ps_copy`"
    return text + (f" WHERE {quote(SHOWN)}" if source.has_hidden_rows else "")
