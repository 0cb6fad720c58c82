"""What a diagnosis says: one line of verdict, then the findings, the cause first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.graph.lag import format_lag
from penstock.monitor.diagnose.case import Case
from penstock.monitor.diagnose.durations import rounded
from penstock.monitor.diagnose.findings import Finding, found


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """How a stream table is doing, why, and what to do."""

    name: str
    fresh: bool
    verdict: str
    findings: tuple[Finding, ...]

    @property
    def at_risk(self) -> bool:
        """True if something keeps it from being fresh, or soon will."""
        return any(each.serious for each in self.findings)

    def text(self) -> str:
        """For the terminal."""
        lines = [f"{self.name}: {self.verdict}"]
        for each in self.findings:
            lines.append(f"  {'✗' if each.serious else '·'} {each.text}")
            if each.advice:
                lines.append(f"    → {each.advice}")
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "fresh": self.fresh,
            "at_risk": self.at_risk,
            "verdict": self.verdict,
            "findings": [each.to_json() for each in self.findings],
        }


def diagnose(case: Case) -> Diagnosis:
    """The diagnosis of a gathered case."""
    findings = tuple(sorted(found(case), key=lambda each: not each.serious))
    return Diagnosis(case.name, not case.stale, _verdict(case, findings), findings)


def _verdict(case: Case, findings: tuple[Finding, ...]) -> str:
    if case.behind is None:
        return "EMPTY, it was never filled"
    figures = f"{format_lag(rounded(case.behind))} behind, {format_lag(case.allowed)} allowed"
    if case.stale:
        return f"STALE, {figures}"
    if case.behind > case.allowed:
        figures = f"no source has changed since it was refreshed, {format_lag(rounded(case.behind))} ago"
    return f"{'AT RISK' if any(each.serious for each in findings) else 'FRESH'}, {figures}"
