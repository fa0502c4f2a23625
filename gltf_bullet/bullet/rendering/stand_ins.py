"""Colliders in pictures, for bodies that were created without visuals.

PyBullet sets a body's visual shape at its creation only. A private world has a body per shape; its
pictures, with the same camera, are merged into those of the user's world, which is not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pybullet
from msgspec import Struct

from gltf_bullet.bullet.rendering.visual_files import load_texture
from gltf_bullet.bullet.rendering.visuals import mesh_arguments
from gltf_bullet.bullet.session import EngineLink
from gltf_bullet.bullet.shapes.engine_shapes import MAX_INDICES, MAX_VERTICES
from gltf_bullet.errors import EngineError
from gltf_bullet.rendering.visual_plans import VisualMesh
from gltf_bullet.transforms import FloatArray, IntArray, quats_from_matrices


class StandIn(Struct, frozen=True, kw_only=True, eq=False):
    """A shape that is drawn for a link."""

    mesh: VisualMesh
    link: EngineLink
    """The link in the user's world."""


class StandIns:
    """The stand-ins of one scene, in a private world that the first picture opens."""

    def __init__(
        self,
        shapes: Sequence[StandIn],
        world_from_shapes: Callable[[], FloatArray],
        kept: Path | None = None,
    ) -> None:
        """Store the shapes.

        Args:
            shapes: Shapes, one body each.
            world_from_shapes: Returns their poses, rigid, shape [shape_count, 4, 4].
            kept: Folder of kept textures; ``None``: there is no texture.
        """
        self._shapes, self._matrices, self._kept = shapes, world_from_shapes, kept
        self.bodies: list[int] = []
        """Bodies in the private world, in the order of the shapes; empty before the first
        :meth:`place`.
        """
        self.client_id = -1
        """Client id of the private world; -1 if it is not open."""
        self._links = np.array([*(shape.link for shape in shapes), (-1, -1)], dtype=np.int64)
        self._alphas = np.array([shape.mesh.color[3] for shape in shapes])
        corners = np.array([shape.mesh.bounds() for shape in shapes]).reshape(-1, 2, 3)
        self._corners: FloatArray = np.stack(
            [corners[:, [x, y, z], [0, 1, 2]] for x in (0, 1) for y in (0, 1) for z in (0, 1)],
            axis=1,
        )
        self._placed: FloatArray = np.full((len(shapes), 4, 4), np.nan)

    def place(self) -> bool:
        """Move all bodies to the present poses of their shapes; return True if any has moved.

        Raises:
            EngineError: PyBullet has no room for another client.
        """
        if not self._shapes:
            return False
        if self.client_id < 0:
            self._open()
        matrices = self._matrices()
        moved = np.flatnonzero((matrices != self._placed).any(axis=(1, 2)))
        rotations = quats_from_matrices(matrices[moved, :3, :3]).tolist()
        positions = matrices[moved, :3, 3].tolist()
        for number, position, rotation in zip(moved.tolist(), positions, rotations, strict=True):
            pybullet.resetBasePositionAndOrientation(
                self.bodies[number], position, rotation, physicsClientId=self.client_id
            )
        self._placed = matrices.copy()
        return len(moved) > 0

    def corners(self) -> FloatArray:
        """Return the corners of the shapes' boxes where they were placed [m], shape [count, 3]."""
        turned = self._corners @ np.swapaxes(self._placed[:, :3, :3], 1, 2)
        return (turned + self._placed[:, None, :3, 3]).reshape(-1, 3)

    def links_of(self, bodies: IntArray) -> IntArray:
        """Return body id and link in the user's world for private bodies, shape [..., 2]."""
        found: IntArray = self._links[self._numbers_of(bodies)]
        return found

    def alphas_of(self, bodies: IntArray) -> FloatArray:
        """Return the opacity of private bodies, shape [...]."""
        found: FloatArray = self._alphas[self._numbers_of(bodies)]
        return found

    def _numbers_of(self, bodies: IntArray) -> IntArray:
        """Return the number of each body's shape, -1 for id -1, shape [...]."""
        number_of = np.full(max(self.bodies, default=0) + 2, -1, dtype=np.intp)
        number_of[self.bodies] = np.arange(len(self.bodies))
        found: IntArray = number_of[bodies]  # id -1 selects the last place
        return found

    def _open(self) -> None:
        client = pybullet.connect(pybullet.DIRECT)
        if client < 0:
            raise EngineError("PyBullet refused another DIRECT connection")
        self.client_id = client
        shown: dict[VisualMesh, int] = {}
        textures: dict[bytes, int] = {}
        for shape in self._shapes:
            mesh = shape.mesh
            if mesh not in shown:
                shown[mesh] = _visual(client, mesh)
            body = pybullet.createMultiBody(
                baseVisualShapeIndex=shown[mesh], physicsClientId=client
            )
            self.bodies.append(body)
            texture = mesh.texture
            if texture is None or self._kept is None or shown[mesh] < 0:
                continue
            if texture.digest not in textures:
                textures[texture.digest] = load_texture(client, texture, self._kept)
            known = textures[texture.digest]
            pybullet.changeVisualShape(body, -1, textureUniqueId=known, physicsClientId=client)

    def close(self) -> None:
        """Close the private world."""
        if self.client_id >= 0 and pybullet.isConnected(self.client_id):
            pybullet.disconnect(self.client_id)
        self.client_id, self.bodies = -1, []
        self._placed[:] = np.nan


def _visual(client: int, mesh: VisualMesh) -> int:
    """Create a visual shape; return -1 if the engine refuses the mesh."""
    if not len(mesh.triangles) or len(mesh.points) > MAX_VERTICES:
        return -1
    if mesh.triangles.size > MAX_INDICES:
        return -1
    shape: int = pybullet.createVisualShape(
        pybullet.GEOM_MESH,
        rgbaColor=mesh.color,
        specularColor=[0.1, 0.1, 0.1],
        physicsClientId=client,
        **mesh_arguments(mesh),
    )
    return shape
