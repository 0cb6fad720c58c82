"""Addresses: read as they are meant, refused with what to do, and never shown with their password."""

from __future__ import annotations

import ssl
import traceback

import pytest

from penstock.catalog import open_catalog
from penstock.catalog.postgres_address import PostgresAddress
from penstock.errors import CatalogUnusable

PARTS = "postgresql://a%40b:p%2Fw@db.example.org:6543/my%20shop?schema=streams&sslmode=require"


def test_every_part_is_read() -> None:
    address = PostgresAddress.parse(PARTS, {"PGPASSWORD": "other"})
    assert address == PostgresAddress("db.example.org", 6543, "my shop", "a@b", "p/w", "streams", "require")


def test_the_rest_has_defaults() -> None:
    address = PostgresAddress.parse("postgres://ann@[::1]/shop", {"PGPASSWORD": "from the environment"})
    assert address == PostgresAddress("::1", 5432, "shop", "ann", "from the environment", "penstock", "prefer")
    assert str(address) == "postgresql://ann@[::1]:5432/shop (schema penstock)"
    assert PostgresAddress.parse("postgres://ann@h/shop", {}).password == ""


def test_the_password_is_not_shown() -> None:
    address = PostgresAddress.parse("postgresql://ann:hunter2@host/shop")
    assert "hunter2" not in f"{address} {address!r}"


@pytest.mark.parametrize(
    ("mode", "expected"), [("disable", False), ("prefer", None), ("require", True), ("verify-full", ssl.CERT_REQUIRED)]
)
def test_encryption_is_as_strict_as_asked(mode: str, expected: object) -> None:
    context = PostgresAddress.parse(f"postgresql://a:b@h/d?sslmode={mode}").ssl_context
    assert (context.verify_mode if isinstance(context, ssl.SSLContext) else context) == expected


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("mysql://ann:hunter2@host/shop", "SQLite file or in PostgreSQL"),
        ("postgresql://ann:hunter2@/shop", "host and port"),
        ("postgresql://ann:hunter2@host:port/shop", "host and port"),
        ("postgresql://ann:hunter2/slash@host/shop", "%2F"),
        ("postgresql://ann:hunter2@host:99999/shop", "host and port"),
        ("postgresql://:hunter2@host/shop", "no user"),
        ("postgresql://ann:hunter2@host", "no database"),
        ("postgresql://ann:hunter2@host/", "no database"),
        ("postgresql://ann:hunter2@host/shop?user=x", "no option user"),
        ("postgresql://ann:hunter2@host/shop?schema=Pen-stock", "lower-case"),
        ("postgresql://ann:hunter2@host/shop?schema=pg_mine", "lower-case"),
        ("postgresql://ann:hunter2@host/shop?sslmode=maybe", "verify-full"),
        ("postgresql://ann:hunter2@two@host/shop?x=1", "no option x"),
    ],
)
def test_what_cannot_be_read_is_refused_without_its_password(url: str, why: str) -> None:
    with pytest.raises(CatalogUnusable) as caught:
        open_catalog(url)
    assert why in str(caught.value)
    told = "".join(traceback.format_exception(caught.value)) + str(caught.value.to_json())
    assert "hunter2" not in told.replace(url, "")
    assert url not in str(caught.value)
