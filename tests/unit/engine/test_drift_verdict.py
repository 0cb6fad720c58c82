"""What a change of a source's columns means for the stream tables that read it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from penstock.engine.delta.drift import SchemaDrift
from penstock.engine.delta.drift_verdict import Broken, Continue, Rebuild, Verdict, classify_drift


@pytest.mark.parametrize(
    ("drift", "verdict"),
    [
        (SchemaDrift(), Continue()),
        (SchemaDrift(added=("new",)), Continue()),
        (
            SchemaDrift(dropped=("unused",), renamed={"also": "unused2"}, retyped={"third": ("int", "bigint")}),
            Continue(),
        ),
        (SchemaDrift(replaced=True), Continue()),
        (SchemaDrift(detour=True), Continue()),
        (SchemaDrift(dropped=("A",)), Broken("column A was dropped")),
        (SchemaDrift(renamed={"a": "c"}), Broken("column a was renamed to c")),
        (
            SchemaDrift(dropped=("a",), added=("a",)),
            Rebuild("column a was dropped, and another column has its name now"),
        ),
        (
            SchemaDrift(renamed={"a": "c", "d": "a"}),
            Rebuild("column a was renamed to c, and another column has its name now"),
        ),
        (SchemaDrift(retyped={"b": ("int", "string")}), Rebuild("column b was int and is now string")),
        (SchemaDrift(loosened=("b",)), Rebuild("column b is no longer NOT NULL")),
        (SchemaDrift(recreated=True), Rebuild("recreated: the table was dropped and created again")),
    ],
)
def test_verdict(drift: SchemaDrift, verdict: Verdict) -> None:
    assert classify_drift(drift, ["a", "B"]) == verdict


@pytest.mark.process
def test_needs_no_spark() -> None:
    code = "import sys, penstock.engine.delta.drift_verdict; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
