"""Converted robots hold their poses and follow targets, as far as their efforts allow."""

from __future__ import annotations

from pathlib import Path

import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.convert.servo import DEFAULT_SERVO
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.runtime.world_export import robot_file
from tests.cli.conftest import Run, run

__all__ = ["run"]

G = 9.81


def arm(
    tmp_path: Path, *, effort: float = 50.0, kind: str = "revolute", limits: str = "-3 -0.5"
) -> Path:
    """A rod of a metre on a horizontal hinge; and a second one that follows a third."""
    lower, upper = limits.split()
    span = f'<limit lower="{lower}" upper="{upper}" effort="{effort}" velocity="5"/>'
    link = (
        '<inertial><origin xyz="0.5 0 0"/><mass value="2"/>'
        '<inertia ixx="0.01" iyy="0.17" izz="0.17" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    text = f"""<robot name="arm"><link name="base"/><link name="rod">{link}</link>
    <joint name="shoulder" type="{kind}"><parent link="base"/><child link="rod"/>
    <axis xyz="0 1 0"/>{span}</joint></robot>"""
    path = tmp_path / "arm.urdf"
    path.write_text(text)
    return path


def held(path: Path, servo: tuple[float, float] | None = DEFAULT_SERVO) -> gb.Asset:
    return robot_file(
        path, Diagnostics(), fixed_base=True, inertia_from_file=True, servo=servo
    )[1]  # fmt: skip


@pytest.mark.parametrize("target", [-2.0, -1.0])
def test_an_arm_follows_its_target_and_sags_by_its_load(tmp_path: Path, target: float) -> None:
    asset = held(arm(tmp_path))
    with headless_world(gravity=(0.0, 0.0, -G)) as client:
        scene = asset.instantiate(client)
        scene.joints["shoulder"].position = target
        scene.set_drive_targets({"shoulder": target})
        scene.step(480)
        # By acceleration: a load that alone would turn the arm by a rad/s2 bends it a / stiffness.
        assert scene.joints["shoulder"].position == pytest.approx(target, abs=15.0 / 1e4)


def test_an_effort_is_a_bound(tmp_path: Path) -> None:
    """2 kg at half a metre are 9.81 Nm when level: 5 Nm do not hold it, and it comes to rest below.

    At rest the torque of the load is the effort: cos(angle) = 5 / 9.81, from a straight start.
    """
    asset = held(arm(tmp_path, effort=5.0, limits="-3 3"))
    with headless_world(gravity=(0.0, 0.0, -G)) as client:
        scene = asset.instantiate(client)
        scene.step(240)
        assert scene.joints["shoulder"].position > 0.5


def test_without_a_servo_an_effort_does_nothing(tmp_path: Path) -> None:
    asset = held(arm(tmp_path, limits="-3 3"), servo=None)
    with headless_world(gravity=(0.0, 0.0, -G)) as client:
        scene = asset.instantiate(client)
        scene.step(60)
        assert scene.joints["shoulder"].position > 0.3


def test_a_held_axis_states_targets_with_its_gains(tmp_path: Path) -> None:
    """As the schema asks, so that ``check`` has nothing to say of a converted robot."""
    path = tmp_path / "arm.glb"
    path.write_bytes(held(arm(tmp_path)).to_glb())
    assert "DRIVE_PAIR_INCOMPLETE" not in {issue.code for issue in gb.check(path).issues}


def test_the_target_is_the_limit_nearest_to_zero(tmp_path: Path) -> None:
    (joint,) = held(arm(tmp_path)).physics.joints.values()
    (drive,) = joint.description.drives
    assert (drive.position_target, drive.stiffness) == (-0.5, DEFAULT_SERVO[0])


def test_wheels_keep_turning(tmp_path: Path) -> None:
    (joint,) = held(arm(tmp_path, kind="continuous")).physics.joints.values()
    assert all(drive.stiffness == 0.0 for drive in joint.description.drives)


@pytest.mark.parametrize(
    ("servo", "stiffness"), [((), 1e4), (("--servo", "400,40"), 400.0), (("--servo", "none"), 0.0)]
)
def test_convert_takes_gains(
    run: Run, tmp_path: Path, servo: tuple[str, ...], stiffness: float
) -> None:
    target = tmp_path / "arm.glb"
    assert run("convert", arm(tmp_path), target, "--fixed-base", *servo).code == 0
    (joint,) = gb.read_asset(target).physics.joints.values()
    assert joint.description.drives[0].stiffness == stiffness
    assert joint.description.drives[0].max_force == 50.0


@pytest.mark.parametrize("text", ["5", "a,b", "-1,2", "nan,1"])
def test_gains_that_are_none_are_a_usage_error(run: Run, tmp_path: Path, text: str) -> None:
    outcome = run("convert", arm(tmp_path), tmp_path / "arm.glb", "--servo", text)
    assert outcome.code == 2
    assert "--servo" in outcome.err


def test_a_shared_description_is_split_where_only_one_of_two_leads(tmp_path: Path) -> None:
    data = Path(pybullet_data_path()) / "franka_panda" / "panda.urdf"
    asset = robot_file(data, Diagnostics(), fixed_base=True, servo=DEFAULT_SERVO)[1]
    stiffness = {
        asset.tree.names[node]: joint.description.drives[0].stiffness
        for node, joint in asset.physics.joints.items()
        if joint.description.drives
    }
    assert stiffness["panda_joint4"] == 1e4
    for node, joint in asset.physics.joints.items():
        if joint.coupling is not None:
            assert stiffness[asset.tree.names[node]] == 0.0


def pybullet_data_path() -> str:
    import pybullet_data

    return str(pybullet_data.getDataPath())


def test_a_motor_of_ones_own_takes_over_from_the_servo(tmp_path: Path) -> None:
    asset = held(arm(tmp_path, limits="-3 3"))
    with headless_world(gravity=(0.0, 0.0, -G)) as client:
        scene = asset.instantiate(client)
        (axis,) = scene.joints["shoulder"].degrees_of_freedom
        for _ in range(240):
            pybullet.setJointMotorControl2(
                axis.body_id, axis.link_index, pybullet.POSITION_CONTROL, targetPosition=0.7,
                force=50.0, physicsClientId=client,
            )  # fmt: skip
            scene.step()
        assert scene.joints["shoulder"].position == pytest.approx(0.7, abs=0.02)
