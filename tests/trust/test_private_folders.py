"""Code and caches are read only where nobody else can have put them; by two users where root.

Each foreign folder here was read once: one that everybody may write, one behind a link, and one of
a predictable name in the shared temporary folder, whose inner one its owner exchanged for a link.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

import gltf_bullet as gb
from gltf_bullet import disk_cache
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.cli import main
from gltf_bullet.private_folders import (
    UnsafeFolderError,
    fresh_folder,
    private_folder,
    scratch_folder,
    usual_folders,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="folders have owners")

ROOT = Path(__file__).resolve().parents[2]
BOX = ROOT / "examples" / "assets" / "falling_box.gltf"
VICTIM, OTHER = 54_321, 54_322
"""Users without an entry in passwd."""
needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be somebody else"
)


# --- one folder ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o775, 0o702, 0o1777])
@pytest.mark.parametrize("level", ["outer", "outer/inner", "outer/inner/last"])
def test_levels_that_others_can_write_are_refused(tmp_path: Path, level: str, mode: int) -> None:
    folder = tmp_path / "outer/inner/last"
    folder.mkdir(parents=True)
    private_folder(folder)
    (tmp_path / level).chmod(mode)
    is_like_tmp = mode == 0o1777 and not level.endswith("last") and os.geteuid() == 0
    if is_like_tmp:
        private_folder(folder)
        return
    with pytest.raises(UnsafeFolderError, match=f"others can write .*{level}$"):
        private_folder(folder)
    if mode != 0o1777:
        with pytest.raises(UnsafeFolderError):
            private_folder(folder / "deeper")


@pytest.mark.parametrize("level", ["outer", "outer/inner", "outer/inner/last"])
def test_levels_that_are_links_are_refused(tmp_path: Path, level: str) -> None:
    folder = tmp_path / "outer/inner/last"
    (tmp_path / level).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "real/inner/last").mkdir(parents=True)
    below = level.count("/")
    (tmp_path / level).symlink_to(tmp_path.joinpath("real", *("inner", "last")[:below]))
    assert folder.is_dir()
    with pytest.raises(UnsafeFolderError, match="is a link"):
        private_folder(folder)


@needs_root
@pytest.mark.parametrize("level", ["outer", "outer/inner", "outer/inner/last"])
def test_levels_of_others_are_refused(tmp_path: Path, level: str) -> None:
    folder = tmp_path / "outer/inner/last"
    folder.mkdir(parents=True)
    os.chown(tmp_path / level, OTHER, OTHER)
    with pytest.raises(UnsafeFolderError, match=f"{level} belongs to user {OTHER}"):
        private_folder(folder)


@pytest.mark.parametrize("path", ["cache", "./cache", "../cache", "~/.cache", ""])
def test_no_folder_is_relative(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnsafeFolderError, match="relative"):
        private_folder(path)
    assert not list(tmp_path.iterdir())


def test_new_levels_are_ours_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = private_folder(tmp_path / "new/newer")
        assert folder.write("file", b"data")
    finally:
        os.umask(before)
    for path in (tmp_path / "new", tmp_path / "new/newer", tmp_path / "new/newer/file"):
        assert path.stat().st_mode & 0o077 == 0
    assert folder.read("file") == b"data"
    assert os.listdir(folder.path) == ["file"]


def test_files_that_others_can_write_and_links_are_not_read(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "new")
    folder.write("file", b"data")
    (folder.path / "link").symlink_to(folder.path / "file")
    assert folder.read("link") is None
    (folder.path / "file").chmod(0o666)
    assert folder.read("file") is None
    os.mkfifo(folder.path / "pipe")
    (folder.path / "folder").mkdir()
    assert folder.read("folder") is None
    assert folder.read("nothing") is None


def test_a_folder_that_was_opened_is_not_exchanged(tmp_path: Path) -> None:
    """Between the look and the use: what takes its place is not what is read."""
    folder = private_folder(tmp_path / "kept")
    folder.write("file", b"ours")
    (tmp_path / "kept").rename(tmp_path / "gone")
    (tmp_path / "planted").mkdir()
    (tmp_path / "planted/file").write_bytes(b"theirs")
    (tmp_path / "kept").symlink_to(tmp_path / "planted")
    assert folder.read("file") == b"ours"


# --- where caches are ---------------------------------------------------------------------------


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is known yet of any folder."""
    monkeypatch.delenv("GLTF_BULLET_CACHE", raising=False)
    forget_folders()
    yield
    forget_folders()


