"""Mesh files of several objects, each of which PyBullet makes a hull of."""

from __future__ import annotations

from pathlib import Path

import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world

CENTERS = (-1.0, 0.0, 2.0)
HALF = 0.1
ROBOT = """
<robot name="posts"><link name="base">
  <inertial><origin xyz="{at}"/><mass value="{mass}"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="{shift} 0 0"/>
    <geometry><mesh filename="posts.obj" scale="2 1 1"/></geometry></collision>
  {more}
</link></robot>
"""
WEDGE = (
    (1, 2, 4), (1, 4, 3), (1, 3, 5), (2, 6, 4), (1, 5, 6), (1, 6, 2), (3, 4, 6), (3, 6, 5),
)  # fmt: skip
BALL = '<collision><origin xyz="0 3 0"/><geometry><sphere radius="0.1"/></geometry></collision>'


def posts(folder: Path) -> Path:
    """Three wedges along X, of which no side is a box's: each a hull of its own."""
    lines: list[str] = []
    for k, x in enumerate(CENTERS):
        low, high = x - HALF, x + HALF
        lines.append(f"o post{k}")
        lines += [f"v {a} {b} {-HALF}" for a in (low, high) for b in (-HALF, HALF)]
        lines += [f"v {x} {b} {HALF}" for b in (-HALF, HALF)]
        o = 6 * k
        lines += [f"f {o + a} {o + b} {o + c}" for a, b, c in WEDGE]
    path = folder / "posts.obj"
    path.write_text("\n".join(lines))
    return path


def tops(scene: gb.Scene, shift: float) -> list[float]:
    """[m] How high a ray from above meets each post, and the gaps between them."""
    found = []
    for x in (*(2.0 * c for c in CENTERS), -1.0, 2.0):
        hit = scene.ray_cast((x + shift, 0.0, 5.0), (x + shift, 0.0, -5.0))
        found.append(-9.0 if hit is None else float(hit.position[2]))
    return found


@pytest.mark.parametrize("mass", [0.0, 2.0])
@pytest.mark.parametrize("at", ["0 0 0", "0.3 0.1 0"])
@pytest.mark.parametrize(("shift", "more"), [(0.0, ""), (0.5, ""), (0.0, BALL)])
def test_every_object_of_a_mesh_file_collides(
    mass: float, at: str, shift: float, more: str, tmp_path: Path
) -> None:
    posts(tmp_path)
    robot = tmp_path / "posts.urdf"
    robot.write_text(ROBOT.format(mass=mass, at=at, shift=shift, more=more))
    with headless_world() as client:
        pybullet.loadURDF(str(robot), useFixedBase=mass == 0.0, physicsClientId=client)
        gb.export_world(tmp_path / "posts.glb", client)
    with headless_world() as client:
        scene = gb.load_gltf(tmp_path / "posts.glb", client)
        # Wedges are as high as HALF along their ridges, and nothing is between them.
        wanted = [HALF, HALF, HALF, -9.0, -9.0]
        assert tops(scene, shift) == pytest.approx(wanted, abs=1e-4)


def test_every_object_of_a_mesh_file_of_a_shape_collides(tmp_path: Path) -> None:
    with headless_world() as client:
        shape = pybullet.createCollisionShape(
            pybullet.GEOM_MESH,
            fileName=str(posts(tmp_path)),
            meshScale=[2, 1, 1],
            physicsClientId=client,
        )
        pybullet.createMultiBody(0.0, shape, physicsClientId=client)
        gb.export_world(tmp_path / "posts.glb", client)
    with headless_world() as client:
        scene = gb.load_gltf(tmp_path / "posts.glb", client)
        wanted = [HALF, HALF, HALF, -9.0, -9.0]
        assert tops(scene, 0.0) == pytest.approx(wanted, abs=1e-4)
