"""The raw material itself: every mutation touches a row, and a seed gives the same case again."""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.testing.strategies import SHARED, advanced, histories, queries, random_history, random_query, schemas


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_every_mutation_touches_a_row(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    query = data.draw(queries(schema))
    assert query.tables <= {table.name for table in schema.tables}
    history = data.draw(histories(schema, rounds=4))
    rows = dict(history.first)
    for mutations, _ in history.states():
        for each in mutations:
            removed, added = each.effect(schema.table(each.table), rows[each.table])
            assert removed or added, each
            rows = advanced(schema, rows, [each])


def test_a_seed_gives_the_same_case_again() -> None:
    from penstock.testing.strategies import random_schema

    def case(seed: int) -> str:
        schema = random_schema(Random(seed), SHARED)
        return random_history(Random(seed), schema, rounds=3).script(random_query(Random(seed), schema).text)

    assert case(7) == case(7)
    assert case(7) != case(8)
