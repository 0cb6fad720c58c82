"""What is done to a source, row by row of the tables in docs/concepts/changes-of-sources.md.

Every row of that page stands here in its own words, with its cases or with the tests that are elsewhere; a test of the
documentation holds the two side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MAPPED = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
VECTORS = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
NO_FEED = "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')"
WIDENED = "TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"
SEED = "INSERT INTO src VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 20, NULL), (4, NULL, 'd')"
PLACE = "<place>"
"""Stands for the folder of the source in a statement."""

BAG = "SELECT id, v FROM src"
GROUPS = "SELECT v, count(*) AS n, sum(id) AS ids FROM src GROUP BY v"
STAR = "SELECT * FROM src"

Change = str | Callable[[Any], object]
"""A statement, or what is done with a session."""


@dataclass(frozen=True)
class Goes:
    """The change is taken over as it is: the action, of which queries, and their columns afterwards."""

    name: str
    changes: tuple[Change, ...]
    kind: str = ""
    action: str = "INCREMENTAL"
    queries: tuple[str, ...] = (BAG, GROUPS)
    create: str = ""
    slow: bool = False


@dataclass(frozen=True)
class Rebuilds:
    """The change makes a rebuild, whose reason says so."""

    name: str
    changes: tuple[Change, ...]
    says: str
    kind: str = ""
    queries: tuple[str, ...] = (BAG, GROUPS)
    create: str = ""
    types: tuple[str, ...] = ()
    """The types of the first query's columns afterwards."""
    slow: bool = False


@dataclass(frozen=True)
class Breaks:
    """The change is an error, until it is mended; then the given action follows."""

    name: str
    breaks: Change
    error: str
    says: tuple[str, ...]
    mends: tuple[Change, ...]
    then: str
    kind: str = ""
    queries: tuple[str, ...] = (BAG,)
    create: str = ""
    slow: bool = False


def overwritten(columns: str, *by: str) -> Callable[[Any], object]:
    """The table written anew with other columns, within its history."""

    def overwrite(spark: Any) -> object:
        frame = spark.sql(f"SELECT {columns} FROM src").localCheckpoint()
        return (
            frame.write.format("delta")
            .mode("overwrite")
            .option("overwriteSchema", "true")
            .partitionBy(*by)
            .saveAsTable("src")
        )

    return overwrite


NESTED = (
    f"CREATE TABLE src (id INT, s STRUCT<x: INT, a: INT>) {MAPPED}; "
    "INSERT INTO src VALUES (1, named_struct('x', 1, 'a', 5))"
)
FIELD = "SELECT id, s.a AS a FROM src"

