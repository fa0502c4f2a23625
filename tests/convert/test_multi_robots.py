"""Robots in one world, and robots with parts that PyBullet takes for static."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.runtime.world_export import robot_file
from tests.convert.robots import body_of

INERTIAL = (
    '<inertial><mass value="1"/><inertia ixx=".02" ixy="0" ixz="0" iyy=".02" iyz="0" izz=".02"/>'
    "</inertial>"
)
BALL = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
HINGE = '<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="50" velocity="5"/>'


def robot(*links: tuple[str, str], joints: str) -> str:
    body = "".join(f'<link name="{name}">{INERTIAL}{content}</link>' for name, content in links)
    return f'<robot name="robot">{body}{joints}</robot>'


def joint(name: str, kind: str, parent: str, child: str, place: str, more: str = "") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{place}"/>{more}</joint>'
    )


DUMBBELL = robot(
    ("left", BALL),
    ("right", BALL),
    joints=joint("bar", "revolute", "left", "right", "0.5 0 0", HINGE),
)
MOUNTED = robot(
    ("base", ""), ("arm", ""), ("tip", BALL),
    joints=joint("hinge", "revolute", "base", "arm", "0 0 0.5", HINGE)
    + joint("mount", "fixed", "arm", "tip", "1 0 0"),
)  # fmt: skip


def converted(folder: Path, text: str, *, fixed_base: bool) -> tuple[Path, gb.Asset]:
    path = folder / "robot.urdf"
    path.write_text(text, encoding="utf-8")
    return path, robot_file(path, Diagnostics(), fixed_base=fixed_base)[1]


def floor(client: int) -> int:
    box = pybullet.createCollisionShape(
        pybullet.GEOM_BOX, halfExtents=[9.0, 9.0, 0.5], physicsClientId=client
    )
    return int(
        pybullet.createMultiBody(0, box, basePosition=[0.0, 0.0, -0.5], physicsClientId=client)
    )


def step_together(scenes: list[gb.Scene], count: int) -> None:
    *others, last = scenes
    for _ in range(count):
        for scene in others:
            scene.before_step()
        last.step()
        for scene in others:
            scene.after_step()


def test_two_copies_lie_on_each_other(tmp_path: Path, client: int) -> None:
    """One exactly above the other, ball upon ball, as two of ``loadURDF`` beside them."""
    path, asset = converted(tmp_path, DUMBBELL, fixed_base=False)
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    ground = floor(client)
    scenes = [asset.instantiate(client, position=(0.0, 0.0, z)) for z in (0.1, 0.31)]
    lower, upper = map(body_of, scenes)
    natives = [pybullet.loadURDF(str(path), [0, 5, z], physicsClientId=client) for z in (0.1, 0.31)]
    for body in natives:
        pybullet.setJointMotorControl2(
            body, 0, pybullet.VELOCITY_CONTROL, force=0.0, physicsClientId=client
        )
    step_together(scenes, 36)
    heights = [
        pybullet.getBasePositionAndOrientation(body, client)[0][2]
        for body in (lower, upper, *natives)
    ]
    assert heights == pytest.approx([0.1, 0.3, 0.1, 0.3], abs=1e-3)
    assert heights[:2] == pytest.approx(heights[2:], abs=1e-4)
    assert pybullet.getContactPoints(lower, upper, physicsClientId=client)
    assert pybullet.getContactPoints(lower, ground, physicsClientId=client)


def test_links_of_one_robot_do_not_meet(tmp_path: Path, client: int) -> None:
    """Its balls overlap by half their size, at rest and weightless."""
    text = DUMBBELL.replace("0.5 0 0", "0.1 0 0")
    _, asset = converted(tmp_path, text, fixed_base=False)
    pybullet.setGravity(0.0, 0.0, 0.0, physicsClientId=client)
    scene = asset.instantiate(client, options=gb.LoadOptions(world_gravity="engine"))
    before = scene.node_matrices.copy()
    scene.step(60)
    assert np.allclose(scene.node_matrices, before, atol=1e-9)


def test_other_files_may_speak_of_the_systems_of_a_robot(tmp_path: Path, client: int) -> None:
    """A floor of another file that does not meet the robot's system lets it through."""
    _, asset = converted(tmp_path, DUMBBELL, fixed_base=False)
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    first = asset.instantiate(client, position=(0.0, 0.0, 0.2))
    systems = {name for f in asset.physics.collision_filters for name in f.systems}
    assert len(systems) == 1
    ghost = asset_of_floor(not_collide_with=systems)
    ghost.instantiate(client, up_axis="y")
    second = asset.instantiate(client, position=(0.0, 5.0, 0.2))
    step_together([first, second], 120)
    fallen = 0.2 - 9.81 / 2.0 * 0.5**2  # in half a second
    for scene in (first, second):
        height = pybullet.getBasePositionAndOrientation(body_of(scene), client)[0][2]
        assert height == pytest.approx(fallen, abs=0.02)


def asset_of_floor(not_collide_with: set[str]) -> gb.Asset:
    rigid, shapes = "KHR_physics_rigid_bodies", "KHR_implicit_shapes"
    collider = {"geometry": {"shape": 0}, "collisionFilter": 0}
    root = {
        "asset": {"version": "2.0"},
        "extensionsUsed": [rigid, shapes],
        "extensions": {
            shapes: {"shapes": [{"type": "box", "box": {"size": [9, 9, 1]}}]},
            rigid: {"collisionFilters": [{"notCollideWithSystems": sorted(not_collide_with)}]},
        },
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"translation": [0, 0, -0.5], "extensions": {rigid: {"collider": collider}}}],
    }
    return gb.read_asset(json.dumps(root).encode())


@pytest.mark.parametrize("named", [True, False])
def test_joints_have_the_numbers_that_loadurdf_gives_them(
    tmp_path: Path, client: int, named: bool
) -> None:
    path, asset = converted(tmp_path, MOUNTED, fixed_base=True)
    native = pybullet.loadURDF(str(path), useFixedBase=True, physicsClientId=client)
    scene = asset.instantiate(
        client, position=(0.0, 3.0, 0.0), options=gb.LoadOptions(link_names=named)
    )
    ours = body_of(scene)
    kinds = [
        [
            pybullet.getJointInfo(body, k, physicsClientId=client)[2]
            for k in range(pybullet.getNumJoints(body, physicsClientId=client))
        ]
        for body in (native, ours)
    ]
    assert kinds[0] == kinds[1] == [pybullet.JOINT_REVOLUTE, pybullet.JOINT_FIXED]
    assert pybullet.getDynamicsInfo(ours, -1, physicsClientId=client)[0] == 0.0
    pybullet.setJointMotorControl2(
        ours, 0, pybullet.POSITION_CONTROL, 0.5, force=50.0, physicsClientId=client
    )
    scene.step(240)
    angle = pybullet.getJointState(ours, 0, physicsClientId=client)[0]
    assert angle == pytest.approx(0.5, abs=1e-3)
    assert pybullet.getBasePositionAndOrientation(ours, client)[0] == (0.0, 3.0, 0.0)


def test_what_is_mounted_on_the_first_link_lands_on_a_floor(tmp_path: Path, client: int) -> None:
    """A ball of 0.1 m, 1 m off a hinge 0.5 m above ground: it rests where the arm sinks by 0.4."""
    _, asset = converted(tmp_path, MOUNTED, fixed_base=True)
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    floor(client)
    scene = asset.instantiate(client)
    scene.step(720)
    angle = pybullet.getJointState(body_of(scene), 0, physicsClientId=client)[0]
    assert angle == pytest.approx(math.asin(0.4), abs=0.01)
