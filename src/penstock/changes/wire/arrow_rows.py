"""Rows in Arrow, handed to other libraries; without a copy where the library takes Arrow as it is."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.errors import PackageMissing

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl


class ArrowRows:
    """Something that is, or can be seen as, one Arrow table."""

    __slots__ = ()

    @abstractmethod
    def arrow(self) -> pa.Table:
        """The rows as an Arrow table."""

    def pandas(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame."""
        return self.arrow().to_pandas()

    def polars(self) -> pl.DataFrame:
        """The rows as a Polars DataFrame, over the same memory."""
        try:
            import polars
        except ModuleNotFoundError:
            raise PackageMissing(package="polars", what="rows as a Polars DataFrame") from None
        return polars.DataFrame(self.arrow())

    def duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """The rows as a DuckDB relation, over the same memory; `connection` is where it can be queried."""
        try:
            import duckdb
        except ModuleNotFoundError:
            raise PackageMissing(package="duckdb", what="rows as a DuckDB relation") from None
        return duckdb.from_arrow(self.arrow(), connection=connection or duckdb.default_connection())

    def dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return self.arrow().to_pylist()  # type: ignore[no-any-return]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows for any library that speaks Arrow's C stream interface."""
        return self.arrow().__arrow_c_stream__(requested_schema)
