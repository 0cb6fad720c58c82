"""Settings: few, typed, each with a range; read once when a warehouse is opened, then passed on as a frozen value.

    default  <  <warehouse>/penstock.toml  <  PENSTOCK_<NAME>  <  keyword

A later one wins. A value that is unknown, of the wrong type or out of range is refused wherever it comes from. The name
that a setting had in the release before still works, with a DeprecationWarning.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
import tomllib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from penstock.errors import InvalidSetting

FILE_NAME: Final = "penstock.toml"
PREFIX: Final = "PENSTOCK_"
DEFAULT_LAG: Final = "1 minute"
"""The target lag of a stream table whose definition names none."""


@dataclass(frozen=True, slots=True)
class SettingDoc:
    """One setting as the reference page shows it."""

    name: str
    type: str
    default: bool | int | str
    allowed: str
    doc: str
    env: str


@dataclass(frozen=True, slots=True)
class _Range:
    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low} to {self.high}"

    def __contains__(self, value: int) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class _OneOf:
    values: tuple[str, ...]

    def __str__(self) -> str:
        return ", ".join(self.values)

    def __contains__(self, value: str) -> bool:
        return value in self.values


@dataclass(frozen=True, slots=True)
class _Size:
    """An amount of memory, as Java writes it."""

    def __str__(self) -> str:
        return "a number and m or g, such as 512m or 4g"

    def __contains__(self, value: str) -> bool:
        return re.fullmatch(r"[1-9][0-9]*[mgMG]", value) is not None


@dataclass(frozen=True, slots=True)
class _Place:
    """The address of a database; only opening it shows whether it can be used."""

    def __str__(self) -> str:
        return "a file, postgresql://user:password@host:port/database, or empty"

    def __contains__(self, value: str) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class _Switch:
    def __str__(self) -> str:
        return "true, false"

    def __contains__(self, value: bool) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class _Address:
    """The address that something is sent to; empty sends nothing."""

    schemes: tuple[str, ...]

    def __str__(self) -> str:
        return "empty, or an address that begins with " + " or ".join(f"{each}://" for each in self.schemes)

    def __contains__(self, value: str) -> bool:
        parts = urlsplit(value)
        place = parts.path if parts.scheme == "file" else parts.netloc
        return not value or (parts.scheme in self.schemes and bool(place))


_Allowed = _Range | _OneOf | _Size | _Place | _Switch | _Address


def _setting(default: Any, allowed: _Allowed, doc: str) -> Any:
    # A place may hold a password.
    shown = not isinstance(allowed, _Place)
    return dataclasses.field(default=default, repr=shown, metadata={"allowed": allowed, "doc": doc})


def without_password(text: str) -> str:
    """An address without its password, fit to be printed.

    >>> without_password("postgresql://ann:secret@host/shop")
    'postgresql://ann:***@host/shop'
    """
    # Up to the last @: one that belongs to the password may not have been written as %40.
    return re.sub(r"(://[^:/?#@]*):.*@", r"\1:***@", text, flags=re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of one warehouse.

    >>> Settings().min_target_lag_seconds
    60
    >>> Settings(lease_seconds=0)
    Traceback (most recent call last):
    penstock.errors.InvalidSetting: [INVALID_SETTING] setting lease_seconds = 0 is refused: it is out of range
      Allowed: 5 to 86400.
    """

    catalog: str = _setting(
        "", _Place(), "Address of the catalog; empty means the file `catalog.sqlite` in the warehouse."
    )
    enabled: bool = _setting(
        True, _Switch(), "Whether the scheduler refreshes anything; a refresh by hand always runs."
    )
    scheduler_interval_ms: int = _setting(
        1000, _Range(10, 3_600_000), "Milliseconds between two ticks of the scheduler."
    )
    min_target_lag_seconds: int = _setting(
        60,
        _Range(1, 86_400),
        "Smallest target lag that is accepted; also the lag of a DOWNSTREAM table without readers.",
    )
    max_consecutive_errors: int = _setting(
        3, _Range(1, 1000), "Errors in a row after which a stream table is suspended."
    )
    log_level: str = _setting("info", _OneOf(("debug", "info", "warning", "error")), "Least severity that is logged.")
    log_format: str = _setting(
        "text", _OneOf(("text", "json")), "Form of log lines: text for people, json (an object per line) for machines."
    )
    max_concurrent_refreshes: int = _setting(4, _Range(1, 256), "Stream tables that are refreshed at the same time.")
    history_keep_days: int = _setting(30, _Range(1, 36_500), "Days for which refresh history is kept.")
    lease_seconds: int = _setting(
        60,
        _Range(5, 86_400),
        "Seconds after which another worker can take over the lease of one that has stopped answering.",
    )
    driver_memory: str = _setting("4g", _Size(), "Memory of the Spark driver that `open` starts.")
    shuffle_partitions: int = _setting(4, _Range(1, 100_000), "Shuffle partitions of refresh queries.")
    apply: str = _setting(
        "auto", _OneOf(("auto", "delta-rs", "spark")), "Which engine commits a delta; auto chooses by its size."
    )
    delta_rs_max_rows: int = _setting(
        200_000, _Range(0, 100_000_000), "Largest delta, in rows, that auto gives to delta-rs."
    )
    full_changes: str = _setting(
        "refresh",
        _OneOf(("refresh", "diff")),
        "How the changelog shows a FULL refresh: as one REFRESH of all rows, or as the rows that differ. If stream "
        "tables or durable subscriptions read the table, it always shows the rows that differ.",
    )
    ring_events: int = _setting(
        100_000,
        _Range(0, 100_000_000),
        "How many of the newest changes of all stream tables are held in memory for clients that poll; older ones are "
        "read from the tables.",
    )
    deletion_vector_bytes: int = _setting(
        1024**2,
        _Range(0, 2**60),
        "If a merge would rewrite at least this many bytes of files, rows are marked in deletion vectors instead; 0 "
        "turns this off.",
    )

    learn_costs: bool = _setting(
        True,
        _Switch(),
        "Whether mode AUTO goes by what past runs took; if not, the sizes alone decide, and it tries nothing out.",
    )
    probe_percent: int = _setting(
        2,
        _Range(0, 100),
        "Share of refresh time that mode AUTO may spend on trying the mode that it estimates to be slower.",
    )
    buffer_warning_rows: int = _setting(
        1_000_000,
        _Range(1, 2**60),
        "Change rows of one source that may wait for one stream table before `buffer_lag_warning` is raised.",
    )
    alert_webhook_url: str = _setting(
        "", _Address(("http", "https")), "Address that every alert is posted to, as JSON; empty posts nothing."
    )
    lineage_url: str = _setting(
        "",
        _Address(("http", "https", "file")),
        "Where OpenLineage events of refreshes go: posted to an address, or appended to a file; empty sends nothing.",
    )

    backoff_seconds: int = _setting(
        2,
        _Range(1, 3600),
        "Seconds until a stream table is tried again after an error that may pass; doubles each time.",
    )
    backoff_max_seconds: int = _setting(300, _Range(1, 86_400), "Longest wait between two such attempts.")
    drain_seconds: int = _setting(
        30, _Range(0, 86_400), "Seconds that running refreshes have to finish when the scheduler stops."
    )
    max_change_ratio: int = _setting(
        0,
        _Range(0, 1_000_000),
        "A scheduled refresh with more than this many times the changes of the largest one lately (and over 100,000 "
        "rows) is not carried out: the stream table is suspended for a person to look at. 0 is never.",
    )

    @property
    def min_target_lag(self) -> timedelta:
        """The smallest target lag that is accepted.

        >>> Settings(min_target_lag_seconds=90).min_target_lag
        datetime.timedelta(seconds=90)
        """
        return timedelta(seconds=self.min_target_lag_seconds)

    @property
    def fuse_factor(self) -> int:
        """`max_change_ratio` under its old name."""
        _warn_of_old_name("fuse_factor")
        return self.max_change_ratio

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            _check(field, getattr(self, field.name))

    @classmethod
    def load(
        cls,
        warehouse: Path | None = None,
        env: Mapping[str, str] = os.environ,
        **overrides: bool | int | str | None,
    ) -> Settings:
        """The settings in force for a warehouse; an override of None counts as not given."""
        given = _renamed({name: value for name, value in overrides.items() if value is not None})
        for name, value in given.items():
            _require_known(name, value)
        return cls(**{**_from_file(warehouse), **_from_env(env), **given})

    @classmethod
    def describe(cls) -> list[SettingDoc]:
        """Every setting, in the order of the reference page."""
        defaults = cls()
        return [
            SettingDoc(
                name=field.name,
                type=type(getattr(defaults, field.name)).__name__,
                default=getattr(defaults, field.name),
                allowed=str(field.metadata["allowed"]),
                doc=field.metadata["doc"],
                env=PREFIX + field.name.upper(),
            )
            for field in dataclasses.fields(cls)
        ]