ROWS: dict[str, tuple[Goes | Rebuilds | Breaks | str, ...]] = {
    "Rows: insert, update, delete, merge, overwrite, `TRUNCATE`, `RESTORE`": (
        Goes("delete all", ("DELETE FROM src",)),
        Goes("truncate", ("TRUNCATE TABLE src", "INSERT INTO src VALUES (1, 10, 'z')"), NO_FEED),
        Goes("insert overwrite", ("INSERT OVERWRITE src VALUES (1, 10, 'a'), (7, 7, 'g')",)),
        Goes(
            "replace where",
            ("INSERT INTO src REPLACE WHERE v = 20 SELECT * FROM VALUES (8, 20, 'h') AS t(id, v, extra)",),
            NO_FEED,
        ),
        Goes(
            "restore to where it was",
            ("DELETE FROM src WHERE v = 20", "INSERT INTO src VALUES (9, 9, 'i')", "RESTORE src TO VERSION AS OF 1"),
        ),
        Goes("restore to before the frontier", ("RESTORE src TO VERSION AS OF 0",), slow=True),
        Goes(
            "merge",
            (
                "MERGE INTO src USING (SELECT * FROM VALUES (1, 11), (6, 6) AS t(id, v)) n ON src.id = n.id"
                " WHEN MATCHED THEN UPDATE SET v = n.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (n.id, n.v)"
                " WHEN NOT MATCHED BY SOURCE AND src.v IS NULL THEN DELETE",
            ),
        ),
        Goes(
            "deletion vectors",
            (
                "DELETE FROM src WHERE id = 2",
                "UPDATE src SET v = 21 WHERE id = 3",
                "INSERT INTO src VALUES (5, 20, 'e')",
            ),
            VECTORS,
        ),
        Goes("column mapping", ("INSERT INTO src VALUES (5, 20, 'e')", "DELETE FROM src WHERE id = 1"), MAPPED),
        Goes(
            "partitioned by a column of the query",
            ("DELETE FROM src WHERE v = 20", "INSERT INTO src (id, v) VALUES (5, NULL), (6, 10)"),
            "PARTITIONED BY (v)",
        ),
        Goes(
            "partitioned by another column",
            ("DELETE FROM src WHERE extra IS NULL", "INSERT INTO src VALUES (5, 20, 'a/b=c d%')", "OPTIMIZE src"),
            "PARTITIONED BY (extra)",
            slow=True,
        ),
        Goes(
            "clustered",
            ("INSERT INTO src VALUES (5, 20, 'e')", "OPTIMIZE src", "DELETE FROM src WHERE id < 3"),
            "CLUSTER BY (id)",
            slow=True,
        ),
    ),
    "Files only: `OPTIMIZE`, properties, comments, partitioning, column order, upper and lower case "
    "in a column's name": (
        Goes("optimize", ("OPTIMIZE src",), action="NO_DATA"),
        Goes(
            "optimize after changes",
            ("INSERT INTO src VALUES (5, 10, 'e')", "DELETE FROM src WHERE id = 1", "OPTIMIZE src"),
            slow=True,
        ),
        Goes(
            "comment and property",
            (
                "COMMENT ON TABLE src IS 'mine'",
                "ALTER TABLE src ALTER COLUMN v COMMENT 'value'",
                "ALTER TABLE src SET TBLPROPERTIES ('mine' = '1')",
            ),
            action="NO_DATA",
            queries=(STAR,),
        ),
        Goes(
            "column order",
            ("ALTER TABLE src ALTER COLUMN extra FIRST", "INSERT INTO src (id, v, extra) VALUES (5, 20, 'e')"),
            queries=(BAG, STAR),
        ),
        Goes("partitioning", (overwritten("id + 1 AS id, v, extra", "v"),), queries=(BAG, STAR)),
        Goes(
            "upper and lower case",
            (
                "ALTER TABLE src RENAME COLUMN v TO w",
                "ALTER TABLE src RENAME COLUMN w TO V",
                "INSERT INTO src VALUES (5, 20, 'e')",
            ),
            MAPPED,
            queries=(BAG, STAR),
        ),
    ),
    "A column was added, first, last or in between": (
        Goes(
            "last",
            ("ALTER TABLE src ADD COLUMNS (more DOUBLE)", "INSERT INTO src VALUES (5, 20, 'e', 1.5)"),
            queries=(BAG, GROUPS, STAR),
        ),
        Goes(
            "first and in between",
            (
                "ALTER TABLE src ADD COLUMNS (one INT FIRST, two INT AFTER id)",
                "INSERT INTO src VALUES (1, 5, 2, 20, 'e')",
            ),
            queries=(BAG, STAR),
        ),
        Goes("no rows", ("ALTER TABLE src ADD COLUMNS (more DOUBLE)",), action="NO_DATA", queries=(STAR,)),
    ),
    "An unused column was renamed, dropped or retyped": (
        Goes(
            "renamed",
            ("ALTER TABLE src RENAME COLUMN extra TO other", "INSERT INTO src VALUES (5, 20, 'e')"),
            MAPPED,
            slow=True,
        ),
        Goes(
            "dropped",
            ("ALTER TABLE src DROP COLUMN extra", "INSERT INTO src VALUES (5, 20)"),
            MAPPED,
            queries=(BAG, GROUPS, "SELECT id, v FROM (SELECT * FROM src)"),
        ),
        Goes(
            "retyped",
            ("ALTER TABLE src ALTER COLUMN v TYPE BIGINT", "INSERT INTO src VALUES (5, 5000000000, 'e')"),
            WIDENED,
            queries=("SELECT id FROM src", "SELECT count(*) AS n FROM src"),
        ),
        Goes(
            "renamed and back",
            (
                "ALTER TABLE src RENAME COLUMN v TO w",
                "INSERT INTO src VALUES (5, 20, 'e')",
                "ALTER TABLE src RENAME COLUMN w TO v",
                "DELETE FROM src WHERE id = 1",
            ),
            MAPPED,
        ),
    ),
    "A used column was retyped, by widening or by an overwrite, or may be NULL now": (
        Rebuilds(
            "widened",
            ("ALTER TABLE src ALTER COLUMN v TYPE BIGINT", "INSERT INTO src VALUES (5, 5000000000, 'e')"),
            "column v was int and is now bigint",
            WIDENED,
            queries=(STAR, GROUPS),
            types=("int", "bigint", "string"),
        ),
        Rebuilds(
            "overwritten with another type and another column",
            (overwritten("id, CAST(v AS STRING) AS v, 1 AS more, extra"),),
            "column v was int and is now string",
            queries=(STAR, GROUPS),
            types=("int", "string", "string"),
        ),
        Rebuilds(
            "may be NULL",
            ("ALTER TABLE src ALTER COLUMN v DROP NOT NULL", "INSERT INTO src VALUES (5, NULL, 'e')"),
            "column v is no longer NOT NULL",
            create="CREATE TABLE src (id INT, v INT NOT NULL, extra STRING); INSERT INTO src VALUES (1, 10, 'a')",
            queries=(STAR,),
        ),
    ),
    "A field inside a used column was added, dropped or renamed": (
        Rebuilds(
            "added",
            ("ALTER TABLE src ADD COLUMNS (s.more INT)",),
            "column s was",
            create=NESTED,
            queries=(STAR, FIELD),
            types=("int", "struct<x:int,a:int,more:int>"),
        ),
        Rebuilds(
            "dropped",
            ("ALTER TABLE src DROP COLUMN s.x",),
            "column s was",
            create=NESTED,
            queries=(STAR, FIELD),
            types=("int", "struct<a:int>"),
        ),
        Breaks(
            "one that the query names was renamed",
            "ALTER TABLE src RENAME COLUMN s.a TO b",
            "QUERY_INVALID",
            ("src", "`a`"),
            ("ALTER TABLE src RENAME COLUMN s.b TO a",),
            "NO_DATA",
            create=NESTED,
            queries=(FIELD,),
        ),
    ),
    "A used column was dropped or renamed and another one has its name, also a field inside a column": (
        Rebuilds(
            "dropped and added anew",
            (
                "ALTER TABLE src DROP COLUMN v",
                "ALTER TABLE src ADD COLUMNS (v BIGINT)",
                "INSERT INTO src VALUES (5, 'e', 5)",
            ),
            "another",
            MAPPED,
            queries=(STAR, BAG, GROUPS),
            types=("int", "bigint", "string"),
        ),
        Rebuilds(
            "renamed and added anew, by a mapping that was not there",
            (
                "ALTER TABLE src SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
                "ALTER TABLE src RENAME COLUMN v TO w",
                "ALTER TABLE src ADD COLUMNS (v INT)",
            ),
            "another",
            queries=(BAG, STAR),
        ),
        Rebuilds(
            "a field dropped and added anew",
            ("ALTER TABLE src DROP COLUMN s.a", "ALTER TABLE src ADD COLUMN s.a INT"),
            "another field",
            create=NESTED,
            queries=(FIELD,),
        ),
    ),
    "A used column was renamed or dropped, also by a `RESTORE` to a time before it": (
        Breaks(
            "renamed",
            "ALTER TABLE src RENAME COLUMN v TO w",
            "QUERY_INVALID",
            ("column v was renamed to w", "src", "ALTER STREAM TABLE"),
            ("ALTER TABLE src RENAME COLUMN w TO v",),
            "NO_DATA",
            MAPPED,
            queries=(BAG, STAR),
        ),
        Breaks(
            "dropped",
            "ALTER TABLE src DROP COLUMN v",
            "QUERY_INVALID",
            ("column v was dropped", "src", "ALTER STREAM TABLE"),
            ("ALTER TABLE src ADD COLUMNS (v INT)",),
            "REINITIALIZE",
            MAPPED,
            queries=(BAG, STAR, "SELECT *, rand() < 2 AS low FROM src"),
        ),
        Breaks(
            "restored to a time before it",
            "RESTORE src TO VERSION AS OF 1",
            "QUERY_INVALID",
            ("column more was dropped", "src"),
            ("ALTER TABLE src ADD COLUMNS (more INT)",),
            "NO_DATA",
            create="CREATE TABLE src (id INT, v INT, extra STRING); INSERT INTO src VALUES (1, 2, 'c'); "
            "ALTER TABLE src ADD COLUMNS (more INT)",
            queries=(STAR,),
        ),
    ),
    "`CREATE OR REPLACE TABLE`, or dropped and created again": (
        Rebuilds(
            "replaced, same columns",
            ("CREATE OR REPLACE TABLE src (id INT, v INT, extra STRING)", "INSERT INTO src VALUES (1, 1, 'x')"),
            "replaced",
        ),
        Rebuilds(
            "replaced, other types, other columns, another order",
            ("CREATE OR REPLACE TABLE src AS SELECT 1 AS more, 'text' AS v, 'e' AS extra, id FROM range(3)",),
            "replaced",
            queries=(STAR, GROUPS),
            types=("bigint", "string", "string"),
        ),
        Rebuilds(
            "dropped and created again",
            ("DROP TABLE src", "CREATE TABLE src (id INT, v INT, extra STRING)", SEED, SEED),
            "dropped and created again",
            slow=True,
        ),
        Breaks(
            "replaced without a used column",
            "CREATE OR REPLACE TABLE src (id INT)",
            "QUERY_INVALID",
            ("replaced", "columns v of `src`, extra of `src`, which are not there any more"),
            ("CREATE OR REPLACE TABLE src (id INT, v INT, extra STRING)", "INSERT INTO src VALUES (5, 5, 'e')"),
            "REINITIALIZE",
            queries=(STAR,),
        ),
    ),
    "Its name stands for another table now, in another folder, in a catalog that outlives its process "
    "(a Hive metastore)": ("integration/test_hive_metastore.py",),
    "The same in a catalog in memory, changed through `ps.sql`": (
        "integration/spark/test_source_changes.py::test_a_name_that_stands_for_a_table_elsewhere_is_followed",
    ),
    "Dropped, or its files are missing (an unmounted disk, a folder that was moved)": (
        Breaks(
            "dropped",
            "DROP TABLE src",
            "SOURCE_MISSING",
            ("Delta log",),
            ("CREATE TABLE src (id INT, v INT, extra STRING)", SEED),
            "REINITIALIZE",
        ),
        "integration/spark/test_absent_sources.py::test_sources_that_are_away_are_missing_and_go_on_where_they_were",
    ),
    "Parts of its Delta log are missing; a file or an empty folder is in its place": (
        "unit/engine/test_readable.py::test_what_is_not_there_whole_is_missing",
        "integration/spark/test_absent_sources.py::test_an_empty_table_in_the_place_of_a_source_is_none",
    ),
    "Its files may not be read for the moment (permissions, network)": (
        "unit/engine/test_readable.py::test_a_source_that_may_not_be_read_is_out_of_reach_and_not_gone",
    ),
    "`VACUUM` or log clean-up took the version at the frontier": (
        "integration/spark/test_source_changes.py::test_a_vacuumed_frontier_is_lost_and_rebuilt",
        "integration/spark/test_source_changes.py::test_log_clean_up_below_the_frontier_is_harmless_and_above_it_rebuilds",
    ),
}

