"""The Java that Spark will run on, found the way Spark finds it: JAVA_HOME, else the PATH.

Asked before Spark starts, because Spark's own answer to a missing or old Java is a stack trace.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from penstock.errors import JavaUnusable

OLDEST_JAVA = 17


def find_java() -> Path | None:
    """The java that spark-class would start."""
    if home := os.environ.get("JAVA_HOME"):
        java = Path(home, "bin", "java")
        return java if os.access(java, os.X_OK) else None
    found = shutil.which("java")
    return Path(found) if found else None


def java_version(banner: str) -> int | None:
    """The major version in what `java -version` prints.

    >>> java_version('openjdk version "17.0.15" 2025-04-15')
    17
    >>> java_version('java version "1.8.0_392"')
    8
    """
    found = re.search(r'version "(?:1\.)?(\d+)', banner)
    return int(found.group(1)) if found else None


def require_java() -> str:
    """Where the usable Java is and its version, in words; raises JavaUnusable if there is none."""
    java = find_java()
    if java is None:
        home = os.environ.get("JAVA_HOME")
        raise JavaUnusable(found=f"JAVA_HOME={home} without bin/java" if home else "no java on the PATH")
    try:
        asked = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JavaUnusable(found=f"{java}, which does not run: {error}") from error
    version = java_version(asked.stderr + asked.stdout)
    if version is None or version < OLDEST_JAVA:
        raise JavaUnusable(found=f"{java}, " + (f"Java {version}" if version else "of unknown version"))
    return f"Java {version} ({java})"
