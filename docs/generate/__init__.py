"""Reference pages made from the code, so that they cannot drift from it.

Each module has `PAGE`, its place seen from `docs/`, and `text()`, the whole page. `python -m generate` writes them.
Pages that need Spark take a session and are written with `--spark`; a test compares every page with what would be
written.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from generate import command_line, configuration, error_conditions, layers, python_api, readme_operators, sql_statements

DOCS = Path(__file__).parent.parent

PAGES: tuple[ModuleType, ...] = (
    sql_statements,
    python_api,
    command_line,
    configuration,
    error_conditions,
    readme_operators,
    layers,
)
"""Pages that need no Spark; the README's summary is made from the page that does."""
