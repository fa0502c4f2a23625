"""Static colliders of which a file has no picture: tables and floors without a mesh."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from gltf_bullet.gltf.document import Document
from gltf_bullet.model import Box, Capsule, Collider, Cylinder, MeshShape, Plane, Shape, Sphere
from gltf_bullet.transforms import FloatArray

_FLAT = 0.1
"""Part of a collider's largest extent below which it is flat along an axis, as floors are."""
_ENDLESS = 1e6
"""[m] Half the extent of what has no end."""


def bare_colliders(
    document: Document, motions: Iterable[int], colliders: Mapping[int, Collider]
) -> frozenset[int]:
    """Colliders without motion of which the file has no other picture.

    A mesh on the node, above it, below it, or beside it below the same node is one, since exporters
    write a wall and its collider in any of these ways; so is a mesh that covers it.

    Args:
        document: The file.
        motions: Nodes with motion.
        colliders: Colliders by node.
    """
    tree = document.tree
    marked = np.zeros(len(tree), dtype=bool)
    marked[list(motions)] = True
    rests = tree.nearest_at_or_above(marked) < 0
    drawn = np.array([mesh is not None for mesh in tree.mesh_of], dtype=bool) & rests
    covered = drawn.copy()
    for node in np.flatnonzero(drawn).tolist():
        covered[list(tree.ancestors(node))] = True
    is_below = tree.nearest_at_or_above(drawn) >= 0

    def is_bare(node: int) -> bool:
        parent = int(tree.parents[node])
        beside = tree.children[parent] if parent >= 0 else ()
        return not (covered[node] or is_below[node] or covered[list(beside)].any())

    found = [node for node in colliders if rests[node] and is_bare(node)]
    if not found or not drawn.any():
        return frozenset(found)
    frames = tree.compose(tree.local_matrices(), np.eye(4))
    boxes = [
        _box_in(frames[node], *box)
        for node in np.flatnonzero(drawn).tolist()
        if (box := _bounds_of_mesh(document, tree.mesh_of[node])) is not None
    ]
    return frozenset(
        node for node in found if not _is_covered(document, frames[node], colliders[node], boxes)
    )


def _is_covered(
    document: Document, world_from_node: FloatArray, collider: Collider, boxes: list[FloatArray]
) -> bool:
    """True if a mesh is at least half as large as a collider where that is not flat."""
    half = _half_extents(collider.shape)
    box = None if half is None else (-half, half)
    if isinstance(collider.shape, MeshShape):
        box = _bounds_of_mesh(document, collider.shape.parts[0].mesh)
    if box is None:
        return True  # nothing to draw it by
    low, high = _box_in(world_from_node, *box)
    size = high - low
    flat = size <= _FLAT * size.max()
    for other_low, other_high in boxes:
        overlap = np.minimum(high, other_high) - np.maximum(low, other_low)
        if (overlap >= np.where(flat, -_FLAT * size.max(), 0.5 * size)).all():
            return True
    return False


def _half_extents(shape: Shape | None) -> FloatArray | None:
    match shape:
        case Box(size=size):
            return 0.5 * np.array(size)
        case Sphere(radius=radius):
            return np.full(3, radius)
        case Capsule(mid_height=height, radius_bottom=one, radius_top=other):
            radius = max(one, other)
            return np.array([radius, radius + 0.5 * height, radius])
        case Cylinder(height=height, radius_bottom=one, radius_top=other):
            return np.array([max(one, other), 0.5 * height, max(one, other)])
        case Plane(size_x=x, size_z=z):
            return np.array([min(0.5 * x, _ENDLESS), 0.0, min(0.5 * z, _ENDLESS)])
    return None


def _bounds_of_mesh(document: Document, mesh: int | None) -> tuple[FloatArray, FloatArray] | None:
    """Lowest and highest corner of a mesh, as its accessors state them; ``None`` if none does."""
    corners = []
    found = document.objects("meshes")
    entries = found[mesh].get("primitives") if mesh is not None and mesh < len(found) else None
    accessors = document.objects("accessors")
    for primitive in entries if isinstance(entries, list) else ():
        attributes = primitive.get("attributes") if isinstance(primitive, dict) else None
        index = attributes.get("POSITION") if isinstance(attributes, dict) else None
        if isinstance(index, int) and 0 <= index < len(accessors):
            for key in ("min", "max"):
                corner = accessors[index].get(key)
                if isinstance(corner, list) and len(corner) == 3:
                    corners.append(corner)
    try:
        points = np.array(corners, dtype=np.float64).reshape(-1, 3)
    except (TypeError, ValueError):  # reported where meshes are read
        return None
    return (points.min(axis=0), points.max(axis=0)) if len(points) else None


def _box_in(matrix: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Corners of the box in another frame that holds a box, shape [2, 3]."""
    middle = matrix[:3, :3] @ (0.5 * (low + high)) + matrix[:3, 3]
    reach = np.abs(matrix[:3, :3]) @ (0.5 * (high - low))
    return np.stack([middle - reach, middle + reach])
