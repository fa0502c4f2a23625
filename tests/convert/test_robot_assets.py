"""``gb.read_asset`` and ``gb.load_gltf`` take the paths of robots."""

from __future__ import annotations

from pathlib import Path

import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.convert.servo import default_servo
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.errors import ContainerError
from gltf_bullet.runtime.world_export import robot_file

LINKS = '<link name="base"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" \
ixz="0" iyz="0"/></inertial><collision><geometry><box size="1 1 1"/></geometry></collision></link>'
ROBOTS = {
    "a.urdf": f'<robot name="r">{LINKS}</robot>',
    "a.xml": '<mujoco model="r"><worldbody><body name="base"><freejoint/>'
    '<geom type="box" size=".5 .5 .5" mass="2"/></body></worldbody></mujoco>',
}


@pytest.fixture(params=sorted(ROBOTS))
def robot(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param.endswith(".xml"):
        pytest.importorskip("mujoco")
    path = tmp_path / request.param
    path.write_text(ROBOTS[request.param])
    return path


def test_a_robot_is_read_as_it_is_converted(robot: Path) -> None:
    asset = gb.read_asset(str(robot))
    converted = robot_file(robot, Diagnostics(), servo=default_servo(robot))[1]
    assert asset.physics == converted.physics
    assert asset.path == str(robot)
    with headless_world() as client:
        scene = gb.load_gltf(robot, client)
        assert scene.bodies["base"].mass == pytest.approx(2.0)
    assert gb.check(robot).is_usable
    assert repr(asset) == f"Asset({str(robot)!r}, {len(asset.tree)} nodes, 1 motions, 0 joints)"


def test_a_robot_that_changes_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.urdf"
    masses = []
    with headless_world() as client:
        for mass in ("2", "3"):
            path.write_text(ROBOTS["a.urdf"].replace('mass value="2"', f'mass value="{mass}"'))
            masses.append(gb.load_gltf(path, client).bodies["base"].mass)
    assert masses == pytest.approx([2.0, 3.0])


@pytest.mark.parametrize("name", ["no.urdf", "no.xml", "no.sdf"])
def test_a_robot_that_is_not_there_is_said_so(tmp_path: Path, name: str) -> None:
    with pytest.raises(ContainerError, match="no such file"):
        gb.read_asset(tmp_path / name)


def test_what_a_robot_loses_is_in_the_issues(tmp_path: Path) -> None:
    path = tmp_path / "a.urdf"
    path.write_text(ROBOTS["a.urdf"].replace("<inertial>", "<inertiall/><inertial>"))
    assert "ROBOT_ELEMENT_IGNORED" in {issue.code for issue in gb.read_asset(path).issues}
