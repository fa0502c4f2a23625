"""What PyBullet does not make of a robot is named; and it is so that PyBullet does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pybullet
import pytest

from gltf_bullet.bullet.reading import robot_loading
from gltf_bullet.bullet.reading.robot_loading import read_robot
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.convert.description import JointKind
from gltf_bullet.convert.issues import (
    ROBOT_ENGINE_LINES,
    ROBOT_LINK_LOST,
    ROBOT_MISREAD,
    ROBOT_SLIP,
)
from gltf_bullet.convert.robot_files import report_slips
from gltf_bullet.convert.robot_xml import parse_xml
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.records import replace

INERTIA = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    "</inertial>"
)
URDF = f"""<robot name="r">
<link name="a">{INERTIA}<collision><geometry><sphere radius=".1"/></geometry></collision></link>
<link name="b">{INERTIA}</link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""
SDF = """<sdf version="1.6"><world name="w"><model name="m">
<link name="a"><collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision>
<visual name="v"><geometry><box><size>1 1 1</size></box></geometry></visual></link>
</model></world></sdf>"""
TEXTS = {"urdf": URDF, "sdf": SDF}

IGNORED = (
    ("urdf", "</robot>", '<transmission name="t"/></robot>', "<transmission> in <robot>"),
    ("urdf", "</robot>", '<gazebo reference="a"><mu1>.2</mu1></gazebo></robot>', "<gazebo>"),
    ("urdf", "<axis", '<safety_controller k_velocity="1"/><axis', "<safety_controller> in <joint>"),
    ("urdf", 'velocity="1"', 'velocity="1" acceleration="2"', "acceleration of <limit> (line 5)"),
    ("sdf", "<model", "<include><uri>model://sun</uri></include><model", "<include> in <world>"),
    ("sdf", "<model", "<gravity>0 0 -1</gravity><model", "<gravity> in <world>"),
    ("sdf", "</model>", '<model name="n"><link name="z"/></model></model>', "<model> in <model>"),
    ("sdf", "</collision>", "<surface><friction><ode><mu>.1</mu></ode></friction></surface>"
     "</collision>", "<surface> in <collision>"),
)  # fmt: skip


def told(path: Path) -> list[Any]:
    """Everything that bare PyBullet tells about a robot."""
    found: list[Any] = []
    load = {".urdf": pybullet.loadURDF, ".sdf": pybullet.loadSDF}
    with headless_world() as client:
        load[path.suffix](str(path), physicsClientId=client)
        for body in range(pybullet.getNumBodies(client)):
            found.append(pybullet.getBasePositionAndOrientation(body, client))
            found.append(pybullet.getVisualShapeData(body, physicsClientId=client))
            joints = range(pybullet.getNumJoints(body, client))
            found += [pybullet.getJointInfo(body, joint, client)[2:12] for joint in joints]
            for link in (-1, *joints):
                found.append(pybullet.getDynamicsInfo(body, link, client))
                found.append(pybullet.getCollisionShapeData(body, link, client))
                found.append(pybullet.getAABB(body, link, client))
    return found


@pytest.mark.parametrize(("suffix", "old", "new", "message"), IGNORED)
def test_what_pybullet_passes_over_is_named(
    suffix: str, old: str, new: str, message: str, tmp_path: Path
) -> None:
    plain, changed = tmp_path / f"plain.{suffix}", tmp_path / f"changed.{suffix}"
    assert old in TEXTS[suffix]
    plain.write_text(TEXTS[suffix])
    changed.write_text(TEXTS[suffix].replace(old, new, 1))
    assert told(changed) == told(plain)
    before, after = Diagnostics(), Diagnostics()
    read_robot(plain, before)
    read_robot(changed, after)
    assert not before.has_errors
    known = {issue.message for issue in before}
    (issue,) = (issue for issue in after if issue.message not in known)
    assert issue.code == "ROBOT_ELEMENT_IGNORED"
    assert message in issue.message


