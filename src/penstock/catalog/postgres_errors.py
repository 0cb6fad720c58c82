"""Errors of PostgreSQL and of the network as errors of Penstock, with advice. None of them contains a password."""

from __future__ import annotations

import ssl
from typing import Final

from pg8000.exceptions import DatabaseError, InterfaceError

from penstock.catalog.database import BUSY, REPAIR, REPORT
from penstock.catalog.postgres_address import PostgresAddress
from penstock.errors import CatalogError, CatalogUnusable, PenstockError

FAILURES: Final = (DatabaseError, InterfaceError, OSError)

_PASSES: Final = {"57P01", "57P02", "57P03", "53300"}
"""Shutting down, crashed, starting up, all connections taken."""
_STALE_PLAN: Final = "0A000"
"""Another process has upgraded the schema since the statement was prepared."""


def sqlstate(error: BaseException) -> str:
    """The server's code for an error; empty if the server did not raise it."""
    fields = error.args[0] if isinstance(error, DatabaseError) and error.args else None
    return str(fields.get("C", "")) if isinstance(fields, dict) else ""


def root(error: Exception) -> Exception:
    """The server's own error. If closing the connection after it failed too, the driver reports only that one."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, Exception) and sqlstate(inner):
            return inner
        inner = inner.__context__
    return error


def is_lost(error: Exception) -> bool:
    """True if the connection is at fault, so that a new one may succeed."""
    code = sqlstate(error)
    return not isinstance(error, DatabaseError) or code in _PASSES | {_STALE_PLAN} or code.startswith("08")


def translated(error: Exception, address: PostgresAddress) -> PenstockError:
    """The error that callers get."""
    if not isinstance(error, DatabaseError):
        return CatalogError(why=f"{address}: {_network(error)}", fix=_to_check(error))
    code = sqlstate(error)
    said = f"{error.args[0].get('M', error)} ({code})"
    fix = _to_change(code, address)
    if fix is not None:
        return CatalogUnusable(place=str(address), why=said, fix=fix)
    return CatalogError(why=f"{address}: {said}", fix=_to_do(code))


def rights(address: PostgresAddress) -> str:
    """Advice for a user who lacks a right that a catalog needs."""
    command = f'CREATE SCHEMA "{address.schema}" AUTHORIZATION "{address.user}"'
    return f"Let an administrator run: {command}, or connect as the owner of that schema."


def _network(error: Exception) -> str:
    # The driver says "network error" and keeps the reason for its cause.
    reason = error.__cause__ if isinstance(error.__cause__, OSError) else error
    if isinstance(reason, TimeoutError):
        return "the server does not answer"
    return f"there is no connection to the server ({reason})"


def _to_check(error: Exception) -> str:
    if isinstance(error, ssl.SSLError) or "SSL" in str(error):
        return "Check sslmode, and the server's certificate; SSL_CERT_FILE names a file of those to trust."
    return "Check that the server runs and can be reached."


def _to_change(code: str, address: PostgresAddress) -> str | None:
    """Advice for an error that stays until a person acts; None for an error that may pass."""
    if code.startswith("28"):
        return "Check user and password; the password can also be given in PGPASSWORD."
    if code == "3D000":
        return f'Create it with: CREATE DATABASE "{address.database}", or name another.'
    if code == "42501":
        return rights(address)
    if code == "25006":
        return "This server only reads; name the one that it is a copy of."
    return None


def _to_do(code: str) -> str:
    if code == "55P03":
        return BUSY
    if code.startswith("23"):
        return REPORT
    if code in _PASSES | {_STALE_PLAN} or code.startswith(("08", "40")):
        return "Try again."
    if code.startswith("53"):
        return "Give the server what it lacks, then try again."
    if code.startswith(("42", "XX", "22")):
        return REPAIR
    return "The server's log says more; then try again."
