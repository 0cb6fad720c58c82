"""The five Delta jars that Spark needs, resolved once into a folder.

A file counts only when it is complete: it is fetched under another name, checked against its SHA-256, then renamed.
So a killed run, a full disk or a damaged download leave nothing behind that the next start would take for a jar.
No host is named here; Maven and Spark's resolver use what the machine is set up with (mirrors, proxies).

Only Delta's own jars are taken, never what they depend on: the full closure brings older versions of libraries that
Spark itself ships.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.catalog.address import split_address
from penstock.errors import InvalidSetting, JarsUnavailable

GROUP = "io.delta"
DELTA_VERSION = "4.4.0"
_MOST_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Jar:
    """One artifact of the group `io.delta`, and what its file must be."""

    artifact: str
    size: int
    sha256: str
    version: str = DELTA_VERSION

    @property
    def name(self) -> str:
        return f"{self.artifact}-{self.version}.jar"

    @property
    def coordinate(self) -> str:
        return f"{GROUP}:{self.artifact}:{self.version}"


JARS = (
    Jar(
        "delta-spark_4.2_2.13",
        9515916,
        "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    ),
    Jar("delta-storage", 113863, "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc"),
    Jar("delta-kernel-api", 2838619, "ee9b5a14ac3b7efdff4d61a58478fe8eb0e5a3fbca43889dca7290795fe79a11"),
    Jar("delta-kernel-defaults", 227185, "225c975199e4718b38ee5b7e6da7f19e9585024262b2cec2656b32151a856b0b"),
    Jar("delta-kernel-unitycatalog", 43048, "cea22dfb4ac562b3cd27bf652697750e8336009d73fb06631363aaaad5345ffa"),
)

Way = Callable[[Sequence[Jar], Path], str]
"""Puts what it can of the wanted jars into a folder and says in a few words what went wrong, or nothing."""


def jars_folder() -> Path:
    """`$PENSTOCK_JARS`, else `.jars` in a checkout, else the user's cache."""
    if chosen := os.environ.get("PENSTOCK_JARS"):
        if split_address(chosen):
            raise InvalidSetting(name="PENSTOCK_JARS", value=chosen, why="it is an address", allowed="a folder")
        return Path(chosen).expanduser().absolute()
    checkout = Path(__file__).resolve().parents[4]
    if (checkout / "pyproject.toml").is_file() and (checkout / "src" / "penstock").is_dir():
        return checkout / ".jars"
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "penstock" / "jars"


def missing_jars(folder: Path, jars: Sequence[Jar] = JARS) -> list[Jar]:
    """The jars that are not there, or not whole."""
    return [jar for jar in jars if not _has_size(folder / jar.name, jar.size)]


def resolve_jars(
    folder: Path | None = None, jars: Sequence[Jar] = JARS, ways: Mapping[str, Way] | None = None
) -> list[Path]:
    """Paths of all jars, after fetching those that are missing; raises JarsUnavailable with every way's reason."""
    folder = jars_folder() if folder is None else folder.absolute()
    reasons = []
    if missing_jars(folder, jars):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, way in (WAYS if ways is None else ways).items():
                if not (wanted := missing_jars(folder, jars)):
                    break
                # Inside the folder, so that the rename at the end stays on one file system.
                with tempfile.TemporaryDirectory(prefix=".incoming-", dir=folder) as scratch:
                    reason = way(wanted, Path(scratch))
                    reason = "; ".join(filter(None, [reason, *_adopt(wanted, Path(scratch), folder)]))
                reasons.append(f"{name}: {reason or 'found nothing'}")
        except OSError as error:
            reasons.append(f"{folder}: {error.strerror or error}")
    if lacking := missing_jars(folder, jars):
        raise JarsUnavailable(
            why="".join(f"\n    {reason}" for reason in reasons),
            coordinates=", ".join(jar.coordinate for jar in lacking),
            folder=folder,
        )
    return [folder / jar.name for jar in jars]


def from_local_repository(wanted: Sequence[Jar], scratch: Path) -> str:
    """Copy out of the local Maven repository, where other builds may have left them."""
    repository = local_repository()
    absent = []
    for jar in wanted:
        file = repository.joinpath(*GROUP.split("."), jar.artifact, jar.version, jar.name)
        if _has_size(file, jar.size):
            shutil.copyfile(file, scratch / jar.name)
        else:
            absent.append(jar.name)
    return f"{len(absent)} of {len(wanted)} are not whole in {repository}" if absent else ""


