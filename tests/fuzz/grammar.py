"""Random queries over the whole grammar.

Every query has one answer: rows are ordered by all columns in sight wherever the order of rows can show (LIMIT, ROWS
frames, numbering), doubles are quarters, and averages are not added up. Whatever Spark refuses is drawn anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from fuzz.history import TABLES
from fuzz.part import Part, Piece, listed, optional, part

LITERALS = {
    "INT": ["0", "1", "2", "3", "-1", "NULL"],
    "BIGINT": ["0L", "1L", "5L"],
    "DEC": ["0.00", "1.50", "-2.25"],
    "STRING": ["'a'", "'b'", "''", "'zz'"],
    "BOOLEAN": ["TRUE", "FALSE"],
    "DATE": ["DATE '2024-01-31'", "DATE '2024-02-01'"],
    "DOUBLE": ["0.25D", "1.0D"],
    "RATIO": ["CAST(1 AS DOUBLE)"],
    "LIST": ["array(1, 2)", "array(NULL, 0)"],
    "PAIRS": ["array(named_struct('a', 1, 'b', 'x'))"],
}
"""Types of the grammar. DEC is a decimal of any precision, RATIO a double that must not be summed."""

NULLS = {
    "DEC": "CAST(NULL AS DECIMAL(8,2))",
    "RATIO": "CAST(NULL AS DOUBLE)",
    "LIST": "CAST(NULL AS ARRAY<INT>)",
    "PAIRS": "CAST(NULL AS ARRAY<STRUCT<a: INT, b: STRING>>)",
}
ORDERED = ("INT", "BIGINT", "DEC", "STRING", "DATE", "DOUBLE", "RATIO")
NUMBERS = ("INT", "BIGINT", "DEC", "DOUBLE")
_TYPES = {"DECIMAL(8,2)": "DEC", "ARRAY<INT>": "LIST", "ARRAY<STRUCT<a: INT, b: STRING>>": "PAIRS"}


@dataclass(frozen=True)
class Column:
    """A column in sight: its text and its type."""

    text: str
    type: str


Columns = list[Column]


class Writer:
    """Writes one query; all that it draws comes from `random`."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.aliases = 0
        self.ctes: list[tuple[str, Part, Columns]] = []
        self.subqueries = 2
        """How many more subqueries may stand in expressions: each costs Spark and the reader a lot."""

    # -- chance

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, things: list | tuple):  # type: ignore[no-untyped-def, type-arg]
        return self.random.choice(things)

    def weighted(self, **weights: float) -> str:
        return self.random.choices(list(weights), list(weights.values()))[0]

    def alias(self) -> str:
        self.aliases += 1
        return f"r{self.aliases}"

    # -- expressions

    def typed(self, kind: str, columns: Columns, depth: int = 2) -> Part:
        """An expression of a type."""
        fitting = [column.text for column in columns if column.type == kind]
        kindly = f"expr {kind}"
        plain = tuple(fitting[:2]) or (LITERALS[kind][0],)
        if depth <= 0 or self.chance(0.5):
            if fitting and self.chance(0.9):
                return part(kindly, self.pick(fitting), plain=plain)
            return part(kindly, self.pick(LITERALS[kind]) if self.chance(0.8) else _null(kind), plain=plain)

        def again(other: str = kind) -> Part:
            return self.typed(other, columns, depth - 1)

        def at_hand(other: str) -> bool:
            return any(column.type == other for column in columns)

        def test() -> Part:
            return self.condition(columns, depth - 1)

        makers: list[Callable[[], tuple[Piece, ...]]] = [
            lambda: ("CASE WHEN ", test(), " THEN ", again(), " ELSE ", again(), " END"),
            lambda: ("coalesce(", again(), ", ", again(), ")"),
            lambda: ("if(", test(), ", ", again(), ", ", _null(kind), ")"),
        ]
        if kind in ORDERED:
            makers += [
                lambda: ("nullif(", again(), ", ", again(), ")"),
                lambda: (self.pick(["least(", "greatest("]), again(), ", ", again(), ")"),
            ]
        more: dict[str, list[Callable[[], tuple[Piece, ...]]]] = {
            "INT": [
                lambda: ("(", again(), self.pick([" + ", " - "]), again(), ")"),
                lambda: ("(", again(), " * 2)"),
                lambda: ("abs(", again(), ")"),
                lambda: ("pmod(", again(), ", 3)"),
            ],
            "BIGINT": [
                lambda: ("-(", again(), ")"),
            ],
            "DEC": [
                lambda: ("(", again(), " + 1.25)"),
                lambda: ("-(", again(), ")"),
                lambda: ("round(", again(), ", 1)"),
            ],
            "STRING": [
                lambda: ("concat(", again(), ", ", again(), ")"),
                lambda: ("(", again(), " || 'x')"),
                lambda: ("upper(", again(), ")"),
                lambda: ("substr(", again(), ", 1, 1)"),
            ],
            "DATE": [
                lambda: ("date_add(", again(), ", 1)"),
                lambda: ("trunc(", again(), ", 'MM')"),
                lambda: ("last_day(", again(), ")"),
            ],
            "DOUBLE": [
                lambda: ("(", again(), " + 0.25D)"),
                lambda: ("(", again(), " * 2)"),
            ],
            "LIST": [
                lambda: ("sort_array(", again(), ")"),
                lambda: ("filter(", again(), ", e -> e > 1)"),
            ],
        }
        from_others: dict[str, list[tuple[str, Callable[[], tuple[Piece, ...]]]]] = {
            "INT": [
                ("STRING", lambda: ("length(", again("STRING"), ")")),
                ("LIST", lambda: ("size(", again("LIST"), ")")),
                ("DATE", lambda: ("datediff(", again("DATE"), ", DATE '2024-01-31')")),
                ("DATE", lambda: ("month(", again("DATE"), ")")),
                ("BOOLEAN", lambda: ("CAST(", again("BOOLEAN"), " AS INT)")),
            ],
            "BIGINT": [
                ("INT", lambda: ("CAST(", again("INT"), " AS BIGINT)")),
                ("INT", lambda: ("(", again(), " + ", again("INT"), ")")),
            ],
            "DEC": [
                ("INT", lambda: ("CAST(", again("INT"), " AS DECIMAL(8,2))")),
            ],
            "STRING": [
                ("INT", lambda: ("CAST(", again("INT"), " AS STRING)")),
                ("DATE", lambda: ("date_format(", again("DATE"), ", 'yyyy-MM')")),
            ],
            "DOUBLE": [
                ("INT", lambda: ("CAST(", again("INT"), " AS DOUBLE)")),
            ],
            "LIST": [
                ("INT", lambda: ("array(", again("INT"), ", ", again("INT"), ")")),
            ],
        }
        makers += more.get(kind, [])
        makers += [make for other, make in from_others.get(kind, []) if at_hand(other)] * 2
        if kind == "BOOLEAN":
            return part(kindly, test(), plain=plain)
        if kind in {"INT", "BIGINT", "DEC", "STRING", "DATE"} and self.chance(0.12) and self.subqueries > 0:
            return part(kindly, self.scalar(kind, columns), plain=plain)
        return part(kindly, *self.pick(makers)(), plain=plain)

    def expression(self, columns: Columns, depth: int = 2) -> tuple[Part, str]:
        """An expression of some type that is at hand."""
        kind = self.pick([*(column.type for column in columns), "INT", "STRING"])
        return self.typed(kind, columns, depth), kind

    def condition(self, columns: Columns, depth: int = 2) -> Part:
        """A condition, three-valued."""
        plain = ("TRUE",)
        if depth > 0 and self.chance(0.35):
            shape = self.weighted(both=3, either=3, neither=2, subquery=6 if self.subqueries > 0 else 0)
            if shape in {"both", "either"}:
                two = [self.condition(columns, depth - 1), self.condition(columns, depth - 1)]
                return part("condition", "(", listed({"both": " AND ", "either": " OR "}[shape], two), ")", plain=plain)
            if shape == "neither":
                return part("condition", "NOT (", self.condition(columns, depth - 1), ")", plain=plain)
            return self.sublink(columns)
        kinds = [column.type for column in columns if column.type in (*ORDERED, "BOOLEAN")] or ["INT"]
        kind = self.pick(kinds)
        one = self.typed(kind, columns, depth - 1)
        if kind == "BOOLEAN":
            return part("condition", one, self.pick(["", " IS TRUE", " IS NOT TRUE", " IS NULL"]), plain=plain)
        shape = self.weighted(compare=6, null=2, members=1, between=1, distinct=1)
        if shape == "null":
            return part("condition", one, self.pick([" IS NULL", " IS NOT NULL"]), plain=plain)
        if shape == "members":
            return part("condition", one, f" IN ({', '.join(self.random.sample(LITERALS[kind], 1))})", plain=plain)
        if shape == "between":
            other = self.typed(kind, columns, 0)
            return part("condition", one, f" BETWEEN {self.pick(LITERALS[kind])} AND ", other, plain=plain)
        sign = self.pick([" = ", " <> ", " < ", " >= ", " > "]) if shape == "compare" else " <=> "
        if self.chance(0.5):
            return part("condition", one, sign, self.pick(LITERALS[kind]), plain=plain)
        return part("condition", one, sign, self.typed(kind, columns, depth - 1), plain=plain)

    # -- subqueries in expressions

    def inner(self) -> tuple[Part, Columns]:
        """A FROM item for a subquery: mostly a table."""
        self.subqueries -= 1
        return self.item(1 if self.chance(0.15) else 0)

    def correlation(self, inside: Columns, outside: Columns) -> Part | None:
        pairs = [(i, o) for i in inside for o in outside if i.type == o.type and i.type in ORDERED]
        if not pairs or self.chance(0.25):
            return None
        own, other = self.pick(pairs)
        return part("condition", f"{own.text} = {other.text}", plain=("TRUE",))

    def sublink(self, columns: Columns) -> Part:
        """EXISTS, IN, NOT IN, and comparisons with every and any member, which Spark spells with EXISTS."""
        source, inside = self.inner()
        conditions = [each for each in [self.correlation(inside, columns)] if each]
        if self.chance(0.4):
            conditions.append(self.condition(inside, 0))
        shape = self.weighted(exists=4, member=4, pair=1, every=1)
        plain = ("TRUE",)
        if shape == "exists":
            negated = "NOT " if self.chance(0.4) else ""
            if self.chance(0.3):
                both = [
                    column for column in inside if column.type in ORDERED and column.type in {c.type for c in columns}
                ]
                if both and columns and self.chance(0.5):
                    own = self.pick(both)
                    other = self.pick([column for column in columns if column.type == own.type])
                    sign = self.pick([" < ", " <> ", " >= "])
                    conditions.append(part("condition", f"{own.text}{sign}{other.text}", plain=plain))
            tail: Piece = ""
            if self.chance(0.25):
                key = self.pick(inside).text
                tail = optional(f" GROUP BY {key} HAVING ", self.having(inside))
            return part(
                "condition", f"{negated}EXISTS (SELECT 1 FROM ", source, _where(conditions), tail, ")", plain=plain
            )
        kinds = sorted({column.type for column in _ordered(inside)})
        negated = "NOT " if self.chance(0.5) else ""
        kind = self.pick(kinds)
        own_text = self.pick([column.text for column in _ordered(inside) if column.type == kind])
        if shape == "pair" and len(kinds) > 1:
            second = self.pick([each for each in kinds if each != kind])
            also = self.pick([column.text for column in inside if column.type == second])
            left: list[Piece] = [self.typed(kind, columns, 0), ", ", self.typed(second, columns, 0)]
            head: tuple[Piece, ...] = ("(", *left, f") {negated}IN (SELECT {own_text}, {also} FROM ")
            return part("condition", *head, source, _where(conditions), ")", plain=plain)
        operand = self.typed(kind, columns, 1)
        if shape == "every":
            beats = part("condition", f"{own_text} >= ", operand, f" OR {own_text} IS NULL")
            return part(
                "condition", "NOT EXISTS (SELECT 1 FROM ", source, _where([*conditions, beats]), ")", plain=plain
            )
        target: Piece = own_text
        tail = ""
        if self.chance(0.15):
            target, tail = f"max({own_text})", optional(f" GROUP BY {self.pick(inside).text}")
        return part(
            "condition", operand, f" {negated}IN (SELECT ", target, " FROM ", source, _where(conditions), tail, ")",
            plain=plain,
        )  # fmt: skip

    def scalar(self, kind: str, columns: Columns) -> Part:
        """A scalar subquery: an aggregate, so that it has one row."""
        source, inside = self.inner()
        own = [column.text for column in inside if column.type == kind]
        calls = [f"{self.pick(['min', 'max'])}({each})" for each in own]
        numbers = [column.text for column in inside if column.type == "INT"]
        if kind == "BIGINT":
            calls += ["count(*)", *(f"count({each})" for each in numbers), *(f"sum({each})" for each in numbers)]
            calls += [f"coalesce(sum({each}), 0)" for each in numbers]
        if kind == "INT":
            calls += ["CAST(count(*) AS INT)"]
        if not calls:
            calls = [f"max({_null(kind)})"]
        conditions = [each for each in [self.correlation(inside, columns)] if each]
        if self.chance(0.3):
            conditions.append(self.condition(inside, 0))
        call = self.pick(calls)
        return part(f"expr {kind}", f"(SELECT {call} FROM ", source, _where(conditions), ")")

    # -- FROM

    def item(self, depth: int) -> tuple[Part, Columns]:
        """One thing to read from, under an alias of its own."""
        alias = self.alias()
        shape = self.weighted(table=8, query=5 if depth > 0 else 0, cte=4 if self.ctes else 0, values=0.5, numbers=0.3)
        if shape == "table":
            table = self.pick(TABLES)
            columns = [Column(f"{alias}.{name}", _TYPES.get(kind, kind)) for name, kind in table.columns[1:]]
            return part("item", f"{table.name} AS {alias}"), columns
        if shape == "values":
            rows = ", ".join(f"({self.pick([0, 1, 2, 3, 'NULL'])}, '{self.pick(list('abc'))}')" for _ in range(3))
            return part("item", f"(VALUES {rows}) AS {alias}(k, g)"), [
                Column(f"{alias}.k", "INT"),
                Column(f"{alias}.g", "STRING"),
            ]
        if shape == "numbers":
            return part("item", f"range(0, {self.random.randint(2, 4)}) AS {alias}"), [Column(f"{alias}.id", "BIGINT")]
        if shape == "cte":
            name, _, columns = self.pick(self.ctes)
            return part("item", f"{name} AS {alias}"), [Column(f"{alias}.{each.text}", each.type) for each in columns]
        inner, columns = self.query(depth - 1)
        seen = [Column(f"{alias}.{each.text}", each.type) for each in columns]
        return part("item", "(", inner, f") AS {alias}", plain=(f"({_stand_in(columns)}) AS {alias}",)), seen

    def source(self, depth: int) -> tuple[Part, Columns]:
        """A FROM clause: items, joined."""
        first, columns = self.item(depth)
        pieces: list[Piece] = [first]
        for _ in range(self.random.choices([0, 1, 2, 3], [45, 40, 12, 3])[0]):
            joined, columns = self.join(columns, depth)
            pieces.append(joined)
        if self.chance(0.12):
            view, columns = self.view(columns)
            pieces.append(view)
        return Part("source", tuple(pieces)), columns

    def join(self, left: Columns, depth: int) -> tuple[Part, Columns]:
        if self.chance(0.1):
            return self.lateral(left)
        item, right = self.item(depth - 1)
        kind = self.pick(
            ["JOIN"] * 5
            + ["LEFT JOIN"] * 4
            + ["RIGHT JOIN", "FULL JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "CROSS JOIN"]
        )
        if kind == "CROSS JOIN":
            return optional(f" {kind} ", item), left + right
        pairs = [(one, two) for one in left for two in right if one.type == two.type and one.type in ORDERED]
        tests: list[Part] = []
        if pairs and self.chance(0.93):
            likely = [(one, two) for one, two in pairs if one.text.split(".")[1] == two.text.split(".")[1]]
            for one, two in self.random.sample(
                likely or pairs, k=1 if self.chance(0.8) else min(2, len(likely or pairs))
            ):
                sign = " = " if self.chance(0.85) else self.pick([" <=> ", " < ", " >= ", " <> "])
                tests.append(part("condition", f"{one.text}{sign}{two.text}"))
        if not tests or self.chance(0.25):
            tests.append(self.condition(left + right, 1))
        on = listed(" AND ", tests)
        return optional(f" {kind} ", item, " ON ", on), left if "SEMI" in kind or "ANTI" in kind else left + right

    def lateral(self, left: Columns) -> tuple[Part, Columns]:
        """A subquery that sees what stands left of it."""
        self.subqueries -= 1
        source, inside = self.item(0)
        alias = self.alias()
        test = self.correlation(inside, left) or self.condition(inside, 0)
        shown = self.pick(_ordered(inside))
        shape = self.weighted(rows=2, top=3, count=2, best=2)
        if shape == "count":
            body = part("query", "SELECT count(*) AS c0 FROM ", source, " WHERE ", test)
            kind = "BIGINT"
        elif shape == "best":
            body = part("query", f"SELECT max({shown.text}) AS c0 FROM ", source, " WHERE ", test)
            kind = shown.type
        else:
            limit = (
                f" ORDER BY c0 {self.pick(['ASC', 'DESC'])} LIMIT {self.random.randint(1, 2)}" if shape == "top" else ""
            )
            body = part("query", f"SELECT {shown.text} AS c0 FROM ", source, " WHERE ", test, optional(limit))
            kind = shown.type
        outer = self.chance(0.4)
        head = f" {'LEFT ' if outer else ''}JOIN LATERAL ("
        return optional(head, body, f") AS {alias}", " ON TRUE" if outer else ""), [*left, Column(f"{alias}.c0", kind)]

    def view(self, columns: Columns) -> tuple[Part, Columns]:
        """LATERAL VIEW."""
        alias = self.alias()
        outer = "OUTER " if self.chance(0.4) else ""
        pairs = [column.text for column in columns if column.type == "PAIRS"]
        if pairs and self.chance(0.5):
            text = f" LATERAL VIEW {outer}inline({self.pick(pairs)}) {alias} AS a, b"
            return optional(text), [*columns, Column(f"{alias}.a", "INT"), Column(f"{alias}.b", "STRING")]
        many = self.typed("LIST", columns, 1)
        if self.chance(0.4):
            more = [Column(f"{alias}.p", "INT"), Column(f"{alias}.e", "INT")]
            return optional(f" LATERAL VIEW {outer}posexplode(", many, f") {alias} AS p, e"), columns + more
        return optional(f" LATERAL VIEW {outer}explode(", many, f") {alias} AS e"), [
            *columns,
            Column(f"{alias}.e", "INT"),
        ]

    # -- aggregates

    def call(self, columns: Columns) -> tuple[Part, str]:
        """An aggregate."""
        if self.chance(0.15) or not columns:
            return part("call", "count(*)"), "BIGINT"
        kind = self.pick([column.type for column in columns])
        one = self.typed(kind, columns, 1)
        if kind in {"LIST", "PAIRS"}:
            return part("call", "count(", one, ")", plain=("count(*)",)), "BIGINT"
        names: list[tuple[str, str, str]] = [
            ("count(", ")", "BIGINT"),
            ("count(DISTINCT ", ")", "BIGINT"),
            ("min(", ")", kind),
            ("max(", ")", kind),
            ("approx_count_distinct(", ")", "BIGINT"),
        ]
        if kind == "BOOLEAN":
            names += [("bool_and(", ")", kind), ("bool_or(", ")", kind), ("count_if(", ")", "BIGINT")]
        if kind in {"INT", "BIGINT"}:
            names += [("sum(", ")", "BIGINT")] * 4 + [("sum(DISTINCT ", ")", "BIGINT"), ("avg(", ")", "RATIO")]
            names += [("bit_xor(", ")", kind), ("median(", ")", "RATIO")]
            names += [("percentile_cont(0.25) WITHIN GROUP (ORDER BY ", ")", "RATIO")]
        if kind == "INT":
            names += [("sort_array(collect_list(", "))", "LIST"), ("sort_array(collect_set(", "))", "LIST")]
        if kind == "DEC":
            names += [("sum(", ")", "DEC")] * 3 + [("avg(", ")", "DEC"), ("sum(DISTINCT ", ")", "DEC")]
        if kind == "DOUBLE":
            names += [("sum(", ")", "DOUBLE")] * 2
        if kind == "STRING":
            names += [(f"listagg({one.text}, ',') WITHIN GROUP (ORDER BY ", ")", "STRING")]
        head, tail, result = self.pick(names)
        filtered: Piece = ""
        if "DISTINCT" not in head and "WITHIN" not in head and "sort" not in head and self.chance(0.15):
            filtered = optional(" FILTER (WHERE ", self.condition(columns, 0), ")")
        return part("call", head, one, tail, filtered, plain=("count(*)",)), result

    def having(self, columns: Columns) -> Part:
        call, kind = self.call(columns)
        if kind not in NUMBERS:
            call, kind = part("call", "count(*)"), "BIGINT"
        return part("condition", call, f" {self.pick(['>', '<', '<>', '>='])} {self.random.randint(0, 3)}")

    def aggregate(self, depth: int) -> tuple[Part, Columns]:
        source, columns = self.source(depth)
        keys = self.keys(columns)
        calls = [self.call(columns) for _ in range(self.random.randint(0 if keys else 1, 3))]
        sets = bool(keys) and self.chance(0.2)
        shown = [key for key in keys if self.chance(0.9)]
        if sets and self.chance(0.5):
            calls.append((part("call", f"grouping({keys[0][0].text})"), "INT"))
        if sets and self.chance(0.3):
            calls.append((part("call", "grouping_id()"), "BIGINT"))
        items = [*shown, *calls] or [(part("call", "count(*)"), "BIGINT")]
        pieces: list[Piece] = ["SELECT ", _items(items), " FROM ", source, self.where(columns)]
        if keys:
            texts = [key for key, _ in keys]
            shape = self.weighted(ROLLUP=1, CUBE=1, sets=1) if sets else ""
            if shape == "sets":
                every = ", ".join(each.text for each in texts)
                some = [f"({every})", *(f"({each.text})" for each in texts), "()"]
                chosen = (
                    ", ".join(self.random.sample(some, self.random.randint(2, len(some))))
                    if len(some) > 2
                    else "(), ()"
                )
                pieces.append(f" GROUP BY GROUPING SETS ({chosen})")
            elif shape:
                pieces += [f" GROUP BY {shape} (", listed(", ", texts), ")"]
            else:
                pieces += [" GROUP BY ", listed(", ", texts)]
            if self.chance(0.2):
                pieces.append(optional(" HAVING ", self.having(columns)))
        elif self.chance(0.1):
            pieces.append(optional(" HAVING ", self.having(columns)))
        return part("query", *pieces), _outputs(items)

    def keys(self, columns: Columns) -> list[tuple[Part, str]]:
        keys: list[tuple[Part, str]] = []
        for _ in range(self.random.choices([0, 1, 2, 3], [15, 50, 28, 7])[0]):
            likely = [column for column in columns if column.text.split(".")[1] in {"k", "g", "b", "c0", "c1"}]
            if self.chance(0.75):
                column = self.pick(likely or columns)
                key, kind = part(f"expr {column.type}", column.text), column.type
            else:
                self.subqueries, held = 0, self.subqueries
                key, kind = self.expression(columns, 1)
                self.subqueries = held
            # A literal would be read as a position.
            if key.text not in [each.text for each, _ in keys] and any(each.text in key.text for each in columns):
                keys.append((key, kind))
        return keys

    def pivot(self, depth: int) -> tuple[Part, Columns]:
        source, columns = self.source(depth)
        items = [
            (self.typed("STRING", columns, 0), "STRING"),
            (self.typed("INT", columns, 1), "INT"),
            self.key(columns),
        ]
        alias = self.alias()
        call = self.pick(["sum", "max", "count"])
        kind = {"sum": "BIGINT", "max": "INT", "count": "BIGINT"}[call]
        body = part(
            "query",
            f"SELECT {alias}.c2 AS c0, {alias}.p0 AS c1, {alias}.p1 AS c2 FROM (SELECT ",
            _items(items),
            " FROM ",
            source,
            self.where(columns),
            f") PIVOT ({call}(c1) FOR c0 IN ('a' AS p0, 'b' AS p1)) AS {alias}",
        )
        return body, [Column("c0", items[2][1]), Column("c1", kind), Column("c2", kind)]

    def key(self, columns: Columns) -> tuple[Part, str]:
        column = self.pick(_ordered(columns))
        return part(f"expr {column.type}", column.text), column.type

    # -- windows

    def window(self, depth: int) -> tuple[Part, Columns]:
        source, columns = self.source(depth)
        items = [self.expression(columns, 1) for _ in range(self.random.randint(1, 2))]
        calls = [self.over(columns)]
        if self.chance(0.3):
            calls.append(self.over(columns, peers=_takes_rows(calls)))
        where = self.where(columns)
        body: list[Piece] = ["SELECT ", _items([*items, *calls]), " FROM ", source, where]
        if self.chance(0.2):
            call, _ = self.over(columns, numbering=True, peers=_takes_rows(calls))
            body.append(optional(" QUALIFY ", call, f" {self.pick(['=', '<=', '>'])} {self.random.randint(1, 2)}"))
        inner, outputs = part("query", *body), _outputs([*items, *calls])
        if self.chance(0.25):
            alias = self.alias()
            place = len(items)
            if outputs[place].type in NUMBERS:
                shown = ", ".join(f"{alias}.{column.text}" for column in outputs)
                test = f"{alias}.c{place} {self.pick(['<=', '=', '>'])} {self.random.randint(1, 2)}"
                return part(
                    "query", f"SELECT {shown} FROM (", inner, f") AS {alias}", optional(f" WHERE {test}")
                ), outputs
        return inner, outputs

    def over(self, columns: Columns, numbering: bool = False, peers: bool = False) -> tuple[Part, str]:
        """A window function. By all columns, rows that tie are equal rows.

        One function that tells equal rows apart is enough: which of them a second one takes first is anybody's guess.
        So beside such a function there are only those that take `peers` together.
        """
        ways = [f"{column.text}{self.pick(['', ' DESC', ' NULLS LAST', ' DESC NULLS FIRST'])}" for column in columns]
        self.random.shuffle(ways)
        total = ", ".join(ways)
        some, _ = self.key(columns)
        loose = f"{some.text}{self.pick(['', ' DESC'])}"
        partition: Piece = ""
        if self.chance(0.85):
            one = self.key(columns)[0].text if self.chance(0.8) else self.typed("INT", columns, 0).text
            partition = optional(f"PARTITION BY {one} ")
        number = [column.text for column in columns if column.type in {"INT", "BIGINT"}] or ["1"]
        if peers:
            shape = "rank" if numbering else self.weighted(rank=3, total=4, span=2)
        else:
            shape = (
                "number" if numbering else self.weighted(number=3, rank=3, shift=3, total=4, value=2, rows=3, span=2)
            )
        if shape == "number":
            call = self.pick(["row_number()", "row_number()", "ntile(3)"])
            return part("over", f"{call} OVER (", partition, f"ORDER BY {total})"), "INT"
        if shape == "rank":
            call, kind = self.pick(
                [("rank()", "INT"), ("dense_rank()", "INT"), ("percent_rank()", "RATIO"), ("cume_dist()", "RATIO")][
                    : 2 if numbering else 4
                ]
            )
            return part("over", f"{call} OVER (", partition, f"ORDER BY {loose})"), kind
        value, kind = self.key(columns)
        if shape == "shift":
            call = f"{self.pick(['lag', 'lead'])}({value.text}{self.pick(['', ', 1', ', 2'])})"
            nulls = self.pick(["", "", " IGNORE NULLS"])
            return part("over", f"{call}{nulls} OVER (", partition, f"ORDER BY {total})"), kind
        if shape == "value":
            call = self.pick([f"first_value({value.text})", f"last_value({value.text})", f"nth_value({value.text}, 2)"])
            frame = self.pick(["", " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"])
            return part("over", f"{call} OVER (", partition, f"ORDER BY {total}{frame})"), kind
        name, result = self.pick(
            [("sum", "BIGINT"), ("count", "BIGINT"), ("min", "same"), ("max", "same"), ("avg", "RATIO")]
        )
        chosen = self.pick(number)
        summed = next((column for column in columns if column.text == chosen), Column("1", "INT"))
        result = summed.type if result == "same" else result
        call = f"{name}({summed.text})"
        if shape == "rows":
            frame = self.pick(
                ["1 PRECEDING AND CURRENT ROW", "2 PRECEDING AND 1 FOLLOWING", "CURRENT ROW AND 1 FOLLOWING"]
            )
            return part("over", f"{call} OVER (", partition, f"ORDER BY {total} ROWS BETWEEN {frame})"), result
        if shape == "span":
            frame = self.pick(
                ["1 PRECEDING AND CURRENT ROW", "2 PRECEDING AND 2 FOLLOWING", "CURRENT ROW AND 3 FOLLOWING"]
            )
            return part(
                "over", f"{call} OVER (", partition, f"ORDER BY {self.pick(number)} RANGE BETWEEN {frame})"
            ), result
        order = optional(f"ORDER BY {loose}") if self.chance(0.6) else ""
        return part("over", f"{call} OVER (", partition, order, ")"), result

    # -- queries

    def where(self, columns: Columns) -> Part | str:
        return optional(" WHERE ", self.condition(columns)) if self.chance(0.5) else ""

    def plain(self, depth: int, distinct: bool = False) -> tuple[Part, Columns]:
        source, columns = self.source(depth)
        items = [self.expression(columns) for _ in range(self.random.randint(1, 4))]
        head = part("clause", "DISTINCT ", plain=("",)) if distinct else ""
        return part("query", "SELECT ", head, _items(items), " FROM ", source, self.where(columns)), _outputs(items)

    def shaped(self, kinds: list[str], depth: int) -> Part:
        """A query with columns of these types."""
        if depth > 0 and self.chance(0.4):
            inner, columns = self.query(depth - 1)
            alias = self.alias()
            seen = [Column(f"{alias}.{each.text}", each.type) for each in columns]
            items = [(self.typed(kind, seen, 0), kind) for kind in kinds]
            return part("query", "SELECT ", _items(items), " FROM (", inner, f") AS {alias}")
        source, columns = self.source(0)
        items = [(self.typed(kind, columns, 1), kind) for kind in kinds]
        return part("query", "SELECT ", _items(items), " FROM ", source, self.where(columns))

    def combined(self, depth: int) -> tuple[Part, Columns]:
        """A chain of set operations."""
        kinds = [self.pick(["INT", "INT", "STRING", "BIGINT", "DEC", "DATE"]) for _ in range(self.random.randint(1, 2))]
        text = self.shaped(kinds, depth)
        for _ in range(self.random.choice([1, 1, 2])):
            word = self.pick(
                ["UNION ALL", "UNION ALL", "UNION", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL", "MINUS"]
            )
            text = part("query", "(", text, f") {word} (", self.shaped(kinds, depth - 1), ")")
        # The branches may widen each other's types: what comes out is only carried on.
        outputs = [Column(f"c{place}", kind) for place, kind in enumerate(kinds)]
        return text, outputs

    def top(self, depth: int) -> tuple[Part, Columns]:
        inner, columns = self.query(depth - 1)
        alias = self.alias()
        order = [f"c{place}{self.pick(['', ' DESC', ' NULLS LAST'])}" for place in range(len(columns))]
        self.random.shuffle(order)
        shown = ", ".join(f"{alias}.{each.text} AS c{place}" for place, each in enumerate(columns))
        offset = optional(f" OFFSET {self.random.randint(1, 2)}") if self.chance(0.3) else ""
        tail = f" ORDER BY {', '.join(order)} LIMIT {self.random.randint(1, 5)}"
        return part("query", f"SELECT {shown} FROM (", inner, f") AS {alias}", optional(tail, offset)), [
            Column(f"c{place}", each.type) for place, each in enumerate(columns)
        ]

    def query(self, depth: int) -> tuple[Part, Columns]:
        """A query; its columns are called c0, c1, …"""
        deep = depth > 0
        shape = self.weighted(
            plain=6, distinct=2, aggregate=6, window=3, combined=3 if deep else 0, top=1.5 if deep else 0, pivot=0.5
        )
        if shape == "distinct":
            return self.plain(depth, distinct=True)
        made: tuple[Part, Columns] = getattr(self, shape)(depth)
        return made


def random_query(random: Random) -> Part:
    """A query over `TABLES`; Spark may still refuse it."""
    depth = random.choice([0, 1, 1, 2])
    writer = Writer(random)
    heads: list[Part] = []
    if writer.chance(0.2):
        for number in range(random.choice([1, 1, 2])):
            inner, columns = writer.query(1)
            name = f"cte{number}"
            heads.append(part("cte", f"{name} AS (", inner, ")", plain=(f"{name} AS ({_stand_in(columns)})",)))
            writer.ctes.append((name, inner, columns))
    writer.subqueries = max(writer.subqueries, 1)
    body, _ = writer.query(depth)
    return part("query", optional("WITH ", listed(", ", heads), " "), body) if heads else body


def _ordered(columns: Columns) -> Columns:
    return [column for column in columns if column.type in ORDERED] or [Column("1", "INT")]


def _null(kind: str) -> str:
    return NULLS.get(kind, f"CAST(NULL AS {kind})")


def _where(conditions: list[Part]) -> Part | str:
    return (
        optional(" WHERE ", listed(" AND ", [part("condition", "(", each, ")") for each in conditions]))
        if conditions
        else ""
    )


def _items(items: list[tuple[Part, str]]) -> Part:
    return listed(", ", [part("item of select", text, f" AS c{place}") for place, (text, _) in enumerate(items)])


def _takes_rows(calls: list[tuple[Part, str]]) -> bool:
    """True if one of these window functions tells equal rows apart."""
    marks = ("row_number(", "ntile(", "lag(", "lead(", "_value(", " ROWS ")
    return any(mark in call.text for call, _ in calls for mark in marks)


def _outputs(items: list[tuple[Part, str]]) -> Columns:
    return [Column(f"c{place}", kind) for place, (_, kind) in enumerate(items)]


def _stand_in(columns: Columns) -> str:
    """A simple query with these columns."""
    names = {"INT": "k", "STRING": "g", "DEC": "d", "BOOLEAN": "b"}
    items = [f"{names.get(column.type, _null(column.type))} AS {column.text}" for column in columns]
    return f"SELECT {', '.join(items)} FROM ta"
