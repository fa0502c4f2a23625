"""Changes on disk are noticed once, when the writing is over."""

from __future__ import annotations

import json
import os
from pathlib import Path

from gltf_bullet.viewer.session import FileWatch, referenced_files


def write(path: Path, text: str) -> None:
    path.write_text(text)
    # Two writes within one tick of the file system's clock are told apart by their size only.
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1_000_000))


def test_a_change_is_told_once_and_when_it_has_settled(tmp_path: Path) -> None:
    path = tmp_path / "a.gltf"
    path.write_text("1")
    watch = FileWatch([path])
    assert [watch.poll() for _ in range(3)] == [False] * 3
    write(path, "22")
    assert not watch.poll()
    write(path, "333")  # still being written
    assert [watch.poll() for _ in range(4)] == [False, True, False, False]


def test_files_that_go_come_back_or_are_replaced_are_changes(tmp_path: Path) -> None:
    path, other = tmp_path / "a.gltf", tmp_path / "b.gltf"
    path.write_text("1")
    watch = FileWatch([path])
    path.unlink()
    assert [watch.poll(), watch.poll(), watch.poll()] == [False, True, False]
    path.write_text("1")
    assert [watch.poll(), watch.poll()] == [False, True]
    other.write_text("2")
    stat = path.stat()
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    os.replace(other, path)  # same size, same time, another file
    assert [watch.poll(), watch.poll()] == [False, True]


def test_a_change_that_is_taken_back_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.gltf"
    path.write_text("1")
    before = path.stat()
    watch = FileWatch([path])
    write(path, "2")
    assert not watch.poll()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert [watch.poll(), watch.poll()] == [False, False]


def test_referenced_files_are_buffers_and_images_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.gltf"
    document = {
        "buffers": [{"uri": "a%20b.bin"}, {"uri": "data:;base64,AA=="}, {"byteLength": 3}],
        "images": [{"uri": "sub/t.png"}, {"bufferView": 0}],
    }
    path.write_text(json.dumps(document))
    assert referenced_files(path) == (tmp_path / "a b.bin", tmp_path / "sub" / "t.png")
    for broken in ("{", "[]", '{"buffers": 3}', '{"buffers": ["x"]}', '"x"'):
        path.write_text(broken)
        assert referenced_files(path) == ()
    assert referenced_files(tmp_path / "missing.gltf") == ()
    assert referenced_files(tmp_path / "a.glb") == ()