def local_repository(home: Path | None = None) -> Path:
    """Maven's local repository: `localRepository` of the user's settings, else `~/.m2/repository`."""
    home = Path.home() if home is None else home
    settings = home / ".m2" / "settings.xml"
    if settings.is_file():
        # A pattern, not an XML parser: comments are cut away, and a value built from other variables is left to Maven.
        text = re.sub(r"<!--.*?-->", "", settings.read_text(errors="replace"), flags=re.DOTALL)
        found = re.search(r"<localRepository>\s*([^<]+?)\s*</localRepository>", text)
        chosen = found.group(1).replace("${user.home}", str(home)) if found else ""
        if chosen and "${" not in chosen:
            return Path(chosen)
    return home / ".m2" / "repository"


def from_maven(wanted: Sequence[Jar], scratch: Path) -> str:
    """Ask Maven, if it is installed."""
    maven = shutil.which("mvn")
    if maven is None:
        return "mvn is not on the PATH"
    _announce("Maven")
    (scratch / "pom.xml").write_text(flat_pom(wanted))
    command = [maven, "-B", "-q", "-f", str(scratch / "pom.xml")]
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={scratch}"]
    # Maven remembers that something was not found, and trusts a damaged file: the second try sees neither.
    afresh = ["-U", f"-Dmaven.repo.local={scratch / 'repository'}"]
    reason = ""
    for options in ([], afresh):
        reason = _run([*command, *options, *goal])
        if not reason and all(_is_whole(scratch / jar.name, jar) for jar in wanted):
            return ""
    return reason


def flat_pom(wanted: Sequence[Jar]) -> str:
    """A project that depends on exactly these artifacts, and on nothing that they depend on."""
    dependencies = "\n".join(
        f"<dependency><groupId>{GROUP}</groupId><artifactId>{jar.artifact}</artifactId><version>{jar.version}</version>"
        "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>"
        for jar in wanted
    )
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>penstock</groupId><artifactId>jars</artifactId>"
        f"<version>1</version><packaging>pom</packaging><dependencies>\n{dependencies}\n</dependencies></project>\n"
    )


def from_spark(wanted: Sequence[Jar], scratch: Path) -> str:
    """Ask the resolver inside Spark (Ivy), in a JVM of its own that ends with the answer."""
    _announce("Spark's resolver")
    # `-P`: the folder of this package must not become a place to import modules from.
    script = Path(__file__).with_name("ivy.py")
    return _run([sys.executable, "-P", str(script), str(scratch), *(jar.coordinate for jar in wanted)])


WAYS: Mapping[str, Way] = {
    "local Maven repository": from_local_repository,
    "Maven": from_maven,
    "Spark's resolver": from_spark,
}


def _adopt(wanted: Sequence[Jar], scratch: Path, folder: Path) -> list[str]:
    damaged = []
    for jar in wanted:
        if _is_whole(scratch / jar.name, jar):
            (scratch / jar.name).replace(folder / jar.name)
        elif (scratch / jar.name).exists():
            damaged.append(f"{jar.name} is not the expected file")
    return damaged


def _has_size(file: Path, size: int) -> bool:
    return file.is_file() and file.stat().st_size == size


def _is_whole(file: Path, jar: Jar) -> bool:
    return _has_size(file, jar.size) and hashlib.sha256(file.read_bytes()).hexdigest() == jar.sha256


def _run(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_MOST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_MOST_SECONDS} s"
    if done.returncode == 0:
        return ""
    said = [line.strip() for line in (done.stdout + "\n" + done.stderr).splitlines() if line.strip()]
    telling = [line for line in said if re.search(r"error|not found|unresolved|exception", line, re.IGNORECASE)]
    return " ".join((telling or said or [f"exit code {done.returncode}"])[:2])[:400]


def _announce(way: str) -> None:
    print(f"resolving Delta jars with {way} (once, about 13 MB)…", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        resolve_jars()
    except JarsUnavailable as error:
        sys.exit(str(error))
