"""What is kept on disk: whole or not at all, within bounds, and no trouble whatever is there."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs
import pytest

from gltf_bullet import disk_cache
from gltf_bullet.disk_cache import cache_folder, is_kept, read_entry, write_entry, write_file

PARTS = [b"one", memoryview(b"two"), b""]


def test_an_entry_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "entry"
    assert read_entry(path) is None
    write_entry(path, PARTS)
    assert read_entry(path) == b"onetwo"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("place", [0, 6, -1])
def test_an_entry_that_is_damaged_is_none(tmp_path: Path, place: int) -> None:
    path = tmp_path / "entry"
    write_entry(path, PARTS)
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    assert read_entry(path) is None
    path.write_bytes(b"short")
    assert read_entry(path) is None


def test_what_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not write_file(tmp_path / "file" / "entry", PARTS)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "in it").write_text("")
    assert not write_file(tmp_path / "taken", PARTS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "taken"]


def test_a_folder_is_bounded_and_the_oldest_go_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_cache, "_MOST_BYTES", 4096)
    monkeypatch.setattr(disk_cache, "_LOOK_EVERY", 1)
    for k in range(10):
        path = tmp_path / f"entry{k}"
        assert write_file(path, [bytes(1024)])
        os.utime(path, (k, k))
        write_file(tmp_path / "last", [b""])
        assert sum(entry.stat().st_size for entry in tmp_path.iterdir()) <= 4096
    assert {path.name for path in tmp_path.iterdir()} == {
        "entry6", "entry7", "entry8", "entry9", "last",
    }  # fmt: skip


def test_where_things_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLTF_BULLET_CACHE", raising=False)
    assert Path(platformdirs.user_cache_dir("gltf_bullet")) in cache_folder(None).parents
    monkeypatch.setenv("GLTF_BULLET_CACHE", str(tmp_path / "stated"))
    assert cache_folder(None) == tmp_path / "stated"
    assert cache_folder(tmp_path / "chosen") == tmp_path / "chosen"


def test_a_file_in_use_is_the_newest(tmp_path: Path) -> None:
    """The oldest go first where the folder is full."""
    path = tmp_path / "mesh.stl"
    assert not is_kept(path)
    path.write_bytes(b"solid")
    os.utime(path, (0.0, 0.0))
    assert is_kept(path)
    assert path.stat().st_mtime > 0.0
