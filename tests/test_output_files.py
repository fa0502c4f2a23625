"""Whatever happens while a file is written, what was there before stays, whole."""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pybullet
import pytest
from typer.testing import CliRunner

import gltf_bullet as gb
from gltf_bullet import output_files
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.cli import app
from gltf_bullet.cli.output import Attempts
from gltf_bullet.cli.outputs.media import Frames, write_picture
from gltf_bullet.envs.showing import write_curve
from gltf_bullet.output_files import FileAside, written_aside
from gltf_bullet.runtime.recording.scene_recording import Recording, record
from tools.gltf_builder import GltfBuilder

OLD = b"what was there before"
PIXELS = np.zeros((32, 32, 3), dtype=np.uint8)


def source(folder: Path, name: str) -> Path:
    """A file to read, in the nearest folder that is there."""
    while not folder.is_dir():
        folder = folder.parent
    return folder / name


def asset(folder: Path) -> Path:
    builder = GltfBuilder()
    builder.node("box")
    path = source(folder, "asset.gltf")
    path.write_text(json.dumps(builder.json()))
    return path


def export_scene(target: Path) -> None:
    with headless_world() as client:
        gb.load_gltf(asset(target.parent), client).export_glb(target)


def save_scene(target: Path) -> None:
    with headless_world() as client:
        gb.load_gltf(asset(target.parent), client).save(target)


@contextmanager
def recorded(folder: Path) -> Iterator[Recording]:
    with headless_world() as client:
        yield record(gb.load_gltf(asset(folder), client))


def export_recording(target: Path) -> None:
    with recorded(target.parent) as recorder:
        recorder.export_glb(target)


def command(*arguments: str) -> Callable[[Path], None]:
    def run(target: Path) -> None:
        words = [str(asset(target.parent)) if word == "IN" else word for word in arguments]
        words = [str(target) if word == "OUT" else word for word in words]
        result = CliRunner().invoke(app, words, catch_exceptions=False)
        assert result.exit_code == 0, result.output

    return run


def film(target: Path) -> None:
    attempts = Attempts()
    option = f"--{target.suffix[1:]}"
    paths = {k: target if option == f"--{k}" else None for k in ("mp4", "gif")}
    frames = Frames(attempts, **paths, filmstrip=None, fps=10.0)
    for _ in range(3):
        frames.add_moving(PIXELS)
    frames.close()
    assert not attempts.has_failed(option)


def strip(target: Path) -> None:
    attempts = Attempts()
    frames = Frames(attempts, mp4=None, gif=None, filmstrip=target, fps=10.0)
    frames.add_strip(0.0, PIXELS)
    frames.close()
    assert not attempts.has_failed("--filmstrip")


def export_page(target: Path) -> None:
    with recorded(target.parent) as recorder:
        recorder.export_html(target)


def foreign_world(client: int) -> None:
    shape = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.5, physicsClientId=client)
    pybullet.createMultiBody(1.0, shape, physicsClientId=client)


def export_other_world(target: Path) -> None:
    client = pybullet.connect(pybullet.DIRECT)
    try:
        foreign_world(client)
        gb.export_world(target, client)
    finally:
        pybullet.disconnect(client)


def export_other_rollout(target: Path) -> None:
    client = pybullet.connect(pybullet.DIRECT)
    try:
        foreign_world(client)
        recording = gb.record_world(client)
        recording.step()
        recording.export_glb(target)
    finally:
        pybullet.disconnect(client)


def convert_robot(target: Path) -> None:
    robot = source(target.parent, "robot.urdf")
    robot.write_text(
        '<robot name="r"><link name="base"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
        '<collision><geometry><sphere radius="1"/></geometry></collision></link></robot>'
    )
    result = CliRunner().invoke(app, ["convert", str(robot), str(target)], catch_exceptions=False)
    assert result.exit_code == 0, result.output


def export_film(target: Path) -> None:
    with recorded(target.parent) as recorder:
        recorder.export_film(target, size=(32, 32))


def save_picture(target: Path) -> None:
    with headless_world() as client:
        gb.load_gltf(asset(target.parent), client).render(size=(32, 32)).save(target)


def export_film_of_world(target: Path) -> None:
    client = pybullet.connect(pybullet.DIRECT)
    try:
        foreign_world(client)
        recording = gb.record_world(client)
        recording.step()
        if target.suffix == ".html":
            recording.export_html(target)
        else:
            recording.export_film(target, size=(32, 32))
    finally:
        pybullet.disconnect(client)


WRITERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "export_glb": (".glb", export_scene),
    "save": (".gltf", save_scene),
    "recording": (".gltf", export_recording),
    "recording_html": (".html", export_page),
    "recording_film": (".mp4", export_film),
    "recording_gif": (".gif", export_film),
    "recording_sheet": (".png", export_film),
    "saved_picture": (".png", save_picture),
    "export_world": (".glb", export_other_world),
    "record_world": (".glb", export_other_rollout),
    "convert": (".glb", command("convert", "IN", "OUT")),
    "convert_robot": (".glb", convert_robot),
    "bake": (".glb", command("bake", "IN", "OUT", "--seconds", "0.01")),
    "csv": (".csv", command("simulate", "IN", "--seconds", "0.01", "--csv", "OUT")),
    "plot": (".png", command("simulate", "IN", "--seconds", "0.01", "--plot", "OUT")),
    "curve": (".svg", lambda target: write_curve(target, [0, 1], [0.0, 1.0])),
    "picture": (".png", lambda target: write_picture(target, PIXELS)),
    "filmstrip": (".png", strip),
    "gif": (".gif", film),
    "mp4": (".mp4", film),
    "html": (".html", command("simulate", "IN", "--seconds", "0.01", "--html", "OUT")),
}


if importlib.util.find_spec("pxr"):
    for suffix in (".usda", ".usdc", ".usdz"):
        WRITERS[suffix[1:]] = (suffix, export_other_world)


@pytest.fixture(params=WRITERS)
def writer(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Callable[[Path], None]]:
    suffix, write = WRITERS[request.param]
    target = tmp_path / f"out{suffix}"
    target.write_bytes(OLD)
    return target, write


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_a_file_is_replaced_whole(writer: tuple[Path, Callable[[Path], None]]) -> None:
    target, write = writer
    target.chmod(0o640)
    write(target)
    assert target.read_bytes() != OLD
    assert target.stat().st_mode & 0o777 == 0o640
    assert leftovers(target.parent) == []


WRITERS_OF_TWO = {
    "world_film": (".gif", export_film_of_world),
    "world_html": (".html", export_film_of_world),
}
"""They write another file first, which nobody keeps."""


@pytest.mark.parametrize("name", WRITERS | WRITERS_OF_TWO)
def test_every_writer_makes_the_folders_above_its_file(name: str, tmp_path: Path) -> None:
    suffix, write = (WRITERS | WRITERS_OF_TWO)[name]
    target = tmp_path / "made" / "for it" / f"out{suffix}"
    write(target)
    assert target.stat().st_size > 0


def test_a_link_is_replaced_and_not_followed(
    writer: tuple[Path, Callable[[Path], None]],
) -> None:
    target, write = writer
    linked = target.with_name("precious")
    target.rename(linked)
    target.symlink_to(linked)
    write(target)
    assert linked.read_bytes() == OLD
    assert not target.is_symlink()


