"""What the catalog keeps of a definition: its dependencies, with the columns each is read for."""

from __future__ import annotations

from penstock.catalog.model import Dependency, SourceType
from penstock.compile.bound import BoundQuery


def dependencies_of(bound: BoundQuery) -> list[Dependency]:
    """Tables, stream tables and views that a query reads."""
    used = dict(bound.columns_used)
    found = [
        Dependency(
            source_id=source.id,
            source_name=source.name,
            source_type=SourceType.STREAM_TABLE if source.is_stream_table else SourceType.TABLE,
            source_path=source.path,
            columns_used=used.get(source.id, ()),
        )
        for source in bound.sources
    ]
    found += [
        Dependency(source_id=f"view:{view}", source_name=view, source_type=SourceType.VIEW, source_kind="view")
        for view, _ in bound.views
    ]
    return found
