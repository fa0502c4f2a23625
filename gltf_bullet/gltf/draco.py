"""KHR_draco_mesh_compression through the optional package DracoPy (extra ``draco``)."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.gltf.buffer_views import AccessorArray, read_buffer_view
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import (
    JsonObject,
    has_required,
    read_index,
    read_object,
    read_size,
)

__all__ = ["DRACO_EXTENSION", "decode_draco"]

DRACO_EXTENSION = "KHR_draco_mesh_compression"

DRACO_PACKAGE_MISSING = IssueKind(
    "DRACO_PACKAGE_MISSING",
    Severity.ERROR,
    "the primitive is compressed with Draco; install gltf_bullet[draco] (DracoPy) to read it",
)
DRACO_UNREADABLE = IssueKind(
    "DRACO_UNREADABLE", Severity.ERROR, "the Draco data cannot be decoded: {got}"
)


def decode_draco(
    document: Document,
    extension: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
) -> tuple[Mapping[str, AccessorArray], npt.NDArray[np.int64]] | None:
    """Attributes by glTF name, [vertex, component] each, and triangles [count, 3].

    Args:
        document: The file.
        extension: The primitive's extension object.
        at: Where that object is.
        diagnostics: Receives every finding; the result is then ``None``.
    """
    if not has_required(extension, "bufferView", "an index", at, diagnostics):
        return None
    count = document.count("bufferViews")
    view_index = read_index(extension, "bufferView", at, diagnostics, count=count)
    ids = read_object(extension, "attributes", at, diagnostics) or {}
    view = None if view_index is None else read_buffer_view(document, view_index, diagnostics)
    if view is None:
        return None
    try:
        draco = importlib.import_module("DracoPy")
    except ImportError:
        diagnostics.report(DRACO_PACKAGE_MISSING, at)
        return None
    try:
        mesh = draco.decode(bytes(view[0]))
        triangles = np.asarray(mesh.faces, dtype=np.int64).reshape(-1, 3)
        attributes = {}
        for name in ids:
            unique_id = read_size(ids, name, at / "attributes", diagnostics, default=None)
            found = None if unique_id is None else mesh.get_attribute_by_unique_id(unique_id)
            if found is not None:
                data = np.asarray(found["data"])
                attributes[name] = data.reshape(len(data), -1)
    except Exception as exc:  # DracoPy raises bare Exception subclasses on bad data.
        diagnostics.report(DRACO_UNREADABLE, at, got=str(exc) or type(exc).__name__)
        return None
    return attributes, triangles
