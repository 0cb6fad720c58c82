"""The forty query shapes on which incremental views are known to break, and compositions of them.

A world is a set of tables and a history; all its shapes follow the same rounds. The rounds do what a shape's remark
asks for: the number before a statement is the shape that it is there for.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """A query. `full` is the reason code if it is right that it cannot be incremental."""

    name: str
    query: str
    full: str | None = None
    inlined: str | None = None
    """The query in terms of the sources, where it reads another stream table."""
    last_only: bool = False
    """Refreshed once, after the last round: all rounds in one interval."""
    digits: int | None = None
    """Doubles are compared to so many digits."""

    @property
    def table(self) -> str:
        """The name of its stream table."""
        return "st_" + "".join(letter if letter.isalnum() else "_" for letter in self.name)

    @property
    def plain(self) -> str:
        """The query over the sources alone."""
        return self.inlined or self.query


@dataclass(frozen=True, slots=True)
class World:
    """Tables, their history, and the shapes over them."""

    name: str
    tables: tuple[str, ...]
    first: tuple[str, ...]
    rounds: tuple[tuple[str, ...], ...]
    shapes: tuple[Shape, ...]


SHOP = World(
    "shop",
    tables=(
        "cust (id INT, name STRING, k INT, tag STRING)",
        "ord (id INT, cid INT, k INT, v INT, amt INT, ts INT)",
        "price (x INT, t0 INT, t1 INT)",
        "blk (x INT)",
        "want (a INT, b INT)",
        "ev (oid INT, ts INT, ev STRING)",
        "basket (oid INT, arr ARRAY<INT>)",
    ),
    first=(
        "INSERT INTO cust VALUES (1, 'ann', 1, 'p'), (2, 'bob', 1, 'q'), (3, 'cat', 2, 'p'), (4, 'dan', NULL, 'q')",
        "INSERT INTO ord VALUES (10, 1, 1, 5, 20, 3), (11, 1, 1, 5, 5, 8), (12, 2, 2, 7, 60, 8), "
        "(13, 9, NULL, 1, 30, 15)",
        "INSERT INTO price VALUES (100, 0, 5), (200, 6, 9)",
        "INSERT INTO blk VALUES (12), (99)",
        "INSERT INTO want VALUES (1, 1), (2, NULL), (9, 40)",
        "INSERT INTO ev VALUES (10, 1, 'a'), (10, 2, 'b'), (12, 5, 'x')",
        "INSERT INTO basket VALUES (10, array(1, 2)), (11, array()), (12, NULL)",
    ),
    rounds=(
        (
            # 1: the order moves to another customer while its old one is deleted, and the new one is renamed
            "UPDATE ord SET cid = 2 WHERE id = 10",
            "DELETE FROM cust WHERE id = 1",
            "UPDATE cust SET name = 'rob' WHERE id = 2",
            # 6: customer 3 goes from no match to one
            "INSERT INTO ord VALUES (14, 3, 2, 9, 11, 7)",
            # 5: the interval moves
            "UPDATE price SET t0 = 4, t1 = 8 WHERE x = 100",
            # 30: a NULL arrives
            "INSERT INTO blk VALUES (NULL)",
            # 39: a change of the inner side alone
            "INSERT INTO ev VALUES (10, 3, 'c'), (13, 1, 'z')",
            "DELETE FROM basket WHERE oid = 12",
        ),
        (
            # 6: two matches; several events for one customer
            "INSERT INTO ord VALUES (15, 3, 2, 9, 50, 7)",
            # 7: a match is lost by its value, the key stays
            "UPDATE ord SET amt = 9 WHERE id = 14",
            # 30: the NULL leaves again
            "DELETE FROM blk WHERE x IS NULL",
            # 2: more copies on both sides
            "INSERT INTO cust VALUES (1, 'ann', 1, 'p'), (5, 'eve', 1, 'p'), (9, 'new', NULL, 'q')",
            "INSERT INTO ord VALUES (16, 1, 1, 5, 20, 3)",
            # 32: pairs with NULLs come and go
            "UPDATE want SET b = 2 WHERE a = 2",
            "INSERT INTO basket VALUES (12, array(7, NULL, 7)), (13, array())",
            "DELETE FROM ev WHERE oid = 10 AND ts = 3",
        ),
        (
            # 6: one match
            "DELETE FROM ord WHERE id = 14",
            # 32: the empty set; 31: blocked and unblocked
            "DELETE FROM want",
            "UPDATE blk SET x = 13 WHERE x = 12",
            "UPDATE cust SET k = 2 WHERE id = 2",
            # 29: a sum falls under its bound
            "UPDATE ord SET amt = 10 WHERE id = 12",
            "UPDATE ev SET oid = 16 WHERE oid = 12",
        ),
        (
            # 6: no match again, and the customer goes too
            "DELETE FROM ord WHERE cid = 3",
            "DELETE FROM cust WHERE id = 3",
            "DELETE FROM blk",
            "INSERT INTO want VALUES (NULL, 2), (2, 2), (1, 30)",
            "UPDATE ord SET ts = NULL WHERE id = 10",
        ),
    ),
    shapes=(
        Shape("01 join", "SELECT o.id AS oid, c.name FROM ord o JOIN cust c ON o.cid = c.id"),
        Shape("02 join without a key", "SELECT o.v, c.tag FROM ord o JOIN cust c ON o.k = c.k"),
        Shape("05 range join", "SELECT o.id, p.x FROM ord o JOIN price p ON o.ts BETWEEN p.t0 AND p.t1"),
        Shape("06 left join", "SELECT c.id AS cid, o.id AS oid FROM cust c LEFT JOIN ord o ON o.cid = c.id"),
        Shape(
            "07 left join on a value",
            "SELECT c.id AS cid, o.id AS oid FROM cust c LEFT JOIN ord o ON o.cid = c.id AND o.amt > 10",
        ),
        Shape(
            "08 anti join by a left join",
            "SELECT c.id AS cid, c.name FROM cust c LEFT JOIN ord o ON o.cid = c.id WHERE o.id IS NULL",
        ),
        Shape(
            "23 aggregate over aggregate",
            "SELECT count(*) AS n, c FROM (SELECT cid, count(*) AS c FROM ord GROUP BY cid) GROUP BY c",
        ),
        Shape(
            "29 aggregate inside EXISTS",
            "SELECT c.id, c.name FROM cust c WHERE EXISTS "
            "(SELECT 1 FROM ord o WHERE o.cid = c.id GROUP BY o.cid HAVING sum(o.amt) > 50)",
        ),
        Shape("30 NOT IN with NULL", "SELECT * FROM ord WHERE id NOT IN (SELECT x FROM blk)"),
        Shape(
            "31 subqueries under OR and NOT",
            "SELECT o.id, o.v FROM ord o WHERE (o.v > 6 OR EXISTS (SELECT 1 FROM blk WHERE blk.x = o.id)) "
            "AND NOT (o.v < 9 AND NOT EXISTS (SELECT 1 FROM cust c WHERE c.id = o.cid))",
        ),
        Shape("32 pairs IN", "SELECT o.id FROM ord o WHERE (o.cid, o.k) IN (SELECT a, b FROM want)"),
        Shape("32 pairs NOT IN", "SELECT o.id FROM ord o WHERE (o.cid, o.k) NOT IN (SELECT a, b FROM want)"),
        Shape(
            "32 less than all",
            "SELECT o.id FROM ord o WHERE NOT EXISTS (SELECT 1 FROM want w WHERE (o.amt < w.b) IS NOT TRUE)",
        ),
        Shape(
            "39 lateral with a limit",
            "SELECT o.id, l.ev FROM ord o LEFT JOIN LATERAL "
            "(SELECT ev.ev FROM ev WHERE ev.oid = o.id ORDER BY ev.ts DESC LIMIT 2) l ON TRUE",
        ),
        Shape("39 explode", "SELECT b.oid, x.e FROM basket b LATERAL VIEW explode(b.arr) x AS e"),
        Shape(
            "39 outer posexplode", "SELECT b.oid, x.p, x.e FROM basket b LATERAL VIEW OUTER posexplode(b.arr) x AS p, e"
        ),
        Shape(
            "aggregate over left join",
            "SELECT c.tag, count(o.id) AS n, count(*) AS m, sum(o.amt) AS s, max(o.ts) AS t "
            "FROM cust c LEFT JOIN ord o ON o.cid = c.id GROUP BY c.tag",
        ),
        Shape(
            "semi join over aggregate",
            "SELECT c.id, c.name FROM cust c LEFT SEMI JOIN "
            "(SELECT cid, sum(amt) AS s FROM ord GROUP BY cid) x ON x.cid = c.id AND x.s > 20",
        ),
        Shape(
            "anti join over a join",
            "SELECT c.id, c.name FROM cust c LEFT ANTI JOIN "
            "(SELECT o.cid, p.x FROM ord o JOIN price p ON o.ts BETWEEN p.t0 AND p.t1) x ON x.cid = c.id",
        ),
        Shape(
            "distinct over union over join",
            "SELECT DISTINCT k, tag FROM (SELECT o.k, c.tag FROM ord o JOIN cust c ON o.cid = c.id "
            "UNION ALL SELECT k, tag FROM cust)",
        ),
        Shape(
            "window over aggregate over join",
            "SELECT c.tag, sum(o.amt) AS s, rank() OVER (ORDER BY sum(o.amt) DESC) AS r "
            "FROM ord o JOIN cust c ON o.cid = c.id GROUP BY c.tag",
        ),
        Shape(
            "wide source, narrow output",
            "SELECT DISTINCT o.v FROM ord o WHERE o.ts IS NOT NULL AND o.cid IN (SELECT id FROM cust)",
        ),
        Shape("chain, lower", "SELECT cid, sum(amt) AS s, count(*) AS n FROM ord GROUP BY cid"),
        Shape(
            "chain, upper",
            "SELECT c.name, l.s FROM cust c LEFT JOIN st_chain__lower l ON l.cid = c.id WHERE l.n > 1 OR l.n IS NULL",
            inlined="SELECT c.name, l.s FROM cust c LEFT JOIN (SELECT cid, sum(amt) AS s, count(*) AS n FROM ord "
            "GROUP BY cid) l ON l.cid = c.id WHERE l.n > 1 OR l.n IS NULL",
        ),
    ),
)

GROUPS = World(
    "groups",
    tables=(
        "t (id INT, g STRING, h STRING, v INT, d INT, ok BOOLEAN, s STRING)",
        "bag (n INT, g STRING, h INT)",
    ),
    first=(
        "INSERT INTO t VALUES (1, 'a', 'x', 10, 1, TRUE, 'A'), (2, 'a', 'y', 10, 2, FALSE, 'B'), "
        "(3, 'a', 'x', 30, 4, TRUE, 'C'), (4, 'b', 'y', 120, 1, NULL, 'A'), (5, 'b', 'x', NULL, 3, TRUE, NULL), "
        "(6, NULL, 'y', 7, 2, TRUE, 'B'), (7, 'c', 'x', NULL, 9, FALSE, 'A')",
        # 33: `n` tells the copies apart for the statements below; no query reads it
        "INSERT INTO bag VALUES (1, 'p', 1), (2, 'p', 1), (3, 'p', 1), (4, 'q', NULL), (5, 'q', NULL), (6, 'q', 2)",
    ),
    rounds=(
        (
            # 14: one of two tied minima; 12: a group is emptied; 17: the last copy leaves, ok turns NULL
            "DELETE FROM t WHERE id = 1",
            "DELETE FROM t WHERE g = 'c'",
            "UPDATE t SET ok = NULL WHERE id = 3",
            # 36: a row changes its partition; 15: b has three rows, and more than 100
            "UPDATE t SET g = 'b' WHERE id = 6",
            # 33: one of three
            "DELETE FROM bag WHERE n = 1",
            "DELETE FROM bag WHERE n = 4",
        ),
        (
            # 14: the last minimum; 12: reborn; 15: back under the bound; 22: a real NULL beside subtotals
            "DELETE FROM t WHERE id = 2",
            "INSERT INTO t VALUES (8, 'c', 'x', 5, 1, TRUE, 'B'), (9, NULL, 'x', 30, 5, NULL, 'A'), "
            "(10, 'c', NULL, 5, 2, TRUE, 'B')",
            "UPDATE t SET v = 60 WHERE id = 4",
            "DELETE FROM bag WHERE n IN (2, 3)",
            "UPDATE bag SET h = 2 WHERE n = 5",
        ),
        (
            # 13: nothing is left
            "DELETE FROM t",
            "INSERT INTO bag VALUES (7, NULL, NULL), (8, NULL, NULL), (9, 'p', 1)",
        ),
        (
            "INSERT INTO t VALUES (11, 'b', 'y', 90, 1, TRUE, 'C'), (12, 'b', 'y', 90, 1, TRUE, 'C'), "
            "(13, 'b', 'x', 1, 2, FALSE, 'A'), (14, NULL, NULL, NULL, 3, NULL, NULL), "
            "(15, 'd', 'x', 181, 3, TRUE, 'D')",
            "DELETE FROM bag WHERE n = 7",
        ),
    ),
    shapes=(
        Shape(
            "12 counts, sums and averages",
            "SELECT g, count(*) AS n, count(v) AS c, sum(v) AS s, avg(v) AS a FROM t GROUP BY g",
        ),
        Shape("13 global aggregate", "SELECT sum(v) AS s, count(*) AS n, min(v) AS m FROM t"),
        Shape("14 minimum and maximum", "SELECT g, min(v) AS lo, max(v) AS hi FROM t GROUP BY g"),
        Shape("15 HAVING", "SELECT g, sum(v) AS s FROM t GROUP BY g HAVING sum(v) > 100 AND count(*) > 2"),
        Shape(
            "17 DISTINCT and FILTER",
            "SELECT g, count(DISTINCT v) AS n, sum(DISTINCT v) AS s, sum(v) FILTER (WHERE ok) AS f FROM t GROUP BY g",
        ),
        Shape(
            "21 holistic aggregates",
            "SELECT g, string_agg(s, ',') WITHIN GROUP (ORDER BY id) AS l, "
            "percentile_cont(0.5) WITHIN GROUP (ORDER BY v) AS m FROM t GROUP BY g",
        ),
        Shape("22 rollup", "SELECT g, h, sum(v) AS s, grouping(g) AS gg FROM t GROUP BY ROLLUP (g, h)"),
        Shape("22 cube", "SELECT h, count(*) AS n, grouping_id() AS i FROM t GROUP BY CUBE (g, h)"),
        Shape(
            "25 shared CTE, the winner changes",
            "WITH r AS (SELECT g, sum(v) AS s FROM t GROUP BY g) SELECT * FROM r WHERE s = (SELECT max(s) FROM r)",
        ),
        Shape("26 correlated with itself", "SELECT * FROM t WHERE v > (SELECT avg(v) FROM t u WHERE u.g = t.g)"),
        Shape("33 DISTINCT", "SELECT DISTINCT g, h FROM bag"),
        Shape("33 bag", "SELECT g, h FROM bag WHERE h IS NULL OR h < 2"),
        Shape(
            "36 rank and lag",
            "SELECT *, rank() OVER (PARTITION BY g ORDER BY v) AS r, lag(v) OVER (PARTITION BY g ORDER BY v, id) "
            "AS l FROM t",
        ),
        Shape(
            "37 two partitionings",
            "SELECT id, sum(v) OVER (PARTITION BY g ORDER BY d RANGE BETWEEN 3 PRECEDING AND CURRENT ROW) AS s, "
            "row_number() OVER (PARTITION BY h ORDER BY id) AS n FROM t",
        ),
        Shape(
            "38 window over aggregate",
            "SELECT g, sum(v) AS s, rank() OVER (ORDER BY sum(v) DESC) AS r FROM t GROUP BY g",
        ),
        Shape(
            "38 top groups",
            "SELECT g, sum(v) AS s FROM t GROUP BY g ORDER BY s DESC, g LIMIT 3 OFFSET 1",
        ),
        Shape("38 top rows", "SELECT id, v FROM t ORDER BY v DESC NULLS LAST, id LIMIT 2"),
        Shape(
            "latest row of each group",
            "SELECT id, g, v FROM (SELECT *, row_number() OVER (PARTITION BY g ORDER BY d DESC, id) AS n "
            "FROM t) WHERE n = 1",
        ),
        Shape(
            "two rescan families beside a fold",
            "SELECT a.g, a.s, b.l, c.m, c.n FROM (SELECT g, sum(v) AS s FROM t GROUP BY g) a "
            "JOIN (SELECT g, median(v) AS l FROM t GROUP BY g) b ON a.g <=> b.g "
            "LEFT JOIN (SELECT g, max(v) AS m, count(DISTINCT h) AS n FROM t WHERE ok GROUP BY g) c ON a.g <=> c.g",
        ),
        Shape(
            "outer join of aggregates",
            "SELECT x.g, x.s, y.h, y.n FROM (SELECT g, sum(v) AS s FROM t GROUP BY g) x "
            "FULL JOIN (SELECT g, h, count(*) AS n FROM bag GROUP BY g, h) y ON x.g = y.g",
        ),
        Shape(
            "pivot",
            "SELECT * FROM (SELECT g, h, v FROM t) PIVOT (sum(v) FOR h IN ('x' AS px, 'y' AS py))",
        ),
        Shape(
            "all rounds at once",
            "SELECT g, count(*) AS n, sum(v) AS s, min(v) AS lo, count(DISTINCT h) AS c FROM t GROUP BY g",
            last_only=True,
        ),
        Shape(
            "all rounds at once, window",
            "SELECT id, rank() OVER (PARTITION BY g ORDER BY v) AS r FROM t",
            last_only=True,
        ),
    ),
)

SETS = World(
    "sets",
    tables=(
        "a (k INT, v INT, g STRING, x INT)",
        "b (k INT, v INT, g STRING, x INT)",
        "c (k INT, x INT, j INT)",
        "d (j INT, z STRING)",
        "line (k INT, s STRING)",
    ),
    first=(
        "INSERT INTO a VALUES (1, 10, 'p', 1), (1, 10, 'p', 1), (2, 20, 'q', 2), (NULL, 30, NULL, 3), "
        "(5, 50, 'r', NULL)",
        "INSERT INTO b VALUES (1, 10, 'p', 7), (2, 21, 'q', 8), (3, 30, 's', 9), (NULL, 30, NULL, NULL)",
        "INSERT INTO c VALUES (1, 10, 1), (2, 8, 2), (NULL, 30, NULL), (4, 7, 1)",
        "INSERT INTO d VALUES (1, 'one'), (2, 'two'), (NULL, 'none')",
        "INSERT INTO line VALUES (1, 'A'), (1, 'C'), (2, 'B'), (NULL, 'A')",
    ),
    rounds=(
        (
            # 4: four leaves at once; 10: inserts on both sides at once, NULL keys too; 34: copies on both sides
            "INSERT INTO a VALUES (3, 31, 's', 9), (4, 40, 't', 4), (NULL, 30, NULL, 3)",
            "INSERT INTO b VALUES (4, 40, 't', 7), (6, 60, 'u', 10), (1, 10, 'p', 7), (NULL, 30, NULL, NULL)",
            "UPDATE c SET k = 3 WHERE k = 2",
            "UPDATE d SET z = 'eins' WHERE j = 1",
            # 16: an update flips the CASE
            "UPDATE line SET s = 'B' WHERE s = 'C'",
        ),
        (
            # 9: the padded key feeds the next join; 11: sums return to NULL; key and value in one round
            "UPDATE b SET x = 7, v = 22 WHERE k = 2",
            "DELETE FROM b WHERE k = 1",
            "DELETE FROM a WHERE k = 3",
            "UPDATE a SET k = 6 WHERE k = 5",
            "INSERT INTO c VALUES (2, 8, 2), (6, 10, 1)",
            "DELETE FROM line WHERE k IS NULL",
        ),
        (
            # one side is emptied, the other moves
            "DELETE FROM b",
            "UPDATE a SET v = v + 1 WHERE k = 1",
            "INSERT INTO c VALUES (1, 10, NULL)",
            "UPDATE line SET s = 'D' WHERE k = 1",
        ),
        (
            "INSERT INTO b VALUES (1, 11, 'p', 8), (1, 11, 'p', 8), (NULL, NULL, NULL, 10), (4, 40, NULL, 7)",
            "DELETE FROM a WHERE k IS NULL",
            "DELETE FROM d WHERE j = 2",
        ),
    ),
    shapes=(
        Shape(
            "04 four leaves",
            "SELECT k, j, a.v AS av, b.v AS bv, d.z FROM a JOIN b USING (k) JOIN c USING (k) JOIN d USING (j)",
        ),
        Shape(
            "09 a padded key feeds a join",
            "SELECT a.k, b.x, c.j FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON b.x = c.x",
        ),
        Shape("10 full join", "SELECT coalesce(a.k, b.k) AS k, a.v AS av, b.v AS bv FROM a FULL JOIN b ON a.k = b.k"),
        Shape(
            "11 sums over a full join",
            "SELECT coalesce(a.g, b.g) AS g, sum(a.v) AS av, sum(b.v) AS bv FROM a FULL JOIN b ON a.g = b.g GROUP BY 1",
        ),
        Shape(
            "16 sum of a CASE",
            "SELECT a.g, sum(CASE WHEN l.s IN ('A', 'B') THEN 1 ELSE 0 END) AS n FROM a "
            "JOIN line l ON a.k = l.k GROUP BY a.g",
        ),
        Shape(
            "34 EXCEPT ALL and INTERSECT ALL",
            "(SELECT k, v FROM a EXCEPT ALL SELECT k, v FROM b) UNION ALL (SELECT k, v FROM b INTERSECT ALL "
            "SELECT k, x FROM c)",
        ),
        Shape("34 EXCEPT and INTERSECT", "SELECT k, v FROM a EXCEPT (SELECT k, v FROM b INTERSECT SELECT k, x FROM c)"),
        Shape("35 mixed chain", "SELECT x AS k FROM a UNION SELECT k FROM b UNION ALL SELECT k FROM a"),
        Shape("right join", "SELECT a.v, b.k, b.x FROM a RIGHT JOIN b ON a.k = b.k AND a.v < b.v + 5"),
        Shape(
            "left join, four deep",
            "SELECT a.k, b.v, c.j, d.z, l.s FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON c.k = a.k "
            "LEFT JOIN d ON d.j = c.j LEFT JOIN line l ON l.k = b.k",
        ),
        Shape(
            "nested join subtree",
            "SELECT a.g, y.z FROM a LEFT JOIN (SELECT c.k, d.z FROM c JOIN d ON c.j <=> d.j) y ON a.k = y.k",
        ),
        Shape(
            "full join of a full join",
            "SELECT a.k AS ak, b.k AS bk, c.k AS ck FROM a FULL JOIN b ON a.k = b.k FULL JOIN c ON b.k = c.k",
        ),
        Shape(
            "three aggregate leaves",
            "SELECT x.k, x.s, y.m, z.n FROM (SELECT k, sum(v) AS s FROM a GROUP BY k) x "
            "LEFT JOIN (SELECT k, max(v) AS m FROM b GROUP BY k) y ON x.k = y.k "
            "LEFT JOIN (SELECT k, count(DISTINCT x) AS n FROM c GROUP BY k) z ON x.k = z.k",
        ),
        Shape(
            "CTE with its own aliases",
            "WITH s(p, q) AS (SELECT k, sum(v) FROM a GROUP BY k) SELECT one.p AS k, two.q FROM s AS one JOIN s AS two "
            "ON one.p = two.p WHERE one.q > 10",
        ),
        Shape(
            "the same CTE inline",
            "SELECT one.k, two.q FROM (SELECT k, sum(v) AS q FROM a GROUP BY k) AS one "
            "JOIN (SELECT k, sum(v) AS q FROM a GROUP BY k) AS two ON one.k = two.k WHERE one.q > 10",
        ),
        Shape(
            "aggregate over EXCEPT ALL",
            "SELECT k, count(*) AS n FROM (SELECT k FROM a EXCEPT ALL SELECT k FROM b) GROUP BY k",
        ),
        Shape(
            "all rounds at once, full join",
            "SELECT a.k AS ak, b.k AS bk, a.v, b.x FROM a FULL JOIN b ON a.k = b.k",
            last_only=True,
        ),
    ),
)

PEOPLE = World(
    "people",
    tables=(
        "emp (id INT, d INT, s INT)",
        "dept (id INT, v INT)",
        "li (p INT, n INT)",
        "sup (ps INT, p INT, q INT)",
        "edge (src INT, dst INT)",
    ),
    first=(
        "INSERT INTO emp VALUES (1, 1, 100), (2, 1, 200), (3, 2, 150), (4, NULL, 90)",
        "INSERT INTO dept VALUES (1, 10), (2, 20), (3, 30)",
        "INSERT INTO li VALUES (7, 10), (7, 20), (8, 4)",
        "INSERT INTO sup VALUES (1, 7, 16), (2, 7, 10), (3, 8, 2), (2, 9, 5)",
        "INSERT INTO edge VALUES (1, 2), (2, 3), (1, 3), (3, 4)",
    ),
    rounds=(
        (
            # 3: one table feeds both sides; 24: both branches change; 27: a first match; 40: another way remains
            "INSERT INTO emp VALUES (5, 1, 300), (6, 3, 70)",
            "UPDATE emp SET d = 2 WHERE id = 1",
            "UPDATE dept SET v = 11 WHERE id = 1",
            "UPDATE li SET n = 30 WHERE n = 20",
            "DELETE FROM edge WHERE src = 2",
        ),
        (
            # 27: no match again; 28: nested twice; 40: a cycle is closed
            "DELETE FROM emp WHERE d = 3",
            "UPDATE emp SET s = 40 WHERE id = 5",
            "INSERT INTO dept VALUES (2, 20), (NULL, 5)",
            "UPDATE sup SET q = 25 WHERE ps = 1",
            "INSERT INTO li VALUES (9, 20)",
            "INSERT INTO edge VALUES (4, 1)",
        ),
        (
            "UPDATE emp SET d = NULL WHERE d = 2",
            "DELETE FROM dept WHERE id = 3",
            "DELETE FROM li WHERE p = 9",
            "DELETE FROM edge WHERE src = 1 AND dst = 3",
        ),
    ),
    shapes=(
        Shape("03 self-join", "SELECT a.id AS one, b.id AS two FROM emp a JOIN emp b ON a.d = b.d AND a.id < b.id"),
        Shape(
            "24 two aggregate branches",
            "WITH x AS (SELECT d, sum(s) AS s FROM emp GROUP BY d), y AS (SELECT d, max(s) AS m FROM emp GROUP BY d) "
            "SELECT p.id, p.v, x.s, y.m FROM dept p LEFT JOIN x ON x.d = p.id LEFT JOIN y ON y.d = p.id",
        ),
        Shape("27 scalar subquery", "SELECT id, v, (SELECT max(e.s) FROM emp e WHERE e.d = dept.id) AS m FROM dept"),
        Shape("27 counting subquery", "SELECT id, (SELECT count(*) FROM emp e WHERE e.d = dept.id) AS n FROM dept"),
        Shape(
            "28 nested twice",
            "SELECT id, v FROM dept WHERE id IN "
            "(SELECT ps FROM sup WHERE q > (SELECT 0.5 * sum(n) FROM li WHERE li.p = sup.p))",
        ),
        Shape(
            "40 recursion",
            "WITH RECURSIVE r(src, dst, n) AS (SELECT src, dst, 1 FROM edge UNION ALL "
            "SELECT r.src, e.dst, r.n + 1 FROM edge e JOIN r ON r.dst = e.src WHERE r.n < 4) "
            "SELECT DISTINCT src, dst FROM r",
            full="RECURSION",
        ),
        Shape(
            "left self-join", "SELECT a.id AS one, b.id AS two FROM emp a LEFT JOIN emp b ON a.d = b.d AND a.s < b.s"
        ),
    ),
)

NUMBERS = World(
    "numbers",
    tables=("num (id INT, g STRING, dbl DOUBLE, dec DECIMAL(38,2), v DOUBLE, x DOUBLE, y DOUBLE)",),
    first=(
        "INSERT INTO num VALUES (1, 'a', 2, 1.50, 100000000.01, 1, 2), (2, 'a', 4, 2.25, 100000000.02, 2, 4), "
        "(3, 'b', 6, 900000000000000000000000000000000000.00, 100000000.03, 3, 5), "
        "(4, 'a', 8, -1.25, 100000000.04, 4, 9)",
    ),
    rounds=(
        (
            # 19: 1e16 and NaN arrive; 20: two values of 9e35 do not fit together, one of them leaves
            "INSERT INTO num VALUES (5, 'a', 1e16, NULL, 100000000.05, 5, 1), "
            "(6, 'b', 'NaN', -1.00, 100000000.01, 6, 2)",
            "INSERT INTO num VALUES (7, 'b', 2, 900000000000000000000000000000000000.00, 100000000.02, 7, 3)",
            "DELETE FROM num WHERE id = 3",
        ),
        (
            # 19: both leave, an infinity comes; 18: retracted and inserted again
            "DELETE FROM num WHERE id IN (5, 6)",
            "INSERT INTO num VALUES (8, 'b', 'Infinity', -900000000000000000000000000000000000.00, 100000000.07, 2, 2)",
            "DELETE FROM num WHERE id = 1",
            "INSERT INTO num VALUES (1, 'a', 2, 1.50, 100000000.01, 1, 2)",
        ),
        (
            "DELETE FROM num WHERE id = 8",
            "DELETE FROM num WHERE id = 2",
            "INSERT INTO num VALUES (2, 'a', 4, 2.25, 100000000.02, 2, 4)",
        ),
    ),
    shapes=(
        Shape(
            "18 deviation and correlation", "SELECT g, stddev(v) AS s, corr(x, y) AS c FROM num GROUP BY g", digits=6
        ),
        Shape("19 sum of doubles", "SELECT g, sum(dbl) AS s, count(*) AS n FROM num GROUP BY g"),
        Shape("20 sum of decimals", "SELECT g, sum(dec) AS s FROM num GROUP BY g"),
        Shape(
            "sum of doubles below a join",
            "SELECT n.id, x.s FROM num n JOIN (SELECT g, sum(dbl) AS s FROM num GROUP BY g) x ON n.g = x.g",
            full="ORDER_DEPENDENT",
        ),
    ),
)

WORLDS = (SHOP, GROUPS, SETS, PEOPLE, NUMBERS)
