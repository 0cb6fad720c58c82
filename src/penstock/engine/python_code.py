"""A fingerprint of what a Python function does: equal for the same source in any process, other after a change.

    function  =  bytecode, constants and names  +  defaults  +  closure  +  the globals that it uses

File names and line numbers are left out, so moving a function changes nothing. Functions and classes that it reaches by
name are followed; modules are not, beyond their name. Another version of Python compiles to another bytecode, which is
taken for a change: a rebuild too many, never one too few.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from pyspark import cloudpickle

_DEEP = 12
"""Values that refer to each other are followed so far."""


def fingerprint(command: bytes) -> str:
    """The fingerprint of a pickled command as PySpark registers it; empty if it cannot be read."""
    try:
        loaded = cloudpickle.loads(command)
    except Exception:
        # Whatever unpickling somebody's code raises: then nothing can be said about it.
        return ""
    digest = hashlib.sha256()
    for part in _parts(loaded, set(), 0):
        digest.update(part.encode("utf-8", "backslashreplace") + b"\0")
    return digest.hexdigest()


def _parts(value: Any, seen: set[int], depth: int) -> Iterator[str]:
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
            seen.add(id(value))
            yield from _code(value, seen, depth)
        case FunctionType():
            seen.add(id(value))
            yield from _function(value, seen, depth)
        case type():
            seen.add(id(value))
            yield f"class {value.__module__}.{value.__qualname__}"
            for name, member in sorted(vars(value).items()):
                if isinstance(member, FunctionType):
                    yield name
                    yield from _parts(member, seen, depth + 1)
        case _:
            seen.add(id(value))
            yield f"{type(value).__module__}.{type(value).__qualname__}"
            yield from _parts(type(value), seen, depth + 1)
            yield from _parts(getattr(value, "__dict__", None) or "", seen, depth + 1)


def _code(code: CodeType, seen: set[int], depth: int) -> Iterator[str]:
    yield f"code {code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars} {code.co_argcount}"
    for constant in code.co_consts:
        yield from _parts(constant, seen, depth + 1)


def _function(function: FunctionType, seen: set[int], depth: int) -> Iterator[str]:
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
