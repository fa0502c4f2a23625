"""Steps of the engine without a scene: counted by the world's own clock, and named once."""

from __future__ import annotations

from pathlib import Path

import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.exchange.library import SWITCH

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"


def skipped(scene: gb.Scene) -> list[tuple[object, object]]:
    """Number of steps, and what did nothing in them."""
    return [
        (issue.values["steps"], issue.values["left_out"])
        for issue in scene.issues
        if issue.code == "STEPPED_WITHOUT_SCENE"
    ]


@pytest.mark.parametrize(
    ("asset", "left_out"),
    [
        ("six_axis_arm", "6 drives"),
        ("ragdoll", "22 drives and 6 limits"),  # of six balls; one axis each has the engine itself
        ("goal_line", "1 trigger"),
        ("sorting_gate", "1 drive, 3 triggers and behavior graph"),
    ],
)
def test_a_plain_loop_is_named_with_its_steps(client: int, asset: str, left_out: str) -> None:
    scene = gb.load_gltf(ASSETS / f"{asset}.gltf", client)
    scene.step(3)
    assert not skipped(scene)
    for _ in range(7):
        pybullet.stepSimulation(client)
    assert skipped(scene) == [(7, left_out)]
    scene.step(2)
    pybullet.stepSimulation(client)
    assert skipped(scene) == [(8, left_out)]


def test_nothing_is_left_out_of_a_scene_of_free_bodies(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    pybullet.stepSimulation(client)
    assert not skipped(scene)


def test_steps_before_the_load_count_as_little_as_those_of_the_scene(client: int) -> None:
    for _ in range(5):
        pybullet.stepSimulation(client)
    scene = gb.load_gltf(ASSETS / "six_axis_arm.gltf", client)
    for time_step in (1 / 60, 1 / 1000, 1 / 240):
        pybullet.setTimeStep(time_step, client)
        scene.step(20)
    state = scene.save_state()
    scene.step(20)
    scene.restore_state(state)
    scene.reset()
    scene.step(1)
    assert not skipped(scene)


def test_a_loop_of_ones_own_is_whole_with_both_calls(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "ragdoll.gltf", client)
    for _ in range(5):
        scene.before_step()
        pybullet.stepSimulation(client)
        assert not skipped(scene)  # the step is not over
        scene.after_step()
    assert not skipped(scene)
    scene.before_step()
    for _ in range(3):
        pybullet.stepSimulation(client)
    scene.after_step()
    assert skipped(scene)[0][0] == 2


def test_a_divided_step_of_a_loop_is_one_step(client: int) -> None:
    options = gb.LoadOptions(substeps=4)
    scene = gb.load_gltf(ASSETS / "six_axis_arm.gltf", client, options=options)
    for _ in range(5):
        scene.before_step()
        assert not skipped(scene)
        pybullet.stepSimulation(client)
        assert not skipped(scene)
        scene.after_step()
    assert not skipped(scene)
    assert scene.time == pytest.approx(5 / 240)


def test_a_step_that_was_not_prepared_counts(client: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "0")  # also where the clock cannot be read
    scene = gb.load_gltf(ASSETS / "six_axis_arm.gltf", client)
    for _ in range(4):
        pybullet.stepSimulation(client)
        scene.after_step()
    assert skipped(scene) == [(4, "6 drives")]


def test_a_step_of_another_scene_alone_was_asked_for(client: int) -> None:
    one, other = (gb.load_gltf(ASSETS / "six_axis_arm.gltf", client) for _ in range(2))
    one.step(10, alone=True)
    assert not skipped(one) + skipped(other)
    gb.step_world(client, 10)
    assert not skipped(one) + skipped(other)
    pybullet.stepSimulation(client)
    assert skipped(one) == skipped(other) == [(1, "6 drives")]


def test_what_was_found_is_still_said_when_the_world_is_gone(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "six_axis_arm.gltf", client)
    pybullet.stepSimulation(client)
    assert skipped(scene)[0][0] == 1
    pybullet.resetSimulation(client)
    pybullet.stepSimulation(client)
    assert skipped(scene)[0][0] == 1


@pytest.mark.parametrize("time_step", [0.0, float("nan")])
def test_time_steps_that_are_none_leave_the_issues_readable(client: int, time_step: float) -> None:
    scene = gb.load_gltf(ASSETS / "six_axis_arm.gltf", client)
    pybullet.setTimeStep(time_step, client)
    pybullet.stepSimulation(client)
    assert not skipped(scene)
