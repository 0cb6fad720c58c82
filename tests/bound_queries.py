"""Bound queries made by hand: what the binder would read out of Spark, without a JVM.

Each pairs the text of a query with its bound tree, so that goldens can show the delta SQL and a runner can compare the
two. All read the tables of `SCHEMA`.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.compile.bound import (
    Bound,
    BoundAggregate,
    BoundClock,
    BoundConstant,
    BoundDistinct,
    BoundFilter,
    BoundGenerate,
    BoundJoin,
    BoundLimit,
    BoundProject,
    BoundQuery,
    BoundScan,
    BoundUnion,
    BoundWindow,
    JoinKind,
)
from penstock.compile.plan import Plan, compile_query
from penstock.operators.expression import AggregateCall, Attribute, Expression
from penstock.operators.source import Source
from penstock.operators.window import WindowCall
from penstock.testing.strategies import Column, Schema, Table

SCHEMA = Schema(
    (
        Table(
            "t",
            (Column("k", "INT"), Column("g", "STRING"), Column("v", "INT"), Column("d", "DECIMAL(8,2)")),
        ),
        Table("u", (Column("k", "INT"), Column("g", "STRING"), Column("w", "INT"))),
    )
)


@dataclass(frozen=True)
class Case:
    """A query, its bound tree, and the key declared for it."""

    title: str
    sql: str
    bound: BoundQuery
    key: tuple[str, ...] = ()

    @property
    def plan(self) -> Plan:
        return compile_query(self.bound, self.key)


class Build:
    """Numbers attributes as the binder does."""

    def __init__(self) -> None:
        self._last = 0
        self.sources: dict[str, Source] = {}

    def attribute(self, name: str, type_: str, nullable: bool = True) -> Attribute:
        self._last += 1
        return Attribute(self._last, name, type_, nullable)

    def scan(self, table: str) -> tuple[BoundScan, dict[str, Attribute]]:
        source = self.sources.setdefault(table, Source(table, f"default.{table}", f"/{table}"))
        held = {column.name: self.attribute(column.name, column.type) for column in SCHEMA.table(table).columns}
        return BoundScan(source, tuple(held.items())), held

    def item(self, name: str, expression: Expression) -> tuple[Expression, Attribute]:
        """A select item; a bare column keeps its attribute."""
        return expression, self.attribute(name, expression.type, expression.nullable)

    def call(self, function: str, text: str, type_: str, *reads: Attribute, distinct: bool = False):  # type: ignore[no-untyped-def]
        whole = expression(text, type_, *reads)
        arguments = tuple(read(each) for each in reads) or (Expression(("1",), "INT", False),)
        return AggregateCall(function, whole, arguments, distinct, None), self.attribute(function.lower(), type_)

    def query(self, tree: Bound, columns: tuple[Attribute, ...]) -> BoundQuery:
        return BoundQuery(columns, tuple(self.sources.values()), (), (), tree, False)


def expression(text: str, type_: str, *reads: Attribute) -> Expression:
    """Text with a `{}` for every column."""
    parts: list[str | int] = []
    pieces = text.split("{}")
    for place, piece in enumerate(pieces):
        parts += [piece] if piece else []
        parts += [reads[place].id] if place < len(reads) and place < len(pieces) - 1 else []
    return Expression(tuple(parts), type_, True)


def read(attribute: Attribute) -> Expression:
    return Expression((attribute.id,), attribute.type, attribute.nullable)


def same(attribute: Attribute) -> tuple[Expression, Attribute]:
    return read(attribute), attribute


def _filter_and_project() -> Case:
    build = Build()
    scan, t = build.scan("t")
    items = (same(t["k"]), build.item("x", expression("({} + 1)", "INT", t["v"])))
    tree = BoundProject(BoundFilter(scan, (expression("({} > 2)", "BOOLEAN", t["v"]),)), items)
    return Case(
        "filter and project", "SELECT k, v + 1 AS x FROM t WHERE v > 2", build.query(tree, (t["k"], items[1][1]))
    )


def _join(title: str, tables: list[str], on: list[tuple[int, int]], sql: str) -> Case:
    build = Build()
    scans = [build.scan(table) for table in tables]
    tree: Bound = scans[0][0]
    for place, (left, right) in enumerate(on, 1):
        equal = expression("({} = {})", "BOOLEAN", scans[left][1]["k"], scans[right][1]["k"])
        tree = BoundJoin(tree, scans[place][0], (equal,))
    first, last = scans[0][1]["v"], scans[-1][1]["w" if tables[-1] == "u" else "v"]
    items = (build.item("x", read(first)), build.item("y", read(last)))
    return Case(title, sql, build.query(BoundProject(tree, items), (items[0][1], items[1][1])))


def _self_join() -> Case:
    build = Build()
    (one, a), (two, b) = build.scan("t"), build.scan("t")
    on = (
        expression("({} = {})", "BOOLEAN", a["k"], b["k"]),
        expression("({} < {})", "BOOLEAN", a["v"], b["v"]),
    )
    items = (build.item("x", read(a["g"])), build.item("y", read(b["v"])))
    tree = BoundProject(BoundJoin(one, two, on), items)
    sql = "SELECT a.g AS x, b.v AS y FROM t AS a JOIN t AS b ON a.k = b.k AND a.v < b.v"
    return Case("self-join", sql, build.query(tree, (items[0][1], items[1][1])))


def _union() -> Case:
    build = Build()
    (left, t), (right, u) = build.scan("t"), build.scan("u")
    output = (build.attribute("k", "INT"), build.attribute("n", "INT"))
    tree = BoundUnion(
        (BoundProject(left, (same(t["k"]), same(t["v"]))), BoundProject(right, (same(u["k"]), same(u["w"])))),
        output,
        ((t["k"], t["v"]), (u["k"], u["w"])),
    )
    return Case("union all", "SELECT k, v AS n FROM t UNION ALL SELECT k, w FROM u", build.query(tree, output))


def _groups(title: str, sql: str, calls: list[tuple[str, str, str, str | None]], keyed: bool = True) -> Case:
    """Calls over t: function class, text, type, argument."""
    build = Build()
    scan, t = build.scan("t")
    made = [build.call(f, text, type_, *([t[name]] if name else [])) for f, text, type_, name in calls]
    keys = (same(t["g"]),) if keyed else ()
    items = (*keys, *(build.item(f"c{place}", read(attribute)) for place, (_, attribute) in enumerate(made)))
    tree = BoundProject(BoundAggregate(scan, keys, tuple(made)), items)
    return Case(title, sql, build.query(tree, tuple(attribute for _, attribute in items)))


def _distinct_count() -> Case:
    build = Build()
    scan, t = build.scan("t")
    call = build.call("Count", "count(DISTINCT {})", "BIGINT", t["v"], distinct=True)
    items = (same(t["g"]), build.item("n", read(call[1])))
    tree = BoundProject(BoundAggregate(scan, (same(t["g"]),), (call,)), items)
    sql = "SELECT g, count(DISTINCT v) AS n FROM t GROUP BY g"
    return Case("recomputed groups", sql, build.query(tree, (t["g"], items[1][1])))


def _having() -> Case:
    build = Build()
    scan, t = build.scan("t")
    call = build.call("Sum", "sum({})", "BIGINT", t["v"])
    items = (same(t["g"]), build.item("s", read(call[1])))
    grouped = BoundProject(BoundAggregate(scan, (same(t["g"]),), (call,)), items)
    tree = BoundFilter(grouped, (expression("({} > 3L)", "BOOLEAN", items[1][1]),))
    sql = "SELECT g, sum(v) AS s FROM t GROUP BY g HAVING sum(v) > 3"
    return Case("having", sql, build.query(tree, (t["g"], items[1][1])))


def _first_groups() -> Case:
    build = Build()
    scan, t = build.scan("t")
    total, most = build.call("Sum", "sum({})", "BIGINT", t["v"]), build.call("Max", "max({})", "INT", t["k"])
    grouped = BoundAggregate(scan, (same(t["g"]),), (total, most))
    having = BoundFilter(grouped, (expression("({} > 3L)", "BOOLEAN", total[1]),))
    order = ((read(most[1]), "DESC NULLS LAST"), (read(t["g"]), "ASC NULLS FIRST"))
    tree = BoundProject(BoundLimit(having, order, 3, 1), (same(t["g"]), same(total[1])))
    sql = "SELECT g, sum(v) AS s FROM t GROUP BY g HAVING sum(v) > 3 ORDER BY max(k) DESC, g LIMIT 3 OFFSET 1"
    return Case("first groups", sql, build.query(tree, (t["g"], total[1])))


def _minimum_over_join() -> Case:
    build = Build()
    (left, t), (right, u) = build.scan("t"), build.scan("u")
    joined = BoundJoin(left, right, (expression("({} = {})", "BOOLEAN", t["k"], u["k"]),))
    call = build.call("Min", "min({})", "INT", u["w"])
    items = (same(t["g"]), build.item("m", read(call[1])))
    tree = BoundProject(BoundAggregate(joined, (same(t["g"]),), (call,)), items)
    sql = "SELECT t.g, min(u.w) AS m FROM t JOIN u ON t.k = u.k GROUP BY t.g"
    return Case("minimum over a join", sql, build.query(tree, (t["g"], items[1][1])))


def _counted(build: Build) -> tuple[BoundProject, Attribute, Attribute]:
    scan, t = build.scan("t")
    call = build.call("Count", "count(1)", "BIGINT")
    items = (same(t["k"]), build.item("n", read(call[1])))
    return BoundProject(BoundAggregate(scan, (same(t["k"]),), (call,)), items), t["k"], items[1][1]


def _nested() -> Case:
    build = Build()
    inner, _, n = _counted(build)
    call = build.call("Count", "count(1)", "BIGINT")
    items = (same(n), build.item("ks", read(call[1])))
    tree = BoundProject(BoundAggregate(inner, (same(n),), (call,)), items)
    sql = "SELECT n, count(*) AS ks FROM (SELECT k, count(*) AS n FROM t GROUP BY k) AS x GROUP BY n"
    return Case("aggregate over aggregate", sql, build.query(tree, (n, items[1][1])))


def _join_of_aggregates() -> Case:
    build = Build()
    inner, k, n = _counted(build)
    scan, u = build.scan("u")
    joined = BoundJoin(inner, scan, (expression("({} = {})", "BOOLEAN", k, u["k"]),))
    items = (same(u["g"]), same(n))
    sql = "SELECT u.g, x.n FROM (SELECT k, count(*) AS n FROM t GROUP BY k) AS x JOIN u ON x.k = u.k"
    return Case("join with an aggregate", sql, build.query(BoundProject(joined, items), (u["g"], n)))


def _distinct() -> Case:
    build = Build()
    scan, t = build.scan("t")
    tree = BoundDistinct(BoundProject(scan, (same(t["g"]), same(t["k"]))))
    return Case("distinct", "SELECT DISTINCT g, k FROM t", build.query(tree, (t["g"], t["k"])))


def _declared_key() -> Case:
    build = Build()
    inner, k, n = _counted(build)
    sql = "SELECT k, count(*) AS n FROM t GROUP BY k"
    return Case("declared key", sql, build.query(inner, (k, n)), key=("k",))


def failing_pair() -> Case:
    """Raises for a pair of rows with equal values, which may meet only between the two ends of an interval."""
    build = Build()
    (left, t), (right, u) = build.scan("t"), build.scan("u")
    joined = BoundJoin(left, right, (expression("({} = {})", "BOOLEAN", t["k"], u["k"]),))
    quotient = "CASE WHEN ({} = {}) THEN raise_error('divided by zero') ELSE {} END"
    items = (build.item("q", expression(quotient, "INT", t["v"], u["w"], t["v"])),)
    text = "CASE WHEN t.v = u.w THEN raise_error('divided by zero') ELSE t.v END"
    sql = f"SELECT {text} AS q FROM t JOIN u ON t.k = u.k"
    return Case("a pair that raises", sql, build.query(BoundProject(joined, items), (items[0][1],)))


def _one_sided(title: str, kind: JoinKind, sql: str, condition: str = "({} = {})") -> Case:
    build = Build()
    (left, t), (right, u) = build.scan("t"), build.scan("u")
    exists = build.attribute("exists", "BOOLEAN", False) if kind is JoinKind.EXISTENCE else None
    reads = [t["k"], u["k"]] * (condition.count("{}") // 2)
    joined = BoundJoin(left, right, (expression(condition, "BOOLEAN", *reads),), kind, exists)
    shown = {JoinKind.LEFT: u["w"], JoinKind.FULL: u["w"], JoinKind.EXISTENCE: exists}.get(kind) or t["g"]
    items = (same(t["v"]), same(shown))
    return Case(title, sql, build.query(BoundProject(joined, items), (t["v"], shown)))


def _window(title: str, partitioned: bool, sql: str) -> Case:
    build = Build()
    scan, t = build.scan("t")
    over = "PARTITION BY {} ORDER BY {} ASC NULLS FIRST" if partitioned else "ORDER BY {} ASC NULLS FIRST"
    reads = (t["g"], t["v"]) if partitioned else (t["v"],)
    call = WindowCall(expression(f"RANK() OVER ({over})", "INT", *reads), "Rank", total=True)
    rank = build.attribute("r", "INT", False)
    tree = BoundWindow(scan, (read(t["g"]),) if partitioned else (), ((call, rank),))
    return Case(title, sql, build.query(BoundProject(tree, (same(t["k"]), same(rank))), (t["k"], rank)))


def _first_rows(title: str, offset: int, sql: str) -> Case:
    build = Build()
    scan, t = build.scan("t")
    order = tuple((read(t[name]), "ASC NULLS FIRST") for name in ("v", "k", "g"))
    tree = BoundProject(BoundLimit(scan, order, 3, offset), (same(t["k"]), same(t["v"])))
    return Case(title, sql, build.query(tree, (t["k"], t["v"])))


def _limit_below() -> Case:
    build = Build()
    scan, t = build.scan("t")
    order = tuple((read(t[name]), "ASC NULLS FIRST") for name in ("v", "k"))
    call = build.call("Count", "count(1)", "BIGINT")
    tree = BoundAggregate(BoundLimit(scan, order, 3, 0), (), (call,))
    sql = "SELECT count(*) AS n FROM (SELECT * FROM t ORDER BY v, k LIMIT 3)"
    return Case("limit below an aggregate", sql, build.query(tree, (call[1],)))


def _generated() -> Case:
    build = Build()
    scan, t = build.scan("t")
    made = build.attribute("e", "INT")
    tree = BoundGenerate(scan, expression("explode(array({}, {}))", "", t["k"], t["v"]), True, (made,))
    sql = "SELECT g, e FROM t LATERAL VIEW OUTER explode(array(k, v)) AS e"
    return Case("generate", sql, build.query(BoundProject(tree, (same(t["g"]), same(made))), (t["g"], made)))


def _aged() -> Case:
    build = Build()
    scan, t = build.scan("t")
    now = build.attribute("now", "TIMESTAMP", False)
    joined = BoundJoin(scan, BoundClock(now), ())
    tree = BoundProject(BoundFilter(joined, (expression("({} > year({}))", "BOOLEAN", t["v"], now),)), (same(t["k"]),))
    sql = "SELECT k FROM t WHERE v > year(current_timestamp())"
    return Case("condition on the clock", sql, build.query(tree, (t["k"],)))


def _with_constants() -> Case:
    build = Build()
    scan, t = build.scan("t")
    one = build.attribute("one", "INT", False)
    joined = BoundJoin(
        scan,
        BoundConstant("(VALUES (1), (2)) AS v(`c0`)", (("`c0`", one),)),
        (expression("({} = {})", "BOOLEAN", t["k"], one),),
    )
    sql = "SELECT t.v FROM t JOIN VALUES (1), (2) AS v(one) ON t.k = v.one"
    return Case("join with constant rows", sql, build.query(BoundProject(joined, (same(t["v"]),)), (t["v"],)))


FOUR = (
    "SELECT a.v AS x, d.w AS y FROM t AS a JOIN u AS b ON a.k = b.k JOIN t AS c ON b.k = c.k JOIN u AS d ON a.k = d.k"
)
CASES = (
    _filter_and_project(),
    _join("inner join", ["t", "u"], [(0, 1)], "SELECT t.v AS x, u.w AS y FROM t JOIN u ON t.k = u.k"),
    _join("inner join of four", ["t", "u", "t", "u"], [(0, 1), (1, 2), (0, 3)], FOUR),
    _self_join(),
    _union(),
    _groups(
        "folded groups",
        "SELECT g, count(*), count(v), sum(v), avg(v), sum(d) FROM t GROUP BY g",
        [
            ("Count", "count(1)", "BIGINT", None),
            ("Count", "count({})", "BIGINT", "v"),
            ("Sum", "sum({})", "BIGINT", "v"),
            ("Average", "avg({})", "DOUBLE", "v"),
            ("Sum", "sum({})", "DECIMAL(18,2)", "d"),
        ],
    ),
    _groups(
        "folded extremes",
        "SELECT g, min(v), max(d) FROM t GROUP BY g",
        [("Min", "min({})", "INT", "v"), ("Max", "max({})", "DECIMAL(8,2)", "d")],
    ),
    _groups(
        "global aggregate",
        "SELECT count(*), sum(v), max(v) FROM t",
        [
            ("Count", "count(1)", "BIGINT", None),
            ("Sum", "sum({})", "BIGINT", "v"),
            ("Max", "max({})", "INT", "v"),
        ],
        keyed=False,
    ),
    _groups(
        "global aggregate, recomputed",
        "SELECT median(v) FROM t",
        [("Median", "median({})", "DOUBLE", "v")],
        keyed=False,
    ),
    _having(),
    _minimum_over_join(),
    _distinct_count(),
    _nested(),
    _join_of_aggregates(),
    _distinct(),
    _declared_key(),
)
ON_SPARK = (
    _one_sided("left join", JoinKind.LEFT, "SELECT t.v, u.w FROM t LEFT JOIN u ON t.k = u.k"),
    _one_sided("full join", JoinKind.FULL, "SELECT t.v, u.w FROM t FULL JOIN u ON t.k = u.k"),
    _one_sided("semi join", JoinKind.SEMI, "SELECT v, g FROM t LEFT SEMI JOIN u ON t.k = u.k"),
    _one_sided(
        "not in",
        JoinKind.ANTI,
        "SELECT v, g FROM t WHERE k NOT IN (SELECT k FROM u)",
        "(({} = {}) OR (({} = {}) IS NULL))",
    ),
    _one_sided("existence", JoinKind.EXISTENCE, "SELECT v, EXISTS (SELECT 1 FROM u WHERE u.k = t.k) AS exists FROM t"),
    _window("window", True, "SELECT k, rank() OVER (PARTITION BY g ORDER BY v) AS r FROM t"),
    _window("window without partitions", False, "SELECT k, rank() OVER (ORDER BY v) AS r FROM t"),
    _first_rows("first rows", 0, "SELECT k, v FROM t ORDER BY v, k, g LIMIT 3"),
    _first_rows("first rows after some", 2, "SELECT k, v FROM t ORDER BY v, k, g LIMIT 3 OFFSET 2"),
    _first_groups(),
    _limit_below(),
    _generated(),
    _aged(),
    _with_constants(),
)
"""Shown as goldens. Their text is Spark's own; tests/recorded_queries.py has their shapes for DuckDB."""
BY_TITLE = {case.title: case for case in (*CASES, *ON_SPARK)}
