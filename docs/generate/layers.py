"""The picture of the layers in CONTRIBUTING.md, from the import contracts of `pyproject.toml`.

Of the page it writes what stands between the two markers; the rest is written by hand. What a package is for is the
first line of its docstring.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generate.table import code, table

ROOT = Path(__file__).parents[2]
PAGE = "../CONTRIBUTING.md"
BEGIN, END = "<!-- layers: written by `make docs` -->", "<!-- end of layers -->"

Contract = dict[str, Any]


def text() -> str:
    """The page, with the picture as the contracts have it."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{picture(contracts())}\n\n{END}{after}"


def contracts() -> list[Contract]:
    """The contracts that import-linter checks."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: list[Contract] = project["tool"]["importlinter"]["contracts"]
    return found


def picture(found: list[Contract]) -> str:
    """The layers, the rooms of every package that has layers of its own, and where each foreign library lives."""
    layered = [contract for contract in found if contract["type"] == "layers"]
    outer = [contract for contract in layered if contract["containers"] == ["penstock"]]
    inner = [contract for contract in layered if contract not in outer]
    parts = [_layers(contract) for contract in outer]
    for contract in inner:
        parts += [f"**{contract['name']}**", _layers(contract)]
    homes = [row for contract in found if contract["type"] == "forbidden" for row in _homes(contract)]
    parts += ["One foreign library has one home:", table(["library", "home"], sorted(homes))]
    return "\n\n".join(parts)


def _layers(contract: Contract) -> str:
    (container,) = contract["containers"]
    rows = []
    for number, layer in enumerate(reversed(contract["layers"])):
        label = f"{number}, import each other" if ":" in layer else str(number)
        for place, name in enumerate(members(layer)):
            purpose = _purpose(f"{container}.{name}")
            shown = f"*{name}*" if purpose is None else code(name)
            rows.append((number, [label if place == 0 else "", shown, purpose or "planned"]))
    # The upper layer stands above the lower one, its packages in the order of the contract.
    rows.sort(key=lambda row: -row[0])
    return table(["layer", "package", "what it is"], [row for _, row in rows])


def members(layer: str) -> list[str]:
    """The packages of one layer, as import-linter spells it.

    >>> members("schedule | (subscribe) : monitor")
    ['schedule', 'subscribe', 'monitor']
    """
    return re.findall(r"\w+", layer)


def _purpose(module: str) -> str | None:
    """What a module says of itself in its first line; None if it does not exist."""
    path = ROOT / "src" / Path(*module.split("."))
    for file in (path / "__init__.py", path.with_suffix(".py")):
        if file.exists():
            said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            return said.split("\n")[0]
    return None


def _homes(contract: Contract) -> Iterator[list[str]]:
    """Every library that one contract keeps in its home."""
    homes: dict[str, list[str]] = {}
    for line in contract.get("ignore_imports", ()):
        package, library = line.split(" -> ")
        homes.setdefault(library, []).append(package.removesuffix(".**").removeprefix("penstock."))
    for library, packages in homes.items():
        yield [code(library), " ".join(map(code, packages))]
