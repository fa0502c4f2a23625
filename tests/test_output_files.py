"""Whatever happens while a file is written, what was there before stays, whole."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pybullet
import pytest
from typer.testing import CliRunner

import gltf_bullet as gb
from gltf_bullet import output_files
from gltf_bullet.cli import app
from gltf_bullet.cli.outputs.media import Frames, write_picture
from gltf_bullet.gltf.writing import write_document
from gltf_bullet.output_files import FileAside, written_aside
from gltf_bullet.runtime.recording import record
from tools.gltf_builder import GltfBuilder

OLD = b"what was there before"
PIXELS = np.zeros((32, 32, 3), dtype=np.uint8)


def asset(folder: Path) -> Path:
    builder = GltfBuilder()
    builder.node("box")
    path = folder / "asset.gltf"
    path.write_text(json.dumps(builder.json()))
    return path


def export_scene(target: Path) -> None:
    client = pybullet.connect(pybullet.DIRECT)
    try:
        gb.load_gltf(asset(target.parent), client).export_glb(target)
    finally:
        pybullet.disconnect(client)


def export_recording(target: Path) -> None:
    client = pybullet.connect(pybullet.DIRECT)
    try:
        record(gb.load_gltf(asset(target.parent), client)).export_glb(target)
    finally:
        pybullet.disconnect(client)


def command(*arguments: str) -> Callable[[Path], None]:
    def run(target: Path) -> None:
        words = [str(asset(target.parent)) if word == "IN" else word for word in arguments]
        words = [str(target) if word == "OUT" else word for word in words]
        result = CliRunner().invoke(app, words, catch_exceptions=False)
        assert result.exit_code == 0, result.output

    return run


def film(target: Path) -> None:
    frames = Frames(mp4=None, gif=target, filmstrip=None, fps=10.0)
    frames.add_moving(PIXELS)
    frames.close()


WRITERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "export_glb": (".glb", export_scene),
    "recording": (".gltf", export_recording),
    "convert": (".glb", command("convert", "IN", "OUT")),
    "bake": (".glb", command("bake", "IN", "OUT", "--seconds", "0.01")),
    "csv": (".csv", command("simulate", "IN", "--seconds", "0.01", "--csv", "OUT")),
    "plot": (".png", command("simulate", "IN", "--seconds", "0.01", "--plot", "OUT")),
    "picture": (".png", lambda target: write_picture(target, PIXELS)),
    "gif": (".gif", film),
}


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


def test_a_file_that_may_not_grow_leaves_the_old_one(tmp_path: Path) -> None:
    """A real limit instead of a pretended one: writing fails in the middle."""
    target = tmp_path / "out.glb"
    target.write_bytes(OLD)
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, old[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_document({"buffers": [{"byteLength": 10**5}]}, [bytes(10**5)], target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)
    assert target.read_bytes() == OLD
    assert leftovers(tmp_path) == []


def test_a_killed_process_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "out.glb"
    target.write_bytes(OLD)
    code = (
        "import sys, time\nfrom gltf_bullet.output_files import written_aside\n"
        "with written_aside(sys.argv[1]) as aside:\n"
        "    aside.write_bytes(b'half')\n    print('half', flush=True)\n    time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(target)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"half\n"
        process.send_signal(signal.SIGKILL)
    assert target.read_bytes() == OLD


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
