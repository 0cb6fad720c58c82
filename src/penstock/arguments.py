"""Arguments of public functions, checked before the function reads or changes anything.

`@checked` on a function, or on a class for all its public methods, reads the annotations. A call that does not fit them
is `InvalidArgument`: it names the argument, what was given and what is accepted, with an example. One parameter name
means one thing everywhere, so what annotations cannot say stands in one table.
"""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from threading import TIMEOUT_MAX
from typing import Any, Final, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from penstock.errors import InvalidArgument

Checked = TypeVar("Checked", bound=Callable[..., Any])


_WHOLE: Final = 2**63
"""Catalogs and tables hold whole numbers below it, down to its opposite."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a parameter accepts beyond its type, and an example of it."""

    example: str
    least: int = -_WHOLE
    most: int = _WHOLE - 1
    has_zone: bool = False
    """A moment needs a time zone."""


QUERY: Final = '"SELECT region, sum(amount) AS total FROM orders GROUP BY region"'
PARAMETERS: Final[Mapping[str, Parameter]] = {
    "path": Parameter('"warehouse"'),
    "spark": Parameter("spark=SparkSession.builder…getOrCreate()"),
    "catalog": Parameter('"postgresql://user@host/database"'),
    "settings": Parameter('{"min_target_lag_seconds": 5}'),
    "text": Parameter('"SHOW STREAM TABLES"'),
    "progress": Parameter("progress=print"),
    "name": Parameter('"revenue"'),
    "names": Parameter('["revenue", "top_customers"]'),
    "query": Parameter(QUERY),
    "target_lag": Parameter('"5 minutes"'),
    "refresh_mode": Parameter('"AUTO"'),
    "initialize": Parameter("False"),
    "key": Parameter('["region"]'),
    "or_replace": Parameter("True"),
    "if_not_exists": Parameter("True"),
    "status": Parameter('"SUSPENDED"'),
    "if_exists": Parameter("True"),
    "cascade": Parameter("True"),
    "yes": Parameter("True"),
    "now": Parameter("datetime.now(UTC)", has_zone=True),
    "fresh": Parameter("True"),
    "name_or_query": Parameter('"revenue"'),
    "max_rows": Parameter("20", least=1),
    "extended": Parameter("True"),
    "dry_run": Parameter("True"),
    "listener": Parameter("print"),
    "host": Parameter('"127.0.0.1"'),
    "port": Parameter("0, which takes a free one", least=0, most=65535),
    "start": Parameter('"snapshot"'),
    "version": Parameter("0"),
    "timestamp": Parameter("datetime(2026, 1, 31, 12, tzinfo=UTC)"),
    "lsn": Parameter("0"),
    "where": Parameter("\"region = 'north'\""),
    "columns": Parameter('["region", "total"]'),
    "policy": Parameter('"block"'),
    "buffer": Parameter("1024"),
    "delivery": Parameter('"net"'),
    "durable": Parameter('"mailer"'),
    "watch.key": Parameter('"north"'),
    "since_lsn": Parameter("0", most=2**64 - 1),
    "call": Parameter("print"),
    "on_error": Parameter("print"),
    "on_complete": Parameter("print"),
    "timeout": Parameter("1.5"),
    "commits": Parameter("1"),
    "limit": Parameter("100"),
    "may_read": Parameter("lambda name: True"),
    "moment": Parameter("datetime(2026, 1, 31, 12, tzinfo=UTC)", has_zone=True),
    "entry": Parameter("changelog.newest()"),
    "entries": Parameter("changelog.after_version(0)"),
    "before": Parameter("0"),
    "by": Parameter("timedelta(seconds=1)"),
    "seconds": Parameter("1.5"),
}
"""Parameter, or function and parameter where a name means something else → what it accepts."""


