"""Names that were replaced work for one more release, and the warning says what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock


def test_look_opens_lazily(tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning, match="penstock.open_lazily") as told:
        ps = penstock.look(tmp_path)
    with ps:
        assert ps.status() == []
    assert told[0].filename == __file__


def test_serve_serves_metrics(tmp_path: Path) -> None:
    with penstock.open_lazily(tmp_path) as ps:
        with pytest.warns(DeprecationWarning, match="serve_metrics") as told, ps.serve() as server:
            assert server.url.startswith("http://127.0.0.1:")
        assert told[0].filename == __file__