_HERE = "integration/spark/test_source_changes.py"
_FUNCTIONS = "integration/spark/test_function_changes.py"
_FOREIGN = "integration/spark/test_foreign_writes.py"
_REDEFINED = "integration/spark/test_redefine.py"

ROWS |= {
    "A view was redefined, however deep below the query, or has other columns, another schema or other settings "
    "(ANSI, time zone, …) for the same text": (
        f"{_HERE}::test_a_redefined_view_is_noticed_even_if_no_row_moved",
        f"{_HERE}::test_a_view_of_the_same_text_is_another_one",
        f"{_HERE}::test_a_view_under_other_settings_is_another_one_and_comes_back_with_them",
    ),
    "A view shows other columns than it did": (f"{_HERE}::test_a_star_over_a_view_keeps_its_columns",),
    "A SQL function was redefined (`CREATE OR REPLACE FUNCTION … RETURN …`), however deep": (
        f"{_FUNCTIONS}::test_a_sql_function_created_anew_even_below_another_and_below_a_view",
        f"{_FUNCTIONS}::test_a_table_function_created_anew",
    ),
    "A Python function was registered again with other code": (
        f"{_FUNCTIONS}::test_a_python_function_registered_anew",
    ),
    "The same code was registered again, or moved to another line": (
        f"{_FUNCTIONS}::test_a_python_function_registered_anew",
    ),
    "A view or function is gone": (
        f"{_HERE}::test_a_redefined_view_is_noticed_even_if_no_row_moved",
        f"{_FUNCTIONS}::test_a_function_that_is_gone_keeps_the_rows_and_says_what_to_do",
    ),
    "A Java or Scala function was changed": ("integration/spark/test_clock_and_functions.py",),
    "Somebody ran `OPTIMIZE` on its storage, or set a property": (
        f"{_FOREIGN}::test_optimize_by_others_is_accepted_and_told",
    ),
    "Somebody inserted, updated or deleted rows, or changed columns": (
        f"{_FOREIGN}::test_a_write_by_others_is_told_and_undone_and_consumers_see_only_what_differs",
        f"{_FOREIGN}::test_columns_changed_by_others_are_undone",
    ),
    "Somebody restored an older version of it, or overwrote its definition": (
        f"{_FOREIGN}::test_a_storage_set_back_to_an_older_version_keeps_its_definition",
    ),
    "`ALTER STREAM TABLE … AS query`, `CREATE OR REPLACE STREAM TABLE`": (
        f"{_REDEFINED}::test_rows_columns_and_definition_come_in_one_commit",
    ),
    "The new query fails, or the process dies before that commit": (
        f"{_REDEFINED}::test_a_new_query_that_fails_changes_nothing",
    ),
    "The process dies after that commit": ("integration/test_kills.py",),
    "The new query counts or hides its stored rows otherwise (`SELECT DISTINCT` became `SELECT`)": (
        f"{_REDEFINED}::test_consumers_follow_a_query_that_counts_its_rows_otherwise",
    ),
    "A consumer could not be computed with the new query: a column that it uses is gone, or of a type that it cannot "
    "use": (
        f"{_REDEFINED}::test_consumers_follow",
        "integration/spark/test_readers_of_another_query.py::test_who_would_break_is_named_and_nothing_changes",
    ),
}
