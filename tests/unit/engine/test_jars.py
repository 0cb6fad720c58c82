"""Jars are resolved from wherever they are, and nothing incomplete ever counts."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pytest

from penstock.engine.spark import jars
from penstock.engine.spark.jars import (
    DELTA_VERSION,
    JARS,
    WAYS,
    Jar,
    flat_pom,
    jars_folder,
    local_repository,
    resolve_jars,
)
from penstock.errors import JarsUnavailable

CONTENT = {"delta-one": b"first jar", "delta-two": b"the second jar"}
TWO = tuple(Jar(name, len(data), hashlib.sha256(data).hexdigest(), "1.0") for name, data in CONTENT.items())


def put_into_repository(repository: Path, jar: Jar, data: bytes) -> None:
    file = repository / "io" / "delta" / jar.artifact / jar.version / jar.name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def delivering(content: dict[str, bytes]) -> jars.Way:
    def way(wanted: Sequence[Jar], scratch: Path) -> str:
        for jar in wanted:
            if jar.artifact in content:
                (scratch / jar.name).write_bytes(content[jar.artifact])
        return ""

    return way


def refusing(wanted: Sequence[Jar], scratch: Path) -> str:
    raise AssertionError("must not be asked")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    return tmp_path / "home"


def test_complete_folder_asks_nobody(tmp_path: Path) -> None:
    for jar in TWO:
        (tmp_path / jar.name).write_bytes(CONTENT[jar.artifact])
    assert resolve_jars(tmp_path, TWO, {"any": refusing}) == [tmp_path / jar.name for jar in TWO]


def test_local_repository_is_copied(tmp_path: Path, home: Path) -> None:
    for jar in TWO:
        put_into_repository(home / ".m2" / "repository", jar, CONTENT[jar.artifact])
    found = resolve_jars(tmp_path / "jars", TWO, {"local": jars.from_local_repository})
    assert [file.read_bytes() for file in found] == list(CONTENT.values())


def test_half_filled_repository_leaves_the_rest_to_the_next_way(tmp_path: Path, home: Path) -> None:
    put_into_repository(home / ".m2" / "repository", TWO[0], CONTENT["delta-one"])
    put_into_repository(home / ".m2" / "repository", TWO[1], b"")
    asked: list[Jar] = []

    def next_way(wanted: Sequence[Jar], scratch: Path) -> str:
        asked.extend(wanted)
        return delivering(CONTENT)(wanted, scratch)

    resolve_jars(tmp_path / "jars", TWO, {"local": jars.from_local_repository, "next": next_way})
    assert asked == [TWO[1]]


@pytest.mark.parametrize("partial", [b"", b"first", b"first jar and more"])
def test_partial_file_in_the_folder_is_replaced(tmp_path: Path, partial: bytes) -> None:
    (tmp_path / TWO[0].name).write_bytes(partial)
    resolve_jars(tmp_path, TWO, {"net": delivering(CONTENT)})
    assert (tmp_path / TWO[0].name).read_bytes() == CONTENT["delta-one"]


def test_download_of_the_right_size_but_other_content_is_refused(tmp_path: Path) -> None:
    damaged = {**CONTENT, "delta-two": b"THE SECOND JAR"}
    with pytest.raises(JarsUnavailable, match=r"delta-two-1\.0\.jar is not the expected file"):
        resolve_jars(tmp_path, TWO, {"net": delivering(damaged)})
    assert [file.name for file in tmp_path.iterdir()] == [TWO[0].name]


def test_failure_names_every_way_the_coordinates_and_the_folder(tmp_path: Path) -> None:
    ways: dict[str, jars.Way] = {"first": lambda *_: "no network", "second": lambda *_: ""}
    with pytest.raises(JarsUnavailable) as caught:
        resolve_jars(tmp_path, TWO, ways)
    said = str(caught.value)
    for part in ("first: no network", "second: found nothing", "io.delta:delta-one:1.0", str(tmp_path)):
        assert part in said
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JarsUnavailable, match="Not a directory"):
        resolve_jars(tmp_path / "file" / "jars", TWO, {"any": refusing})


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("<settings><localRepository>/srv/maven</localRepository></settings>", "/srv/maven"),
        ("<settings><localRepository> ${user.home}/repo\n</localRepository></settings>", "{home}/repo"),
        ("<settings><localRepository>${env.REPO}</localRepository></settings>", "{home}/.m2/repository"),
        ("<settings><!-- <localRepository>/no</localRepository> --></settings>", "{home}/.m2/repository"),
        (None, "{home}/.m2/repository"),
    ],
)
def test_local_repository_follows_simple_settings(tmp_path: Path, settings: str | None, expected: str) -> None:
    if settings is not None:
        (tmp_path / ".m2").mkdir()
        (tmp_path / ".m2" / "settings.xml").write_text(settings)
    assert str(local_repository(tmp_path)) == expected.format(home=tmp_path)


def test_folder_is_the_chosen_one_else_that_of_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_JARS", str(tmp_path))
    assert jars_folder() == tmp_path
    monkeypatch.delenv("PENSTOCK_JARS")
    assert jars_folder() == Path(jars.__file__).parents[4] / ".jars"


def test_installed_package_uses_the_cache_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_JARS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(jars, "__file__", str(tmp_path / "site-packages" / "penstock" / "engine" / "jars.py"))
    assert jars_folder() == tmp_path / "penstock" / "jars"


def test_pom_is_flat() -> None:
    pom = flat_pom(JARS)
    assert pom.count("<artifactId>*</artifactId>") == len(JARS)
    assert all(f"<artifactId>{jar.artifact}</artifactId>" in pom for jar in JARS)


def test_jars_match_the_python_package() -> None:
    assert version("delta-spark") == DELTA_VERSION


@pytest.mark.jvm
@pytest.mark.process
@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("way", ["Maven", "Spark's resolver"])
def test_real_resolution(tmp_path: Path, way: str) -> None:
    if way == "Maven" and shutil.which("mvn") is None:
        pytest.skip("Maven is not installed")
    found = resolve_jars(tmp_path, ways={way: WAYS[way]})
    assert [file.name for file in found] == [jar.name for jar in JARS]


@pytest.mark.jvm
@pytest.mark.process
@pytest.mark.network
@pytest.mark.slow
def test_real_maven_recovers_from_a_damaged_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("mvn") is None:
        pytest.skip("Maven is not installed")
    monkeypatch.setenv("MAVEN_OPTS", f"-Dmaven.repo.local={tmp_path / 'repository'}")
    for jar in JARS[:2]:
        put_into_repository(tmp_path / "repository", jar, b"cut off")
    resolve_jars(tmp_path / "jars", ways={"Maven": WAYS["Maven"]})
