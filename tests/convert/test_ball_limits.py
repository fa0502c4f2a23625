"""Limits of spherical joints of a URDF act as PyBullet has them act, side by side."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.reading.issues import CONSTRAINT_NOT_IN_GLTF
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.convert.issues import NOT_IN_GLTF, ROBOT_ELEMENT_IGNORED
from gltf_bullet.convert.joints import swing_gap
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.model import DofKind
from gltf_bullet.runtime.world_export import robot_file
from tests.convert.robots import body_of

NECK = """<robot name="neck"><link name="chest"/><link name="head">
<inertial><origin rpy="{rpy}"/><mass value="1"/>
  <inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="neck" type="spherical"><parent link="chest"/><child link="head"/>
  <limit effort="{effort}" {limits}/></joint></robot>
"""
LIMITS = (0.2, 0.8, 0.3)
SPEED = 0.5
"""[rad/s] A step goes 2e-3 rad."""
PAST = 4e-3
"""[rad] How far PyBullet lets it go beyond the limit, and ours before."""


def written(limits: tuple[float, float, float]) -> str:
    return 'lower="{}" upper="{}" twist="{}"'.format(*limits)


def neck(tmp_path: Path, limits: str, *, rpy: str = "0 0 0", effort: float = 1000.0) -> Path:
    path = tmp_path / "neck.urdf"
    path.write_text(NECK.format(limits=limits, rpy=rpy, effort=effort))
    return path


def turned_until_slower(path: Path, way: tuple[float, float, float]) -> tuple[float, float]:
    """How far each goes about ``way`` until something brakes it [rad], pi at most; no gravity."""
    native_and_ours = []
    with headless_world() as client:
        flags = pybullet.URDF_USE_INERTIA_FROM_FILE
        native = pybullet.loadURDF(
            str(path), useFixedBase=True, flags=flags, physicsClientId=client
        )
        pybullet.changeDynamics(
            native, -1, linearDamping=0, angularDamping=0, physicsClientId=client
        )
        pybullet.setJointMotorControlMultiDof(
            native, 0, pybullet.POSITION_CONTROL, [0, 0, 0, 1], force=[0, 0, 0],
            physicsClientId=client,
        )  # fmt: skip
        _, asset = robot_file(path, Diagnostics(), fixed_base=True, inertia_from_file=True)
        scene = asset.instantiate(client, position=(5.0, 0.0, 0.0))
        velocity = [SPEED * x for x in way]
        bodies = (native, body_of(scene))
        for body in bodies:
            pybullet.resetJointStateMultiDof(
                body, 0, [0, 0, 0, 1], velocity, physicsClientId=client
            )
        found: dict[int, float] = {}
        for _ in range(round(math.pi / SPEED * 240)):
            scene.step()
            for body in bodies:
                q, spin = pybullet.getJointStateMultiDof(body, 0, physicsClientId=client)[:2]
                if np.abs(np.subtract(spin, velocity)).max() > 1e-3 * SPEED:
                    found.setdefault(body, 2.0 * math.acos(min(1.0, q[3])))
            if len(found) == 2:
                break
        native_and_ours = [found.get(body, math.pi) for body in bodies]
    return native_and_ours[0], native_and_ours[1]


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_ball_stops_where_that_of_pybullet_does(tmp_path: Path, axis: int, sign: float) -> None:
    """The limits are about the axes of inertia, wherever these stand; they were left out."""
    path = neck(tmp_path, written(LIMITS), rpy="0.4 -0.3 1.1")
    x, y, z = sign * np.eye(3)[axis]
    native, ours = turned_until_slower(path, (x, y, z))
    assert native == pytest.approx(LIMITS[axis], abs=PAST)
    assert ours == pytest.approx(LIMITS[axis], abs=PAST)


@pytest.mark.parametrize("slant", [20.0, 45.0, 70.0])
def test_limits_of_slanted_swings_differ_by_the_named_angle_at_most(
    tmp_path: Path, slant: float
) -> None:
    limits = (0.8, 0.8, 3.0)
    c, s = math.cos(math.radians(slant)), math.sin(math.radians(slant))
    native, ours = turned_until_slower(neck(tmp_path, written(limits)), (c, s, 0.0))
    # PyBullet: atan2(c sin t, cos t) and asin(s sin t); ours: 2 atan(c tan(t/2)), of s as well.
    by_y = math.asin(math.sin(0.8) / s) if math.sin(0.8) < s else math.pi
    assert native == pytest.approx(min(math.atan2(math.tan(0.8), c), by_y), abs=PAST)
    assert ours == pytest.approx(2.0 * math.atan2(math.tan(0.4), max(c, s)), abs=PAST)
    assert abs(native - ours) <= swing_gap(limits) + PAST


def test_the_named_angle_is_that_of_the_worst_slant() -> None:
    """At 45 degrees and limits of 1.2 rad, by hand."""
    root = math.sqrt(2.0)
    worst = 2.0 * math.atan(root * math.tan(0.6)) - math.atan(root * math.tan(1.2))
    assert swing_gap((1.2, 1.2, 1.0)) == pytest.approx(worst, abs=1e-3)
    assert swing_gap((1e-3, 1e-3, 1.0)) < 1e-8


@pytest.mark.parametrize(
    ("limits", "effort"),
    [
        ('lower="0.2" upper="0.8"', 1000.0),
        (written((0.2, 0.8, 0.0)), 1000.0),
        (written((-0.2, 0.8, 0.3)), 1000.0),
        (written((0.2, 0.0, 0.3)), 1000.0),
        (written(LIMITS), 0.0),
    ],
)
def test_without_one_of_them_no_limit_acts(tmp_path: Path, limits: str, effort: float) -> None:
    path = neck(tmp_path, limits, effort=effort)
    assert turned_until_slower(path, (1.0, 0.0, 0.0)) == (math.pi, math.pi)
    diagnostics = Diagnostics()
    robot_file(path, diagnostics, fixed_base=True)
    assert not [issue for issue in diagnostics.issues if issue.code == NOT_IN_GLTF.code]


def test_how_slanted_swings_are_measured_is_named(tmp_path: Path) -> None:
    diagnostics = Diagnostics()
    robot_file(neck(tmp_path, written((0.5, 0.5, 0.5))), diagnostics, fixed_base=True)
    (issue,) = [issue for issue in diagnostics.issues if issue.code == NOT_IN_GLTF.code]
    assert "0.037 rad" in issue.message


def test_a_twist_of_other_joints_is_named(tmp_path: Path) -> None:
    text = NECK.format(limits=written(LIMITS), rpy="0 0 0", effort=1).replace(
        "spherical", "revolute"
    )
    path = tmp_path / "hinge.urdf"
    path.write_text(text)
    diagnostics = Diagnostics()
    robot_file(path, diagnostics, fixed_base=True)
    messages = [i.message for i in diagnostics.issues if i.code == ROBOT_ELEMENT_IGNORED.code]
    assert [message for message in messages if "twist" in message and "spherical" in message]


def test_limits_that_only_the_urdf_tells_are_named_in_a_world(tmp_path: Path) -> None:
    path = neck(tmp_path, written(LIMITS))
    with headless_world() as client:
        pybullet.loadURDF(str(path), useFixedBase=True, physicsClientId=client)
        issues = gb.export_world(tmp_path / "world.glb", client)
        (issue,) = [i for i in issues if i.code == CONSTRAINT_NOT_IN_GLTF.code]
        assert "0.2 and 0.8 rad" in issue.message
        # Nothing of the kind in scenes of ours, whose files say it.
        pybullet.resetSimulation(physicsClientId=client)
        _, asset = robot_file(path, Diagnostics(), fixed_base=True)
        scene = asset.instantiate(client)
        issues = gb.export_world(tmp_path / "again.glb", client)
        assert CONSTRAINT_NOT_IN_GLTF.code not in {i.code for i in issues}
        (joint,) = gb.read_asset(tmp_path / "again.glb").physics.joints.values()
        turns = [k for k in joint.description.limits if k.kind is DofKind.ANGULAR]
        assert [limit.maximum for limit in turns] == list(LIMITS)
        scene.remove()
