"""The product does not need the library, and what is left in `penstock.changes` is used by the product."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import penstock

ROOT = Path(penstock.__file__).parent.parent
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "penstock").rglob("*.py")
}
LIBRARY = "penstock.changelog_types"
CHANGES = "penstock.changes"


@cache
def imports(module: str) -> frozenset[str]:
    """The modules of Penstock that a module names in its imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{each.name}" for each in node.names} | {node.module}
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
    return frozenset(found & MODULES.keys())


def inside(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def test_nothing_outside_the_library_imports_it() -> None:
    users = {
        module
        for module in MODULES
        if not inside(module, LIBRARY) and any(inside(each, LIBRARY) for each in imports(module))
    }
    assert users == set()


def test_the_product_reaches_every_module_of_changes() -> None:
    apart = (LIBRARY, CHANGES, "penstock.testing")
    reached: set[str] = set()
    waiting = [module for module in MODULES if not any(inside(module, package) for package in apart)]
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += imports(module)
    # A package is reached by any of its modules.
    wanted = {module for module in MODULES if inside(module, CHANGES) and MODULES[module].name != "__init__.py"}
    assert wanted - reached == set()
