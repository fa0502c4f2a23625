"""What is no glTF 2.0 is called by its name, with what to do about it."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.errors import ContainerError
from gltf_bullet.gltf import read_document


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.usdc", "")
    return file.getvalue()


GLTF_1 = {"asset": {"version": "1.0"}, "nodes": {"a": {}}, "meshes": {"b": {}}}

FILES = [
    (b'<?xml version="1.0"?>\n<!-- a robot -->\n<robot name="r"/>', "URDF", "ends in .urdf"),
    (b'\xef\xbb\xbf  <mujoco model="m"><worldbody/></mujoco>', "MJCF", "the extra mjcf"),
    (b'<sdf version="1.6"/>', "SDF", "ends in .sdf"),
    (b"<!DOCTYPE html><html></html>", "web page", "download"),
    (b"<COLLADA/>", "COLLADA", "Blender"),
    (b"<other/>", "XML", "Blender"),
    (b"Kaydara FBX Binary  \0", "FBX", "Blender"),
    (b"BLENDER-v279RENDH", "Blender", "export"),
    (b"#usda 1.0\n", "USD", "the extra usd"),
    (b"PXR-USDC\0", "USD", "the extra usd"),
    (b"solid cube\n", "STL", "Blender"),
    (zipped(), "ZIP", "unpack"),
    (gzip.compress(b"{}"), "gzip", "unpack"),
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "LFS", "git lfs pull"),
    (b"glTF\1\0\0\0\x14\0\0\0\0\0\0\0\0\0\0\0", "glTF 1.0", "gltf-pipeline"),
    (json.dumps(GLTF_1).encode(), "glTF 1.0", "gltf-pipeline"),
]


@pytest.mark.parametrize(("data", "what", "remedy"), FILES, ids=[what for _, what, _ in FILES])
def test_a_foreign_file_is_named_with_what_to_do(data: bytes, what: str, remedy: str) -> None:
    with pytest.raises(ContainerError) as raised:
        read_document(data, Diagnostics())
    (issue,) = raised.value.issues
    assert issue.code == "FILE_OTHER_FORMAT"
    assert what in issue.message
    assert remedy in issue.message


@pytest.mark.parametrize("path", ["https://example.org/robot.glb", "file:///robots/robot.glb"])
def test_a_url_is_no_path(path: str) -> None:
    with pytest.raises(ContainerError, match=r"is a URL .* download the file"):
        read_document(path, Diagnostics())


def test_a_drive_letter_is_no_url(tmp_path: Path) -> None:
    with pytest.raises(ContainerError, match="FILE_UNREADABLE"):
        read_document(f"C:{tmp_path}/robot.glb", Diagnostics())
