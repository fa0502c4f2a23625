"""What a file is that is no glTF 2.0, and what its owner can do about it."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["foreign_format", "foreign_source"]

_BLENDER: Final = "import it into Blender and export it as glTF 2.0"
_ROBOT: Final = "gltf-bullet convert makes a glTF of it; or pybullet.{call} reads it as it is"

_BY_BEGINNING: Final[tuple[tuple[bytes, str, str], ...]] = (
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself", "run git lfs pull"),
    (b"Kaydara FBX Binary", "FBX", _BLENDER),
    (b"; FBX", "FBX (text)", _BLENDER),
    (b"BLENDER", "a Blender scene", "open it in Blender and export it as glTF 2.0"),
    (b"PXR-USDC", "USD (binary)", _BLENDER),
    (b"#usda", "USD (text)", _BLENDER),
    (b"ply\n", "a PLY mesh", _BLENDER),
    (b"ply\r\n", "a PLY mesh", _BLENDER),
    (b"solid ", "an STL mesh", _BLENDER),
    (b"\x28\xb5\x2f\xfd", "compressed (zstd), perhaps a Blender scene", "open it in Blender"),
    (b"PK\x03\x04", "a ZIP archive (or USDZ)", "unpack it and load the .gltf or .glb inside"),
    (b"\x1f\x8b", "compressed (gzip)", "unpack it first"),
    (b"\x89PNG", "a PNG picture", "load the .gltf or .glb that uses it"),
    (b"\xff\xd8\xff", "a JPEG picture", "load the .gltf or .glb that uses it"),
)
"""Magic bytes, what they are of, what to do."""

_BY_TAG: Final[dict[str, tuple[str, str]]] = {
    "robot": ("URDF", _ROBOT.format(call="loadURDF")),
    "mujoco": ("MJCF", "gltf-bullet convert makes a glTF of it, with the extra mjcf"),
    "sdf": ("SDF", _ROBOT.format(call="loadSDF")),
    "collada": ("COLLADA", _BLENDER),
    "x3d": ("X3D", _BLENDER),
    "html": ("a web page, perhaps that of a failed download", "download the file itself"),
    "svg": ("an SVG picture", "load the .gltf or .glb that uses it"),
}
"""By the first element of an XML text."""


def foreign_format(data: bytes) -> tuple[str, str] | None:
    """What ``data`` is and what to do; ``None`` where it may be glTF or nobody knows."""
    for beginning, what, remedy in _BY_BEGINNING:
        if data.startswith(beginning):
            return what, remedy
    head = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head.startswith(b"<"):
        return None
    tag = re.search(r"<([A-Za-z][A-Za-z0-9_:.-]*)", _without_comments(head.decode("latin-1")))
    name = "" if tag is None else tag[1].lower()
    return _BY_TAG.get(name, ("an XML text", _BLENDER))


def _without_comments(text: str) -> str:
    return re.sub(r"<!--.*?(-->|$)|<\?.*?\?>|<!doctype\s+", "<", text, flags=re.DOTALL | re.I)


def foreign_source(path: str) -> tuple[str, str] | None:
    """What a name is that is no path of a file; ``None`` where it may be one."""
    if "://" not in path:
        return None
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", path)
    return scheme and (f"a URL ({scheme[1]})", "download the file and give its path")
