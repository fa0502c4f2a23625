"""Robots on the command line: ``convert``, ``simulate`` and what is said about them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gltf_bullet as gb
from tests.cli.conftest import Run
from tests.convert.robots import DATA


def test_convert_makes_gltf_of_a_robot_and_says_what_was_lost(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "arm.glb"
    outcome = run("convert", DATA / "kuka_iiwa" / "model.urdf", target, "--fixed-base")
    assert outcome.code == 0
    assert "written. Nothing was lost." in outcome.out
    asset = gb.read_asset(target)
    assert len(asset.physics.motions) == 7  # the base stands still
    assert len(asset.physics.joints) == 7
    motions = []
    for options in ((), ("--fixed-base",)):
        target = tmp_path / "droid.gltf"
        assert run("convert", DATA / "r2d2.urdf", target, *options).code == 0
        motions.append(len(gb.read_asset(target).physics.motions))
    assert motions == [16, 15]


@pytest.mark.parametrize("name", ["mjcf/ant.xml", "kiva_shelf/model.sdf"])
def test_convert_takes_mjcf_and_sdf(run: Run, tmp_path: Path, name: str) -> None:
    if "mjcf" in name:
        pytest.importorskip("mujoco")
    target = tmp_path / "out.glb"
    outcome = run("convert", DATA / name, target, "--json")
    assert outcome.code == 0
    assert json.loads(outcome.out[outcome.out.index("{") :])["written"] == str(target)
    assert gb.read_asset(target).physics.colliders


def test_convert_to_gltf_2_1_keeps_the_shapes_in_the_core(run: Run, tmp_path: Path) -> None:
    khr, core = tmp_path / "khr.glb", tmp_path / "core.glb"
    robot = DATA / "r2d2.urdf"
    assert run("convert", robot, khr).code == 0
    assert run("convert", robot, core, "--to", "gltf-2.1").code == 0
    old, new = gb.read_asset(khr), gb.read_asset(core)
    assert new.document.json["asset"]["version"] == "2.1"
    assert "KHR_implicit_shapes" not in new.document.extensions_used
    assert [c.shape for c in new.physics.colliders.values()] == [
        c.shape for c in old.physics.colliders.values()
    ]


def test_self_collision_leaves_the_filters_out(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "arm.glb"
    robot = DATA / "kuka_iiwa" / "model.urdf"
    assert run("convert", robot, target).code == 0
    assert {c.filter is None for c in gb.read_asset(target).physics.colliders.values()} == {False}
    assert run("convert", robot, target, "--self-collision").code == 0
    assert {c.filter is None for c in gb.read_asset(target).physics.colliders.values()} == {True}


@pytest.mark.parametrize(
    "arguments", [("mjcf/ant.xml", "--fixed-base"), ("mjcf/ant.xml", "--inertia-from-file")]
)
def test_options_of_urdf_are_refused_elsewhere(
    run: Run, tmp_path: Path, arguments: tuple[str, str]
) -> None:
    outcome = run("convert", DATA / arguments[0], tmp_path / "a.glb", arguments[1])
    assert outcome.code == 2
    assert not (tmp_path / "a.glb").exists()


def test_simulate_takes_a_robot(run: Run) -> None:
    outcome = run("simulate", DATA / "cartpole.urdf", "--fixed-base", "--seconds", "0.1", "--json")
    assert outcome.code == 0
    found = json.loads(outcome.out[outcome.out.index("{") :])
    assert {body["name"] for body in found["bodies"]} == {"slideBar", "cart", "pole"}


def test_what_is_no_robot_is_refused(run: Run, tmp_path: Path) -> None:
    wrong = tmp_path / "robot.urdf"
    wrong.write_text("<html></html>")
    outcome = run("convert", wrong, tmp_path / "robot.glb")
    assert outcome.code == 1
    assert "must be a robot" in outcome.err
    urdf = tmp_path / "robot.glb"
    urdf.write_text('<robot name="r"/>')
    assert "gltf-bullet convert" in run("check", urdf).out


BROKEN = (
    '<robot name="r"><link name="a"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    '<collision><geometry><sphere radius="{}"/></geometry></collision>'
    '<visual><geometry><mesh filename="nowhere.obj"/></geometry></visual></link></robot>'
)


def test_a_refused_robot_is_one_line_and_json(run: Run, tmp_path: Path) -> None:
    robot, target = tmp_path / "robot.urdf", tmp_path / "robot.glb"
    robot.write_text(BROKEN.format("nan"))
    outcome = run("convert", robot, target, "--json")
    assert outcome.code == 1
    assert not target.exists()
    found = json.loads(outcome.out)
    assert found["written"] is None
    assert [issue["code"] for issue in found["issues"]] == ["ROBOT_INVALID"]
    assert outcome.err.count("\n") == 1
    assert "line 1: radius of <sphere> is 'nan'" in outcome.err


def test_a_robot_with_a_missing_file_is_converted_without_it(run: Run, tmp_path: Path) -> None:
    robot, target = tmp_path / "robot.urdf", tmp_path / "robot.glb"
    robot.write_text(BROKEN.format(0.1))
    outcome = run("convert", robot, target)
    assert outcome.code == 1
    assert "link 'a' names the file 'nowhere.obj' (line 1)" in outcome.out
    assert "written. Lost or changed: 1 x ROBOT_FILE_MISSING." in outcome.out
    assert len(gb.read_asset(target).physics.colliders) == 1


def test_simulate_says_what_was_lost_of_a_robot_and_its_name(run: Run, tmp_path: Path) -> None:
    robot = tmp_path / "robot.urdf"
    robot.write_text(BROKEN.format(0.1))
    outcome = run("simulate", robot, "--seconds", "0.1")
    assert outcome.code == 0
    assert "ROBOT_FILE_MISSING" in outcome.out
    assert f"{robot} after 0.100 s" in outcome.out
    found = json.loads(run("simulate", robot, "--seconds", "0.1", "--json").out)
    assert "ROBOT_FILE_MISSING" in {issue["code"] for issue in found["issues"]}


def test_view_says_what_was_lost_of_a_robot(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = tmp_path / "robot.urdf"
    robot.write_text(BROKEN.format(0.1))
    seen = []
    monkeypatch.setattr(
        "gltf_bullet.viewer.program.view", lambda path, *_, **__: seen.append(gb.read_asset(path))
    )
    outcome = run("view", robot)
    assert outcome.code == 0
    assert len(seen[0].physics.colliders) == 1
    assert "ROBOT_FILE_MISSING" in outcome.out


@pytest.mark.parametrize("command", ["simulate", "view"])
def test_options_of_robots_are_refused_for_gltf(run: Run, assets: Path, command: str) -> None:
    outcome = run(command, assets / "falling_box.gltf", "--fixed-base")
    assert outcome.code == 2
    assert "--fixed-base" in outcome.err


def test_inspect_says_whether_the_base_of_a_robot_is_fixed(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "droid.glb"
    for options, base in ((("--fixed-base",), "node 2 base_link"), ((), "(free base)")):
        assert run("convert", DATA / "r2d2.urdf", target, *options).code == 0
        text = run("inspect", target).out
        (line,) = [line for line in text.splitlines() if "articulation 0" in line]
        assert line.endswith(base)
