"""The fake of the API lives beside the goldens, which use it most."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "golden" / "cli"))
