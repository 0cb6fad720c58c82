"""The errors page, from the classes of `errors.py`, `engine/failures/spark_errors.py` and the reason codes."""

from __future__ import annotations

import penstock.errors
from generate.table import code, table
from penstock.compile.reasons import ADVICE, REASONS
from penstock.engine.failures.spark_errors import CONDITIONS, SQL_STATES, Meaning
from penstock.errors import PenstockError, Retry

PAGE = "reference/errors.md"

_RETRY = {
    Retry.NEVER: "The same call is refused again.",
    Retry.CHANGE: "The stream table becomes ERROR, and is tried again when something that it reads, its definition or "
    "the settings have changed.",
    Retry.REINITIALIZE: "The stored rows are no base for a delta. The same refresh, or the next, rebuilds them.",
    Retry.BACKOFF: "It may be over in a moment. It does not count towards suspension.",
    Retry.BUG: "It should not happen. The stream table is suspended at once; please report it.",
}


def text() -> str:
    """The page."""
    parts = [
        "# Errors and reason codes",
        "*Generated from `src/penstock/errors.py` and `src/penstock/compile/reasons.py`.*",
        "Every error that Penstock raises on purpose is a `PenstockError`. It has a `condition` (stable, for "
        "programs), a "
        "`retry` class (what to do), a text and a hint. `to_json()` gives all of it as plain data; the command line "
        "prints "
        "the same with `--json`. Words in braces below stand for the facts of an error.",
        "## What to do",
        table(["Retry class", "Meaning"], [[code(each.value), meaning] for each, meaning in _RETRY.items()]),
        "## Conditions",
    ]
    for group in PenstockError.__subclasses__():
        parts.append(f"### {group.__name__}\n\n{group.__doc__}")
        members = [each for each in group.__subclasses__() if each.__module__ == penstock.errors.__name__]
        parts += [_condition(error, heading=bool(members)) for error in members or [group]]
    parts.append(
        "## Errors of Spark and Delta\n\n"
        "An error of Spark, Delta or the system during a refresh becomes one of the above. The condition decides, by "
        "the longest entry that it begins with; else the class of its SQLSTATE; else significant words and the class "
        "of the exception. An unknown error is INTERNAL."
    )
    parts.append(table(["Condition", "Becomes"], [_meant(name, held) for name, held in sorted(CONDITIONS.items())]))
    parts.append(table(["SQLSTATE", "Becomes"], [_meant(f"{name}…", held) for name, held in SQL_STATES.items()]))
    parts.append(
        "## Reason codes\n\n"
        "Not errors: they say why a refresh, or all refreshes of a query, are not incremental. They appear in "
        "`status`, "
        "`history`, `explain` and in `RefreshResult.reason_code`; NOT_INCREMENTAL names one when mode INCREMENTAL was "
        "asked for.\n\n"
        "A code that refuses a query comes with the construct and its place: "
        "`rand() at line 2, column 3 of the query`. Lines and columns count from 1 and begin with the query, after "
        "`AS`. In a view they count in its own text. For a DataFrame the place is the line of the Python file, if "
        "the session keeps it."
    )
    parts += [_reason(name, meaning) for name, meaning in REASONS.items()]
    return "\n\n".join(parts) + "\n"


def _meant(name: str, meaning: Meaning) -> list[str]:
    return [code(name), code(meaning.value.condition)]


def _reason(name: str, meaning: str) -> str:
    advice = f" {ADVICE[name]}" if name in ADVICE else ""
    return f"### Reason `{name}`\n\n{meaning[0].upper()}{meaning[1:]}.{advice}"


def _condition(error: type[PenstockError], heading: bool) -> str:
    rows = [
        ["Class", code(error.__name__)],
        ["Retry class", code(error.retry.value)],
        ["Message", code(error.message)],
        ["Hint", code(error.hint)],
    ]
    title = f"#### {error.condition}\n\n{error.__doc__}\n\n" if heading else f"Condition {code(error.condition)}.\n\n"
    return title + table(["", ""], rows)
