"""How far the visible meshes of a scene reach, from the bounds that files give."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from gltf_bullet.transforms import FloatArray

if TYPE_CHECKING:
    from gltf_bullet.runtime.scene import Scene

__all__ = ["scenery_points"]


def scenery_points(scene: Scene) -> FloatArray:
    """Corners of the boxes around all drawn meshes, in the world [m], shape [k, 3].

    From ``min`` and ``max`` of the positions, which the specification asks for; a mesh without
    them counts with the origin of its node.
    """
    if scene.core.options.visuals != "mesh":
        return np.zeros((0, 3))
    tree = scene.asset.tree
    inside = tree.nodes_of_scene(None)
    found = [np.zeros((0, 3))]
    for node, mesh in enumerate(tree.mesh_of):
        if mesh is None or not inside[node]:
            continue
        matrix = scene.node_matrices[node]
        corners = _corners(scene.asset.document.json, mesh)
        found.append(corners @ matrix[:3, :3].T + matrix[:3, 3])
    return np.concatenate(found)


def _corners(root: object, mesh: int) -> FloatArray:
    corners = [(0.0, 0.0, 0.0)]
    try:
        for primitive in root["meshes"][mesh]["primitives"]:  # type: ignore[index]
            accessor = root["accessors"][primitive["attributes"]["POSITION"]]  # type: ignore[index]
            bounds = zip(accessor["min"], accessor["max"], strict=True)
            corners += [(float(x), float(y), float(z)) for x, y, z in itertools.product(*bounds)]
    except (KeyError, IndexError, TypeError, ValueError):
        # Reading has said what is wrong with it.
        return np.array(corners)
    return np.array(corners[1:] or corners)
