"""Every command: its output, its exit code, and one clear line instead of a traceback."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import gltf_bullet as gb
from gltf_bullet.viewer.keys import key_lines
from tests.cli.conftest import Run

COMMANDS = ("inspect", "check", "simulate", "view", "bake", "convert")


# --- help and usage ---------------------------------------------------------------------------


def test_the_program_lists_its_commands(run: Run) -> None:
    outcome = run("--help")
    assert outcome.code == 0
    for command in COMMANDS:
        assert command in outcome.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(run: Run, command: str) -> None:
    outcome = run(command, "--help")
    assert outcome.code == 0
    assert f"Example: gltf-bullet {command}" in " ".join(outcome.out.split())


def test_the_help_of_view_lists_the_keys(run: Run) -> None:
    lines = [line.strip() for line in run("view", "--help").out.splitlines()]
    for line in key_lines():
        assert line.strip() in lines


@pytest.mark.parametrize(
    "arguments",
    [
        ("fly",),
        ("inspect",),
        ("inspect", "a.glb", "b.glb"),
        ("check",),
        ("check", "a.glb", "--json", "--sarif"),
        ("simulate", "a.glb", "--seconds", "-1"),
        ("simulate", "a.glb", "--seconds", "nan"),
        ("simulate", "a.glb", "--dt", "0"),
        ("simulate", "a.glb", "--fps", "0"),
        ("simulate", "a.glb", "--size", "0x10"),
        ("simulate", "a.glb", "--film-fps", "0"),
        ("simulate", "a.glb", "--png", "picture"),
        ("simulate", "a.glb", "--plot", "plot.txt"),
        ("simulate", "a.glb", "--mp4", "film.gif"),
        ("simulate", "a.glb", "--frames", "1"),
        ("simulate", "a.glb", "--renderer", "ink"),
        ("simulate", "a.glb", "--visuals", "all"),
        ("simulate", "a.glb", "--gravity", "0", "inf", "0"),
        ("view",),
        ("view", "a.glb", "--speed", "-1"),
        ("view", "a.glb", "--dt", "0"),
        ("view", "a.glb", "--gravity", "0", "0", "inf"),
        ("view", "a.glb", "--size", "10x10"),
        ("simulate", "a.glb", "--size", "800"),
        ("simulate", "a.glb", "--density", "-1"),
        ("check", "a.glb", "--max-hull-points", "2"),
        ("view", "a.glb", "--show", "colliders,bones"),
        ("view", "a.glb", "--up-axis", "x"),
        ("convert", "a.glb"),
        ("convert", "a.glb", "b.obj"),
        ("convert", "a.glb", "b.glb", "--to", "omi"),
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_2_and_says_why(run: Run, arguments: tuple[str, ...]) -> None:
    outcome = run(*arguments)
    assert outcome.code == 2
    assert "Error" in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize("command", ["inspect", "simulate"])
def test_a_missing_file_is_one_clear_line(run: Run, tmp_path: Path, command: str) -> None:
    outcome = run(command, tmp_path / "missing.glb")
    assert outcome.code == 2
    (line,) = outcome.err.splitlines()
    assert "missing.glb" in line
    assert "no such file" in line


@pytest.mark.parametrize("command", ["inspect", "simulate"])
def test_a_bad_asset_is_one_line_per_issue(run: Run, bad_file: Path, command: str) -> None:
    outcome = run(command, bad_file)
    assert outcome.code == 1
    error, warning = outcome.err.splitlines()[:2]
    assert error.startswith("error:")
    assert "/nodes/0/extensions/KHR_physics_rigid_bodies/motion/mass" in error
    assert warning.startswith("error:")  # loaded by itself, exit code 1 all the same
    assert "Traceback" not in outcome.err


# --- inspect ----------------------------------------------------------------------------------


def test_inspect_shows_bodies_joints_and_approximations(run: Run, assets: Path) -> None:
    door = run("inspect", assets / "hinge_door.gltf")
    assert door.code == 0
    for text in ("HingeOnDoor", "dynamic", "box 0.9 x 2 x 0.05", "angular y", "stiffness 20"):
        assert text in door.out
    zoo = run("inspect", assets / "shape_zoo.gltf")
    assert "approximated" in zoo.out
    assert "ROUND_SHAPE_APPROXIMATED" in zoo.out
    assert "half-space" in zoo.out


def test_inspect_json_has_the_same_facts(run: Run, assets: Path) -> None:
    outcome = run("inspect", assets / "compound.gltf", "--json")
    found = json.loads(outcome.out)
    (hammer,) = found["bodies"]
    assert hammer["mass"] == 2.0
    assert hammer["center_of_mass"] == [0.0, 0.3, 0.0]
    assert hammer["inertia"] == pytest.approx([0.07, 0.02, 0.07])
    assert [c["shape"] for c in hammer["colliders"]] == [
        "cylinder r 0.03, height 0.8",
        "box 0.3 x 0.12 x 0.12",
    ]
    assert found["nodes"][3] == {
        "node": 3, "name": "Head", "parent": 1, "body": 1, "roles": ["collider"],
    }  # fmt: skip
    assert found["issues"] == []


def test_inspect_draws_joints_as_the_tree_of_their_bodies(run: Run, assets: Path) -> None:
    """Crank, then the coupler on it; the loop is closed between coupler and rocker."""
    lines = run("inspect", assets / "four_bar.gltf").out.splitlines()

    def depth(text: str) -> int:
        (line,) = [line for line in lines if text in line]
        return line.index(text)

    assert depth("articulation 0: the world") < depth("by joint 7 CrankMotor")
    assert depth("body 0 Crank (link 0)") < depth("body 2 Coupler (link 1) by")
    assert depth("link 0: angular z, -inf .. inf rad, drive (force)") == depth(
        "body 2 Coupler (link 1) by"
    )
    assert (
        depth("joint 11 RockerPin (weld) between body 2") == depth("articulation 0: the world") + 4
    )


def test_inspect_shows_cones_beside_the_axes(run: Run, assets: Path) -> None:
    text = run("inspect", assets / "ragdoll.gltf").out
    assert f"limit: angular xz, 0 .. {math.radians(85):.4g} rad" in text
    assert "angular x, -2.4 .. 0 rad" in text
    assert "body 9 LeftForearm" in text
    (shoulder,) = (
        joint
        for joint in json.loads(run("inspect", assets / "ragdoll.gltf", "--json").out)["joints"]
        if joint["name"] == "LeftShoulder"
    )
    assert (shoulder["parent"]["name"], shoulder["child"]["name"]) == ("Chest", "LeftUpperArm")
    assert [dof["axis"] for dof in shoulder["dofs"]] == ["x", "y", "z"]


def test_inspect_json_writes_no_infinity(run: Run, assets: Path) -> None:
    outcome = run("inspect", assets / "pendulum.gltf", "--json")

    def refuse(constant: str) -> float:
        raise AssertionError(constant)

    found = json.loads(outcome.out, parse_constant=refuse)
    assert [joint["dofs"][0]["kind"] for joint in found["joints"]] == ["ball"] * 3


# --- check ------------------------------------------------------------------------------------


def test_check_of_good_files_is_clean(run: Run, assets: Path) -> None:
    files = sorted(assets.glob("*.gltf"))
    outcome = run("check", *files)
    assert outcome.code == 0
    assert outcome.out.count(" yes ") == len(files)


def test_check_reports_every_error_and_goes_on(run: Run, assets: Path, bad_file: Path) -> None:
    outcome = run("check", bad_file, assets / "falling_box.gltf", bad_file.parent / "missing.glb")
    assert outcome.code == 1
    for text in ("refused", "falling_box.gltf", "FILE_UNREADABLE"):
        assert text in outcome.out


def test_check_json(run: Run, bad_file: Path) -> None:
    outcome = run("check", bad_file, "--json")
    assert outcome.code == 1
    (report,) = json.loads(outcome.out)
    assert report["usable"] is False
    assert {issue["severity"] for issue in report["issues"]} >= {"error"}


def test_check_sarif_is_consistent(run: Run, bad_file: Path, assets: Path) -> None:
    outcome = run("check", bad_file, assets / "shape_zoo.gltf", "--sarif")
    log = json.loads(outcome.out)
    assert log["version"] == "2.1.0"
    (only_run,) = log["runs"]
    rules = only_run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted({rule["id"] for rule in rules})
    assert all(rule["fullDescription"]["text"] and rule["help"]["text"] for rule in rules)
    for result in only_run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert {result["level"] for result in only_run["results"]} >= {"error", "warning"}


# --- simulate ---------------------------------------------------------------------------------


def test_simulate_shows_where_bodies_ended(run: Run, assets: Path, tmp_path: Path) -> None:
    table, picture = tmp_path / "new" / "poses.csv", tmp_path / "new" / "last.png"
    outcome = run(
        "simulate", assets / "falling_box.gltf", "--seconds", 1.5, "--fps", 60, "--csv", table,
        "--png", picture, "--size", "320x200",
    )  # fmt: skip
    assert outcome.code == 0
    assert "Crate" in outcome.out
    assert "1.500 s" in outcome.out
    with table.open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 1 + 90
    assert float(rows[0]["z"]) == pytest.approx(3.0)
    assert float(rows[-1]["z"]) == pytest.approx(0.5, abs=0.01)
    assert float(rows[-1]["time"]) == pytest.approx(1.5)
    assert {row["axes"] for row in rows} == {"world, z up"}
    pixels = np.asarray(Image.open(picture))
    assert pixels.shape == (200, 320, 3)
    # Sky, floor and crate: more than one colour, and not a flat picture.
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 3


def test_simulate_json_follows_the_chosen_gravity_and_step(run: Run, assets: Path) -> None:
    outcome = run(
        "simulate", assets / "falling_box.gltf", "--seconds", 0.5, "--dt", 0.01,
        "--gravity", 0, 0, -2.0, "--json",
    )  # fmt: skip
    found = json.loads(outcome.out)
    steps, dt = 100, 0.005  # two engine steps of at most 1/120 s in each
    fallen = 2.0 * dt * dt * steps * (steps + 1) / 2.0
    assert found["bodies"][0]["position"][2] == pytest.approx(3.0 - fallen, abs=1e-6)
    assert found["time"] == pytest.approx(0.5)


def test_simulate_draws_collision_shapes_where_there_are_no_meshes(
    run: Run, assets: Path, tmp_path: Path
) -> None:
    picture = tmp_path / "last.png"
    outcome = run(
        "simulate",
        assets / "hinge_door.gltf",
        "--seconds",
        0,
        "--png",
        picture,
        "--size",
        "160x120",
    )
    assert outcome.code == 0
    pixels = np.asarray(Image.open(picture)).reshape(-1, 3)
    assert len(np.unique(pixels, axis=0)) > 3


# --- convert ----------------------------------------------------------------------------------


OMI = {
    "asset": {"version": "2.0"},
    "extensionsUsed": ["OMI_physics_body", "OMI_physics_shape"],
    "extensions": {"OMI_physics_shape": {"shapes": [{"type": "box", "box": {"size": [1, 1, 1]}}]}},
    "scene": 0,
    "scenes": [{"nodes": [0]}],
    "nodes": [
        {
            "name": "Crate",
            "translation": [0, 2, 0],
            "extras": {"kept": True},
            "extensions": {
                "OMI_physics_body": {
                    "motion": {"type": "dynamic", "mass": 3.0},
                    "collider": {"shape": 0},
                }
            },
        }
    ],
}


@pytest.mark.parametrize("suffix", [".gltf", ".glb"])
def test_convert_rewrites_physics_and_keeps_the_rest(run: Run, tmp_path: Path, suffix: str) -> None:
    old, new = tmp_path / "old.gltf", tmp_path / f"new{suffix}"
    old.write_text(json.dumps(OMI))
    outcome = run("convert", old, new, "--to", "khr")
    assert outcome.code == 0
    assert "written" in outcome.out
    asset = gb.read_asset(new)
    assert asset.document.extensions_used == ("KHR_implicit_shapes", "KHR_physics_rigid_bodies")
    assert asset.document.json["nodes"][0]["extras"] == {"kept": True}
    assert asset.physics.motions == gb.read_asset(old).physics.motions
    assert not gb.check(new).errors


def test_convert_takes_external_buffers_in(run: Run, assets: Path, tmp_path: Path) -> None:
    zoo = json.loads((assets / "shape_zoo.gltf").read_text())
    import base64

    data = base64.b64decode(zoo["buffers"][0].pop("uri").partition(",")[2])
    (tmp_path / "zoo.bin").write_bytes(data)
    zoo["buffers"][0]["uri"] = "zoo.bin"
    old = tmp_path / "old.gltf"
    old.write_text(json.dumps(zoo))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert run("convert", old, elsewhere / "new.glb").code == 0
    assert run("convert", old, elsewhere / "new.gltf").code == 0
    before = gb.read_asset(old)
    for name in ("new.glb", "new.gltf"):
        after = gb.read_asset(elsewhere / name)
        assert bytes(after.document.buffer(0))[: len(data)] == data
        assert after.physics == before.physics


def test_convert_json_lists_the_issues(run: Run, assets: Path, tmp_path: Path) -> None:
    outcome = run("convert", assets / "pendulum.gltf", tmp_path / "new.glb", "--json")
    found = json.loads(outcome.out)
    assert found["written"] == str(tmp_path / "new.glb")
    assert found["issues"] == []


# --- behavior ---------------------------------------------------------------------------------

SORTING = Path(__file__).resolve().parents[2] / "examples" / "assets" / "sorting_gate.gltf"


def test_materials_and_filters_are_named_by_their_tables(run: Run, assets: Path) -> None:
    outcome = run("inspect", assets / "friction_ramp.gltf")
    assert "physicsMaterials/0" in outcome.out
    assert "/extensions/KHR_physics_rigid_bodies/physicsMaterials" not in outcome.out


def test_a_behavior_graph_is_printed(run: Run) -> None:
    outcome = run("inspect", str(SORTING))
    assert "event/rigid_body_triggerEntered nodeIndex 9" in outcome.out
    assert "set side = neg(side)" in outcome.out


def test_the_log_and_the_variables_of_a_graph_are_printed(run: Run) -> None:
    arguments = ("simulate", str(SORTING), "--seconds", "4", "--log")
    assert "1 left, 0 right" in run(*arguments).out
    rows = json.loads(run(*arguments, "--json").out)
    # Two balls have come to the sensor by then.
    assert rows["variables"] == {"side": "0.5", "left": "1", "right": "0"}
    assert rows["log"][0]["message"] == "1 left, 0 right"


def test_what_falls_for_good_is_named_and_triggers_are_told(run: Run, assets: Path) -> None:
    away = run("simulate", assets / "goal_line.gltf", "--seconds", "2")
    assert "Trigger events" in away.out
    assert away.out.count("entered") == 2
    told = json.loads(run("simulate", assets / "goal_line.gltf", "--seconds", "9", "--json").out)
    assert [event["trigger"] for event in told["events"]] == ["Goal"] * 4
    fallen = [issue for issue in told["issues"] if issue["code"] == "FELL_OUT"]
    names = {issue["node"] for issue in fallen}
    assert names == {"BallMiddle", "BallInside", "BallWide"}
    pendulum = run("simulate", assets / "falling_box.gltf", "--floor", "--seconds", "9", "--json")
    assert "FELL_OUT" not in pendulum.out


def test_a_file_that_holds_nothing_to_simulate_is_not_called_exact(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "plain.gltf"
    file.write_text('{"asset": {"version": "2.0"}, "nodes": [{"name": "Lamp"}]}')
    for command in ("check", "inspect", "simulate"):
        outcome = run(command, file)
        assert outcome.code == 0
        assert "NO_PHYSICS" in outcome.out
        assert "everything is exact" not in outcome.out


def test_a_missing_shape_is_an_error_and_the_rest_is_loaded(run: Run, tmp_path: Path) -> None:
    physics = {"motion": {}, "collider": {"geometry": {"shape": 7}}}
    node = {"name": "L Bracket", "extensions": {"KHR_physics_rigid_bodies": physics}}
    used = ["KHR_physics_rigid_bodies"]
    root = {"asset": {"version": "2.0"}, "extensionsUsed": used, "nodes": [node]}
    file = tmp_path / "bracket.gltf"
    file.write_text(json.dumps(root))
    for command in ("check", "inspect"):
        outcome = run(command, file)
        assert outcome.code == 1
        assert "left out REFERENCE_MISSING" in outcome.out
        assert 'node "L Bracket" (/nodes/0/' in outcome.out
        assert "ended" not in outcome.out
    assert run("simulate", file).code == 0
