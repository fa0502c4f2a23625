"""What a kinematic body presses into something fixed is let through it, not pushed through that.

DESIGN 6, "Laws": what the engine cannot solve is changed before it solves, and named.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.contacts.squeezed_bodies import SqueezedBodies
from gltf_bullet.bullet.world.compiled_steps import CompiledSteps
from tests.physics.scenes import world
from tools.bench.baselines.contact_scenes import ContactScene, flat_grid

RADIUS, SPEED = 0.02, 0.1
"""Of the ball [m], and of the press [m/s]."""
HEIGHT = 0.1
"""[m] of the press's lower side at first."""


def press(**velocity: object) -> tuple[bytes, int, int]:
    """A press that comes down on a ball on a floor of triangles; the file, the press, the ball.

    ``velocity``: of the press; by default it comes down at SPEED.
    """
    scene = ContactScene()
    scene.node(scene.mesh(*flat_grid(4, 1.0)))
    plate = scene.shape("box", size=[0.3, 0.2, 0.3])
    press = scene.node(
        plate,
        at=(0.0, HEIGHT + 0.1, 0.0),
        motion={"isKinematic": True, "linearVelocity": [0.0, -SPEED, 0.0], **velocity},
    )
    ball = scene.node(
        scene.shape("sphere", radius=RADIUS), at=(0.01, RADIUS, 0.02), motion={"mass": 0.1}
    )
    return scene.bytes(), press, ball


def lowest(scene: gb.Scene, ball: int, step: Callable[[], None], steps: int) -> float:
    """The least height of the ball's centre [m]."""
    heights = []
    for _ in range(steps):
        step()
        heights.append(float(scene.world_from_node(ball)[1, 3]))
    return min(heights)


@pytest.mark.parametrize("rate", [60, 120, 240])
def test_a_press_does_not_press_a_ball_through_the_floor(rate: int) -> None:
    """The press takes 1 s to the ball, 3 s through the floor; the ball lies there afterwards."""
    content, press_node, ball = press()
    with world(content, rate=rate) as scene:
        assert lowest(scene, ball, scene.step, 5 * rate) > 0.5 * RADIUS
        assert scene.world_from_node(press_node)[1, 3] < -HEIGHT
        # PyBullet rests balls up to 1 mm off a mesh.
        assert scene.world_from_node(ball)[1, 3] == pytest.approx(RADIUS, abs=1.5e-3)
        (issue,) = [issue for issue in scene.issues if issue.code == "SQUEEZED"]
        assert issue.pointer == f"/nodes/{ball}"
        assert issue.values["other"] == press_node


@pytest.mark.parametrize("masses", [(0.1, 30.0), (30.0, 0.1)])
def test_kernels_see_a_press_that_the_user_moves_as_python_does(
    masses: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mass, by which forces tell how deep they press, is set after kernels have made steps."""
    content, press_node, ball = press(linearVelocity=[0.0, 0.0, 0.0])

    def course() -> tuple[np.ndarray, list[str], int]:
        looked = []
        look = SqueezedBodies.after_step
        with world(content) as scene, monkeypatch.context() as patch:
            for mass in masses:
                scene.set(f"/nodes/{ball}/extensions/KHR_physics_rigid_bodies/motion/mass", mass)
                scene.step(10)
            down = [0.0, -SPEED, 0.0]
            pybullet.resetBaseVelocity(
                scene.bodies[press_node].body_id, down, physicsClientId=scene.client_id
            )
            patch.setattr(
                SqueezedBodies, "after_step", lambda *given: (looked.append(1), look(*given))
            )
            heights = []
            for _ in range(4 * 240):
                scene.step()
                heights.append(scene.world_from_node(ball)[1, 3])
            codes = [issue.code for issue in scene.issues]
        return np.array(heights), codes, len(looked)

    heights, codes, looked = course()
    assert "SQUEEZED" in codes
    assert heights.min() > 0.5 * RADIUS
    assert looked < 4 * 240
    monkeypatch.setattr(CompiledSteps, "are_possible", lambda *_: False)
    in_python, same_codes, looked = course()
    assert (codes, looked) == (same_codes, 4 * 240)
    assert np.array_equal(heights, in_python)


def test_the_engine_alone_presses_it_through() -> None:
    content, _, ball = press()
    with world(content) as scene:
        step = lambda: pybullet.stepSimulation(scene.client_id)  # noqa: E731
        assert lowest(scene, ball, step, 1200) < -RADIUS


def test_what_a_lift_carries_is_not_squeezed() -> None:
    scene = ContactScene()
    lift = scene.node(
        scene.shape("box", size=[1.0, 0.2, 1.0]),
        motion={"isKinematic": True, "linearVelocity": [0.0, 1.0, 0.0]},
    )
    box = scene.node(
        scene.shape("box", size=[0.2, 0.2, 0.2]), at=(0.0, 0.5, 0.0), motion={"mass": 1.0}
    )
    with world(scene.bytes()) as running:
        running.step(480)
        above = running.world_from_node(box)[1, 3] - running.world_from_node(lift)[1, 3]
        assert above == pytest.approx(0.2, abs=2e-3)
        assert not running.issues


def test_who_is_let_through_is_part_of_a_state() -> None:
    """Restored in the middle of it, the next second is the same to the bit, and so is another."""
    content, _, ball = press()
    with world(content) as scene:
        scene.step(360)
        assert [issue.code for issue in scene.issues] == ["SQUEEZED"]
        state = scene.save_state()
        found = []
        for _ in range(3):
            scene.restore_state(state)
            scene.step(240)
            found.append(scene.world_from_node(ball).copy())
        assert np.array_equal(found[0], found[1])
        assert np.array_equal(found[0], found[2])
