"""Collision geometry made of glTF meshes, named by mesh index or by node.

However a dialect names a plain mesh, the result is the same ``MeshPart(mesh=k)``; only what really
differs (child transforms, skins, morph weights) is kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer, warning
from gltf_bullet.dialects.reading import known_keys, report_unknown, require
from gltf_bullet.dialects.shape_table import SHAPE_LEFT_OUT
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import Reader
from gltf_bullet.model import MeshPart, MeshShape, Shape
from gltf_bullet.records import replace
from gltf_bullet.transforms import FloatArray, matrices_from_trs

GEOMETRY_NODE_WITHOUT_MESH = warning(
    "GEOMETRY_NODE_WITHOUT_MESH",
    "node {got} has no mesh, nor has a node below it; must have one to give a collision geometry; "
    "whatever has it is left out",
)
NODE_WEIGHTS_MISSING = warning(
    "NODE_WEIGHTS_MISSING",
    "the shape has useNodeWeights but node {got} has no weights; must have them; "
    "the mesh's own weights are used",
)
WEIGHTS_COUNT = warning(
    "WEIGHTS_COUNT",
    "{got} weights are given for mesh {mesh}, which has {count} morph targets; "
    "must be one for each; the mesh's own weights are used",
)


_POINTER: Final = "KHR_animation_pointer"
_NODE_POINTER: Final = re.compile("/nodes/([0-9]{1,9})/(?:translation|rotation|scale)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshTemplate:
    """An entry of a shape table whose meaning depends on the node that uses it."""

    mesh: int
    skin: int | None
    weights: tuple[float, ...] | None
    use_node_weights: bool
    convex_hull: bool
    pointer: JsonPointer = field(default=ROOT, compare=False)

    def on_no_node(self) -> MeshShape | None:
        """The shape as pointers know it that no node uses; ``None``: its weights are a node's."""
        if self.use_node_weights:
            return None
        part = MeshPart(mesh=self.mesh, weights=self.weights)
        return MeshShape(parts=(part,), convex_hull=self.convex_hull, pointer=self.pointer)

    def on_node(self, node: int, document: Document, diagnostics: Diagnostics) -> MeshShape:
        """The shape as a collider or trigger on ``node`` has it."""
        weights = self.weights
        if self.use_node_weights:
            weights = document.tree.weights_of[node]
            if weights is None:
                diagnostics.report(NODE_WEIGHTS_MISSING, ROOT / "nodes" / node, got=node)
            at = ROOT / "nodes" / node / "weights"
            weights = weights_of_mesh(weights, self.mesh, at, diagnostics, document)
        part = MeshPart(
            mesh=self.mesh,
            skin=self.skin,
            skin_frame_node=node if self.skin is not None else None,
            weights=weights,
            weights_node=node if self.use_node_weights and weights is not None else None,
        )
        return MeshShape(parts=(part,), convex_hull=self.convex_hull, pointer=self.pointer)


ShapeEntry = Shape | MeshTemplate
"""An entry of a shape table."""


def shape_on_node(
    entry: ShapeEntry | None, node: int, document: Document, diagnostics: Diagnostics
) -> Shape | None:
    """The shape that a table entry gives to a node."""
    if isinstance(entry, MeshTemplate):
        return entry.on_node(node, document, diagnostics)
    return entry


def read_mesh(
    block: Reader, document: Document, *, convex_hull: bool, what: str | None = None
) -> MeshShape | None:
    """The mesh that the required member ``mesh`` names by index, undeformed.

    ``what`` names the kind of block if it has no other members.
    """
    if what is not None:
        report_unknown(block, known_keys("mesh"), what)
    if not require(block, "mesh", "the index of a mesh", instead=SHAPE_LEFT_OUT):
        return None
    count = document.count("meshes")
    mesh = block.index("mesh", count=count, instead=SHAPE_LEFT_OUT, refers=True)
    if mesh is None:
        return None
    return MeshShape(parts=(MeshPart(mesh=mesh),), convex_hull=convex_hull, pointer=block.at)


