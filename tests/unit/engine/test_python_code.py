"""The fingerprint of a Python function: the same for the same source, another for another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark import cloudpickle

from penstock.engine.bind.python_code import fingerprint

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
        "from enum import Enum\nclass C(Enum):\n A = 1\ndef f(v): return C.A.value",
        "import numpy as np\na = np.array([1, 2])\ndef f(v): return a[v]",
        "import abc\nclass C(abc.ABC):\n @property\n def go(self): return 1\ndef f(v): return C().go",
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
        pytest.param(
            "class C:\n rate = 2\ndef f(v): return C.rate", "class C:\n rate = 3\ndef f(v): return C.rate",
            id="a value of a class"),
        *(
            pytest.param(source, source.replace("return v", "return -v"), id=name)
            for name, source in {
                "a static method": "class C:\n @staticmethod\n def go(v): return v\ndef f(w): return C.go(w)",
                "a class method": "class C:\n @classmethod\n def go(c, v): return v\ndef f(w): return C.go(w)",
                "a property": "class C:\n @property\n def go(v): return v\nc = C()\ndef f(w): return c.go",
                "an inherited method":
                    "class B:\n def go(s, v): return v\nclass C(B): pass\ndef f(w): return C().go(w)",
                "a bound method": "class C:\n def go(self, v): return v\nf = C().go",
            }.items()
        ),
        *(
            pytest.param(f"{imported}\nc = {value}\ndef f(v): return c", f"{imported}\nc = {other}\ndef f(v): return c",
                         id=value)
            for imported, value, other in (
                ("import re", "re.compile('a')", "re.compile('b')"),
                ("from decimal import Decimal", "Decimal('1')", "Decimal('2')"),
                ("from datetime import date", "date(2026, 1, 1)", "date(2026, 1, 2)"),
                ("from collections import deque", "deque([1])", "deque([2])"),
                ("from functools import partial", "partial(print, 1)", "partial(print, 2)"),
                ("import numpy as np", "np.array([1, 2])", "np.array([1, 3])"),
            )
        ),
        pytest.param(
            "class C:\n __slots__ = ('n',)\nc = C()\nc.n = 2\ndef f(v): return c.n",
            "class C:\n __slots__ = ('n',)\nc = C()\nc.n = 3\ndef f(v): return c.n", id="a slot"),
    ],
)  # fmt: skip
def test_a_change_changes_the_fingerprint(before: str, after: str) -> None:
    assert of(before) != of(after)


def test_what_cannot_be_unpickled_has_none() -> None:
    assert fingerprint(b"not a pickle") == ""
