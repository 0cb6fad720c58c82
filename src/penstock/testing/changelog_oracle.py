"""The changelog's oracle: what a commit says that it changed must turn the rows before it into the rows after it.

    rows at the commit  =  rows before − deletes − was + now + inserts          as bags, to the bit

Both ends are read whole from the files, the events from what the commit wrote; the positions must be dense.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.engine.changelog.changelog import Changelog, Entry

if TYPE_CHECKING:
    from penstock.changes.wire.commit_changes import CommitChanges


def assert_changelog(changelog: Changelog, entry: Entry) -> CommitChanges:
    """Fail unless the commit's events explain its rows; the events."""
    changes = changelog.changes(entry)
    record, name = entry.record, changelog.name
    lsns = [*changes.delete_lsns, *changes.update_lsns, *changes.insert_lsns]
    if changes.refreshed is None:
        assert lsns == list(range(record.first_lsn, record.first_lsn + record.lsn_count)), f"{name}: LSNs {lsns}"
    after = bag(changelog.snapshot(entry))
    if changes.refreshed is not None:
        assert bag(changes.refreshed) == after, f"{name}: a refresh does not hold the table's rows"
        return changes
    earlier = next((each for each in changelog.newest_first() if each.version < entry.version), None)
    rows = bag(changelog.snapshot(earlier)) if earlier is not None else Counter[str]()
    explained = rows.copy()
    for lost in (changes.deletes, changes.was):
        explained.subtract(bag(lost))
    for won in (changes.now, changes.inserts):
        explained.update(bag(won))
    wrong = {
        row: (explained[row], after[row]) for row in explained.keys() | after.keys() if explained[row] != after[row]
    }
    assert not wrong, f"{name} version {entry.version}: changelog and rows differ: {dict(list(wrong.items())[:5])}"
    return changes


def bag(rows: pa.Table) -> Counter[str]:
    """Rows as text, counted; −0.0 is not 0.0, and NaN is NaN."""
    return Counter(map(repr, rows.to_pylist()))