def forget_folders() -> None:
    for cached in (disk_cache._folder, disk_cache._usual_folder):
        cached.cache_clear()  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["written by all", "relative"])
def test_stated_folders_of_others_are_named_and_not_used(
    unknown: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    stated = tmp_path / "stated"
    stated.mkdir()
    stated.chmod(0o777)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GLTF_BULLET_CACHE", str(stated) if kind == "written by all" else "stated")
    with pytest.warns(RuntimeWarning, match="nothing is kept where others"):
        found = disk_cache.cache_folder(None)
    assert found.is_relative_to(fresh_folder())
    assert not list(stated.iterdir())


@pytest.mark.parametrize("home", [None, "", "relative", "~", "/dev/null", "/nonexistent"])
@pytest.mark.parametrize("cache", [None, "relative/cache", "~/.cache"])
def test_usual_folders_are_absolute(
    unknown: None, monkeypatch: pytest.MonkeyPatch, home: str | None, cache: str | None
) -> None:
    for name, value in (("HOME", home), ("XDG_CACHE_HOME", cache)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert all(path.is_absolute() and "~" not in path.parts for path in usual_folders())
    assert disk_cache.cache_folder(None).is_absolute()


def test_a_home_whose_caches_others_can_write_has_another_place(
    unknown: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where new folders are made for groups (umask 002)."""
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache").chmod(0o775)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert disk_cache.cache_folder(None) == tmp_path / ".gltf_bullet" / "assets"
    assert not list((tmp_path / ".cache").iterdir())


# --- other users --------------------------------------------------------------------------------


def forked(user: int, act: Callable[[Connection], object]) -> Connection:
    """Run something as another user, who need not be able to read this installation; what it says.

    A message that is a list of one text says what went wrong.
    """
    ours, theirs = multiprocessing.Pipe()
    if os.fork() == 0:
        ours.close()  # who waits for a caller that is gone ends
        signal.alarm(150)
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            theirs.send(act(theirs))
        except BaseException:
            theirs.send([traceback.format_exc()])
        finally:
            os._exit(0)
    theirs.close()
    return ours


def heard(process: Connection) -> Any:
    """What a process says next."""
    assert process.poll(120.0), "it says nothing"
    said = process.recv()
    assert not isinstance(said, list), said[0]
    return said


def at_home_nowhere(shared: Path, home: str | None) -> None:
    """Become somebody who has nothing."""
    here = shared / "here"
    os.chdir(here)
    for name in ("HOME", "XDG_CACHE_HOME", "GLTF_BULLET_CACHE"):
        os.environ.pop(name, None)
    os.environ["TMPDIR"] = str(shared / "tmp")
    if home is not None:
        os.environ["HOME"] = home
    tempfile.tempdir = None
    forget_folders()


@pytest.fixture
def shared() -> Iterator[Path]:
    """A temporary folder as systems have it, and one where everybody may write."""
    folder = Path(tempfile.gettempdir()) / f"gltf_bullet_test_{os.getpid()}"
    for name, mode in (("", 0o755), ("tmp", 0o1777), ("here", 0o777), ("evil", 0o777)):
        (folder / name).mkdir()
        (folder / name).chmod(mode)
    os.chown(folder / "evil", OTHER, OTHER)
    yield folder
    shutil.rmtree(folder)


def attacks(folder: Path, planted: Path) -> tuple[str, ...]:
    """What somebody can do to a folder and those above it."""
    done: list[str] = []
    for level in (folder, *folder.parents):
        for what, act in (
            ("written", lambda at: (at / planted.name).write_bytes(planted.read_bytes())),
            ("renamed", lambda at: at.rename(at.with_name("moved"))),
            ("replaced", lambda at: (at.rmdir(), at.symlink_to(planted.parent))),
        ):
            with contextlib.suppress(OSError, ValueError):
                act(level)
                done.append(f"{what} {level}")
    return tuple(done)


@needs_root
@pytest.mark.parametrize("call", ["load", "check", "inspect"])
def test_without_a_home_and_an_entry_in_passwd_everything_works(shared: Path, call: str) -> None:
    """It ended in a traceback of platformdirs, or read code from ``./~/.cache``."""

    box = shared / "box.gltf"  # who has nothing need not be able to read our sources
    box.write_bytes(BOX.read_bytes())
    box.chmod(0o644)

    def use(_: object = None) -> object:
        if call == "load":
            with headless_world() as client:
                gb.load_gltf(box, client).step(3)
            return 0
        sys.argv = ["gltf-bullet", call, str(box)]
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                main()
            except SystemExit as error:
                return error.code or 0
        return 0

    arguments = sys.argv
    assert use() == 0  # everything is imported
    sys.argv = arguments

    def without_anything(caller: Connection) -> object:
        at_home_nowhere(shared, None)
        with pytest.raises(KeyError):
            pwd.getpwuid(os.geteuid())
        return use()

    assert heard(forked(VICTIM, without_anything)) == 0
    assert not list((shared / "here").iterdir())


@needs_root
@pytest.mark.parametrize(
    ("owner", "mode", "users"),
    [
        (VICTIM, 0o700, {VICTIM}),
        (VICTIM, 0o755, {VICTIM}),
        (OTHER, 0o777, set()),
        (0, 0o1777, set()),
        (0, 0o755, {VICTIM, OTHER}),  # of the administrator: both read it, nobody writes it
    ],
)
def test_two_users_may_name_one_cache_folder(
    shared: Path, owner: int, mode: int, users: set[int]
) -> None:
    """Both load at the same time, and read only what nobody else can have written."""
    folder, zoo = shared / "cache", shared / "zoo.gltf"
    folder.mkdir()
    os.chown(folder, owner, owner)
    folder.chmod(mode)
    zoo.write_bytes((BOX.parent / "shape_zoo.gltf").read_bytes())
    zoo.chmod(0o644)

    def load() -> list[tuple[float, ...]]:
        with headless_world() as client:
            scene = gb.load_gltf(zoo, client)
            scene.step(3)
            return [tuple(map(float, b.center_of_mass)) for b in scene.bodies.values()]

    def use(_: object) -> object:
        at_home_nowhere(shared, None)
        os.environ["GLTF_BULLET_CACHE"] = str(folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = tuple(load())
            load()
        place = disk_cache.cache_folder(None)
        return os.geteuid(), place, found, len(list(place.iterdir()))

    expected = tuple(load())
    told = [heard(process) for process in [forked(user, use) for user in (VICTIM, OTHER) * 2]]
    for user, place, found, count in told:
        assert found == expected
        assert (place == folder) == (user in users)
        assert bool(count) == (place != folder or user == owner)
    assert {path.stat().st_uid for path in folder.iterdir()} <= {owner}


def test_a_fresh_folder_is_gone_with_its_process(tmp_path: Path) -> None:
    program = (
        "import os, sys; from gltf_bullet.private_folders import fresh_folder as f\n"
        "folder = f(); assert f() == folder; child = os.fork()\n"
        "if child == 0: sys.exit()\n"
        "os.waitpid(child, 0); folder.stat(); print(folder)"
    )
    assert Path(said_by(program, tmp_path)).is_relative_to(tmp_path)
    assert not list(tmp_path.iterdir())


# --- temporary files ----------------------------------------------------------------------------


def said_by(program: str, temporary: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    return done.stdout.strip()


def test_what_a_killed_process_left_is_taken_away_and_nothing_else(tmp_path: Path) -> None:
    """Each killed conversion of a robot left a folder, and each killed training its meshes."""
    make = "from gltf_bullet.private_folders import scratch_folder as f; print(f(), flush=True)\n"
    left = Path(said_by(f"{make}open(f() / 'mesh.obj', 'w'); import os; os._exit(0)", tmp_path))
    with subprocess.Popen(
        [sys.executable, "-c", f"{make}import time; time.sleep(300)"],
        env={**os.environ, "TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    ) as working:  # fmt: skip
        assert working.stdout is not None
        alive = Path(working.stdout.readline().strip())
        kept = [tmp_path / name for name in ("gltf_bullet_mine", "gltf_bullet-scratch-file")]
        kept[0].mkdir()
        kept[1].write_text("no folder")
        link = tmp_path / "gltf_bullet-scratch-link"
        link.symlink_to(kept[0])
        said_by(make, tmp_path)
        assert left.is_dir()  # its process may not have locked it yet
        for path in (left, alive, *kept):
            os.utime(path, (0, 0))
        said_by(make, tmp_path)
        assert set(tmp_path.iterdir()) == {alive, link, *kept}
        working.kill()


def test_a_scratch_folder_that_somebody_tidied_up_is_made_again() -> None:
    shutil.rmtree(scratch_folder())
    with headless_world() as client:
        gb.load_gltf(BOX, client).step()
    assert scratch_folder().is_dir()
