"""Admission: refuse a query for which some rule would not be exact. Each operator says itself: `Operator.inexact`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.compile.bound import Refused
from penstock.compile.draft import Draft
from penstock.operators.expression import Attribute
from penstock.operators.inexact import Inexact, typed
from penstock.operators.types import binary_collation, groupable


def admit(draft: Draft) -> Draft:
    """The draft, refused at the first operator whose rule would not be exact."""
    stored = draft.stored_aggregate
    reasons = (node.inexact(stored=node is stored) for node in draft.tree.nodes())
    inexact = next(filter(None, reasons), None)
    if inexact is None and stored is None:
        inexact = _bag(draft.bound.columns)
    if inexact is None:
        return draft
    return replace(draft, refused=Refused(inexact.reason, inexact.construct, inexact.fix))


def _bag(columns: Iterable[Attribute]) -> Inexact | None:
    """A bag takes rows back by their values, so the values must tell rows apart."""
    for column in columns:
        if not groupable(column.type):
            return Inexact("NOT_COMPARABLE", typed(column, column), "Cast the column to STRING.")
        if not binary_collation(column.type):
            return Inexact("COLLATION", typed(column, column), "Use COLLATE UTF8_BINARY.")
    return None
