"""Cylinders of URDF files, of which ``loadURDF`` makes prisms: the same again from their glTF."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet
import pytest

from gltf_bullet.bullet.bodies.multibody_text import prism_points, prism_size
from gltf_bullet.bullet.reading.world_reader import read_world
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.convert.description import MeshShape
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.runtime.world_export import robot_file
from gltf_bullet.transforms import FloatArray
from tests.physics.scenes import bodies_in

ARM = """<robot name="arm">
<link name="base"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
 iyz="0"/></inertial><collision><geometry><box size="1 1 1"/></geometry></collision></link>
<link name="roller"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
 iyz="0"/></inertial><collision><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><geometry>
 <cylinder radius="0.0434" length="0.026"/></geometry></collision></link>
<joint name="hinge" type="continuous"><axis xyz="0 1 0"/><origin xyz="0 0 1"/>
 <parent link="base"/><child link="roller"/></joint></robot>"""


@pytest.mark.parametrize("order", [1, -1])
def test_a_prism_is_known_by_its_corners_in_any_order(order: int) -> None:
    points = prism_points(0.0434, 0.026)
    assert points.shape == (64, 3)
    assert np.allclose(np.hypot(points[:, 0], points[:, 1]), 0.0434)
    assert prism_size(points.astype(np.float32).astype(float)[::order]) == (0.0434, 0.026)


@pytest.mark.parametrize(
    "change",
    [
        lambda points: points[1:],
        lambda points: np.add(points, (0.0, 0.0, 1e-4)),
        lambda points: points * [1.0, 1.001, 1.0],
        lambda points: points @ [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]],
        lambda points: np.concatenate([points[:1], points[:63]]),
        lambda points: points * 0.0,
    ],
)
def test_other_corners_are_no_prism(change: object) -> None:
    assert callable(change)
    assert prism_size(change(prism_points(0.5, 0.2))) is None


def test_a_robot_from_gltf_collides_with_the_same_prism_as_by_loadurdf(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM, encoding="utf-8")
    _, asset = robot_file(path, Diagnostics())
    with headless_world() as client:
        pybullet.loadURDF(str(path), physicsClientId=client)
        asset.instantiate(client)
        hulls = [corners(client, body) for body in bodies_in(client)]
    assert len(hulls[0]) == 64
    assert np.array_equal(hulls[0], hulls[1])


def corners(client: int, body: int) -> FloatArray:
    """Of the only hull of a body, sorted, in the frame of its shape."""
    world = read_world(client, [body], Diagnostics())
    [shape] = [
        collider.shape
        for described in world.bodies
        for link in described.links
        for collider in link.colliders
        if isinstance(collider.shape, MeshShape)
    ]
    points = shape.geometry.points
    return points[np.lexsort(points.T)]
