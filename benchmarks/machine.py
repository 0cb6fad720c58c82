"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import penstock


def describe(ps: penstock.StreamTables) -> dict[str, Any]:
    """Processors, memory, load and versions, now."""
    java = ps.spark.sparkContext._jvm
    return {
        "cpus": os.cpu_count(),
        "cpu": cpu_name(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load_average": [round(each, 2) for each in os.getloadavg()],
        "platform": platform.platform(),
        "python": platform.python_version(),
        "java": java.System.getProperty("java.version") if java else "?",
        "spark": ps.spark.version,
        "delta": version("delta-spark"),
        "deltalake": version("deltalake"),
        "driver_memory": ps.settings.driver_memory,
    }


def cpu_name() -> str:
    """The processor, as it calls itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
