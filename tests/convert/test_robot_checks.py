"""Robots that PyBullet would take wrongly without a word, or that would end its process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gltf_bullet.bullet.reading import robot_loading
from gltf_bullet.bullet.reading.robot_loading import RefusedError, read_robot, try_robot
from gltf_bullet.convert.robot_files import read_robot_text
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.errors import ContainerError

INERTIA = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    "</inertial>"
)
URDF = f"""<robot name="r">
<link name="a">{INERTIA}<collision><geometry><sphere radius=".1"/></geometry></collision></link>
<link name="b">{INERTIA}</link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 1"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""
MORE = '<link name="c"/><joint name="k" type="fixed"><parent link="{}"/><child link="c"/></joint>'
SDF = """<sdf version="1.6"><world name="w"><model name="m"><link name="a"/><link name="b">
<pose>0 0 1 0 0 0</pose></link>
<joint name="j" type="fixed"><parent>a</parent><child>b</child></joint></model></world></sdf>"""

CASES = (
    # What ended the process (measured).
    ("urdf", "<joint name=", '<joint name="j" type="fixed"><parent link="b"/><child link="a"/>'
     "</joint><joint name=", "2 joints are called 'j'"),
    ("urdf", "</robot>", '<link name="c"/></robot>', "2 links hang on no other: 'a', 'c'"),
    ("urdf", "</robot>", MORE.format("a") + MORE.format("b").replace('<link name="c"/>', "")
     .replace('"k"', '"l"') + "</robot>", "link 'c' is the child of 'k' and of 'l'"),
    ("urdf", ' type="revolute"', "", "joint 'j' is of type ''"),
    ("sdf", "<joint", '<link name="c"/><joint', "2 links hang on no other: 'a', 'c'"),
    # What became a traceback.
    ("urdf", 'xyz="0 1 0"', 'xyz="0 0 0"', "xyz of <axis> is '0 0 0'; must be 3 finite numbers"),
    ("urdf", 'radius=".1"', 'radius="nan"', "line 2: radius of <sphere> is 'nan'"),
    ("urdf", 'velocity="1"', 'velocity="inf"', "velocity of <limit> is 'inf'"),
    ("urdf", "<axis", '<mimic joint="j" multiplier="x"/><axis', "multiplier of <mimic> is 'x'"),
    # What PyBullet takes for 0 without a word.
    ("urdf", 'xyz="0 0 1"', 'xyz="0,0,1"', "xyz of <origin> is '0,0,1'; must be 3 finite numbers"),
    ("urdf", 'xyz="0 0 1"', 'xyz="0 0 z"', "xyz of <origin> is '0 0 z'"),
    ("urdf", 'radius=".1"', 'radius="-.1"', "must be a finite number, not negative"),
    ("sdf", "<pose>0 0 1 0 0 0", "<pose>0 0 1", "<pose> is '0 0 1'; must be 6 finite numbers"),
    # What it refuses with words of its own.
    ("urdf", 'parent link="a"', 'parent link="z"', "joint 'j' names the link 'z'"),
    ("urdf", 'parent link="a"', 'parent link="b"', "the links 'b' hang on each other in a circle"),
    ("urdf", 'name="b"', 'name="a"', "2 links are called 'a'"),
    ("urdf", '"revolute"', '"ball"', "joint 'j' is of type 'ball'; must be one of revolute,"),
    ("urdf", "<limit ", "<!-- <limit ", "without end"),
    # What others have to turn into a robot first.
    ("urdf", 'radius=".1"', 'radius="${r}"', "line 2: an unprocessed xacro file"),
    ("urdf", "</robot>", "<xacro:arm/></robot>", "line 6: an unprocessed xacro file"),
)  # fmt: skip
TEXTS = {"urdf": URDF, "sdf": SDF}


@pytest.mark.parametrize(("suffix", "old", "new", "message"), CASES)
def test_what_is_wrong_is_said_before_pybullet_sees_it(
    suffix: str, old: str, new: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / f"robot.{suffix}"
    assert old in TEXTS[suffix]
    path.write_text(TEXTS[suffix].replace(old, new, 1))
    with pytest.raises(ContainerError, match=re.escape(message)) as caught:
        read_robot_text(path, Diagnostics())
    assert {issue.code for issue in caught.value.issues} == {"ROBOT_INVALID"}


@pytest.mark.parametrize("suffix", TEXTS)
def test_what_is_right_is_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"robot.{suffix}"
    path.write_text(TEXTS[suffix])
    diagnostics = Diagnostics()
    (body,) = read_robot(path, diagnostics).bodies
    assert {"a", "b"} <= {link.name for link in body.links}
    assert not diagnostics.has_errors


@pytest.mark.parametrize("number", ["0.5,", "1.57.", "-.5e-3x", "inf"])
def test_numbers_are_what_c_reads_of_them(number: str, tmp_path: Path) -> None:
    """Robots of ``pybullet_data`` are written so."""
    path = tmp_path / "robot.urdf"
    path.write_text(URDF.replace('upper="1"', f'upper="{number}"'))
    read_robot_text(path, Diagnostics())


def test_a_crash_that_nobody_foresaw_ends_a_child_alone(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(URDF.replace("</robot>", '<link name="c"/></robot>'))
    with pytest.raises(RefusedError, match="its process ends"):
        try_robot("loadURDF", path, fixed_base=False, flags=0)


def test_a_robot_at_which_pybullet_never_ends_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(robot_loading, "_PROGRAM", "import time; time.sleep(600)")
    monkeypatch.setattr(robot_loading, "_MOST_SECONDS", 0.2)
    with pytest.raises(RefusedError, match=r"longer than 0\.2 s"):
        try_robot("loadURDF", tmp_path / "robot.urdf", fixed_base=False, flags=0)


def test_reasons_of_pybullet_are_in_the_message(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(re.sub("<limit.*?/>", "", URDF))
    diagnostics = Diagnostics()
    with pytest.raises(ContainerError, match="type REVOLUTE but it does not specify limits; j"):
        read_robot(path, diagnostics)
    assert [issue.code for issue in diagnostics if issue.is_error] == ["ROBOT_REFUSED"]


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        ("sdf", '<sdf version="1.6"><world name="w"/></sdf>'),
    ],
)
def test_a_robot_of_nothing_is_refused(suffix: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / f"robot.{suffix}"
    path.write_text(text)
    with pytest.raises(ContainerError, match="it has no link or body"):
        read_robot(path, Diagnostics())
