"""Where a PostgreSQL catalog is: `postgresql://user:password@host:port/database?schema=penstock&sslmode=prefer`.

The password is never shown: not by `str`, not by `repr`, not by an error about an address that cannot be read.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NoReturn
from urllib.parse import parse_qsl, unquote, urlsplit

from penstock.errors import CatalogUnusable
from penstock.settings import without_password

_SCHEMES: Final = ("postgresql://", "postgres://")
FORM: Final = "postgresql://user:password@host:5432/database"
_OPTIONS: Final = ("schema", "sslmode")
_SCHEMA: Final = "penstock"
_TLS: Final = ("disable", "prefer", "require", "verify-full")


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """A server, a database, a schema in it, and who asks."""

    host: str
    port: int
    database: str
    user: str
    password: str = field(repr=False)
    schema: str = _SCHEMA
    sslmode: str = "prefer"

    @classmethod
    def parse(cls, url: str, env: Mapping[str, str] = os.environ) -> PostgresAddress:
        """Read an address; CatalogUnusable says what is wrong with it. `PGPASSWORD` is used if it has no password.

        >>> str(PostgresAddress.parse("postgresql://ann:secret@db.example.org/shop?schema=streams"))
        'postgresql://ann@db.example.org:5432/shop (schema streams)'
        """
        if not url.startswith(_SCHEMES):
            _refuse(url, "a catalog is a SQLite file or in PostgreSQL", f"Give a path, or {FORM}.")
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            # The message would quote what it took for the port: often the rest of a password.
            host, port = None, None
        if not host:
            _refuse(url, "host and port cannot be read", f"Write it as {FORM}; / ? # @ : in a password are %2F %3F …")
        if not parts.username:
            _refuse(url, "it names no user", f"Write it as {FORM}.")
        database = unquote(parts.path.removeprefix("/"))
        if not database or "/" in database:
            _refuse(url, "it names no database", f"Write it as {FORM}.")
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        if unknown := sorted(options.keys() - set(_OPTIONS)):
            _refuse(url, f"there is no option {', '.join(unknown)}", f"Known options: {', '.join(_OPTIONS)}.")
        schema, sslmode = options.get("schema", _SCHEMA), options.get("sslmode", "prefer")
        # The limit is PostgreSQL's, and names that start with pg_ are its own.
        if not re.fullmatch(r"(?!pg_)[a-z_][a-z0-9_]{0,62}", schema):
            fix = "Use lower-case letters, digits and _, at most 63, not starting with a digit or pg_."
            _refuse(url, f"{schema!r} is no name for its schema", fix)
        if sslmode not in _TLS:
            _refuse(url, f"sslmode {sslmode!r} is not known", f"Known: {', '.join(_TLS)}.")
        password = env.get("PGPASSWORD", "") if parts.password is None else unquote(parts.password)
        return cls(host, port or 5432, database, unquote(parts.username), password, schema, sslmode)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"postgresql://{self.user}@{host}:{self.port}/{self.database} (schema {self.schema})"

    @property
    def ssl_context(self) -> ssl.SSLContext | bool | None:
        """Whether the driver encrypts: False never, None if the server offers it, True always."""
        if self.sslmode == "verify-full":
            return ssl.create_default_context()
        return {"disable": False, "prefer": None, "require": True}[self.sslmode]


def _refuse(url: str, why: str, fix: str) -> NoReturn:
    raise CatalogUnusable(place=without_password(url), why=why, fix=fix) from None
