"""Fixed bases of robots, however large or empty, come back as the base of one body."""

from __future__ import annotations

from pathlib import Path

import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.runtime.world_export import robot_file

DRAWER = """
<link name="{name}"><inertial><origin xyz="0 0 {z}"/><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="0 0 {z}"/><geometry><box size="0.9 0.5 0.2"/></geometry></collision>
</link>
<joint name="{name} slide" type="prismatic"><parent link="base"/><child link="{name}"/>
  <axis xyz="0 -1 0"/><limit lower="0" upper="0.4" effort="10" velocity="1"/></joint>
"""
PANELS = "".join(
    f'<collision><origin xyz="{at}"/><geometry><box size="{size}"/></geometry></collision>'
    for at, size in (
        ("-0.5 0 0", "0.02 0.6 1.2"), ("0.5 0 0", "0.02 0.6 1.2"), ("0 0.3 0", "1 0.02 1.2"),
        ("0 0 0.6", "1 0.6 0.02"), ("-0.48 -0.28 -0.65", "0.04 0.04 0.1"),
    )
)  # fmt: skip
LOOK = '<visual><geometry><sphere radius="0.1"/></geometry></visual>'
CABINET = f"""
<robot name="cabinet"><link name="base">{{base}}</link>
{DRAWER.format(name="upper", z=0.3)}{DRAWER.format(name="lower", z=-0.3)}</robot>
"""
"""The joints are at the origin, as data sets have it: 0.3 to 0.65 m from all that the base is."""


@pytest.mark.parametrize("base", [PANELS, LOOK, ""], ids=["panels", "only a look", "nothing"])
@pytest.mark.parametrize("way", ["convert", "export"])
def test_a_fixed_base_and_what_hangs_on_it_are_one_body(
    way: str, base: str, tmp_path: Path
) -> None:
    robot, target = tmp_path / "cabinet.urdf", tmp_path / "cabinet.glb"
    robot.write_text(CABINET.format(base=base))
    with headless_world() as client:
        native = pybullet.loadURDF(str(robot), useFixedBase=True, physicsClientId=client)
        if way == "convert":
            robot_file(robot, Diagnostics(), fixed_base=True)[0].write(target)
        else:
            gb.export_world(target, client)
        scene = gb.load_gltf(target, client, position=(5, 0, 0))
        (ours,) = {body.body_id for body in scene.bodies.values()}
        assert pybullet.getBodyInfo(ours, client) == pybullet.getBodyInfo(native, client)
        counts = [
            (
                pybullet.getNumJoints(body, physicsClientId=client),
                len(pybullet.getCollisionShapeData(body, -1, physicsClientId=client)),
            )
            for body in (native, ours)
        ]
        assert counts[0] == counts[1] == (2, 5 if base == PANELS else 0)
        for joint in range(2):
            wanted = pybullet.getJointInfo(native, joint, physicsClientId=client)
            found = pybullet.getJointInfo(ours, joint, physicsClientId=client)
            assert (found[1], found[12]) == (wanted[1], wanted[12])
        # What moves the base moves all that it is, and all that hangs on it.
        pybullet.resetBasePositionAndOrientation(ours, (5, 7, 0), (0, 0, 0, 1), client)
        drawer = pybullet.getLinkState(
            ours, 0, computeForwardKinematics=True, physicsClientId=client
        )
        assert drawer[0] == pytest.approx((5, 7, 0.3), abs=1e-6)
        if base == PANELS:
            scene.step()
            hit = scene.ray_cast((5, 7, 2), (5, 7, 0))
            assert hit is not None
            assert hit.position[2] == pytest.approx(0.61, abs=1e-6)
