"""What PyBullet's calls give to free bodies before a step acts in all of its engine steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.exchange.library import SWITCH
from tests.laws.test_step_division import motion
from tests.physics.scenes import G, Scenery, world

RATE, PARTS = 60.0, 4
DIVIDED = gb.LoadOptions(substeps=PARTS)
UNDIVIDED = gb.LoadOptions(substeps=1)


def bodies_on_a_floor(rng: np.random.Generator) -> bytes:
    """Boxes, balls and bars of all masses, some on each other; one falls upwards."""
    scenery = Scenery()
    scenery.node("Floor", at=(0, -0.5, 0), shape=scenery.shape("box", size=[40, 1, 40]))
    for k in range(6):
        size = rng.uniform(0.1, 0.5, 3)
        at, shape = [2.0 * (k % 3), 0.5 * size[1], 0.0], scenery.shape("box", size=size.tolist())
        if k >= 3:  # above one of the first three, or in the air
            at[1], shape = 0.8 + k, scenery.shape("sphere", radius=float(size[0]))
        scenery.node(
            f"Body{k}", at=at, shape=shape,
            motion={
                "mass": float(rng.uniform(0.2, 5.0)), "gravityFactor": [1.0, 1.0, 0.5][k % 3],
                "angularVelocity": rng.uniform(-3, 3, 3).tolist() if k >= 3 else [0, 0, 0],
            },
        )  # fmt: skip
    return scenery.bytes()


def push(scene: gb.Scene, loads: np.ndarray[Any, Any]) -> None:
    client = scene.client_id
    for k, load in enumerate(loads):
        body = scene.bodies[f"Body{k}"]
        at, _ = pybullet.getBasePositionAndOrientation(body.body_id, client)
        force, torque = load[:3].tolist(), load[3:].tolist()
        place = [p + d for p, d in zip(at, (0.02, 0.0, 0.01), strict=True)]
        pybullet.applyExternalForce(
            body.body_id, -1, force, place, pybullet.WORLD_FRAME, physicsClientId=client
        )
        pybullet.applyExternalTorque(
            body.body_id, -1, torque, pybullet.WORLD_FRAME, physicsClientId=client
        )


@pytest.mark.parametrize("is_native", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_a_load_on_a_free_body_acts_in_all_engine_steps_of_a_step(
    seed: int, is_native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if it were given before each of them, in steps of their length."""
    monkeypatch.setenv(SWITCH, str(int(is_native)))
    rng = np.random.default_rng(seed)
    source = bodies_on_a_floor(rng)
    loads = rng.uniform(-3, 3, (40, 6, 6)) * rng.integers(0, 2, (40, 6, 1))
    loads[:, :, 3:] *= 0.02
    ends = []
    for rate, parts, options in ((RATE, 1, DIVIDED), (RATE * PARTS, PARTS, UNDIVIDED)):
        with world(source, rate=rate, options=options) as scene:
            for now in loads:
                for _ in range(parts):
                    push(scene, now)
                    scene.step()
            ends.append(np.concatenate([np.ravel(pose) for pose in motion(scene)[::2]]))
    # Where a force is applied moves on in the second run within a step, by micrometres.
    assert ends[0] == pytest.approx(ends[1], abs=2e-3)


def test_what_constraints_and_damping_do_is_not_given_twice() -> None:
    """The engine alone with four times the steps: to the bit."""
    scenery = Scenery()
    shape = scenery.shape("sphere", radius=0.1)
    for k in range(3):
        motion_of = {"mass": 1.0, "linearVelocity": [0, 0, 1.0 * k]}
        scenery.node(f"Body{k}", at=(k, 3, 0), shape=shape, motion=motion_of)
    ends = []
    for rate, parts, options in ((RATE, 1, DIVIDED), (RATE * PARTS, PARTS, UNDIVIDED)):
        with world(scenery.bytes(), rate=rate, options=options) as scene:
            client = scene.client_id
            held, other, damped = (body.body_id for body in scene.bodies.values())
            pybullet.createConstraint(
                held, -1, other, -1, pybullet.JOINT_POINT2POINT, [0, 0, 0], [0.5, 0, 0],
                [-0.5, 0, 0], physicsClientId=client,
            )  # fmt: skip
            pybullet.changeDynamics(damped, -1, linearDamping=0.5, physicsClientId=client)
            for _ in range(30):
                scene.step(parts)
            ends.append(motion(scene))
    assert ends[0] == ends[1]


def test_another_mass_of_somebody_else_is_no_load() -> None:
    """Boxes that rest with twice the mass that the file states: to the bit."""
    rng = np.random.default_rng(5)
    source, ends = bodies_on_a_floor(rng), []
    for rate, parts, options in ((RATE, 1, DIVIDED), (RATE * PARTS, PARTS, UNDIVIDED)):
        with world(source, rate=rate, options=options) as scene:
            for k in range(6):
                body = scene.bodies[f"Body{k}"].body_id
                mass = pybullet.getDynamicsInfo(body, -1, scene.client_id)[0]
                pybullet.changeDynamics(body, -1, mass=2.0 * mass, physicsClientId=scene.client_id)
            for _ in range(40):
                scene.step(parts)
            ends.append(motion(scene))
    assert ends[0] == ends[1]


def test_a_force_of_the_scene_s_own_and_fields_are_not_given_twice() -> None:
    scenery = Scenery()
    scenery.node(
        "Body", at=(0, 3, 0), shape=scenery.shape("box", size=[0.1, 0.3, 0.2]),
        motion={"mass": 2.0, "gravityFactor": 0.25, "angularVelocity": [3, 1, 2]},
    )  # fmt: skip
    with world(scenery.bytes(), rate=RATE, options=DIVIDED) as scene:
        body = scene.bodies["Body"]
        for _ in range(60):
            body.apply_force([6.0, 0.0, 0.0])
            pybullet.applyExternalForce(
                body.body_id, -1, [0, 0, 4.0], scene.world_from_node("Body")[:3, 3].tolist(),
                pybullet.WORLD_FRAME, physicsClientId=scene.client_id,
            )  # fmt: skip
            scene.step()
        found, _ = pybullet.getBaseVelocity(body.body_id, scene.client_id)
    assert sorted(found) == pytest.approx(sorted([3.0, -0.25 * G, 2.0]), rel=1e-6)
