"""URDF as its text says it, where PyBullet takes it otherwise."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.reading.robot_loading import read_robot
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.convert.issues import ROBOT_INERTIA_FROM_FILE, ROBOT_REFUSED
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.errors import ContainerError
from gltf_bullet.runtime.world_export import robot_file

INERTIA = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    "</inertial>"
)
SHAPE = '<collision><geometry><sphere radius="0.04"/></geometry></collision>'


def chain(turning: int, fixed: int = 0, *, limit: str = "", end: str = "\n") -> str:
    """Links one above the other."""
    limit = limit or '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    count = turning + fixed
    links = [f'<link name="l{k}">{INERTIA}{SHAPE}</link>' for k in range(count + 1)]
    joints = [
        f'<joint name="j{k}" type="{"revolute" if k < turning else "fixed"}">'
        f'<parent link="l{k}"/><child link="l{k + 1}"/><origin xyz="0 0 0.1"/>'
        f'<axis xyz="0 1 0"/>{limit}</joint>'
        for k in range(count)
    ]
    return f'<robot name="r">{end.join([*links, *joints])}</robot>'


def converted(tmp_path: Path, text: str) -> tuple[gb.Asset, Diagnostics]:
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    diagnostics = Diagnostics()
    return robot_file(path, diagnostics, fixed_base=True)[1], diagnostics


@pytest.mark.parametrize("limit", ['lower="-1" upper="1"', 'lower="0" upper="0"', 'upper="0"', ""])
def test_continuous_joints_have_no_limits_whatever_numbers_stand_there(
    tmp_path: Path, limit: str
) -> None:
    text = chain(1, limit=f'<limit effort="3" velocity="2" {limit}/>')
    asset, _ = converted(tmp_path, text.replace('"revolute"', '"continuous"'))
    (joint,) = asset.physics.joints.values()
    assert all(m.minimum == m.maximum == 0.0 for m in joint.description.limits)
    assert [drive.max_force for drive in joint.description.drives] == [3.0]
    with headless_world() as client:
        scene = asset.instantiate(client)
        (dof,) = scene.joints[joint.node].degrees_of_freedom
        assert (dof.state.lower, dof.state.upper) == (-math.inf, math.inf)


@pytest.mark.parametrize(("turning", "fixed"), [(51, 0), (40, 25), (100, 26), (121, 0)])
def test_a_robot_is_one_body_as_far_as_the_engine_goes(
    tmp_path: Path, turning: int, fixed: int
) -> None:
    asset, _ = converted(tmp_path, chain(turning, fixed))
    with headless_world() as client:
        scene = asset.instantiate(client)
        (body,) = {b.body_id for b in scene.bodies.values()}
        count = pybullet.getNumJoints(body, physicsClientId=client)
        assert count == turning + fixed
        chance = np.random.default_rng(1)
        wanted = chance.uniform(-0.9, 0.9, turning)
        for k, angle in enumerate(wanted.tolist()):
            pybullet.resetJointState(body, k, angle, physicsClientId=client)
        found = [pybullet.getJointState(body, k, physicsClientId=client)[0] for k in range(turning)]
        assert found == pytest.approx(wanted.tolist())
        scene.step(5)
        assert np.isfinite(scene.node_matrices).all()


def test_more_joints_than_the_engine_has_are_refused_with_their_number(tmp_path: Path) -> None:
    with pytest.raises(ContainerError) as caught:
        converted(tmp_path, chain(128))
    (issue,) = caught.value.issues
    assert issue.kind is ROBOT_REFUSED
    assert "it has 128 joints; a multibody of the engine has 127" in issue.message


def test_a_robot_on_one_line_is_read(tmp_path: Path) -> None:
    asset, diagnostics = converted(tmp_path, chain(60, end=""))
    assert not diagnostics.has_errors
    assert len(asset.physics.joints) == 60


def test_links_with_mass_and_no_shape_get_the_inertia_of_the_file(tmp_path: Path) -> None:
    text = chain(1).replace(SHAPE, "")
    text = text.replace('ixx="1" iyy="1"', 'ixx="3" iyy="1"').replace('ixy="0"', 'ixy="0.5"')
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    diagnostics = Diagnostics()
    (body,) = read_robot(path, diagnostics, fixed_base=True).bodies
    assert sorted(body.links[1].inertia_diagonal) == pytest.approx(
        np.linalg.eigvalsh([[3.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]).tolist()
    )
    assert "1 links with mass" in diagnostics.take(ROBOT_INERTIA_FROM_FILE).message


FAULTS = Path(__file__).resolve().parents[3] / "shared" / "faults"


@pytest.mark.shared
@pytest.mark.skipif(not FAULTS.is_dir(), reason="needs the collection beside the repository")
def test_a_leg_of_point_masses_keeps_within_its_limits() -> None:
    diagnostics = Diagnostics()
    path = FAULTS / "leg_of_point_masses.urdf"
    asset = robot_file(path, diagnostics, fixed_base=True)[1]
    assert diagnostics.take(ROBOT_INERTIA_FROM_FILE)
    with headless_world(gravity=(0.0, 0.0, -9.81)) as client:
        scene = asset.instantiate(client)
        worst = 0.0
        for _ in range(240):
            scene.step()
            for joint in scene.joints.values():
                for dof in joint.degrees_of_freedom:
                    state = dof.state
                    beyond = max(state.lower - state.position[0], state.position[0] - state.upper)
                    worst = max(worst, beyond)
    assert worst < 0.01
