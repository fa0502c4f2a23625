"""Bodies follow the mouse: free ones, jointed ones, and neither static nor kinematic ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.viewer.playback import PULL_RATE, Dragging

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"
FORWARD = np.array([0.0, 1.0, 0.0])


pytestmark = pytest.mark.world(gravity=(0.0, 0.0, 0.0))


def ray_at(point: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """From an eye in front, along y."""
    eye = np.array([point[0], -4.0, point[2]])
    return eye, eye + 20.0 * FORWARD, FORWARD


@pytest.mark.parametrize("rate", [60, 240])
def test_a_free_body_settles_under_the_pointer(client: int, rate: int) -> None:
    pybullet.setTimeStep(1.0 / rate, physicsClientId=client)
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    center = scene.bodies["Crate"].center_of_mass
    dragging = Dragging(scene)
    assert dragging.take(*ray_at(center))
    grip = dragging.line()[0, 0]
    goal = grip + np.array([0.7, 0.0, 0.4])
    dragging.move(*ray_at(goal))
    np.testing.assert_allclose(dragging.line()[0], [grip, goal], atol=1e-6)
    # A critically damped spring is within a thousandth after 10 / rate; the body also turns.
    for _ in range(int(rate * 60.0 / PULL_RATE)):
        dragging.pull(1.0 / rate)
        scene.step()
    held, pointer = dragging.line()[0]
    np.testing.assert_allclose(held, pointer, atol=0.01)
    dragging.release()
    assert not dragging.is_active
    assert len(dragging.line()) == 0
    before = scene.bodies["Crate"].linear_velocity
    dragging.pull(1.0 / rate)
    assert (scene.bodies["Crate"].linear_velocity == before).all()


def test_a_jointed_body_is_pulled_within_its_joint(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "hinge_door.gltf", client)
    scene.step(960)  # the door has come to rest
    body, joint = scene.bodies["Door"], scene.joints["HingeOnDoor"].degrees_of_freedom[0]
    start = joint.position
    dragging = Dragging(scene)
    center = body.center_of_mass
    eye = center + np.array([0.3, -4.0, 0.0])
    ray = (eye, eye + 20.0 * FORWARD, np.array([0.0, 1.0, 0.0]))
    assert dragging.take(*ray)
    # Seen from the side, the pointer goes off to the back: the leaf turns after it.
    side = np.array([1.0, 0.0, 0.0])
    grip = dragging.line()[0, 0]
    goal = grip + np.array([0.0, 0.5, 0.0])
    dragging._target = goal
    for _ in range(480):
        dragging.pull(1.0 / 240.0)
        scene.step()
    assert abs(joint.position - start) > 0.1
    turned = dragging.line()[0, 0] - grip
    assert turned[1] > 0.1
    assert abs(side @ turned) < abs(turned[1])


def test_what_no_force_moves_is_not_taken(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "kinematic_platform.gltf", client)
    platform = next(b for b in scene.bodies.values() if b.kind.value == "kinematic")
    top = scene.world_from_node(platform.node)[:3, 3] + np.array([0.9, 0.0, 0.0])
    dragging = Dragging(scene)
    down = np.array([0.0, 0.0, -1.0])
    assert not dragging.take(top + np.array([0, 0, 0.6]), top - np.array([0, 0, 3.0]), down)
    assert not dragging.take(top + np.array([50, 0, 0.6]), top + np.array([50, 0, 5.0]), down)
    assert not dragging.is_active
    dragging.move(*ray_at(top))
    assert len(dragging.line()) == 0
