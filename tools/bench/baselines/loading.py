"""The same work done with bare PyBullet calls: what ``python -m tools.bench`` compares with."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pybullet

from gltf_bullet.transforms import Vec3

__all__ = ["BareBodies", "count_in_world", "load_urdfs", "urdf_file"]

_URDF = """<robot name="body"><link name="base">
<inertial><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
<collision><geometry>{geometry}</geometry></collision></link></robot>
"""
_GEOMETRY = {"box": '<box size="0.2 0.2 0.2"/>', "sphere": '<sphere radius="0.1"/>'}


@contextmanager
def urdf_file(shape: str) -> Iterator[str]:
    """The path of a URDF with one link and one collision shape, ``"box"`` or ``"sphere"``."""
    handle, path = tempfile.mkstemp(prefix="gltf_bullet_bench_", suffix=".urdf")
    with os.fdopen(handle, "w") as file:
        file.write(_URDF.format(geometry=_GEOMETRY[shape]))
    try:
        yield path
    finally:
        os.unlink(path)


def load_urdfs(client_id: int, path: str, positions: Sequence[Vec3]) -> None:
    """``loadURDF`` once per position [m]."""
    for position in positions:
        pybullet.loadURDF(path, position, physicsClientId=client_id)


def count_in_world(client_id: int) -> tuple[int, int]:
    """How many bodies and constraints there are."""
    return (
        int(pybullet.getNumBodies(physicsClientId=client_id)),
        int(pybullet.getNumConstraints(physicsClientId=client_id)),
    )


class BareBodies:
    """Creates and removes bodies of one shared shape.

    Bullet itself keeps about 0.87 KB for each of them (measured): no library above it can do
    better.
    """

    def __init__(self, client_id: int) -> None:
        self._client_id = client_id
        half = [0.1] * 3
        self._shape = pybullet.createCollisionShape(
            pybullet.GEOM_BOX, halfExtents=half, physicsClientId=client_id
        )
        self._visual = pybullet.createVisualShape(
            pybullet.GEOM_BOX, halfExtents=half, physicsClientId=client_id
        )

    def cycle(self, count: int) -> None:
        """Create ``count`` bodies and remove them."""
        bodies = [
            pybullet.createMultiBody(
                1.0,
                self._shape,
                self._visual,
                [0.0, 0.0, float(number)],
                physicsClientId=self._client_id,
            )
            for number in range(count)
        ]
        for body_id in bodies:
            pybullet.removeBody(body_id, physicsClientId=self._client_id)
