"""Skins: joints, inverse bind matrices, and skinning of positions (glTF 2.0, "Skins").

The joints alone place a skinned mesh: the transform of its own node is ignored, so positions are
in the frame of the joints' world matrices.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gltf_bullet.diagnostics import ROOT, Diagnostics, warning
from gltf_bullet.gltf.accessors import accessor_of, all_carried
from gltf_bullet.gltf.dispensable import do_without
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import INDEX_OUT_OF_RANGE, Reader
from gltf_bullet.gltf.primitives import Primitive
from gltf_bullet.transforms import FloatArray

SKIN_WITHOUT_JOINTS = warning(
    "SKIN_WITHOUT_JOINTS",
    "the skin has no joints; must have one at least; its meshes are not deformed",
)
INVERSE_BIND_WRONG = warning(
    "INVERSE_BIND_WRONG",
    "inverseBindMatrices has {got}; must be {needed} MAT4 of floats; identities are used",
)
SKIN_JOINT_OUT_OF_RANGE = warning(
    "SKIN_JOINT_OUT_OF_RANGE",
    "a vertex refers to joint {got}; the skin has {count}; it is not moved by that joint",
)


class Skin(Struct, frozen=True, eq=False, kw_only=True):
    """The joints that deform a mesh."""

    joints: tuple[int, ...]
    """Node indices; vertices refer to positions in this list."""
    inverse_bind_matrices: FloatArray
    """joint_from_mesh in the bind pose, shape [joint_count, 4, 4]."""
    skeleton: int | None
    """The root node of the joints as authored."""
    name: str

    def joint_matrices(self, world_from_node: FloatArray) -> FloatArray:
        """world_from_mesh per joint, [joint_count, 4, 4], from the matrices of all nodes."""
        matrices: FloatArray = world_from_node[list(self.joints)] @ self.inverse_bind_matrices
        return matrices


def read_skin(document: Document, index: int, diagnostics: Diagnostics) -> Skin | None:
    """Skin ``index``; ``None``, with an issue, without usable joints. Read once per document."""
    count = document.count("skins")
    if not 0 <= index < count:
        at = ROOT / "skins" / index
        diagnostics.report(INDEX_OUT_OF_RANGE, at, key="skin", got=index, count=count)
        return None

    def read(sink: Diagnostics) -> Skin | None:
        found = Diagnostics()
        skin = _read_skin(document, index, found)
        instead = "its meshes are not deformed" if skin is None else "the skin does without it"
        do_without(found, instead, sink)
        return skin

    return document.derive(("skin", index), read, diagnostics)


def joints_exist(primitive: Primitive, skin: Skin, diagnostics: Diagnostics) -> bool:
    """Return True if the skin has every joint that a vertex uses; else report it."""
    if primitive.joints is None or primitive.joint_weights is None:
        return True
    used = primitive.joints[primitive.joint_weights != 0.0]
    if not used.size or used.max() < len(skin.joints):
        return True
    diagnostics.report(
        SKIN_JOINT_OUT_OF_RANGE,
        primitive.pointer / "attributes",
        got=int(used.max()),
        count=len(skin.joints),
    )
    return False


def skinned_positions(
    positions: FloatArray,
    joints: npt.NDArray[np.int64],
    weights: FloatArray,
    joint_matrices: FloatArray,
) -> FloatArray:
    """Positions [vertex_count, 3] moved by their joints, in the target frame of the matrices.

    Args:
        positions: In the mesh frame, morph targets already applied, shape [vertex_count, 3].
        joints: Indices into the joint list, shape [vertex_count, 4 * sets].
        weights: Weights of the same shape. They are scaled to the sum 1 if necessary; a vertex
            without any weight follows its first joint, as in three.js and Babylon.
        joint_matrices: world_from_mesh per joint, shape [joint_count, 4, 4]; joints beyond them
            do not count (``joints_exist`` reports them).
    """
    exists = joints < len(joint_matrices)
    joints = np.where(exists, joints, 0)
    weights = np.where(exists, weights, 0.0)
    total = weights.sum(axis=1, keepdims=True)
    weightless = np.abs(total) < 1e-12
    weights = np.where(weightless, np.arange(weights.shape[1]) == 0, weights)
    weights = weights / np.where(weightless, 1.0, total)
    result = np.zeros_like(positions)
    for slot in range(joints.shape[1]):
        matrices = joint_matrices[joints[:, slot]]
        moved = np.einsum("vij,vj->vi", matrices[:, :3, :3], positions) + matrices[:, :3, 3]
        result += weights[:, slot, None] * moved
    return result


def _read_skin(document: Document, index: int, diagnostics: Diagnostics) -> Skin | None:
    owner = document.reader("skins", index, diagnostics)
    node_count = len(document.tree)
    owner.has("joints", "a list of indices")
    before = len(diagnostics)
    joints = owner.indices("joints", count=node_count)
    if joints is None or len(diagnostics) > before:
        # Leaving one joint out would shift the others under the vertices that refer to them.
        return None
    if not joints:
        owner.report(SKIN_WITHOUT_JOINTS, "joints")
        return None
    return Skin(
        joints=joints,
        inverse_bind_matrices=_inverse_bind_matrices(document, owner, len(joints)),
        skeleton=owner.index("skeleton", count=node_count),
        name=owner.string("name") or "",
    )


def _inverse_bind_matrices(document: Document, owner: Reader, joint_count: int) -> FloatArray:
    """The matrices of the accessor, identities without one."""
    key = "inverseBindMatrices"
    identities = np.broadcast_to(np.eye(4), (joint_count, 4, 4))
    if key not in owner:
        return identities
    matrices = accessor_of(document, owner, key)
    if matrices is None:
        return identities
    if matrices.shape[1:] != (4, 4) or len(matrices) < joint_count or matrices.dtype.kind != "f":
        got = f"{len(matrices)} {matrices.dtype.name} elements of shape {matrices.shape[1:]}"
        owner.report(INVERSE_BIND_WRONG, key, got=got, needed=joint_count)
        return identities
    if not all_carried(matrices, key, owner, key):
        return identities
    result = matrices[:joint_count].astype(np.float64)
    result.flags.writeable = False
    return result
