"""Joints that close loops stay closed, and loops that fall gain no energy.

PyBullet stops solving once the last row of a constraint is satisfied: rings that fell came open and
gained up to 23 times their energy, and the end of a bridge's deck left its roller.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pybullet
import pytest
from scipy.spatial.transform import Rotation

import gltf_bullet as gb
from tests.physics.scenes import G, Jointed, world

ASSETS = Path(__file__).parents[2] / "examples" / "assets"


def uneven_ring(seed: int, radius: float = 0.6) -> tuple[bytes, list[tuple[int, int]]]:
    """A tilted closed chain of 12 bars of any mass in the air; the two ends of each ball joint.

    Rings of odd seeds are ellipses.
    """
    rng = np.random.default_rng(seed)
    scenery = Jointed()
    scenery.node("Ground", at=(0, -0.5, 0), shape=scenery.shape("box", size=[10, 1, 10]))
    tilt = Rotation.from_rotvec(0.5 * rng.normal(size=3))
    turns = np.linspace(0.0, 2.0 * math.pi, 13)
    flat = 0.3 if seed % 2 else 1.0
    corners = radius * np.stack([np.cos(turns), flat * np.sin(turns), 0.0 * turns], axis=1)
    middle = np.array([0.0, radius + 1.0 + seed % 3, 0.0])
    starts, ends = [], []
    for first, second in itertools.pairwise(corners):
        x, y, _ = second - first
        length = math.hypot(x, y)
        body = scenery.node(
            f"Bar{len(ends)}",
            at=(middle + tilt.apply(0.5 * (first + second))).tolist(),
            rotation=(tilt * Rotation.from_rotvec((0.0, 0.0, math.atan2(y, x)))).as_quat().tolist(),
            shape=scenery.shape("box", size=[0.8 * length, 0.04, 0.04]),
            motion={"mass": 0.3 * math.exp(rng.normal())},
        )
        starts.append(scenery.attachment(body, (-0.5 * length, 0.0, 0.0)))
        ends.append(scenery.attachment(body, (0.5 * length, 0.0, 0.0)))
    pairs = list(zip(ends, [*starts[1:], starts[0]], strict=True))
    for end, start in pairs:
        scenery.join(end, start, limits=[{"linearAxes": [0, 1, 2], "min": 0.0, "max": 0.0}])
    return scenery.bytes(), pairs


def energy(scene: gb.Scene) -> float:
    """Kinetic energy of the only articulation, and the potential one above the ground [J]."""
    [articulation] = scene.core.world.articulations.articulations
    state = articulation.read()
    v, w = state.linear_velocity, state.angular_velocity
    each = 0.5 * np.sum(v**2, axis=1) + G * state.com[:, 1]
    turning = 0.5 * np.einsum("bi,bij,bj", w, state.inertia_in_world, w)
    return float(np.sum(state.masses * each) + turning)


# The first impact is after 0.64 to 0.78 s. At 60 Hz it makes bars of some rings turn by more than a
# radian in a step.
@pytest.mark.parametrize(
    ("rate", "most", "gap"), [(60, 1.15, math.inf), (120, 1.05, 1e-3), (240, 1.05, 1e-3)]
)
@pytest.mark.parametrize("seed", [2, 4, 5])
def test_an_uneven_ring_that_falls_stays_closed_and_gains_nothing(
    seed: int, rate: int, most: float, gap: float
) -> None:
    content, pairs = uneven_ring(seed)
    ends, starts = np.transpose(pairs)
    with world(content, rate=rate) as scene:
        start = energy(scene)
        widest = 0.0
        for _ in range(round(1.4 * rate)):
            scene.step()
            assert energy(scene) < most * start
            places = scene.node_matrices[:, :3, 3]
            gaps = np.linalg.norm(places[ends] - places[starts], axis=1)
            widest = max(widest, float(gaps.max()))
    assert widest < gap


def in_world(client: int, body: int, link: int, pivot: tuple[float, ...]) -> np.ndarray:
    """A point of an engine link, or of the world (-1)."""
    if body < 0:
        return np.array(pivot)
    if link < 0:
        pose = pybullet.getBasePositionAndOrientation(body, physicsClientId=client)
    else:
        # Otherwise PyBullet tells poses of links of the step before.
        state = pybullet.getLinkState(
            body, link, computeForwardKinematics=1, physicsClientId=client
        )
        pose = state[:2]
    return np.array(pybullet.multiplyTransforms(*pose, pivot, (0, 0, 0, 1))[0])


def openings(client: int) -> list[float]:
    """By how much the engine's constraints are open [m]."""
    found = []
    for index in range(pybullet.getNumConstraints(physicsClientId=client)):
        identifier = pybullet.getConstraintUniqueId(index, physicsClientId=client)
        parent, link, child, child_link, _, _, pivot, child_pivot, *_ = pybullet.getConstraintInfo(
            identifier, physicsClientId=client
        )
        ends = (
            in_world(client, parent, link, pivot),
            in_world(client, child, child_link, child_pivot),
        )
        found.append(float(np.linalg.norm(ends[1] - ends[0])))
    return found


def test_a_box_that_falls_on_a_bridge_leaves_its_roller_closed() -> None:
    """Seen before the scene closes what is left open: it was 26 mm, and 6.6 m/s on the slide."""
    with world(ASSETS / "suspension_bridge.gltf", rate=240.0, up_axis="z") as scene:
        client = scene.client_id
        slide = scene.joints["PlankPin10"].degrees_of_freedom[0]
        way = 0.0
        for _ in range(240):
            scene.before_step()
            pybullet.stepSimulation(physicsClientId=client)
            assert max(openings(client)) < 1e-3
            scene.after_step()
            position, speed, *_ = pybullet.getJointState(
                slide.body_id, slide.link_index, physicsClientId=client
            )
            assert abs(speed) < 2.0
            way = max(way, abs(position))
        # The deck sags under the box and pulls its end in.
        assert 0.05 < way < slide.state.upper