def checked(call: Checked) -> Checked:
    """Check every call of a public function, or of every public method of a class.

    A parameter that is missing from the table passes objects of Penstock, and is not checked.
    """
    if isinstance(call, type):
        for name, method in vars(call).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                setattr(call, name, checked(method))
        return call
    signature, kinds = inspect.signature(call), dict[str, Any]()
    names = signature.parameters.keys() - {"self"}
    if names and not names & PARAMETERS.keys():
        return call
    needed = [each for each in signature.parameters.values() if each.default is each.empty]

    @wraps(call)
    def check_and_call(*given: Any, **named: Any) -> Any:
        if not named and len(given) == len(needed) == 1 and needed[0].name == "self":
            return call(*given)
        if not kinds:
            kinds.update(get_type_hints(call))
        try:
            bound = signature.bind(*given, **named)
        except TypeError:
            _refuse_call(call.__name__, signature, given, named)
        for name, value in bound.arguments.items():
            if name in PARAMETERS:
                # An iterator can be read once: the function gets the values that were checked.
                value = tuple(value) if isinstance(value, Iterator) and _is_many(kinds[name]) else value
                check_argument(call.__name__, name, kinds[name], value)
                bound.arguments[name] = value
        return call(*bound.args, **bound.kwargs)

    return check_and_call  # type: ignore[return-value]


def check_argument(call: str, name: str, kind: Any, value: Any) -> None:
    """Raise InvalidArgument unless a value fits an annotation and what the table says of the parameter."""
    parameter = PARAMETERS.get(f"{call}.{name}") or PARAMETERS[name]
    fix = f"Give {describe_type(kind)}, such as {parameter.example}."
    if not fits(value, kind):
        if isinstance(value, (list, tuple, set)) and value and all(fits(each, kind) for each in value):
            fix = f"Give one at a time: {describe_type(kind)}, such as {parameter.example}."
        elif type(value).__module__.startswith("pandas."):
            fix += " Of pandas' rows make a table first: ps.spark.createDataFrame(…).write.saveAsTable(…)."
        raise InvalidArgument(call=call, why=f"was given {describe_value(value)} for {name}", fix=fix)
    if isinstance(value, int) and not parameter.least <= value <= parameter.most:
        bounds = f"from {parameter.least} to {parameter.most}"
        if parameter.most >= _WHOLE - 1:
            bounds = f"from {parameter.least} on" if -_WHOLE <= value <= parameter.most else "that 64 bits hold"
        fix = f"Give a whole number {bounds}, such as {parameter.example}."
        raise InvalidArgument(call=call, why=f"was given {value} for {name}", fix=fix)
    if isinstance(value, float) and (math.isnan(value) or value > TIMEOUT_MAX):
        fix = f"Give a number of seconds that can be waited, such as {parameter.example}."
        raise InvalidArgument(call=call, why=f"was given {value} for {name}", fix=fix)
    if isinstance(value, str) and not _is_unicode(value):
        fix = f"Give text whose characters Unicode has, such as {parameter.example}."
        raise InvalidArgument(call=call, why=f"was given {ascii(value)[:60]} for {name}, half a character", fix=fix)
    if parameter.has_zone and isinstance(value, datetime) and value.tzinfo is None:
        fix = f"Give a moment that says its time zone, such as {parameter.example}."
        raise InvalidArgument(
            call=call, why=f"was given {describe_value(value)} for {name}, without a time zone", fix=fix
        )


def fits(value: Any, kind: Any) -> bool:
    """True if a value is of the annotated type. Text is no list of letters, and True is no number."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(fits(value, each) for each in inner)
    if origin is Literal:
        # The function itself names the choices when it refuses one.
        return isinstance(value, type(inner[0]))
    if origin is Callable or kind is Callable:
        return callable(value)
    if _is_many(kind):
        return (
            isinstance(value, origin)
            and not isinstance(value, (str, bytes))
            and all(fits(each, inner[0]) for each in value)
        )
    if origin is not None:
        return isinstance(value, origin) and all(fits(each, inner[0]) for each in value)
    if kind is type(None):
        return value is None
    if kind in (int, float):
        return isinstance(value, int if kind is int else (int, float)) and not isinstance(value, bool)
    return isinstance(value, kind) or _is_namesake(value, kind)


def _is_unicode(text: str) -> bool:
    """False for text with half a surrogate pair, as in a file name that could not be decoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_many(kind: Any) -> bool:
    kinds = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    return any(
        isinstance(origin := get_origin(each), type)
        and issubclass(origin, Iterable)
        and not issubclass(origin, Mapping)
        for each in kinds
    )


