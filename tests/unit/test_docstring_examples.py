"""Examples in docstrings say what the code does."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import penstock

SOURCE = Path(penstock.__file__).parent
WITH_EXAMPLES = sorted(file for file in SOURCE.rglob("*.py") if ">>> " in file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", WITH_EXAMPLES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_examples(file: Path) -> None:
    name = ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts)
    found = doctest.testmod(import_module(name), report=True)
    assert found.attempted
    assert not found.failed