_NEW_NAMES: Final = {"fuse_factor": "max_change_ratio"}
"""Old name of a setting → its name; the old ones go with the next release."""

_FIELDS: Final = {field.name: field for field in dataclasses.fields(Settings)}


def _check(field: dataclasses.Field[Any], value: object) -> None:
    allowed, wanted = field.metadata["allowed"], type(field.default)
    # Not isinstance: True would pass for the number 1.
    if type(value) is not wanted:
        why = f"it is {type(value).__name__}, not {wanted.__name__}"
    elif value not in allowed:
        why = "it is out of range" if isinstance(allowed, _Range) else "it is not one of the values allowed"
    else:
        return
    raise InvalidSetting(name=field.name, value=_showable(value), why=why, allowed=allowed)


def _showable(value: object) -> object:
    # Also in a section of the file that is not one of ours.
    return without_password(str(value)) if "://" in str(value) else value


def _warn_of_old_name(name: str) -> None:
    warnings.warn(f"setting {name} is now {_NEW_NAMES[name]}", DeprecationWarning, stacklevel=3)


def _renamed(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings by their present names; where both are given, the present one counts."""
    for name in given.keys() & _NEW_NAMES.keys():
        _warn_of_old_name(name)
    return {_NEW_NAMES[name]: value for name, value in given.items() if name in _NEW_NAMES} | {
        name: value for name, value in given.items() if name not in _NEW_NAMES
    }


def _require_known(name: str, value: object, where: str = "") -> None:
    if name not in _FIELDS:
        near = difflib.get_close_matches(name, _FIELDS, n=1)
        why = f"there is no such setting{where}" + (f"; did you mean {near[0]}?" if near else "")
        raise InvalidSetting(name=name, value=_showable(value), why=why, allowed=", ".join(_FIELDS))


def _from_file(warehouse: Path | None) -> dict[str, Any]:
    path = None if warehouse is None else warehouse / FILE_NAME
    if path is None or not path.is_file():
        return {}
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidSetting(name=FILE_NAME, value=str(path), why=str(error), allowed="a TOML file") from error
    found = _renamed(found)
    for name, value in found.items():
        _require_known(name, value, f" in {path}")
    return found


def _from_env(env: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for variable, text in sorted(env.items()):
        name = variable.removeprefix(PREFIX).lower()
        if not variable.startswith(PREFIX):
            continue
        if name in _FIELDS or name in _NEW_NAMES:
            found[name] = _parse(_FIELDS[_NEW_NAMES.get(name, name)], text)
        elif difflib.get_close_matches(name, _FIELDS, n=1, cutoff=0.8):
            # Other variables share the prefix (PENSTOCK_JARS), so only what looks like a slip is refused.
            _require_known(name, text, f" (from {variable})")
    return _renamed(found)


def _parse(field: dataclasses.Field[Any], text: str) -> bool | int | str:
    allowed = field.metadata["allowed"]
    if isinstance(field.default, bool):
        spelled = text.strip().lower()
        if spelled in {"true", "1", "on", "yes"}:
            return True
        if spelled in {"false", "0", "off", "no"}:
            return False
        raise InvalidSetting(name=field.name, value=text, why="it is neither true nor false", allowed=allowed)
    if isinstance(field.default, int):
        try:
            return int(text)
        except ValueError as error:
            why = "it is not a whole number"
            raise InvalidSetting(name=field.name, value=text, why=why, allowed=allowed) from error
    return text.strip()
