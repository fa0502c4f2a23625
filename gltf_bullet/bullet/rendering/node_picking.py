"""Lookup of the node at a pixel, for bodies that show several nodes.

A body's meshes are one visual shape, so PyBullet cannot tell its nodes apart. A private world has
one body per node and is drawn with the same camera; the user's world is not changed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pybullet

from gltf_bullet.bullet.rendering.pictures import IdArray, take_picture
from gltf_bullet.bullet.rendering.visuals import mesh_arguments
from gltf_bullet.errors import EngineError
from gltf_bullet.rendering.camera import Camera
from gltf_bullet.rendering.visual_plans import NodeVisual, VisualMesh
from gltf_bullet.transforms import FloatArray, quats_from_matrices


class NodePicking:
    """Bodies per node in a private world, which is opened on first use."""

    def __init__(self, visuals: Sequence[NodeVisual]) -> None:
        """Prepare for the visuals that show several nodes; others are left out."""
        self._visuals = visuals
        self._client_id = -1
        self._node_of_body: dict[int, int] = {}
        self._bodies_of_visual: dict[int, list[int]] = {}

    def nodes_seen(
        self,
        camera: Camera,
        width: int,
        height: int,
        *,
        up: FloatArray,
        reach: float,
        world_from_visuals: FloatArray,
    ) -> IdArray:
        """Return the glTF node per pixel, -1 where none of these is seen; shape [height, width].

        Args:
            camera: Camera of the picture.
            width: [pixels]
            height: [pixels]
            up: Up axis of the picture.
            reach: Far distance of the picture [m].
            world_from_visuals: Poses of the visuals, rigid, shape [visual_count, 4, 4].

        Raises:
            EngineError: PyBullet has no room for another client.
        """
        if self._client_id < 0:
            self._open()
        rotations = quats_from_matrices(world_from_visuals[:, :3, :3])
        for number, bodies in self._bodies_of_visual.items():
            for body_id in bodies:
                pybullet.resetBasePositionAndOrientation(
                    body_id,
                    world_from_visuals[number, :3, 3].tolist(),
                    rotations[number].tolist(),
                    physicsClientId=self._client_id,
                )
        picture = take_picture(self._client_id, camera, width, height, up=up, reach=reach)
        table = np.full(max(self._node_of_body, default=0) + 2, -1, dtype=np.int64)
        for body_id, node in self._node_of_body.items():
            table[body_id] = node
        found: IdArray = table[picture.bodies]
        return found

    def _open(self) -> None:
        self._client_id = pybullet.connect(pybullet.DIRECT)
        if self._client_id < 0:
            raise EngineError("PyBullet refused another DIRECT connection")
        shapes: dict[VisualMesh, int] = {}
        for number, visual in enumerate(self._visuals):
            present = np.unique(visual.mesh.part_of_triangle).tolist()
            if len(present) < 2:
                continue
            for ordinal in present:
                mesh = visual.mesh.part(ordinal)
                if mesh not in shapes:
                    shapes[mesh] = pybullet.createVisualShape(
                        pybullet.GEOM_MESH,
                        physicsClientId=self._client_id,
                        **mesh_arguments(mesh),
                    )
                body_id = pybullet.createMultiBody(
                    baseVisualShapeIndex=shapes[mesh], physicsClientId=self._client_id
                )
                self._node_of_body[body_id] = visual.nodes[ordinal]
                self._bodies_of_visual.setdefault(number, []).append(body_id)

    def close(self) -> None:
        """Close the private world."""
        if self._client_id >= 0 and pybullet.isConnected(self._client_id):
            pybullet.disconnect(self._client_id)
        self._client_id = -1
        self._node_of_body.clear()
        self._bodies_of_visual.clear()