def _is_namesake(value: Any, kind: type) -> bool:
    """True for a class of the same name in the same package.

    So a session of Spark Connect passes here, and is refused later with its own reason.
    """
    package = kind.__module__.partition(".")[0]
    return any(
        each.__name__ == kind.__name__ and each.__module__.partition(".")[0] == package for each in type(value).__mro__
    )


_WORDS: Final[Mapping[Any, str]] = {
    str: "text",
    int: "a whole number",
    float: "a number of seconds",
    bool: "True or False",
    Path: "a Path",
    datetime: "a datetime",
    timedelta: "a timedelta",
    type(None): "None",
    Callable: "a function",
}


def describe_type(kind: Any) -> str:
    """An annotation in words.

    >>> describe_type(str | timedelta | None)
    'text, a timedelta or None'
    """
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        words = [describe_type(each) for each in get_args(kind) if each.__name__ != "UnsetType"]
        return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
    if origin is Literal:
        return " or ".join(repr(each) for each in get_args(kind))
    if origin is not None and origin is not Callable:
        return "a mapping" if issubclass(origin, Mapping) else f"a list of {describe_type(get_args(kind)[0])}"
    known = _WORDS.get(origin or kind)
    return known or ("a Spark DataFrame" if kind.__name__ == "DataFrame" else f"a {kind.__name__}")


def describe_value(value: Any) -> str:
    """A value in words: its type, and itself if that is short."""
    if value is None or isinstance(value, bool):
        return repr(value)
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    owner = "" if package in ("builtins", "__main__", "datetime") else f"{package} "
    if owner or inspect.isroutine(value):
        return f"a {owner}{kind.__name__}"
    text = repr(value)
    text = text if len(text) <= 60 else text[:59] + "…"
    article = "an" if kind.__name__[0] in "aeiou" else "a"
    return f"{text}, {article} {kind.__name__}"


def _refuse_call(call: str, signature: inspect.Signature, given: tuple[Any, ...], named: dict[str, Any]) -> NoReturn:
    """Say why arguments cannot be matched with parameters."""
    parameters = [each for each in signature.parameters.values() if each.name != "self"]
    names = [each.name for each in parameters]
    in_order = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    count = len(given) - ("self" in signature.parameters)
    unknown = [name for name in named if name not in names]
    if unknown:
        close = get_close_matches(unknown[0], names, n=1)
        fix = f"Did you mean {close[0]}?" if close else f"Its arguments are: {', '.join(names) or 'none'}."
        raise InvalidArgument(call=call, why=f"has no argument {unknown[0]}", fix=fix) from None
    if count > len(in_order):
        by_name = [each for each in names if each not in in_order and each not in named]
        fix = f"Give the others by name: {', '.join(f'{each}=…' for each in by_name)}." if by_name else "Leave it out."
        taken = f"only {', '.join(in_order)}" if in_order else "nothing"
        value = describe_value(given[len(in_order) - count])
        raise InvalidArgument(call=call, why=f"takes {taken} by position, and was given {value} too", fix=fix) from None
    twice = [name for name in in_order[:count] if name in named]
    if twice:
        fix = "Give it once."
        raise InvalidArgument(call=call, why=f"was given {twice[0]} twice", fix=fix) from None
    missing = next(each for each in in_order[count:] if each not in named)
    parameter = PARAMETERS.get(f"{call}.{missing}") or PARAMETERS[missing]
    raise InvalidArgument(call=call, why=f"needs {missing}", fix=f"Give one, such as {parameter.example}.") from None
