"""The 22 queries with their validation parameters, one file each in `queries/`."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

FOLDER = Path(__file__).parent / "queries"
_FRACTION = "0.0001000000"


@dataclass(frozen=True, slots=True)
class Query:
    """One query of the benchmark."""

    number: int
    title: str
    text: str

    @property
    def name(self) -> str:
        """The name of its file, and of its stream table."""
        return f"q{self.number:02}"


def queries(scale: float) -> list[Query]:
    """All queries for one scale factor, in order."""
    return [_read(number, scale) for number in range(1, 23)]


def _read(number: int, scale: float) -> Query:
    title, text = (FOLDER / f"q{number:02}.sql").read_text(encoding="utf-8").split("\n", 1)
    # The one parameter that depends on the scale factor: FRACTION of query 11, specification 2.4.11.3.
    fraction = Decimal("0.0001") / Decimal(str(scale))
    return Query(number, title.removeprefix("-- "), text.strip().replace(_FRACTION, f"{fraction:.10f}"))
