"""`python -m generate`: write every page; with `--spark`, the operator matrix too."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from generate import DOCS, PAGES


def main() -> None:
    if "--spark" in sys.argv[1:]:
        from generate import operator_matrix

        with tempfile.TemporaryDirectory() as folder:
            text = operator_matrix.started(Path(folder))
        (DOCS / operator_matrix.PAGE).write_text(text, encoding="utf-8")
    for page in PAGES:
        (DOCS / page.PAGE).write_text(page.text(), encoding="utf-8")


main()
