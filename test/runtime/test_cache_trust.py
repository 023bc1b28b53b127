"""Entries of the cache are run: none that another user could have written, and nothing that is no entry."""

from __future__ import annotations

import os
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.cache_attacks import CHANGES, FOREIGN, NOBODY, given_away, needs_root
from support.twice import GOOD, TWICE

from ragged_dialect import compile
from ragged_dialect.child import in_child
from ragged_dialect.runtime import cache
from ragged_dialect.runtime.stored_program import DeviceProgram


@pytest.fixture(scope="module")
def entry_of_twice(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, DeviceProgram]:
    """The name of the entry for TWICE, and what is in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAGGED_CACHE", raising=False)
        patch.setenv("RAGGED_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        assert twice() == [2, 4, 6]
        (file,) = Path(os.environ["RAGGED_CACHE_DIR"]).iterdir()
        content = cache.load(file.name)
        assert content is not None
        return file.name, DeviceProgram.from_bytes(content)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache, below one called `above`."""
    monkeypatch.delenv("RAGGED_CACHE", raising=False)
    monkeypatch.setenv("RAGGED_CACHE_DIR", str(tmp_path / "above" / "cache"))
    monkeypatch.setattr(cache, "_told", [], raising=False)
    return tmp_path / "above" / "cache"


@pytest.fixture
def entry(place: Path, entry_of_twice: tuple[str, DeviceProgram]) -> Path:
    """The entry for TWICE."""
    name, program = entry_of_twice
    cache.store(name, program.to_bytes())
    return place / name


@pytest.fixture
def planted(entry: Path, entry_of_twice: tuple[str, DeviceProgram]) -> Path:
    """A marker that an entry for TWICE, with another program than it should have, makes when it runs."""
    name, program = entry_of_twice
    marker = entry.parent.parent.parent / "marker"
    source = f"open({str(marker)!r}, 'w').close()\n{program.host.source}"
    cache.store(name, replace(program, host=replace(program.host, source=source)).to_bytes())
    return marker


def test_what_is_planted_would_run(planted: Path) -> None:
    assert twice() == [2, 4, 6]
    assert planted.exists()


def twice() -> list[float]:
    """What TWICE gives on the emulator."""
    return compile(TWICE, target="emulator")(GOOD)[0].tolist()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("what", "change", "reason"), CHANGES)
def test_what_another_user_can_write_does_not_run(
    entry: Path, planted: Path, what: str, change: Callable[[Path], None], reason: str
) -> None:
    place = entry.parent
    changed = {".": place, "..": place.parent, "entry": entry}[what]
    change(changed)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert twice() == [2, 4, 6]
        assert what == "entry" or cache.load(entry.name) is None
    assert [str(w.message).removeprefix(f"compiled programs in {place} are not used: ") for w in told] == [
        reason.format(changed) + " (chmod go-w)" * ("write" in reason)
    ]
    assert not planted.exists()
    if what == "entry":  # it was made anew
        assert stat.S_IMODE(entry.stat().st_mode) == 0o600
        assert entry.stat().st_uid == os.geteuid()


def test_links_count_as_what_they_are_in(place: Path, planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_to_all = planted.parent / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    (open_to_all / "link").symlink_to(place)
    monkeypatch.setenv("RAGGED_CACHE_DIR", str(open_to_all / "link"))
    with pytest.warns(RuntimeWarning, match="other users can write to"):
        assert twice() == [2, 4, 6]
    assert not planted.exists()
    (planted.parent / "link").symlink_to(place)
    monkeypatch.setenv("RAGGED_CACHE_DIR", str(planted.parent / "link"))
    assert twice() == [2, 4, 6]
    assert planted.exists()  # what is the user's own is used, behind a link too


def test_an_entry_that_is_a_link(entry: Path, planted: Path) -> None:
    entry.rename(entry.parent / "elsewhere")
    entry.symlink_to(entry.parent / "elsewhere")
    assert twice() == [2, 4, 6]
    assert not planted.exists()
    assert not entry.is_symlink()


def test_an_entry_under_the_name_of_another(entry: Path) -> None:
    os.replace(entry, entry.with_name("other"))
    assert cache.load("other") is None


def sparse(path: Path) -> None:
    """A file of 40 GB that takes no space."""
    with path.open("wb") as file:
        file.truncate(40 << 30)


def a_device(path: Path) -> None:
    """A file that never ends."""
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))


def fifo(path: Path) -> None:
    """A file that waits for a writer."""
    os.mkfifo(path, 0o600)


def folder(path: Path) -> None:
    """No file at all."""
    path.mkdir(0o700)


@pytest.mark.parametrize("make", [sparse, fifo, folder, pytest.param(a_device, marks=needs_root)])
def test_entries_that_are_no_files(entry: Path, make: Callable[[Path], None]) -> None:
    entry.unlink()
    try:
        make(entry)
    except PermissionError:
        pytest.skip("expected to make a device, got a process that may not")
    assert twice() == [2, 4, 6]
    assert make is folder or entry.is_file()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("content", FOREIGN)
def test_whole_entries_of_something_else(entry: Path, content: bytes) -> None:
    cache.store(entry.name, content)
    assert cache.load(entry.name) == content
    assert twice() == [2, 4, 6]
    assert cache.load(entry.name) != content


def test_programs_that_are_too_large_are_not_kept(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MOST", 1000)
    cache.store("large", bytes(1000))
    cache.store("small", bytes(900))
    assert [path.name for path in place.iterdir()] == ["small"]


def test_folders_are_for_the_user_alone(place: Path) -> None:
    before = os.umask(0)
    try:
        cache.store("name", b"data")
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (place.parent, place)] == [0o700, 0o700]
    assert stat.S_IMODE((place / "name").stat().st_mode) == 0o600


def test_a_relative_xdg_folder_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAGGED_CACHE", "RAGGED_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert twice() == [2, 4, 6]
    assert list((tmp_path / "here").iterdir()) == []
    assert len(list((tmp_path / "home" / ".cache" / "ragged-dialect").iterdir())) == 1


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that other users can read, with an entry, and that nobody can write."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        monkeypatch.delenv("RAGGED_CACHE", raising=False)
        monkeypatch.setenv("RAGGED_CACHE_DIR", name)
        cache.store("name", b"data")
        (path / "name").chmod(0o444)
        path.chmod(0o555)
        yield path
        path.chmod(0o700)


def test_a_shared_cache(shared: Path) -> None:
    assert cache.load("name") == b"data"


@needs_root
def test_a_shared_cache_of_root(shared: Path) -> None:
    def as_another() -> bytes:
        os.setuid(NOBODY)
        cache.store("other", b"more")
        return cache.load("name") or b"none"

    assert in_child(as_another) == b"data"
    assert [path.name for path in shared.iterdir()] == ["name"]


@needs_root
def test_a_cache_of_another_user_is_told_once(place: Path) -> None:
    cache.store("name", b"data")
    given_away(place / "name")
    given_away(place)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(3):
            cache.store("other", b"more")
            assert cache.load("name") is None
    assert len(told) == 1
