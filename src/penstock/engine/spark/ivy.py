"""Spark's own Maven resolver as a script: `ivy.py FOLDER COORDINATE…` puts one jar per coordinate into the folder.

Run as a process of its own, so that its JVM and all it prints end with it. Nothing transitive is fetched, and the
user's Ivy cache and local Maven repository are left alone: a half-filled one makes Ivy give up on a jar it could fetch.
"""

import shutil
import sys
from pathlib import Path

from pyspark.java_gateway import launch_gateway


def fetch(folder: Path, coordinates: list[str]) -> None:
    gateway = launch_gateway()
    try:
        java = gateway.jvm
        # Spark looks for the local Maven repository under user.home, and for everything else under spark.jars.ivy.
        java.java.lang.System.setProperty("user.home", str(folder / "home"))
        java.java.lang.System.setProperty("spark.jars.ivy", str(folder / "ivy"))
        for coordinate in coordinates:
            group, artifact, version = coordinate.split(":")
            uri = java.java.net.URI(f"ivy://{coordinate}?transitive=false")
            java.org.apache.spark.util.DependencyUtils.resolveMavenDependencies(uri)
            name = f"{artifact}-{version}.jar"
            shutil.move(folder / "ivy" / "jars" / f"{group}_{name}", folder / name)
    finally:
        gateway.shutdown()


if __name__ == "__main__":
    fetch(Path(sys.argv[1]), sys.argv[2:])