def mesh_of_node(
    node: int, owner: Reader, document: Document, *, convex_hull: bool
) -> MeshShape | None:
    """The meshes of ``node`` and of all nodes below it, in the frame of ``node``.

    KHR_physics_rigid_bodies, "Geometry": "the mesh properties on the referenced node, including any
    child nodes", deformed by their skins and weights.
    """
    tree = document.tree
    parts: list[MeshPart] = []
    animated = _animated_nodes(document) if tree.children[node] else frozenset()
    stack: list[tuple[int, FloatArray | None, bool]] = [(node, None, False)]
    while stack:
        current, shape_from_current, is_animated = stack.pop()
        mesh = tree.mesh_of[current]
        if mesh is not None:
            part = _part(current, mesh, shape_from_current, node, document)
            parts.append(replace(part, is_animated=is_animated and part.node is not None))
        for child in reversed(tree.children[current]):
            local = matrices_from_trs(
                tree.translations[child], tree.rotations_xyzw[child], tree.scales[child]
            )
            below = local if shape_from_current is None else shape_from_current @ local
            stack.append((child, below, is_animated or child in animated))
    if not parts:
        owner.report(GEOMETRY_NODE_WITHOUT_MESH, got=node)
        return None
    return MeshShape(parts=tuple(parts), convex_hull=convex_hull, pointer=owner.at)


def _animated_nodes(document: Document) -> frozenset[int]:
    """Nodes whose place an animation of the file sets; wrong channels are reported elsewhere."""
    found: set[int] = set()
    for animation in document.objects("animations"):
        channels = animation.get("channels")
        for channel in channels if isinstance(channels, list) else ():
            target = channel.get("target") if isinstance(channel, dict) else None
            if not isinstance(target, dict):
                continue
            if target.get("path") != "pointer":
                node = target.get("node")
                found |= {node} if isinstance(node, int) else set()
                continue
            extensions = target.get("extensions")
            extension = extensions.get(_POINTER) if isinstance(extensions, dict) else None
            pointer = extension.get("pointer") if isinstance(extension, dict) else None
            match = _NODE_POINTER.match(pointer) if isinstance(pointer, str) else None
            found |= {int(match[1])} if match else set()
    return frozenset(found)


def _part(
    node: int, mesh: int, shape_from_node: FloatArray | None, frame_node: int, document: Document
) -> MeshPart:
    skin = document.tree.skin_of[node]
    weights = document.tree.weights_of[node]
    # Weights of a node may be animated without being authored; a mesh without targets has none.
    is_morphed = weights is not None or _target_count(mesh, document) > 0
    shape_from_part: tuple[float, ...] | None = None
    # glTF: the transform of a skinned mesh's node is ignored, the joints place the vertices.
    may_part = skin is None and node != frame_node
    if (
        skin is None
        and shape_from_node is not None
        and not np.array_equal(shape_from_node, np.eye(4))
    ):
        shape_from_part = tuple(shape_from_node.ravel().tolist())
    return MeshPart(
        mesh=mesh,
        shape_from_part=shape_from_part,
        node=node if may_part else None,
        frame_node=frame_node if may_part else None,
        skin=skin,
        skin_frame_node=None if skin is None else frame_node,
        weights=weights,
        weights_node=node if is_morphed else None,
    )


def weights_of_mesh(
    weights: tuple[float, ...] | None,
    mesh: int,
    at: JsonPointer,
    diagnostics: Diagnostics,
    document: Document,
) -> tuple[float, ...] | None:
    """``weights`` where their number fits the mesh, else ``None`` and a finding."""
    count = _target_count(mesh, document)
    if weights is None or len(weights) == count:
        return weights
    diagnostics.report(WEIGHTS_COUNT, at, got=len(weights), mesh=mesh, count=count)
    return None


def _target_count(mesh: int, document: Document) -> int:
    """The number of morph targets, the same for all primitives of a mesh (glTF 2.0)."""
    primitives = document.objects("meshes")[mesh].get("primitives")
    targets = [
        primitive.get("targets")
        for primitive in (primitives if isinstance(primitives, list) else ())
        if isinstance(primitive, dict)
    ]
    return max((len(entry) for entry in targets if isinstance(entry, list)), default=0)
