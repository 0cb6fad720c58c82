"""Links between pages, and from pages into the repository, lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from generate import DOCS

ROOT = DOCS.parent
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"])
_LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
_SOURCE = re.compile(r"`((?:src|tests|docs)/[\w./-]+)`")
_MODULE = re.compile(r"`((?:api|catalog|cli|compile|engine|graph|lang|operators|refresh|schedule|sources)/[\w/]+\.py)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_and_path_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [target for target in _LINK.findall(text) if "://" not in target and not (page.parent / target).exists()]
    missing += [path for path in _SOURCE.findall(text) if not (ROOT / path).exists()]
    # The example of an operator that does not exist yet.
    named = [path for path in _MODULE.findall(text) if path != "operators/left_join.py"]
    missing += [path for path in named if not (ROOT / "src" / "penstock" / path).exists()]
    expected = ["src/penstock/operators/left_join.py"] if page.name == "how-to-add-an-operator.md" else []
    assert missing == expected


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert listed == {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
