"""One world, one step: whoever is asked, and whoever asks without a scene."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"
Step = Callable[[gb.Scene, gb.Scene, int], None]


def by_the_first(first: gb.Scene, second: gb.Scene, client: int) -> None:
    first.step(480)


def by_the_second(first: gb.Scene, second: gb.Scene, client: int) -> None:
    second.step(480)


def by_nobody(first: gb.Scene, second: gb.Scene, client: int) -> None:
    gb.step_world(client, 480)


@pytest.mark.parametrize("step", [by_the_first, by_the_second, by_nobody])
def test_two_arms_are_held_by_the_step_of_either(step: Step) -> None:
    with headless_world() as client:
        arms = [
            gb.load_gltf(ASSETS / "six_axis_arm.gltf", client, position=(3.0 * k, 0.0, 0.0))
            for k in range(2)
        ]
        wanted = np.full(len(arms[0].joint_controls.drives), 0.4)
        for arm in arms:
            arm.set_drive_targets(wanted)
        step(arms[0], arms[1], client)
        held = [arm.joint_controls.drive_states()[0] for arm in arms]
        assert held[0] == pytest.approx(wanted, abs=0.05)
        assert held[1] == pytest.approx(held[0], abs=1e-6)
        assert [arm.time for arm in arms] == pytest.approx([2.0, 2.0])


def test_a_world_without_a_scene_is_stepped_too() -> None:
    with headless_world() as client:
        ball = pybullet.createMultiBody(1.0, physicsClientId=client)
        gb.step_world(client, 24)
        (_, _, speed), _ = pybullet.getBaseVelocity(ball, client)
        assert speed == pytest.approx(-0.981, rel=1e-2)
        with pytest.raises(ValueError, match="count"):
            gb.step_world(client, -1)
    with pytest.raises(gb.EngineError, match="not connected"):
        gb.step_world(client)
