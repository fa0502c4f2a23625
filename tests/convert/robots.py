"""The robots of ``pybullet_data`` that must survive the way through glTF: native and converted."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pybullet
import pybullet_data

import gltf_bullet as gb
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.runtime.world_export import robot_file

DATA = Path(pybullet_data.getDataPath())

ROBOTS = (
    "kuka_iiwa/model.urdf",
    "franka_panda/panda.urdf",
    "xarm/xarm6_robot.urdf",
    "laikago/laikago_toes.urdf",
    "a1/a1.urdf",
    "quadruped/minitaur.urdf",
    "husky/husky.urdf",
    "racecar/racecar.urdf",
    "r2d2.urdf",
    "humanoid/humanoid.urdf",
    "cartpole.urdf",
)

WITHOUT_BALLS = tuple(robot for robot in ROBOTS if "humanoid" not in robot)
"""With spherical joints PyBullet has no Jacobian, and its inverse kinematics end the process."""


SHAPELESS = ("quadruped/minitaur.urdf", "racecar/racecar.urdf")
"""Robots with links that have mass and no shape: PyBullet gives these next to no inertia unless it
is told to take the file's, which ``convert`` does by itself (``ROBOT_INERTIA_FROM_FILE``)."""


@cache
def converted(robot: str, *, fixed_base: bool = True) -> gb.Asset:
    """The robot as our reader reads what ``convert`` writes."""
    return robot_file(
        DATA / robot,
        Diagnostics(),
        fixed_base=fixed_base,
        inertia_from_file=robot in SHAPELESS,
    )[1]


def load_native(client: int, robot: str, *, fixed_base: bool = True) -> int:
    return int(
        pybullet.loadURDF(
            str(DATA / robot),
            useFixedBase=fixed_base,
            flags=pybullet.URDF_USE_INERTIA_FROM_FILE if robot in SHAPELESS else 0,
            physicsClientId=client,
        )
    )


def body_of(scene: gb.Scene) -> int:
    """The one PyBullet body that a robot is."""
    (body,) = {b.body_id for b in scene.bodies.values()}
    return body


def axes(client: int, body: int) -> list[int]:
    """Joints with one number."""
    count = pybullet.getNumJoints(body, physicsClientId=client)
    kinds = (pybullet.JOINT_REVOLUTE, pybullet.JOINT_PRISMATIC)
    return [
        j
        for j in range(count)
        if pybullet.getJointInfo(body, j, physicsClientId=client)[2] in kinds
    ]


def angle_between(one: npt.ArrayLike, other: npt.ArrayLike) -> float:
    """[rad] between two unit quaternions, exact for small ones."""
    apart = min(np.linalg.norm(np.subtract(one, other)), np.linalg.norm(np.add(one, other)))
    return float(4.0 * np.arcsin(min(0.5 * apart, 1.0)))


def continuous_joints(robot: str) -> set[str]:
    """Names of joints that turn for ever, whatever numbers their limits have to PyBullet."""
    text = (DATA / robot).read_text()
    return set(re.findall(r'<joint\s+name="([^"]+)"\s+type="continuous"', text))
