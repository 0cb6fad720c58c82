"""Modules that moved are still found under their old names, with a warning that says the new one."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from penstock.changes.moved import _PLACES


@pytest.mark.parametrize("old", sorted(_PLACES))
def test_an_old_name_gives_what_the_new_one_gives(old: str) -> None:
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=_PLACES[old]):
        found = importlib.import_module(old)
    new = importlib.import_module(_PLACES[old])
    public = {name for name in vars(new) if not name.startswith("_")}
    assert public <= set(vars(found))
    assert all(getattr(found, name) is getattr(new, name) for name in public)


@pytest.mark.process
def test_new_names_are_not_warned_about() -> None:
    code = "import penstock.changes.wire.change_event, penstock.changelog_types.checkpoint"
    assert subprocess.run([sys.executable, "-W", "error::DeprecationWarning", "-c", code], check=False).returncode == 0
