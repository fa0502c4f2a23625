"""The primitives of a node as parts: triangles in the frame of their owner, and material.

Morph targets and skins are applied in their current state. A skin whose joints belong to several
bodies is divided: each triangle follows the body of the joint with the largest weight.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from gltf_bullet.diagnostics import ROOT, Diagnostics, warning
from gltf_bullet.gltf.dispensable import do_without
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.images import ImageArray, read_image
from gltf_bullet.gltf.materials import Material, read_material
from gltf_bullet.gltf.meshes import Primitive, morphed_positions, read_mesh
from gltf_bullet.gltf.skins import read_skin, skinned_positions
from gltf_bullet.planning.shapes.collision_meshes import Deformation
from gltf_bullet.records import replace
from gltf_bullet.rendering.visual_plans import flat_shaded
from gltf_bullet.scene import NodeFrames
from gltf_bullet.transforms import BoolArray, FloatArray, IntArray

TEXCOORD_MISSING = warning(
    "TEXCOORD_MISSING",
    "the material asks for TEXCOORD_{got}, which the primitive does not have; "
    "it is shown without its texture",
)
SKIN_RIGID = warning(
    "SKIN_RIGID",
    "the skin hangs on {bodies} bodies; each triangle follows one of them, and {share:.0%} of the "
    "vertices would follow several (up to {other:.2g} of their weight)",
)


class Part(Struct, frozen=True, eq=False, kw_only=True):
    """One primitive of one node, in the frame of its owner: a body or an animated node."""

    node: int
    points: FloatArray
    """Positions [m], shape [vertex_count, 3]."""
    normals: FloatArray
    """Unit normals, shape [vertex_count, 3]."""
    triangles: IntArray
    material: Material
    uvs: FloatArray | None = None
    """Coordinates of the base colour texture, v growing downwards, shape [vertex_count, 2]."""
    image: ImageArray | None = None
    """The base colour texture; never without ``uvs``."""
    colors: FloatArray | None = None
    """Linear RGBA factors, shape [vertex_count, 4]."""

    def moved(self, matrix: FloatArray) -> Part:
        """The part under a rigid transform, shape [4, 4]."""
        turn = matrix[:3, :3]
        return replace(
            self, points=self.points @ turn.T + matrix[:3, 3], normals=self.normals @ turn.T
        )

    def subset(self, chosen: BoolArray) -> Part:
        """The chosen triangles and the vertices that they use."""
        kept, inverse = np.unique(self.triangles[chosen], return_inverse=True)
        return replace(
            self,
            points=self.points[kept],
            normals=self.normals[kept],
            uvs=None if self.uvs is None else self.uvs[kept],
            colors=None if self.colors is None else self.colors[kept],
            triangles=inverse.reshape(-1, 3).astype(np.int64),
        )

    def corners(self) -> FloatArray:
        """Every vertex attribute by triangle corner, shape [triangle_count, 3, n]."""
        columns = [self.points, self.normals]
        columns += [array for array in (self.uvs, self.colors) if array is not None]
        return np.concatenate(columns, axis=1)[self.triangles]

    def with_corners(self, corners: FloatArray) -> Part:
        """A copy of the surface with other triangles, which share no vertices."""
        rows = corners.reshape(-1, corners.shape[2])
        colors_at = 6 if self.uvs is None else 8
        return replace(
            self,
            points=rows[:, :3],
            normals=rows[:, 3:6],
            uvs=None if self.uvs is None else rows[:, 6:8],
            colors=None if self.colors is None else rows[:, colors_at : colors_at + 4],
            triangles=np.arange(len(rows), dtype=np.int64).reshape(-1, 3),
        )


class PartReader:
    """Reads the parts of nodes in the current state of the scene."""

    def __init__(
        self,
        document: Document,
        frames: NodeFrames,
        deformation: Deformation,
        diagnostics: Diagnostics,
    ) -> None:
        self._document = document
        self._frames = frames
        self._deformation = deformation
        self._diagnostics = diagnostics

    def weights(self, node: int) -> tuple[float, ...]:
        """Current morph weights of a node; empty if those of the mesh apply."""
        if node in self._deformation:
            return tuple(self._deformation[node].tolist())
        return self._document.tree.weights_of[node] or ()

    def read(self, node: int, owner_from_node: FloatArray) -> Iterator[Part]:
        """The parts of a node without a skin in the frame of its owner, shape [4, 4]."""
        for primitive, points in self._primitives(node):
            plain = primitive.morph_positions is None
            yield self._part(node, primitive, points, owner_from_node, keep_normals=plain)

    def read_skinned(
        self, node: int, skin_index: int, owner_of: IntArray
    ) -> Iterator[tuple[int, Part]]:
        """Parts of a node with a skin in the world's frame, each with the owner that it follows.

        Args:
            node: A node with a mesh and a skin.
            skin_index: Index of that skin.
            owner_of: Owner of each node, -1 for none, shape [node_count].
        """
        skin = read_skin(self._document, skin_index, self._diagnostics)
        world = self._frames.world_from_node
        for primitive, points in self._primitives(node):
            if skin is None or primitive.joints is None or primitive.joint_weights is None:
                yield (
                    int(owner_of[node]),
                    self._part(node, primitive, points, world[node], keep_normals=True),
                )
                continue
            points = skinned_positions(
                points, primitive.joints, primitive.joint_weights, skin.joint_matrices(world)
            )
            part = self._part(node, primitive, points, np.eye(4), keep_normals=False)
            joints = np.minimum(primitive.joints, len(skin.joints) - 1)
            owners = owner_of[np.array(skin.joints)][joints]
            best = np.argmax(primitive.joint_weights, axis=1)
            owner_of_vertex = owners[np.arange(len(owners)), best]
            found = np.unique(owner_of_vertex)
            if len(found) > 1:
                self._report_rigid(node, owners, owner_of_vertex, primitive.joint_weights, found)
            of_triangle = owner_of_vertex[primitive.triangles[:, 0]]
            for owner in found.tolist():
                if (of_triangle == owner).any():
                    yield owner, part.subset(of_triangle == owner)

    def _report_rigid(
        self,
        node: int,
        owners: IntArray,
        owner_of_vertex: IntArray,
        weights: FloatArray,
        found: IntArray,
    ) -> None:
        totals = weights.sum(axis=1)
        of_others = np.where(owners != owner_of_vertex[:, None], weights, 0.0).sum(axis=1)
        of_others = of_others / np.where(totals > 0.0, totals, 1.0)
        if of_others.max() > 0.01:
            self._diagnostics.report(
                SKIN_RIGID,
                ROOT / "nodes" / node / "skin",
                bodies=len(found),
                share=float((of_others > 0.01).mean()),
                other=float(of_others.max()),
            )

    def _primitives(self, node: int) -> Iterator[tuple[Primitive, FloatArray]]:
        mesh_index = self._document.tree.mesh_of[node]
        mesh = None
        if mesh_index is not None:
            # Collision geometry must report these errors; a picture need not.
            found = Diagnostics()
            mesh = read_mesh(self._document, mesh_index, found)
            do_without(found, "the picture goes without it", self._diagnostics)
        if mesh is None:
            return
        weights = self.weights(node) or mesh.weights
        for primitive in mesh.primitives:
            if len(primitive.triangles):
                yield primitive, morphed_positions(primitive, weights)

    def _part(
        self,
        node: int,
        primitive: Primitive,
        points: FloatArray,
        matrix: FloatArray,
        *,
        keep_normals: bool,
    ) -> Part:
        material = read_material(self._document, primitive.material, self._diagnostics)
        uvs, image = self._texture(primitive, material)
        linear = matrix[:3, :3]
        moved = points @ linear.T + matrix[:3, 3]
        triangles = primitive.triangles
        mirrored = np.linalg.det(linear) < 0.0
        colors = primitive.colors
        if primitive.normals is not None:
            triangles = triangles[:, ::-1] if mirrored else triangles
            normals = (
                _turned_normals(primitive.normals, linear)
                if keep_normals
                else _smooth_normals(moved, triangles)
            )
        else:
            # glTF 2.0, "Meshes": without normals, flat ones.
            order = triangles[:, ::-1] if mirrored else triangles
            corner = order.reshape(-1)
            uvs = None if uvs is None else uvs[corner]
            colors = None if colors is None else colors[corner]
            moved, normals, triangles = flat_shaded(moved, order)
        return Part(
            node=node,
            points=moved,
            normals=normals,
            triangles=triangles,
            material=material,
            uvs=uvs,
            image=image,
            colors=colors,
        )

    def _texture(
        self, primitive: Primitive, material: Material
    ) -> tuple[FloatArray | None, ImageArray | None]:
        use = material.texture
        if use is None:
            return None, None
        image = read_image(self._document, use.image, self._diagnostics)
        if image is None:
            return None, None
        authored = primitive.texcoords.get(use.texcoord)
        if authored is None:
            self._diagnostics.report(TEXCOORD_MISSING, primitive.pointer, got=use.texcoord)
            return None, None
        transform = np.array(use.transform)
        return authored @ transform[:, :2].T + transform[:, 2], image


def _smooth_normals(points: FloatArray, triangles: IntArray) -> FloatArray:
    """Vertex normals of a deformed mesh: means of its triangles' normals, weighted by area.

    Hard edges stay, since the file has separate vertices on either side.
    """
    corners = points[triangles]
    faces = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros_like(points)
    for corner in range(3):
        np.add.at(normals, triangles[:, corner], faces)
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.asarray(normals / np.where(lengths > 0.0, lengths, 1.0), np.float64)


def _turned_normals(normals: FloatArray, linear: FloatArray) -> FloatArray:
    """Normals transformed by the cofactor matrix, which is correct under non-uniform scale too."""
    cofactor = np.cross(linear[[1, 2, 0]], linear[[2, 0, 1]])
    turned = normals @ cofactor.T
    lengths = np.linalg.norm(turned, axis=1, keepdims=True)
    return np.asarray(turned / np.where(lengths > 0.0, lengths, 1.0), np.float64)
