"""Memory of the driver: the Python process and the JVM, after everything that ran before."""

from __future__ import annotations

import os
from pathlib import Path

import penstock

MEGABYTE = 2**20


def driver_memory(ps: penstock.StreamTables) -> dict[str, int]:
    """Megabytes: resident now and at the peak, and of the JVM's heap what it has taken, holds and may take."""
    java = ps.spark.sparkContext._jvm
    if java is None:
        return {}
    java.System.gc()
    runtime = java.java.lang.Runtime.getRuntime()
    jvm = int(java.java.lang.ProcessHandle.current().pid())
    return {
        "python_resident": _status(os.getpid(), "VmRSS"),
        "python_peak": _status(os.getpid(), "VmHWM"),
        "jvm_resident": _status(jvm, "VmRSS"),
        "jvm_peak": _status(jvm, "VmHWM"),
        "jvm_heap_committed": runtime.totalMemory() // MEGABYTE,
        "jvm_heap_used": (runtime.totalMemory() - runtime.freeMemory()) // MEGABYTE,
        "jvm_heap_limit": runtime.maxMemory() // MEGABYTE,
    }


def _status(process: int, field: str) -> int:
    """A figure of the kernel about a process, which it gives in kilobytes."""
    for line in Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) // 1024
    return 0
