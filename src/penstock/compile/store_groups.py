"""Groups: an aggregate at the top of a query, one stored row per group.

    folded       new state of a touched group  =  fold(stored state, state of ΔR)
    recomputed   new row of a touched group    =  γ(R₁ ⋉ touched groups)

Folding reads the change rows and the stored rows only. It needs a fold for every aggregate call; a group whose fold
turns out stale is recomputed. Projections and HAVING above the aggregate apply to the group's row; a group that HAVING
leaves out stays stored as a hidden row, so that it can come back. The one row of a global aggregate stays for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.compile.folds.choose import argument_of, fold_of
from penstock.compile.folds.fold import Fold, State
from penstock.compile.stored import (
    CHANGED,
    COUNT,
    MINUS,
    OP,
    PLUS,
    SHOWN,
    STALE,
    THERE,
    Store,
    StoredColumn,
    Summary,
    collected_leaf,
    stored_leaf,
)
from penstock.names import HIDDEN, WEIGHT, quote
from penstock.operators.aggregate import Aggregate
from penstock.operators.delta_query import STORED, DeltaQuery, Moment, Step, Within
from penstock.operators.expression import Attribute
from penstock.operators.filter import Filter
from penstock.operators.operator import Operator
from penstock.operators.project import Project
from penstock.operators.types import same


@dataclass(frozen=True, slots=True)
class _Folded:
    """One aggregate call with its fold; states are called `__ps_s<index>_<suffix>`."""

    index: int
    attribute: Attribute
    fold: Fold
    argument: str

    def state(self, suffix: str) -> str:
        return f"{HIDDEN}s{self.index}_{suffix}"

    def component(self, suffix: str) -> str:
        return f"{HIDDEN}d{self.index}_{suffix}"

    def states_of(self, alias: str) -> State:
        return lambda suffix: f"{alias}.{quote(self.state(suffix))}"

    def components_of(self, alias: str) -> State:
        return lambda suffix: f"{alias}.{quote(self.component(suffix))}"


class GroupStore(Store):
    """One row per group: visible columns, hidden keys and states."""

    finish_replaces = False

    def __init__(
        self,
        root: Operator,
        visible: tuple[Attribute, ...],
        columns: tuple[StoredColumn, ...],
        settings: dict[str, str],
    ) -> None:
        self.root: Operator = root
        self._visible = visible
        self._values = columns
        self._above, self._aggregate = _split(root)
        self._folded = self._folds(settings)
        self.strategy = "folded groups" if self._folded is not None else "recomputed groups"
        self._keys = self._key_columns()
        self.key = tuple(name for name, _ in self._keys)
        hidden = [
            StoredColumn(name, attribute.type, None) for name, attribute in self._keys if name.startswith(f"{HIDDEN}k")
        ]
        if self._folded is not None:
            hidden.append(StoredColumn(COUNT, "BIGINT", None))
            hidden += [
                StoredColumn(each.state(suffix), type_, None)
                for each in self._folded
                for suffix, type_ in each.fold.states
            ]
        self.columns = (*columns, *hidden, *self._marks())
        self._hidden = tuple(column.name for column in hidden)

    def _marks(self) -> tuple[StoredColumn, ...]:
        """Columns that say whether a stored group is shown."""
        return (StoredColumn(SHOWN, "BOOLEAN", None),) if self._filtered else ()

    @property
    def _filtered(self) -> bool:
        return any(isinstance(each, Filter) for each in self._above)

    @property
    def _decided(self) -> tuple[StoredColumn, ...]:
        """The columns that a group's own rows decide; a group in which none of them differs has not changed."""
        return self.columns

    def _folds(self, settings: dict[str, str]) -> tuple[_Folded, ...] | None:
        folded = []
        columns = self._aggregate.child.by_id
        for index, (call, attribute) in enumerate(self._aggregate.calls):
            fold = fold_of(call, settings)
            if fold is None:
                return None
            argument = argument_of(call, lambda expression: expression.render(columns))
            folded.append(_Folded(index, attribute, fold, argument))
        return tuple(folded)

    def _key_columns(self) -> tuple[tuple[str, Attribute], ...]:
        """Where each group key is stored: in a visible column if one shows it unchanged, else in a hidden one."""
        origin = {attribute.id: attribute.id for attribute in self.root.columns}
        for operator in self._above:
            if isinstance(operator, Project):
                below = {attribute.id: expression.attribute for expression, attribute in operator.items}
                origin = {shown: held for shown, via in origin.items() if (held := below.get(via)) is not None}
        shows = {
            origin[attribute.id]: column.name
            for attribute, column in zip(self._visible, self._values, strict=True)
            if attribute.id in origin
        }
        return tuple(
            (shows.get(attribute.id, f"{HIDDEN}k{index}"), attribute)
            for index, (_, attribute) in enumerate(self._aggregate.keys)
        )

    # -- filling

    def fill(self, query: DeltaQuery, moment: Moment) -> Step:
        rows = self._dressed(query, self._grouped(query, self._aggregate.child.at(query, moment)))
        return query.statement("fill", f"SELECT {self._list()} FROM {quote(rows)}", [rows], "all groups of the query")

    def _grouped(self, query: DeltaQuery, child: str) -> str:
        """Keys, calls as Spark computes them, row count and states over plain rows."""
        columns = self._aggregate.child.by_id
        items = [f"{expression.render(columns)} AS {attribute.sql}" for expression, attribute in self._aggregate.keys]
        items += [f"{call.call.render(columns)} AS {attribute.sql}" for call, attribute in self._aggregate.calls]
        if self._folded is not None:
            items.append(f"count(*) AS {quote(COUNT)}")
            for each in self._folded:
                for (suffix, type_), sql in zip(each.fold.states, each.fold.fill(each.argument), strict=True):
                    items.append(f"CAST({sql} AS {type_}) AS {quote(each.state(suffix))}")
        sql = f"SELECT {', '.join(items) or '1 AS `__ps_none`'} FROM {quote(child)}"
        if self._aggregate.keys:
            sql += f" GROUP BY {', '.join(expression.render(columns) for expression, _ in self._aggregate.keys)}"
        return query.relation("group", sql, [child])

    def _dressed(self, query: DeltaQuery, grouped: str, doubtful: str = "", carried: Sequence[str] = ()) -> str:
        """Group rows as storage rows: what is above the aggregate applied, hidden columns carried along.

        `doubtful` is SQL for rows that must not be shown whatever HAVING says; `carried` are columns of `grouped` that
        are passed on as they are.
        """
        keys = [f"{attribute.sql} AS {quote(name)}" for name, attribute in self._keys if name in self._hidden]
        states = [quote(name) for name in self._hidden if not name.startswith(f"{HIDDEN}k")]
        along = [quote(name) for name in carried]
        shown = f"NOT ({doubtful})" if doubtful else "TRUE"
        items = [*(each.sql for each in self._aggregate.columns), *keys, *states, *along, f"{shown} AS {quote(SHOWN)}"]
        current = query.relation("row", f"SELECT {', '.join(items)} FROM {quote(grouped)}", [grouped])
        kept = [*(quote(name) for name in self._hidden), *along]
        guarded = bool(doubtful)
        for operator in reversed(self._above):
            if isinstance(operator, Filter):
                guarded = True
                passed = f"({quote(SHOWN)} AND coalesce({operator.condition}, FALSE)) AS {quote(SHOWN)}"
                chosen = [*(each.sql for each in operator.columns), *kept, passed]
            else:
                assert isinstance(operator, Project)
                chosen = []
                for expression, attribute in operator.items:
                    text = expression.render(operator.child.by_id)
                    # An expression over a row that is not shown is never seen, so it must not raise either.
                    guard = guarded and expression.attribute is None
                    chosen.append(
                        f"{f'CASE WHEN {quote(SHOWN)} THEN {text} END' if guard else text} AS {attribute.sql}"
                    )
                chosen += [*kept, quote(SHOWN)]
            current = query.relation("row", f"SELECT {', '.join(chosen)} FROM {quote(current)}", [current])
        visible = [
            f"{attribute.sql} AS {quote(column.name)}"
            for attribute, column in zip(self._visible, self._values, strict=True)
        ]
        marks = [f"{quote(SHOWN)} AS {quote(mark.name)}" for mark in self._marks()]
        chosen = [*visible, *(quote(name) for name in self._hidden), *marks, *along]
        return query.relation("stored_row", f"SELECT {', '.join(chosen)} FROM {quote(current)}", [current])

    # -- changing

    def change(self, query: DeltaQuery) -> Step:
        delta = self._aggregate.child.delta(query)
        if self._folded is not None:
            return self._fold(query, delta)
        if not self._aggregate.keys:
            return self._recompute(query, None)
        return self._recompute(query, self._aggregate.touched(query, delta))

    def _fold(self, query: DeltaQuery, delta: str) -> Step:
        """One pass: delta per group, joined with its stored row, folded, dressed, compared with what was stored."""
        assert self._folded is not None
        summed = self._summed(query, delta)
        within: tuple[Within, ...] = ()
        if any((STORED, name) in query.prunable for name, _ in self._keys):
            summed, within = self._collected(query, summed)
        stored = stored_leaf(query, self, within)
        old = {column.name: f"{HIDDEN}o{index}" for index, column in enumerate(self.columns)}
        items = [f"d.{attribute.sql}" for _, attribute in self._keys]
        items.append(f"coalesce(o.{quote(COUNT)}, 0) + d.{quote(COUNT)} AS {quote(COUNT)}")
        stale = []
        for each in self._folded:
            was, came = each.states_of("o"), each.components_of("d")
            for (suffix, type_), sql in zip(each.fold.states, each.fold.fold(was, came), strict=True):
                items.append(f"CAST({sql} AS {type_}) AS {quote(each.state(suffix))}")
            if (doubt := each.fold.stale(was, came)) is not None:
                stale.append(f"coalesce({doubt}, FALSE)")
        items.append(f"{' OR '.join(stale) or 'FALSE'} AS {quote(STALE)}")
        items.append(f"o.{quote(COUNT)} IS NOT NULL AS {quote(THERE)}")
        items += [f"o.{quote(name)} AS {quote(alias)}" for name, alias in old.items()]
        folded = query.relation(
            "folded",
            f"SELECT {', '.join(items)} FROM {quote(summed)} d LEFT JOIN {quote(stored)} o ON {self._match('d', 'o')}",
            [summed, stored],
        )
        # A stale or emptied group has no final value to compute, and computing it could raise.
        emptied = f"{quote(COUNT)} <= 0" if self._keys else f"{quote(COUNT)} < 0"
        doubtful = f"{quote(STALE)} OR {emptied}"
        finals = [attribute.sql for _, attribute in self._keys]
        for each in self._folded:
            value = each.fold.final(each.states_of("f"))
            guarded = f"CASE WHEN NOT ({doubtful}) THEN {value} END"
            finals.append(f"CAST({guarded} AS {each.attribute.type}) AS {each.attribute.sql}")
        states = [quote(each.state(suffix)) for each in self._folded for suffix, _ in each.fold.states]
        kept = [STALE, THERE, *old.values()]
        valued = query.relation(
            "valued",
            f"SELECT {', '.join([*finals, quote(COUNT), *states, *(quote(name) for name in kept)])} "
            f"FROM {quote(folded)} f",
            [folded],
        )
        rows = self._dressed(query, valued, doubtful, kept)
        sql = self._judged(quote(rows), old)
        return query.statement("fold", sql, [rows], "stored groups with the delta folded in")

    def _judged(self, rows: str, old: dict[str, str]) -> str:
        """What to do with each folded row, given the stored row beside it."""
        there = quote(THERE)
        gone = f"WHEN {quote(COUNT)} = 0 THEN 'd' " if self._keys else ""
        op = f"CASE WHEN {quote(COUNT)} < 0 THEN '!' {gone}WHEN {quote(STALE)} THEN '?' ELSE 'u' END"
        judged = f"SELECT *, {op} AS {quote(OP)} FROM {rows}"
        unchanged, looks_same = (
            " AND ".join(same(quote(column.name), quote(old[column.name]), column.type) for column in columns) or "TRUE"
            for columns in (self._decided, self._seen)
        )
        shown_now, shown_then = (quote(SHOWN), quote(old[SHOWN])) if self.has_hidden_rows else ("TRUE", "TRUE")
        now = f"({quote(OP)} = 'u' AND {shown_now})"
        then = f"({quote(OP)} IN ('u', 'd') AND {there} AND {shown_then})"
        steady = f"({now} AND {then} AND {looks_same})"
        return (
            f"SELECT {self._list()}, {quote(OP)}, "
            f"CASE WHEN {now} AND NOT {steady} THEN 1L ELSE 0L END AS {quote(PLUS)}, "
            f"CASE WHEN {then} AND NOT {steady} THEN 1L ELSE 0L END AS {quote(MINUS)}\n"
            f"FROM ({judged})\nWHERE {quote(OP)} IN ('!', '?') OR ({quote(OP)} = 'd' AND {there}) "
            f"OR ({quote(OP)} = 'u' AND NOT ({there} AND {unchanged}))"
        )

    def _summed(self, query: DeltaQuery, delta: str) -> str:
        """The delta of every component per touched group."""
        assert self._folded is not None
        columns = self._aggregate.child.by_id
        weight = quote(WEIGHT)
        named = [f"{expression.render(columns)} AS {attribute.sql}" for expression, attribute in self._aggregate.keys]
        named += [f"{each.argument} AS `__ps_x{each.index}`" for each in self._folded]
        rows = query.relation("arguments", f"SELECT {', '.join([*named, weight])} FROM {quote(delta)}", [delta])
        if any(each.fold.nets_values for each in self._folded):
            held = [attribute.sql for _, attribute in self._aggregate.keys]
            held += [f"`__ps_x{each.index}`" for each in self._folded]
            rows = query.relation(
                "net",
                f"SELECT {', '.join(held)}, sum({weight}) AS {weight} FROM {quote(rows)} "
                f"GROUP BY {', '.join(held)} HAVING sum({weight}) <> 0",
                [rows],
            )
        items = [attribute.sql for _, attribute in self._aggregate.keys]
        items.append(f"coalesce(sum({weight}), 0) AS {quote(COUNT)}")
        for each in self._folded:
            for suffix, sql in each.fold.delta(f"`__ps_x{each.index}`", weight):
                items.append(f"{sql} AS {quote(each.component(suffix))}")
        sql = f"SELECT {', '.join(items)} FROM {quote(rows)}"
        if self._aggregate.keys:
            sql += f" GROUP BY {', '.join(attribute.sql for _, attribute in self._aggregate.keys)}"
        return query.relation("summed", sql, [rows])

    def _collected(self, query: DeltaQuery, summed: str) -> tuple[str, tuple[Within, ...]]:
        """Compute the delta of the groups first: it says which of many stored rows are needed."""
        assert self._folded is not None
        components = [each.component(suffix) for each in self._folded for suffix, _ in each.fold.delta("x", "w")]
        held = (*(attribute.column for _, attribute in self._keys), COUNT, *components)
        listed = ", ".join(map(quote, held))
        step = query.collect(
            f"SELECT {listed} FROM {quote(summed)}", [summed], held, "the delta of every touched group"
        )
        return step, tuple(Within(name, step, attribute.column) for name, attribute in self._keys)

    def finish(self, query: DeltaQuery, change: Summary, phase: int = 0) -> Step | None:
        if phase or self._folded is None or "?" not in change.operations:
            return None
        if not self._keys:
            return self._recompute(query, None)
        changed = collected_leaf(query, CHANGED, (*(column.name for column in self.columns), OP))
        items = ", ".join(f"{quote(name)} AS {attribute.sql}" for name, attribute in self._keys)
        stale = query.relation("stale", f"SELECT {items} FROM {quote(changed)} WHERE {quote(OP)} = '?'", [changed])
        return self._recompute(query, stale, (CHANGED, tuple(name for name, _ in self._keys)))

    def _recompute(
        self, query: DeltaQuery, touched: str | None, collected: tuple[str, tuple[str, ...]] | None = None
    ) -> Step:
        """The touched groups at the end of the interval, against their stored rows."""
        step, held = collected or (touched, tuple(attribute.column for _, attribute in self._keys))
        keys = zip(self._keys, held, strict=True)
        stored = stored_leaf(
            query, self, (Within(name, step, column) for (name, _), column in keys if step is not None)
        )
        if touched is None:
            child = self._aggregate.child.at(query, Moment.AFTER)
        else:
            child = self._aggregate.narrowed(query, Moment.AFTER, touched, collected)
        rows = self._dressed(query, self._grouped(query, child))
        sql = self._compared(touched, rows, stored, self._decided)
        uses = [rows, stored, *([touched] if touched else [])]
        return query.statement("recompute", sql, uses, "touched groups computed anew")

    def difference(self, query: DeltaQuery, fresh: str) -> Step:
        stored = stored_leaf(query, self)
        if not self._keys:
            return query.statement(
                "diff", self._compared(None, fresh, stored, self.columns), [fresh, stored], "recomputed row"
            )
        keys = ", ".join(f"{quote(name)} AS {attribute.sql}" for name, attribute in self._keys)
        every = query.relation(
            "keys", f"SELECT {keys} FROM {quote(fresh)} UNION SELECT {keys} FROM {quote(stored)}", [fresh, stored]
        )
        sql = self._compared(every, fresh, stored, self.columns)
        return query.statement("diff", sql, [every, fresh, stored], "recomputed groups against stored groups")

    def _compared(self, touched: str | None, rows: str, stored: str, decided: Iterable[StoredColumn]) -> str:
        """Rows to write for touched keys: `rows` are their new storage rows; one that is missing is gone."""
        if touched is None or not self._keys:
            present = "TRUE"
            source = f"{quote(rows)} n LEFT JOIN (SELECT *, TRUE AS {quote(THERE)} FROM {quote(stored)}) o ON TRUE"
        else:
            new = " AND ".join(f"(t.{attribute.sql} <=> n.{quote(name)})" for name, attribute in self._keys)
            old = " AND ".join(f"(t.{attribute.sql} <=> o.{quote(name)})" for name, attribute in self._keys)
            source = (
                f"{quote(touched)} t LEFT JOIN (SELECT *, TRUE AS {quote(THERE)} FROM {quote(rows)}) n ON {new} "
                f"LEFT JOIN (SELECT *, TRUE AS {quote(THERE)} FROM {quote(stored)}) o ON {old}"
            )
            present = f"n.{quote(THERE)}"
        alive = f"coalesce({present}, FALSE)"
        was = f"coalesce(o.{quote(THERE)}, FALSE)"
        pick = ", ".join(
            f"CASE WHEN {alive} THEN n.{quote(column.name)} ELSE o.{quote(column.name)} END AS {quote(column.name)}"
            for column in self.columns
        )
        unchanged = " AND ".join(
            same(f"n.{quote(column.name)}", f"o.{quote(column.name)}", column.type) for column in decided
        )
        looks_same = (
            " AND ".join(
                same(f"n.{quote(column.name)}", f"o.{quote(column.name)}", column.type) for column in self._seen
            )
            or "TRUE"
        )
        shown_now, shown_then = (
            (f"coalesce(n.{quote(SHOWN)}, FALSE)", f"coalesce(o.{quote(SHOWN)}, FALSE)")
            if self.has_hidden_rows
            else ("TRUE", "TRUE")
        )
        now, then = f"({alive} AND {shown_now})", f"({was} AND {shown_then})"
        steady = f"({now} AND {then} AND {looks_same})"
        return (
            f"SELECT {pick}, CASE WHEN {alive} THEN 'u' ELSE 'd' END AS {quote(OP)}, "
            f"CASE WHEN {now} AND NOT {steady} THEN 1L ELSE 0L END AS {quote(PLUS)}, "
            f"CASE WHEN {then} AND NOT {steady} THEN 1L ELSE 0L END AS {quote(MINUS)}\n"
            f"FROM {source}\nWHERE ({alive} AND NOT ({was} AND {unchanged})) OR (NOT {alive} AND {was})"
        )

    @property
    def _seen(self) -> tuple[StoredColumn, ...]:
        return tuple(column for column in self._values if column.visible is not None)

    def _match(self, touched: str, stored: str) -> str:
        return (
            " AND ".join(f"({touched}.{attribute.sql} <=> {stored}.{quote(name)})" for name, attribute in self._keys)
            or "TRUE"
        )

    def _list(self) -> str:
        return ", ".join(quote(column.name) for column in self.columns)


def _split(root: Operator) -> tuple[list[Operator], Aggregate]:
    """What stands above the top aggregate, from the top down, and the aggregate."""
    above: list[Operator] = []
    node = root
    while isinstance(node, Project | Filter):
        above.append(node)
        node = node.child
    assert isinstance(node, Aggregate)
    return above, node


def top_aggregate(root: Operator) -> Aggregate | None:
    """The aggregate that only projections and filters stand above, if there is one."""
    node = root
    while isinstance(node, Project | Filter):
        node = node.child
    return node if isinstance(node, Aggregate) else None
