"""What a token opens: the tables that its file names, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.serve.access import Access, Grant


def grant(folder: Path, *tables: str) -> Grant:
    """What a token file with these tables opens."""
    path = folder / "tokens.toml"
    path.write_text(f'[a]\ntoken = "0123456789abcdef"\ntables = {list(tables)!r}\n')
    grants = Access.read(path).grants
    assert grants is not None
    (found,) = grants.values()
    return found


@pytest.mark.parametrize(
    ("pattern", "table", "opens"),
    [
        ("pays", "default.pays", True),
        ("PAYS", "default.pays", True),
        ("pays", "sales.pays", False),
        ("pay?", "default.pays", False),
        ("pay?", "default.pay?", True),
        ("t[ab]", "default.ta", False),
        ("t[ab]", "default.t[ab]", True),
        ("sales.*", "sales.pays", True),
        ("sales.*", "sales_old.pays", False),
        ("sales.pay?*", "sales.pays", False),
        ("sales.pay?*", "sales.pay?s", True),
        ("*.t[ab]", "sales.tb", False),
        ("s*.p*s", "sales.pays", True),
        ("*", "sales.pays", True),
    ],
)
def test_only_an_asterisk_stands_for_other_text(tmp_path: Path, pattern: str, table: str, opens: bool) -> None:
    assert grant(tmp_path, pattern).may_read(table) is opens
