"""Who may read which stream table: tokens from a file, each with a name and the stream tables that it opens.

    [dashboard]
    token = "…"                      # or sha256 = "…", so that the file holds no secret
    tables = ["revenue", "sales.*"]  # or ["*"] for all

A token is compared by its SHA-256, in the same time whatever is wrong with it. It comes in the header
`Authorization: Bearer …`. Browsers cannot set headers on EventSource and WebSocket, so streams, and only those, also
take it as `?access_token=…`. Without a file every client may read everything, so the server listens on this host only.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from starlette.requests import HTTPConnection

from penstock.errors import InvalidName, InvalidTokens, NotAuthenticated, NotGranted
from penstock.names import TableName

SHORTEST: Final = 16
"""Characters of a token; what is shorter can be guessed."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Grant:
    """What one client may read; patterns are `schema.table`, with `*` for any text and nothing else that is special."""

    name: str
    tables: tuple[str, ...]

    def may_read(self, table: str) -> bool:
        """True if it may read the stream table of that full name."""
        return any(_matches(table, pattern) for pattern in self.tables)


EVERYTHING: Final = Grant("everybody", ("*",))


@dataclass(frozen=True, slots=True)
class Access:
    """The tokens that are accepted, by their SHA-256; None accepts every client."""

    grants: Mapping[bytes, Grant] | None = None

    @classmethod
    def read(cls, path: Path) -> Access:
        """The tokens of a file; `InvalidTokens` if it is not as described above."""
        try:
            sections = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InvalidTokens(path=path, why=str(error)) from None
        grants: dict[bytes, Grant] = {}
        for name, section in sections.items():
            digest, grant = _grant(path, name, section)
            if digest in grants:
                raise InvalidTokens(path=path, why=f"{name} and {grants[digest].name} have the same token")
            grants[digest] = grant
        if not grants:
            raise InvalidTokens(path=path, why="there is no token in it")
        return cls(grants)

    @property
    def is_open(self) -> bool:
        """True if every client may read everything."""
        return self.grants is None

    def of(self, request: HTTPConnection, *, in_address: bool = False) -> Grant:
        """What the client may read; `NotAuthenticated` without a good token.

        `in_address` also takes a token from `?access_token=`.
        """
        if self.grants is None:
            return EVERYTHING
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            token = request.query_params.get("access_token", "") if in_address else ""
        given = hashlib.sha256(token.strip().encode()).digest()
        # All are compared, so that the time reveals no token.
        found = [grant for digest, grant in self.grants.items() if hmac.compare_digest(digest, given)]
        if not found:
            raise NotAuthenticated(why="the token is not known" if token else "there is no token in the request")
        return found[0]

    def require(self, request: HTTPConnection, table: str, *, in_address: bool = False) -> Grant:
        """The grant of a client that may read this stream table; `NotGranted` if it may not, be there one or not."""
        grant = self.of(request, in_address=in_address)
        if not grant.may_read(table):
            raise NotGranted(who=grant.name, name=table)
        return grant


def _matches(table: str, pattern: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), table, re.DOTALL) is not None


def _grant(path: Path, name: str, section: Any) -> tuple[bytes, Grant]:
    if not isinstance(section, dict):
        raise InvalidTokens(path=path, why=f"{name} stands outside of a section")
    if ":" in name:
        raise InvalidTokens(path=path, why=f"[{name}] has a colon, which divides names from what belongs to them")
    if odd := section.keys() - {"token", "sha256", "tables"}:
        raise InvalidTokens(path=path, why=f"[{name}] has {', '.join(sorted(odd))}, which means nothing")
    token, digest, tables = section.get("token"), section.get("sha256"), section.get("tables")
    if (token is None) == (digest is None):
        raise InvalidTokens(path=path, why=f"[{name}] needs token or sha256, and not both")
    if token is not None and (not isinstance(token, str) or len(token) < SHORTEST):
        raise InvalidTokens(path=path, why=f"the token of [{name}] is no text of at least {SHORTEST} characters")
    if digest is not None and (not isinstance(digest, str) or not _SHA256.fullmatch(digest)):
        raise InvalidTokens(path=path, why=f"sha256 of [{name}] is not 64 hexadecimal digits in lower case")
    if not isinstance(tables, list) or not all(isinstance(each, str) for each in tables):
        raise InvalidTokens(path=path, why=f"[{name}] needs tables, a list of names")
    key = bytes.fromhex(digest) if digest is not None else hashlib.sha256(str(token).encode()).digest()
    return key, Grant(name, tuple(_patterns(path, name, tables)))


def _patterns(path: Path, name: str, tables: Iterable[str]) -> Iterable[str]:
    for table in tables:
        if "*" in table:
            yield table.lower()
            continue
        try:
            yield str(TableName.parse(table))
        except InvalidName as error:
            raise InvalidTokens(path=path, why=f"tables of [{name}]: {error.text}") from None
