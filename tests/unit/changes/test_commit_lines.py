"""Lines of JSON add up to the rows of the table, whatever was chosen, and every line has the position of its change."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

from penstock.changes.wire.cdc_envelope import CdcEnvelope
from penstock.changes.wire.commit_changes import CommitChanges
from penstock.changes.wire.commit_lines import changelog_lines, envelope_lines
from penstock.testing.published import Published

COLUMNS = {"id": "long", "name": "string", "total": "decimal(12,2)"}


def row(number: int, total: str | None, name: str | None = "a") -> dict[str, Any]:
    return {"id": number, "name": name, "total": None if total is None else Decimal(total)}


def commits(root: Path, **options: Any) -> list[CommitChanges]:
    """All rows, then a commit with every kind of change, then all rows anew."""
    with Published.open(root) as world:
        sales = world.keyed("shop.sales", COLUMNS, key=("id",))
        sales.commit(put=[row(n, "1.50") for n in range(4)], anew=True)
        with world.tables.subscribe("shop.sales", start="snapshot", **options) as changes:
            sales.commit(put=[row(0, "2.00"), row(1, None, None), row(7, "0.10", 'q"')], drop=[row(2, "1.50")])
            sales.commit(put=[row(9, "9.00")], anew=True)
            found = [changes.next_commit(timeout=60) for _ in range(3)]
    assert all(each is not None for each in found)
    return [each for each in found if each is not None]


def added_up(lines: list[bytes], rows: Counter[str]) -> Counter[str]:
    for line in lines:
        told = json.loads(line)
        weight, op = told.pop("_weight"), told.pop("_op")
        assert op in ({"+I", "+U", "r"} if weight > 0 else {"-D", "-U"})
        del told["_lsn"]
        rows[json.dumps(told)] += weight
    return +rows


def test_changelog_lines_add_up_to_the_rows(tmp_path: Path) -> None:
    first, second, third = commits(tmp_path)
    rows = added_up(changelog_lines(first), Counter())
    assert rows.total() == 4
    rows = added_up(changelog_lines(second), rows)
    told = [json.loads(each) for each in rows]
    assert sorted((each["id"], each["name"], each["total"]) for each in told if each["name"]) == [
        (0, "a", "2.00"),
        (3, "a", "1.50"),
        (7, 'q"', "0.10"),
    ]
    assert {"id": 1, "name": None, "total": None} in told
    assert [json.loads(line)["_op"] for line in changelog_lines(third)] == ["r"]


def test_an_update_is_two_lines_at_one_position_and_one_envelope(tmp_path: Path) -> None:
    changes = commits(tmp_path)[1]
    lines = [json.loads(line) for line in changelog_lines(changes)]
    assert [(each["_lsn"], each["_op"]) for each in lines] == [
        (5, "-D"), (6, "-U"), (6, "+U"), (7, "-U"), (7, "+U"), (8, "+I"),
    ]  # fmt: skip
    told = [CdcEnvelope.from_json(line) for line in envelope_lines(changes)]
    assert [(each.source.sequence, each.op) for each in told] == [(5, "d"), (6, "u"), (7, "u"), (8, "c")]
    assert {(each.source.name, each.source.db, each.source.table) for each in told} == {("penstock", "shop", "sales")}
    assert told[1].before == {"id": 0, "name": "a", "total": "1.50"}
    assert told[1].after == {"id": 0, "name": "a", "total": "2.00"}
    assert changes.data_timestamp is not None
    assert {each.ts_ms for each in told} == {int(changes.data_timestamp.timestamp() * 1000)}


def test_positions_stay_where_rows_are_chosen(tmp_path: Path) -> None:
    changes = commits(tmp_path, where="total IS NOT NULL AND id <> 2")[1]
    told = [CdcEnvelope.from_json(line) for line in envelope_lines(changes)]
    # Row 1 lost its total, so for this reader it went; row 2 was never there.
    assert [(each.source.sequence, each.op) for each in told] == [(6, "u"), (7, "d"), (8, "c")]
    assert [json.loads(line)["_lsn"] for line in changelog_lines(changes)] == [6, 6, 7, 8]


def test_all_rows_stand_at_one_position(tmp_path: Path) -> None:
    first, _, third = commits(tmp_path)
    told = [CdcEnvelope.from_json(line) for line in envelope_lines(first)]
    assert [(each.op, each.source.sequence) for each in told] == [("r", 4)] * 4
    assert [(CdcEnvelope.from_json(line).source.sequence) for line in envelope_lines(third)] == [9]


def test_all_rows_of_which_none_was_chosen_have_no_lines(tmp_path: Path) -> None:
    first, second, third = commits(tmp_path, where="id = 7")
    assert len(changelog_lines(second)) == len(envelope_lines(second)) == 1
    for empty in (first, third):
        assert empty.refreshed is not None
        assert changelog_lines(empty) == envelope_lines(empty) == []
