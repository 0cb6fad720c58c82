"""What the repository says of itself: one version, the Pythons that are tested."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from penstock.version import VERSION

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_changelog_has_the_version_with_its_day() -> None:
    released = re.findall(r"^## \[([\d.]+)\] - (\d{4}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert released[0][0] == VERSION == PROJECT["version"]
    assert [day for _, day in released] == sorted((day for _, day in released), reverse=True)


def test_no_folder_holds_more_modules_than_one_can_survey() -> None:
    folders = {path.parent for path in (ROOT / "src" / "penstock").rglob("*.py")}
    sizes = {str(folder.relative_to(ROOT)): len(list(folder.glob("*.py"))) for folder in folders}
    assert {folder: size for folder, size in sizes.items() if size > 25} == {}


def test_the_pythons_that_are_promised_are_the_ones_that_are_tested() -> None:
    promised = [found[1] for name in PROJECT["classifiers"] if (found := re.search(r"Python :: (3\.\d+)$", name))]
    for file, line in {
        ".ci/pythons": r"^for version in (.*);",
        ".github/workflows/ci.yml": r"^ +python: \[(.*)\]",
    }.items():
        (tested,) = re.findall(line, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
        assert promised == re.findall(r"3\.\d+", tested), file
    assert f">={promised[0]}" == PROJECT["requires-python"]
