"""A fingerprint of what a Python function does: equal for the same source in any process, other after a change.

    function  =  bytecode, constants and names  +  defaults  +  closure  +  the globals that it uses
    class     =  its methods, properties and values  +  the classes that it comes from
    object    =  its class  +  what a pickle of it would hold

File names and line numbers are left out, so moving a function changes nothing. Functions and classes that it reaches by
name are followed; modules, and classes of installed packages, are not, beyond their name. Another version of Python
compiles to another bytecode, which is taken for a change: a rebuild too many, never one too few.
"""

from __future__ import annotations

import copyreg
import hashlib
import sys
import sysconfig
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from pyspark import cloudpickle

_DEEP = 12
"""Values that refer to each other are followed so far."""

_PACKAGES = tuple(sysconfig.get_path(each) for each in ("stdlib", "platstdlib", "purelib", "platlib"))

_Seen = dict[int, Any]
"""What was met, by its id; held here, because the id of a value that is gone may be another's."""


def fingerprint(command: bytes) -> str:
    """The fingerprint of a pickled command as PySpark registers it; empty if it cannot be read."""
    try:
        loaded = cloudpickle.loads(command)
    except Exception:
        # Unpickling a user's code may raise anything: then nothing can be said about it.
        return ""
    digest = hashlib.sha256()
    for part in _parts(loaded, {}, 0):
        digest.update(part.encode("utf-8", "backslashreplace") + b"\0")
    return digest.hexdigest()


def _parts(value: Any, seen: _Seen, depth: int) -> Iterator[str]:
    if id(value) in seen or depth > _DEEP:
        yield "…"
        return
    match value:
        case None | bool() | int() | float() | complex() | str() | bytes():
            yield f"{type(value).__name__} {value!r}"
        case tuple() | list():
            yield f"{type(value).__name__} {len(value)}"
            for item in value:
                yield from _parts(item, seen, depth + 1)
        case set() | frozenset():
            yield from sorted("".join(_parts(item, seen, depth + 1)) for item in value)
        case dict():
            yield f"dict {len(value)}"
            for key in sorted(value, key=repr):
                yield from _parts(key, seen, depth + 1)
                yield from _parts(value[key], seen, depth + 1)
        case ModuleType():
            yield f"module {value.__name__}"
        case CodeType():
            seen[id(value)] = value
            yield from _code(value, seen, depth)
        case FunctionType():
            seen[id(value)] = value
            yield from _function(value, seen, depth)
        case type():
            seen[id(value)] = value
            yield f"class {value.__module__}.{value.__qualname__}"
            # A package's own classes keep caches, which differ from one process to the next.
            if not _installed(value):
                for name, member in sorted(vars(value).items()):
                    # Of the names that Python gives itself, only the methods are the author's.
                    if isinstance(member, FunctionType) or not (name.startswith("__") and name.endswith("__")):
                        yield name
                        yield from _parts(member, seen, depth + 1)
                yield from _parts(value.__bases__, seen, depth + 1)
        case staticmethod() | classmethod():
            yield type(value).__name__
            yield from _parts(value.__func__, seen, depth + 1)
        case property():
            yield from _parts((value.fget, value.fset, value.fdel), seen, depth + 1)
        case _:
            seen[id(value)] = value
            yield f"{type(value).__module__}.{type(value).__qualname__}"
            yield from _parts(type(value), seen, depth + 1)
            yield from _parts(_state(value), seen, depth + 1)


def _installed(kind: type) -> bool:
    """True if a class is Python's own, or of an installed package."""
    module = sys.modules.get(kind.__module__)
    if module is None or kind.__module__ == "__main__":
        return False
    file = getattr(module, "__file__", None)
    return file is None or file.startswith(_PACKAGES)


def _state(value: Any) -> Any:
    """What an object holds, as pickling writes it: only pickling knows objects that are not written in Python."""
    reduce = copyreg.dispatch_table.get(type(value))
    try:
        reduced = value.__reduce_ex__(4) if reduce is None else reduce(value)
    except Exception:
        # Whatever an object raises that is not for pickling.
        return getattr(value, "__dict__", None)
    # The first part only says how to make an object of its class; the last two may be iterators.
    if isinstance(reduced, str):
        return reduced
    return [list(part) if isinstance(part, Iterator) else part for part in reduced[1:]]


def _code(code: CodeType, seen: _Seen, depth: int) -> Iterator[str]:
    yield f"code {code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars} {code.co_argcount}"
    for constant in code.co_consts:
        yield from _parts(constant, seen, depth + 1)


def _function(function: FunctionType, seen: _Seen, depth: int) -> Iterator[str]:
    yield from _parts(function.__code__, seen, depth + 1)
    yield from _parts(function.__defaults__, seen, depth + 1)
    yield from _parts(function.__kwdefaults__, seen, depth + 1)
    for cell in function.__closure__ or ():
        try:
            yield from _parts(cell.cell_contents, seen, depth + 1)
        except ValueError:
            yield "empty cell"
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield name
            yield from _parts(function.__globals__[name], seen, depth + 1)


def _names(code: CodeType) -> set[str]:
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names(constant)
    return found
