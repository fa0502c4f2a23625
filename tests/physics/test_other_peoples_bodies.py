"""What bodies of the user, and of other scenes, feel of the surfaces of a scene."""

from __future__ import annotations

from pathlib import Path

import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from tests.physics.scenes import Scenery

RATE = 240.0
G = 9.81
BULLET_FRICTION = 0.5
"""What PyBullet gives new bodies."""


def slab_of(client: int, friction: float) -> int:
    box = pybullet.createCollisionShape(
        pybullet.GEOM_BOX, halfExtents=[60, 5, 0.5], physicsClientId=client
    )
    body = pybullet.createMultiBody(0, box, basePosition=[0, 0, -0.5], physicsClientId=client)
    pybullet.changeDynamics(body, -1, lateralFriction=friction, physicsClientId=client)
    return int(body)


def way_of_a_sliding_cube(client: int, scene: gb.Scene, speed: float) -> float:
    """[m] How far a cube of the user slides along X until it lies."""
    box = pybullet.createCollisionShape(
        pybullet.GEOM_BOX, halfExtents=[0.5, 0.5, 0.5], physicsClientId=client
    )
    cube = pybullet.createMultiBody(1.0, box, basePosition=[0, 0, 0.5], physicsClientId=client)
    pybullet.changeDynamics(cube, -1, linearDamping=0.0, angularDamping=0.0, physicsClientId=client)
    for _ in range(5):
        scene.step()
    pybullet.resetBaseVelocity(cube, [speed, 0, 0], physicsClientId=client)
    start = pybullet.getBasePositionAndOrientation(cube, client)[0][0]
    for _ in range(int(5 * RATE)):
        scene.step()
    assert pybullet.getBaseVelocity(cube, client)[0] == pytest.approx((0, 0, 0), abs=0.02)
    return float(pybullet.getBasePositionAndOrientation(cube, client)[0][0] - start)


@pytest.mark.parametrize("friction", [0.2, 1.0, 1.6])
def test_ground_that_was_exported_rubs_on_the_users_bodies_as_before(
    friction: float, tmp_path: Path
) -> None:
    """Bullet multiplies: the cube stops after v^2 / (2 * friction * 0.5 * g)."""
    with headless_world() as client:
        slab_of(client, friction)
        gb.export_world(tmp_path / "ground.glb", client)
    with headless_world() as client:
        pybullet.setGravity(0, 0, -G, physicsClientId=client)
        scene = gb.load_gltf(tmp_path / "ground.glb", client)
        found = way_of_a_sliding_cube(client, scene, 2.0)
    wanted = 2.0**2 / (2.0 * friction * BULLET_FRICTION * G)
    # One step's way more or less, and the little that the cube tilts.
    assert found == pytest.approx(wanted, abs=2.0 / RATE + 0.03 * wanted)


@pytest.mark.parametrize(
    ("mode", "friction", "factor"),
    [
        # Towards the spec's default material, of 0.6, as a factor of that.
        (None, 0.6, 1.0),
        (None, 0.1, (0.1 + 0.6) / 2 / 0.6),
        ("minimum", 0.1, 0.1 / 0.6),
        ("maximum", 0.1, 1.0),
        ("multiply", 0.1, 0.1),
    ],
)
def test_ground_alone_is_to_others_what_it_is_to_the_default_material(
    mode: str | None, friction: float, factor: float
) -> None:
    scenery = Scenery()
    combine = {} if mode is None else {"frictionCombine": mode}
    ice = scenery.material(dynamicFriction=friction, staticFriction=friction, **combine)
    scenery.node(
        "Ground", at=(0, -0.5, 0), shape=scenery.shape("box", size=[120, 1, 10]), material=ice
    )
    with headless_world() as client:
        pybullet.setGravity(0, 0, -G, physicsClientId=client)
        scene = gb.load_gltf(scenery.bytes(), client)
        found = way_of_a_sliding_cube(client, scene, 2.0)
    wanted = 2.0**2 / (2.0 * factor * BULLET_FRICTION * G)
    assert found == pytest.approx(wanted, abs=2.0 / RATE + 0.03 * wanted)


def test_exported_surfaces_have_the_numbers_that_they_had(tmp_path: Path) -> None:
    """Ground and what lies on it in one file: each is to third bodies what it was."""
    with headless_world() as client:
        slab_of(client, 0.3)
        ball = pybullet.createCollisionShape(
            pybullet.GEOM_SPHERE, radius=0.2, physicsClientId=client
        )
        body = pybullet.createMultiBody(1.0, ball, basePosition=[0, 0, 1], physicsClientId=client)
        pybullet.changeDynamics(body, -1, lateralFriction=0.9, physicsClientId=client)
        gb.export_world(tmp_path / "world.glb", client)
    with headless_world() as client:
        scene = gb.load_gltf(tmp_path / "world.glb", client)
        moving = {view.body_id for view in scene.bodies.values()}
        for body in range(pybullet.getNumBodies(physicsClientId=client)):
            info = pybullet.getDynamicsInfo(body, -1, physicsClientId=client)
            if pybullet.getCollisionShapeData(body, -1, physicsClientId=client):
                assert info[1] == pytest.approx(0.9 if body in moving else 0.3, abs=1e-6)


def test_balls_bounce_for_those_who_only_call_step_simulation() -> None:
    """Within the 0.05 that scenes keep; without a restitution the ball stops."""
    scenery = Scenery()
    bouncy = scenery.material(restitution=0.75)
    box, ball = scenery.shape("box", size=[40, 1, 40]), scenery.shape("sphere", radius=0.5)
    scenery.node("Ground", at=(0, -0.5, 0), shape=box, material=bouncy)
    scenery.node("Ball", at=(0, 2.5, 0), shape=ball, material=bouncy, motion={"mass": 1.0})
    with headless_world() as client:
        pybullet.setGravity(0, 0, -G, physicsClientId=client)
        scene = gb.load_gltf(scenery.bytes(), client)
        body = scene.bodies["Ball"]
        assert pybullet.getDynamicsInfo(body.body_id, -1, physicsClientId=client)[5] > 0.7
        fall = rise = 0.0
        for _ in range(int(RATE)):
            pybullet.stepSimulation(client)
            speed = pybullet.getBaseVelocity(body.body_id, client)[0][2]
            fall, rise = min(fall, speed), max(rise, speed)
    assert rise / -fall == pytest.approx(0.75, abs=0.05)