def test_a_full_disk_leaves_the_old_file(
    writer: tuple[Path, Callable[[Path], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last moment that a full disk can show itself: when what was written must reach it."""
    target, write = writer

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(output_files.os, "fsync", full)
    with pytest.raises((OSError, AssertionError)):
        write(target)
    assert target.read_bytes() == OLD
    assert leftovers(target.parent) == []


def in_child(write: Callable[[Path], None], target: Path, before: Callable[[], object]) -> int:
    """Write in a process of its own; its exit code, negative where a signal ended it."""
    child = os.fork()
    if child == 0:
        try:
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            before()
            write(target)
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def limit(size: int, action: signal.Handlers) -> None:
    """A file may grow to ``size`` bytes; beyond, the system refuses or ends the process."""
    signal.signal(signal.SIGXFSZ, action)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_disk_that_fills_up_leaves_the_old_file(
    writer: tuple[Path, Callable[[Path], None]],
) -> None:
    """A real limit instead of a pretended one: writing fails in the middle."""
    target, write = writer
    assert in_child(write, target, lambda: limit(20, signal.SIG_IGN)) == 1
    assert target.read_bytes() == OLD
    assert leftovers(target.parent) == []


def test_a_process_that_is_killed_in_the_middle_leaves_the_old_file(
    writer: tuple[Path, Callable[[Path], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    target, write = writer

    def die(_: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(output_files.os, "fsync", die)
    assert in_child(write, target, lambda: None) == -signal.SIGKILL
    assert target.read_bytes() == OLD
    assert len(leftovers(target.parent)) == 1
    monkeypatch.undo()
    # Who writes the file later takes away what was left; not what may be in work.
    write(target)
    assert len(leftovers(target.parent)) == 1
    (left,) = (target.parent / name for name in leftovers(target.parent))
    os.utime(left, (0, 0))
    write(target)
    assert leftovers(target.parent) == []
    assert target.read_bytes() != OLD


def test_a_file_in_work_is_not_swept_away(tmp_path: Path) -> None:
    slow = FileAside(tmp_path / "out.txt")
    os.utime(slow.path, (0, 0))
    FileAside(tmp_path / "out.txt").discard()
    assert slow.path.exists()
    slow.commit()


def test_an_exception_or_an_interruption_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_bytes(OLD)

    def interrupted() -> None:
        with written_aside(target) as aside:
            aside.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert target.read_bytes() == OLD
    assert leftovers(tmp_path) == []


def test_a_new_file_has_the_permissions_of_any_other(tmp_path: Path) -> None:
    with written_aside(tmp_path / "out.txt") as aside:
        aside.write_text("x")
    other = tmp_path / "other.txt"
    other.write_text("x")
    assert (tmp_path / "out.txt").stat().st_mode == other.stat().st_mode


def test_a_folder_in_the_way_is_named(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        FileAside(tmp_path)


@pytest.mark.parametrize("name", ["convert", "bake"])
def test_commands_do_not_write_over_their_input(name: str, tmp_path: Path) -> None:
    source = asset(tmp_path)
    before = source.read_bytes()
    link = tmp_path / "link.gltf"
    link.hardlink_to(source)
    for target in (source, link, tmp_path / "." / "asset.gltf"):
        result = CliRunner().invoke(app, [name, str(source), str(target)])
        assert isinstance(result.exception, FileExistsError)
    assert source.read_bytes() == before
    end = ["--force", *(["--seconds", "0"] if name == "bake" else [])]
    assert CliRunner().invoke(app, [name, str(source), str(source), *end]).exit_code == 0


def test_a_scene_does_not_write_over_its_file(tmp_path: Path) -> None:
    source = asset(tmp_path)
    client = pybullet.connect(pybullet.DIRECT)
    try:
        scene = gb.load_gltf(source, client)
        before = source.stat().st_mtime_ns
        time.sleep(0.01)
        with pytest.raises(FileExistsError, match="the file that was read"):
            scene.export_glb(source)
        with pytest.raises(FileExistsError):
            record(scene).export_glb(source)
        assert source.stat().st_mtime_ns == before
        scene.export_glb(source, force=True)
        assert source.stat().st_mtime_ns != before
    finally:
        pybullet.disconnect(client)


@pytest.mark.parametrize(
    "write",
    [export_other_world, export_other_rollout, lambda target: written_aside(target).__enter__()],
    ids=["export_world", "record_world", "written_aside"],
)
def test_a_missing_folder_is_made_and_what_cannot_be_one_is_named_with_the_file(
    write: Callable[[Path], None], tmp_path: Path
) -> None:
    """Not with the one that is written aside."""
    write(tmp_path / "new" / "deeper" / "out.glb")
    assert (tmp_path / "new" / "deeper").is_dir()
    (tmp_path / "file").write_text("here")
    target = tmp_path / "file" / "out.glb"
    with pytest.raises(OSError, match="file") as caught:
        write(target)
    assert caught.value.filename == str(target)


def test_a_refused_replacement_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out.txt"

    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(errno.EACCES, "no", str(source), None, str(target))

    monkeypatch.setattr(output_files.os, "replace", refuse)
    with pytest.raises(PermissionError) as caught, written_aside(target):
        pass
    assert caught.value.filename == str(target)


def test_where_files_have_no_locks_none_is_open_while_it_is_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows moves no file that is open."""
    monkeypatch.setattr(output_files, "fcntl", None)
    made = output_files.FileAside(tmp_path / "a.txt")
    assert made._handle == -1
    made.path.write_bytes(b"content")
    made.commit()
    assert (tmp_path / "a.txt").read_bytes() == b"content"
