"""A workload: cells that are measured together, because they share tables and changes."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from benchmarks.bench import Bench
from benchmarks.cell import Cell


@dataclass(frozen=True, slots=True)
class Measured:
    """A cell; if its rows are not checked yet, `pending` are the stream tables to audit when their shop closes."""

    cell: Cell
    pending: tuple[str, ...] = ()


@dataclass(frozen=True)
class Workload(ABC):
    """One kind of work at one size, with the parts that it is made of."""

    parts: tuple[str, ...]

    @property
    @abstractmethod
    def title(self) -> str:
        """What it is, without its parts."""

    @property
    @abstractmethod
    def minutes(self) -> float:
        """About how long it takes on two cores, tables made before included: less time left, and it is not begun."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Nominal sizes of the shops that it uses."""
        return ()

    @abstractmethod
    def run(self, bench: Bench) -> Iterator[Measured]:
        """Measure the parts."""

    @property
    def labels(self) -> tuple[str, ...]:
        """One line per cell."""
        return tuple(f"{self.title}: {part}" for part in self.parts)

    def only(self, words: Collection[str]) -> Workload | None:
        """The same with those parts whose label has one of the words in it; None if there are none."""
        if not words:
            return self
        kept = [
            part
            for part, label in zip(self.parts, self.labels, strict=True)
            if any(word.lower() in label.lower() for word in words)
        ]
        return dataclasses.replace(self, parts=tuple(kept)) if kept else None
