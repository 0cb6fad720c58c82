"""How a statement that cannot be read is refused, word by word. Run `make golden` to rewrite the files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.errors import PenstockError
from penstock.lang import parse

REWRITE = os.environ.get("PENSTOCK_GOLDEN") == "rewrite" or os.environ.get("REWRITE_GOLDEN") == "1"


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.glob("*.txt")), ids=lambda path: path.stem)
def test_error_messages(path: Path) -> None:
    """Each golden file holds cases under `-- title:`: a script, `----`, and the message it is refused with."""
    cases = ["-- title:" + case for case in path.read_text("utf-8").split("-- title:")[1:]]
    assert cases
    seen = []
    for case in cases:
        head, _, script = case.split("\n----\n")[0].partition("\n")
        with pytest.raises(PenstockError) as refused:
            parse(script)
        seen.append(f"{head}\n{script}\n----\n{refused.value}\n")
    if REWRITE:
        path.write_text("\n".join(seen), "utf-8")
    assert path.read_text("utf-8") == "\n".join(seen)
