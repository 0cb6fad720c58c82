"""The data: Parquet files of the eight tables, by tpchgen-cli, the same for the same scale factor."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def generate(scale: float, folder: Path) -> Path:
    """Write one Parquet file per table into `folder`."""
    tool = Path(sys.executable).parent / "tpchgen-cli"
    subprocess.run([tool, "parquet", "-s", str(scale), "-o", folder, "--quiet"], check=True)
    return folder
