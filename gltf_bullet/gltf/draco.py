"""KHR_draco_mesh_compression through the optional package DracoPy (extra ``draco``)."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from gltf_bullet.diagnostics import error
from gltf_bullet.gltf.buffer_views import AccessorArray, read_buffer_view
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import Reader

DRACO_EXTENSION = "KHR_draco_mesh_compression"

DRACO_PACKAGE_MISSING = error(
    "DRACO_PACKAGE_MISSING",
    "the primitive is compressed with Draco; install gltf_bullet[draco] (DracoPy) to read it",
)
DRACO_UNREADABLE = error("DRACO_UNREADABLE", "the Draco data cannot be decoded: {got}")
DRACO_TOO_LARGE = error(
    "DRACO_TOO_LARGE",
    "the Draco data announces {got} triangles; must be at most {allowed} "
    "(ReadLimits.max_draco_faces)",
)


def decode_draco(
    document: Document, extension: Reader
) -> tuple[Mapping[str, AccessorArray], npt.NDArray[np.int64]] | None:
    """Attributes by glTF name, [vertex, component] each, and triangles [count, 3].

    Args:
        document: The file.
        extension: The primitive's extension object, which gets every finding.
    """
    if not extension.has("bufferView", "an index"):
        return None
    view_index = extension.index("bufferView", count=document.count("bufferViews"))
    ids = extension.member_or_empty("attributes")
    view = (
        None
        if view_index is None
        else read_buffer_view(document, view_index, extension.diagnostics)
    )
    if view is None:
        return None
    data = bytes(view[0])
    faces, allowed = _announced_faces(data), document.limits.max_draco_faces
    if faces > allowed:
        extension.report(DRACO_TOO_LARGE, got=faces, allowed=allowed)
        return None
    try:
        draco = importlib.import_module("DracoPy")
    except ImportError:
        extension.report(DRACO_PACKAGE_MISSING)
        return None
    try:
        mesh = draco.decode(data)
        triangles = np.asarray(mesh.faces, dtype=np.int64).reshape(-1, 3)
        attributes = {}
        for name in ids.json:
            unique_id = ids.size(name, default=None)
            found = None if unique_id is None else mesh.get_attribute_by_unique_id(unique_id)
            if found is not None:
                values = np.asarray(found["data"])
                attributes[name] = values.reshape(len(values), -1)
    except Exception as exc:  # DracoPy raises bare Exception subclasses on bad data.
        extension.report(DRACO_UNREADABLE, got=str(exc) or type(exc).__name__)
        return None
    return attributes, triangles


def _announced_faces(data: bytes) -> int:
    """The number of triangles in the header of Draco data, read before memory is allocated.

    Draco bitstream specification, "Decoding": five letters, version, encoder type and method, two
    bytes of flags; then, without metadata, for sequential meshes the number of faces, for others a
    byte, the number of vertices and that of faces. Other headers count as 0: the decoder refuses
    them.
    """
    metadata_flag = 0x80
    if len(data) < 12 or data[:5] != b"DRACO" or data[7] != 1 or data[10] & metadata_flag:
        return 0
    is_sequential = data[8] == 0
    has_varints = (data[5], data[6]) >= (2, 2)
    place, value = (11, 0) if is_sequential else (12, 0)
    for _ in range(1 if is_sequential else 2):
        if has_varints:
            value, place = _varint(data, place)
        else:
            value, place = int.from_bytes(data[place : place + 4], "little"), place + 4
    return value


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """A number in groups of seven bits, least first, and the position after it."""
    value = shift = 0
    for byte in data[place : place + 10]:
        value |= (byte & 0x7F) << shift
        shift += 7
        place += 1
        if byte < 0x80:
            break
    return value, place
