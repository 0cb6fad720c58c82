"""The fingerprint of a Python function: the same for the same source, another for another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark import cloudpickle

from penstock.engine.python_code import fingerprint

FACTOR = "factor = 2\ndef half(v): return v / factor\n"


def made(source: str, name: str = "f") -> Callable[..., Any]:
    """A function as a script defines it: pickled by value, not by name."""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "somewhere.py", "exec"), space)
    return space[name]  # type: ignore[no-any-return]


def of(source: str) -> str:
    return fingerprint(cloudpickle.dumps((made(source), "int")))


@pytest.mark.parametrize(
    "source",
    [
        "def f(v): return v * 2",
        "f = lambda v: v * 2",
        f"{FACTOR}def f(v): return half(v) + 1",
        "def outer(n):\n def f(v): return v + n\n return f\nf = outer(3)",
        "names = {'a', 'b', 'c'}\ndef f(v): return v in names",
        "class C:\n def go(self, v): return v\nc = C()\ndef f(v): return c.go(v)",
        "def f(v): return 1 if v == 0 else v * f(v - 1)",
    ],
)
def test_the_same_source_has_the_same_fingerprint_wherever_it_stands(source: str) -> None:
    assert of(source) == of(source) == of("\n\n# moved\n" + source) != ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("def f(v): return v * 2", "def f(v): return v * 3", id="a constant"),
        pytest.param("def f(v): return v * 2", "def f(v): return v + 2", id="an operator"),
        pytest.param("def f(v, w=1): return v", "def f(v, w=2): return v", id="a default"),
        pytest.param(
            f"{FACTOR}def f(v): return half(v)",
            f"{FACTOR.replace('= 2', '= 3')}def f(v): return half(v)",
            id="a global of a function it calls",
        ),
        pytest.param(
            f"{FACTOR}def f(v): return half(v)",
            f"{FACTOR.replace('/', '*')}def f(v): return half(v)",
            id="a function it calls",
        ),
        pytest.param(
            "def outer(n):\n def f(v): return v + n\n return f\nf = outer(3)",
            "def outer(n):\n def f(v): return v + n\n return f\nf = outer(4)",
            id="its closure",
        ),
        pytest.param(
            "class C:\n def go(self, v): return v\nc = C()\ndef f(v): return c.go(v)",
            "class C:\n def go(self, v): return -v\nc = C()\ndef f(v): return c.go(v)",
            id="a method of an object it uses",
        ),
        pytest.param("import math\ndef f(v): return math.sin(v)", "import cmath as math\ndef f(v): return math.sin(v)",
                     id="a module"),
    ],
)  # fmt: skip
def test_a_change_changes_the_fingerprint(before: str, after: str) -> None:
    assert of(before) != of(after)


def test_what_cannot_be_unpickled_has_none() -> None:
    assert fingerprint(b"not a pickle") == ""
