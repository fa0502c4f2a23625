"""The triangles that a mesh collider stands for, with morph targets and skins applied.

KHR_physics_rigid_bodies, "Geometry": the meshes of the referenced node and its children, deformed
as its skin and weights say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.meshes import Primitive, morphed_positions, read_mesh
from gltf_bullet.gltf.skins import read_skin, skinned_positions
from gltf_bullet.model import MeshPart, MeshShape
from gltf_bullet.planning.shapes.shape_plans import TriangleSet
from gltf_bullet.transforms import FloatArray

_STILL = 1e-6
"""Share of its numbers by which rounding may change the transform of a part."""

Deformation: TypeAlias = Mapping[int, FloatArray]
"""Morph weights by node."""


def collision_mesh(
    shape: MeshShape,
    document: Document,
    asset_from_node: FloatArray,
    diagnostics: Diagnostics,
    deformation: Deformation | None = None,
) -> TriangleSet | None:
    """The triangles of ``shape`` in its own frame; ``None`` when no part can be read.

    Args:
        shape: The model's reference to glTF meshes.
        document: The file that holds them.
        asset_from_node: Global transforms of the nodes, for skins; any common frame will do,
            shape [node_count, 4, 4].
        diagnostics: Receives the findings of reading the meshes.
        deformation: Morph weights by node other than the authored ones.
    """
    points: list[FloatArray] = []
    triangles = []
    offset = 0
    for part in shape.parts:
        mesh = read_mesh(document, part.mesh, diagnostics)
        if mesh is None:
            continue
        weights = _morph_weights(part, mesh.weights, document, deformation or {})
        for primitive in mesh.primitives:
            vertices = _part_vertices(
                part, primitive, weights, document, asset_from_node, diagnostics
            )
            points.append(vertices)
            triangles.append(primitive.triangles + offset)
            offset += len(vertices)
    if not points:
        return None
    return TriangleSet(np.concatenate(points), np.concatenate(triangles))


def _morph_weights(
    part: MeshPart,
    mesh_weights: tuple[float, ...],
    document: Document,
    deformation: Deformation,
) -> tuple[float, ...]:
    node = part.weights_node
    if node is not None and node in deformation:
        return tuple(deformation[node].tolist())
    if part.weights is not None:
        return part.weights
    authored = None if node is None else document.tree.weights_of[node]
    return authored or mesh_weights


def _part_vertices(
    part: MeshPart,
    primitive: Primitive,
    weights: tuple[float, ...],
    document: Document,
    asset_from_node: FloatArray,
    diagnostics: Diagnostics,
) -> FloatArray:
    vertices = morphed_positions(primitive, weights)
    skin = None if part.skin is None else read_skin(document, part.skin, diagnostics)
    if skin is not None and primitive.joints is not None and primitive.joint_weights is not None:
        frame = (
            np.eye(4)
            if part.skin_frame_node is None
            else np.linalg.pinv(asset_from_node[part.skin_frame_node])
        )
        joint_matrices = frame @ asset_from_node[list(skin.joints)] @ skin.inverse_bind_matrices
        return skinned_positions(
            vertices, primitive.joints, primitive.joint_weights, joint_matrices
        )
    shape_from_part = _shape_from_part(part, asset_from_node)
    if shape_from_part is None:
        return vertices
    moved: FloatArray = vertices @ shape_from_part[:3, :3].T + shape_from_part[:3, 3]
    return moved


def _shape_from_part(part: MeshPart, asset_from_node: FloatArray) -> FloatArray | None:
    """Transform of a part into its shape's frame, shape [4, 4]; ``None`` for the identity.

    The authored matrix is used, to the bit, while the two nodes are as the file has them.
    """
    authored = None
    if part.shape_from_part is not None:
        authored = np.array(part.shape_from_part).reshape(4, 4)
    if part.node is None or part.frame_node is None:
        return authored
    now = np.linalg.pinv(asset_from_node[part.frame_node]) @ asset_from_node[part.node]
    then = np.eye(4) if authored is None else authored
    is_there = np.abs(now - then).max() <= _STILL * max(1.0, float(np.abs(then).max()))
    return authored if is_there else now
