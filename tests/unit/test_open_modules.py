"""Only some modules of a room are open to others; its docstring names them, and nothing else is imported from outside.

A room of the engine may open a module to every package, or to the rest of the engine alone. A private name (`_name`) is
never imported from another module.
"""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import grimp
import pytest

import penstock

ENGINE = "penstock.engine"
ROOMS = (
    *(f"{ENGINE}.{name}" for name in ("failures", "delta", "spark", "read", "bind", "write", "run", "changelog")),
    "penstock.catalog",
    "penstock.schedule",
    "penstock.monitor",
)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_which_of_its_modules_are_open(room: str) -> None:
    everywhere, engine = imported_from_outside(room)
    assert said(room, "every package") == everywhere
    assert said(room, "the engine") == engine


def test_no_module_imports_a_private_name_of_another() -> None:
    root = Path(penstock.__file__).parent
    taken = [
        f"{path.relative_to(root)}: {name.name}"
        for path in sorted(root.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for name in node.names
        if name.name.startswith("_") and not name.name.startswith("__")
    ]
    assert taken == []


def said(room: str, whom: str) -> list[str]:
    """The modules that the room's docstring calls open to somebody."""
    text = " ".join((importlib.import_module(room).__doc__ or "").split())
    found = re.search(rf"Open to {whom}: ([^.]*(?:\.[a-z_][^.]*)*)\.(?: |$)", text)
    return found[1].split(", ") if found else []


def imported_from_outside(room: str) -> tuple[list[str], list[str]]:
    """The modules of a room that other packages import, and those that only other rooms of the engine do."""
    everywhere, engine = set(), set()
    for module in graph().modules:
        if not module.startswith(f"{room}."):
            continue
        users = {
            user for user in graph().find_modules_that_directly_import(module) if not f"{user}.".startswith(f"{room}.")
        }
        if any(not user.startswith(f"{ENGINE}.") for user in users) or (users and not room.startswith(ENGINE)):
            everywhere.add(module.removeprefix(f"{room}."))
        elif users:
            engine.add(module.removeprefix(f"{room}."))
    return sorted(everywhere), sorted(engine)


@cache
def graph() -> grimp.ImportGraph:
    """What imports what in Penstock, types aside."""
    return grimp.build_graph("penstock", exclude_type_checking_imports=True, cache_dir=None)
