"""What a change of a Delta source's columns means for a stream table that reads it.

added, or changed but not used                     continue
used column retyped, or no longer NOT NULL         rebuild: the same query means something else now
used column renamed or dropped                     broken: the query itself no longer resolves
used column dropped, another one under its name    rebuild
another table in its place                         rebuild
a stream table's rows are counted otherwise        rebuild
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.compile.stored import SHOWN
from penstock.names import WEIGHT

if TYPE_CHECKING:
    from penstock.engine.delta.drift import SchemaDrift


@dataclass(frozen=True, slots=True)
class Continue:
    """The change does not concern the query."""


@dataclass(frozen=True, slots=True)
class Rebuild:
    """The stored rows must be computed anew."""

    reason: str


@dataclass(frozen=True, slots=True)
class Broken:
    """The query can no longer be run; the stored rows stay."""

    reason: str


Verdict = Continue | Rebuild | Broken


def classify_drift(drift: SchemaDrift, columns_used: Iterable[str]) -> Verdict:
    """What to do about a source whose columns drifted like this, given the columns that the query reads."""
    used = {name.lower() for name in columns_used}
    if drift.recreated:
        return Rebuild("recreated: the table was dropped and created again")
    if {WEIGHT, SHOWN} & {*drift.added, *drift.dropped}:
        return Rebuild("its stored rows stand for other rows than before")
    added = {name.lower() for name in drift.added}
    taken = {now.lower() for now in drift.renamed.values()}
    lost = {was: f"renamed to {now}" for was, now in drift.renamed.items()} | dict.fromkeys(drift.dropped, "dropped")
    for name, fate in lost.items():
        if name.lower() in used:
            if name.lower() in added or name.lower() in taken:
                return Rebuild(f"column {name} was {fate}, and another column has its name now")
            return Broken(f"column {name} was {fate}")
    for name, (old, new) in drift.retyped.items():
        if name.lower() in used:
            return Rebuild(f"column {name} was {old} and is now {new}")
    for name in drift.loosened:
        if name.lower() in used:
            return Rebuild(f"column {name} is no longer NOT NULL")
    return Continue()
