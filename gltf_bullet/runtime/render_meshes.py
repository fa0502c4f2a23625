"""The render meshes that belong to each body, baked into its frame.

One mesh per body: node transforms go into the vertices, base colour factors into a palette.
Textures are not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gltf_bullet.bullet.visual_plan import (
    NO_VISUALS,
    Color,
    VisualMesh,
    VisualPlans,
    flat_shaded,
)
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import JsonObject
from gltf_bullet.gltf.meshes import Primitive, morphed_positions, read_mesh
from gltf_bullet.gltf.skins import read_skin, skinned_positions
from gltf_bullet.scene import NodeFrames, NodeTree
from gltf_bullet.transforms import FloatArray

__all__ = ["has_render_meshes", "plan_visuals"]

_WHITE: Color = (1.0, 1.0, 1.0, 1.0)


def has_render_meshes(tree: NodeTree, scene_index: int | None = None) -> bool:
    """Whether any node of the scene shows a mesh."""
    if not any(mesh is not None for mesh in tree.mesh_of):
        return False
    inside = tree.nodes_of_scene(scene_index)
    return any(mesh is not None and inside[node] for node, mesh in enumerate(tree.mesh_of))


def plan_visuals(
    document: Document,
    frames: NodeFrames,
    motion_node_of: npt.NDArray[np.intp],
    scene_index: int | None,
    diagnostics: Diagnostics,
) -> VisualPlans:
    """The visuals of a scene.

    Args:
        document: The file.
        frames: Where its nodes stand at load.
        motion_node_of: Nearest motion node per node, -1 without one, shape [node_count].
        scene_index: Which glTF scene; ``None`` takes the file's default.
        diagnostics: Receives what reading the meshes finds.
    """
    tree = document.tree
    if not has_render_meshes(tree, scene_index):
        return NO_VISUALS
    inside = tree.nodes_of_scene(scene_index)
    nodes_of: dict[tuple[bool, int], list[int]] = {}
    for node, mesh in enumerate(tree.mesh_of):
        if mesh is None or not inside[node]:
            continue
        owner = int(motion_node_of[node])
        key = (True, owner) if owner >= 0 else (False, _root_of(tree, node))
        nodes_of.setdefault(key, []).append(node)
    baker = _Baker(document, frames, diagnostics)
    bodies: dict[int, VisualMesh] = {}
    scenery: list[VisualMesh] = []
    for (is_body, owner), nodes in nodes_of.items():
        baked = baker.bake(owner if is_body else None, nodes)
        if baked is not None and is_body:
            bodies[owner] = baked
        elif baked is not None:
            scenery.append(baked)
    return VisualPlans(bodies=bodies, scenery=tuple(scenery))


def _root_of(tree: NodeTree, node: int) -> int:
    above = tree.ancestors(node)
    return above[-1] if above else node


@dataclass(slots=True)
class _Part:
    points: FloatArray
    normals: FloatArray
    triangles: npt.NDArray[np.int64]
    color: Color


class _Baker:
    """Merges the meshes of a body; bodies that look the same share one result."""

    def __init__(self, document: Document, frames: NodeFrames, diagnostics: Diagnostics) -> None:
        self._document = document
        self._frames = frames
        self._diagnostics = diagnostics
        self._baked: dict[object, VisualMesh | None] = {}

    def bake(self, owner: int | None, nodes: list[int]) -> VisualMesh | None:
        """The meshes of ``nodes`` in the body frame of ``owner``, or in the world without one."""
        tree = self._document.tree
        owner_from_world = (
            np.eye(4) if owner is None else self._frames.pose(owner).inverse().matrix()
        )
        # Rounded far below what is visible, so that equal bodies have equal keys.
        placed = [
            (node, np.round(owner_from_world @ self._frames.world_from_node[node], 9) + 0.0)
            for node in nodes
        ]
        key: object = owner if any(tree.skin_of[node] is not None for node in nodes) else None
        content = tuple((tree.mesh_of[n], tree.weights_of[n], m.tobytes()) for n, m in placed)
        if (key, content) not in self._baked:
            parts = [
                part for n, m in placed for part in self._parts_of_node(n, m, owner_from_world)
            ]
            self._baked[key, content] = _merge(parts)
        return self._baked[key, content]

    def _parts_of_node(
        self, node: int, owner_from_node: FloatArray, owner_from_world: FloatArray
    ) -> list[_Part]:
        tree = self._document.tree
        mesh_index, skin_index = tree.mesh_of[node], tree.skin_of[node]
        if mesh_index is None:
            return []
        mesh = read_mesh(self._document, mesh_index, self._diagnostics)
        skin = None
        if skin_index is not None:
            skin = read_skin(self._document, skin_index, self._diagnostics)
        parts = []
        for primitive in mesh.primitives if mesh is not None else ():
            if not len(primitive.triangles):
                continue
            points = morphed_positions(
                primitive, tree.weights_of[node] or (mesh.weights if mesh else ())
            )
            matrix = owner_from_node
            is_plain = primitive.morph_positions is None
            if (
                skin is not None
                and primitive.joints is not None
                and primitive.joint_weights is not None
            ):
                joints = owner_from_world @ skin.joint_matrices(self._frames.world_from_node)
                points = skinned_positions(
                    points, primitive.joints, primitive.joint_weights, joints
                )
                matrix, is_plain = np.eye(4), False
            color = _base_color(self._document, primitive)
            parts.append(_placed(points, primitive, matrix, color, keep_normals=is_plain))
        return parts


def _placed(
    points: FloatArray,
    primitive: Primitive,
    matrix: FloatArray,
    color: Color,
    *,
    keep_normals: bool,
) -> _Part:
    linear = matrix[:3, :3]
    moved = points @ linear.T + matrix[:3, 3]
    triangles = primitive.triangles
    if np.linalg.det(linear) < 0.0:
        triangles = triangles[:, ::-1]
    if primitive.normals is not None and keep_normals:
        # Normals transform with the cofactor matrix: also right under non-uniform scale.
        cofactor = np.stack([np.cross(linear[(k + 1) % 3], linear[(k + 2) % 3]) for k in range(3)])
        normals = primitive.normals @ cofactor.T
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        normals = normals / np.where(lengths > 0.0, lengths, 1.0)
        return _Part(moved, normals, triangles, color)
    # glTF 2.0, "Meshes": without normals, flat ones.
    return _Part(*flat_shaded(moved, triangles), color)


def _merge(parts: list[_Part]) -> VisualMesh | None:
    if not parts:
        return None
    palette = list(dict.fromkeys(part.color for part in parts))
    starts = np.cumsum([0, *(len(part.points) for part in parts)])
    return VisualMesh(
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.normals for part in parts]),
        np.concatenate([p.triangles + start for p, start in zip(parts, starts[:-1], strict=True)]),
        palette,
        np.concatenate([np.full(len(p.points), palette.index(p.color)) for p in parts]),
    )


def _base_color(document: Document, primitive: Primitive) -> Color:
    """``baseColorFactor``, from linear to what a screen shows."""
    materials = document.objects("materials")
    if primitive.material is None or not 0 <= primitive.material < len(materials):
        return _WHITE
    surface: object = materials[primitive.material].get("pbrMetallicRoughness")
    factor = _member(surface, "baseColorFactor")
    if not isinstance(factor, list) or len(factor) != 4:
        return _WHITE
    if not all(isinstance(c, (int, float)) and 0.0 <= c <= 1.0 for c in factor):
        return _WHITE
    red, green, blue = (float(c) ** (1.0 / 2.2) for c in factor[:3])
    return (red, green, blue, float(factor[3]))


def _member(value: object, key: str) -> object:
    holder: JsonObject = value if isinstance(value, dict) else {}
    return holder.get(key)
