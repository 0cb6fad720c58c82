"""A JVM that spark-submit started has the class path that it was given: without Delta that is one error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.jvm, pytest.mark.process]


def test_a_jvm_without_delta_is_refused_and_nothing_of_java_is_printed_for_it(tmp_path: Path) -> None:
    import pyspark

    script = tmp_path / "app.py"
    script.write_text(f"import penstock\npenstock.open({str(tmp_path / 'w')!r})\n")
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(submit.parents[1])}
    ran = subprocess.run([submit, script], env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode != 0
    said = ran.stdout + ran.stderr
    assert "this process has a JVM already, and it was started without Delta" in said
    assert "--jars" in said
    assert "ClassNotFoundException" not in said
