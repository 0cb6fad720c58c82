"""The version of this Penstock, where every layer can read it."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