def test_alike_elements_are_one_finding(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(URDF.replace("</robot>", "<gazebo/>\n" * 40 + "</robot>"))
    diagnostics = Diagnostics()
    read_robot(path, diagnostics)
    (issue,) = (i for i in diagnostics if i.code != "ROBOT_INERTIA_FROM_FILE")
    assert "40 x <gazebo> in <robot> (lines 6, 7, 8, ...)" in issue.message


def misread(path: Path, text: str) -> tuple[Any, str]:
    """The first body, and the one finding of what PyBullet takes for something else."""
    path.write_text(text)
    diagnostics = Diagnostics()
    body = read_robot(path, diagnostics).bodies[0]
    message = diagnostics.take(ROBOT_MISREAD).message
    assert not [issue for issue in diagnostics if issue.kind is ROBOT_MISREAD]
    return body, message


def test_a_floating_joint_is_fixed_and_said_to_be(tmp_path: Path) -> None:
    body, message = misread(tmp_path / "r.urdf", URDF.replace('"revolute"', '"floating"'))
    assert body.links[1].joint.kind is JointKind.FIXED
    assert message == "PyBullet takes floating joint 'j' (line 4) for fixed"


def test_the_mass_that_a_link_without_inertial_gets_is_said(tmp_path: Path) -> None:
    body, message = misread(tmp_path / "r.urdf", URDF.replace(INERTIA, "", 1))
    assert body.links[0].mass == 1.0
    assert "link without <inertial> 'a' (line 2) for 1 kg" in message


def test_the_moments_that_a_link_without_inertial_gets_are_said(tmp_path: Path) -> None:
    shape = '<collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>'
    for inside, moment in (("", 6.7e-7), (shape, 1.0 / 12.0 * (0.2**2 + 0.2**2))):
        text = f'<robot name="r"><link name="a">{inside}</link></robot>'
        body, message = misread(tmp_path / "r.urdf", text)
        assert body.links[0].inertia_diagonal == pytest.approx((moment,) * 3, rel=0.01)
        assert "the moments of its collision shapes (6.7e-07 kg m2 without any)" in message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('upper="1"', 'upper="90"', "'j', limit 90 rad (line 4): limits of more than a turn"),
        ('lower="-1"', 'lower="2"', "lower 2, upper 1 (line 4): lower is above upper"),
        ('effort="1"', 'effort="0"', "effort 0 (line 4): a motor that may exert nothing"),
        ('xyz="0 1 0"', 'xyz="0 2 0"', "length 2 (line 4): an axis is a direction"),
        ("<axis", '<origin rpy="0 90 0"/><axis', "'j', rpy 90 rad (line 4): turned by more than"),
    ],
)
def test_likely_slips_of_joints_are_noted_with_the_number(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "r.urdf"
    for text, is_said in ((URDF.replace(old, new), True), (URDF, False)):
        path.write_text(text)
        diagnostics = Diagnostics()
        read_robot(path, diagnostics)
        slips = [issue.message for issue in diagnostics if issue.kind is ROBOT_SLIP]
        assert len(slips) == is_said
        assert all(said in message for message in slips)
        root, alone = parse_xml(text), Diagnostics()
        assert root is not None
        report_slips(root, alone)
        assert [issue.kind for issue in alone] == [ROBOT_SLIP] * is_said


@pytest.mark.parametrize("value", ["1", "true"])
def test_static_models_stand_still(value: str, tmp_path: Path) -> None:
    """PyBullet reads a number where SDF has a word."""
    path = tmp_path / "r.sdf"
    path.write_text(SDF.replace("<link", f"<static>{value}</static><link", 1))
    diagnostics = Diagnostics()
    (body,) = read_robot(path, diagnostics).bodies
    assert body.links[0].mass == 0.0
    assert not len(diagnostics)


def test_a_line_of_the_engine_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a robot without a fault PyBullet says nothing; what it says of others comes along."""
    path = tmp_path / "r.sdf"
    path.write_text(SDF)
    monkeypatch.setattr(robot_loading, "engine_lines", lambda _: "something odd")
    diagnostics = Diagnostics()
    assert len(read_robot(path, diagnostics).bodies) == 1
    assert "something odd" in diagnostics.take(ROBOT_ENGINE_LINES).message
    assert not len(diagnostics)


def test_a_link_that_goes_for_a_reason_unknown_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_the_last_link(*arguments: Any, **options: Any) -> Any:
        world = read_world(*arguments, **options)
        return replace(world, bodies=[replace(b, links=b.links[:-1]) for b in world.bodies])

    read_world = robot_loading.read_world
    path = tmp_path / "r.urdf"
    path.write_text(URDF)
    monkeypatch.setattr(robot_loading, "read_world", without_the_last_link)
    diagnostics = Diagnostics()
    read_robot(path, diagnostics)
    assert "'b'" in diagnostics.take(ROBOT_LINK_LOST).message
    assert not len(diagnostics)
