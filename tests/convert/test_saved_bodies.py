"""Bodies at one place keep each its own shapes, filter bits and joints, whatever ids they have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.reading.world_reader import read_bodies, read_world
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.convert.description import MeshShape
from gltf_bullet.diagnostics import Diagnostics

TURN = (0.36, 0.48, 0.48, 0.64)
BACK = (-0.36, -0.48, -0.48, 0.64)
NOWHERE = (9.0, 9.0, 9.0)
ORIGIN = (0.0, 0.0, 0.0)


def tetrahedron(client: int, size: float, **options: object) -> int:
    """A hull, of which PyBullet tells nothing but its box; Bullet moves corners by its margin."""
    corners = [[0, 0, 0], [size, 0, 0], [0, size, 0], [0, 0, size]]
    shape = pybullet.createCollisionShape(
        pybullet.GEOM_MESH, vertices=corners, physicsClientId=client
    )
    body = pybullet.createMultiBody(size, shape, physicsClientId=client, **options)
    return int(body)


def sizes(client: int) -> dict[int, float]:
    """Size of the hull that is read for each body."""
    found = {}
    world = read_world(client, None, Diagnostics())
    for body, description in zip(read_bodies(client, None), world.bodies, strict=True):
        (collider,) = description.links[0].colliders
        assert isinstance(collider.shape, MeshShape)
        found[body] = float(collider.shape.geometry.points.max())
    return found


def reused(client: int, **options: object) -> dict[int, float]:
    """The later body has the lower id."""
    first = tetrahedron(client, 9.0, basePosition=NOWHERE, **options)
    small = tetrahedron(client, 1.0, **options)
    pybullet.removeBody(first, physicsClientId=client)
    large = tetrahedron(client, 5.0, **options)
    assert large < small
    return {small: 1.0, large: 5.0}


def reused_maximal(client: int) -> dict[int, float]:
    return reused(client, useMaximalCoordinates=True)


def filed_anew(client: int) -> dict[int, float]:
    """A body whose filter was changed comes last in the engine's broadphase."""
    bodies = {tetrahedron(client, size): size for size in (1.0, 5.0, 3.0)}
    pybullet.setCollisionFilterGroupMask(min(bodies), -1, 4, 4, physicsClientId=client)
    return bodies


def opposite(client: int) -> dict[int, float]:
    """A rotation is not its inverse."""
    first = tetrahedron(client, 9.0, basePosition=NOWHERE)
    small = tetrahedron(client, 1.0, baseOrientation=TURN)
    pybullet.removeBody(first, physicsClientId=client)
    return {small: 1.0, tetrahedron(client, 5.0, baseOrientation=BACK): 5.0}


def slippery(client: int) -> dict[int, float]:
    """Frictions whose last bits are neighbours."""
    bodies = reused(client)
    values = (0.5, float(np.nextafter(0.5, 1.0)))
    for body, friction in zip(bodies, values, strict=True):
        pybullet.changeDynamics(body, -1, lateralFriction=friction, physicsClientId=client)
    return bodies


def beside_unknown(client: int) -> dict[int, float]:
    """Bodies of a batch are unknown until ``syncBodyInfo``."""
    corners = [[0, 0, 0], [7, 0, 0], [0, 7, 0], [0, 0, 7]]
    shape = pybullet.createCollisionShape(
        pybullet.GEOM_MESH, vertices=corners, physicsClientId=client
    )
    pybullet.createMultiBody(
        1.0, shape, batchPositions=[NOWHERE, ORIGIN, ORIGIN], physicsClientId=client
    )
    known = set(read_bodies(client, None))
    small = tetrahedron(client, 1.0)
    return {small: 1.0, **dict.fromkeys(known, 7.0)}


def shuffled(client: int) -> dict[int, float]:
    """Made and removed in any order, of both kinds, with filters changed between."""
    random = np.random.default_rng(7)
    bodies: dict[int, float] = {}
    for step in range(120):
        if bodies and random.random() < 0.4:
            chosen = int(random.choice(list(bodies)))
            if random.random() < 0.5:
                pybullet.removeBody(chosen, physicsClientId=client)
                del bodies[chosen]
            else:
                pybullet.setCollisionFilterGroupMask(chosen, -1, 2, 4, physicsClientId=client)
            continue
        size = 1.0 + step
        maximal = bool(random.random() < 0.5)
        bodies[tetrahedron(client, size, useMaximalCoordinates=maximal)] = size
    return bodies


@pytest.mark.parametrize(
    "build",
    [reused, reused_maximal, filed_anew, opposite, slippery, beside_unknown, shuffled],
    ids=lambda build: build.__name__,
)
def test_each_body_keeps_its_own_shape(build: Callable[[int], dict[int, float]]) -> None:
    with headless_world() as client:
        wanted = build(client)
        assert sizes(client) == pytest.approx(wanted, rel=1e-3)


def test_each_body_keeps_its_own_filter_bits() -> None:
    with headless_world() as client:
        small, _ = reused(client)
        pybullet.setCollisionFilterGroupMask(small, -1, 4, 8, physicsClientId=client)
        world = read_world(client, None, Diagnostics())
        found = dict(zip(read_bodies(client, None), world.bodies, strict=True))
        bits = {body: (b.links[0].group, b.links[0].mask) for body, b in found.items()}
    assert bits == {small: (4, 8), small - 1: (1, -1)}


def saved(client: int, path: Path) -> bytes:
    pybullet.saveBullet(str(path), physicsClientId=client)
    return path.read_bytes()


@pytest.mark.parametrize("friction", [0.0, 0.5, 1.0, 2.5, 1e-300])
def test_telling_them_apart_leaves_no_trace(friction: float, tmp_path: Path) -> None:
    with headless_world() as client:
        for body in reused(client) | reused_maximal(client):
            pybullet.changeDynamics(body, -1, lateralFriction=friction, physicsClientId=client)
        before = saved(client, tmp_path / "before.bullet")
        gb.export_world(tmp_path / "world.glb", client)
        assert saved(client, tmp_path / "after.bullet") == before


def test_looking_does_not_change_what_comes(tmp_path: Path) -> None:
    """To the bit: bodies at one place push one another apart, and rub."""
    states = []
    for looks in (False, True):
        with headless_world() as client:
            bodies = reused(client)
            for step in range(60):
                pybullet.stepSimulation(client)
                if looks and step % 20 == 0:
                    gb.export_world(tmp_path / "world.glb", client)
            states.append([pybullet.getBasePositionAndOrientation(body, client) for body in bodies])
    assert states[0] == states[1]


SOLID = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'


@pytest.mark.parametrize("solid", ["", SOLID], ids=["bare", "solid"])
def test_what_cannot_be_told_apart_is_named(solid: str, tmp_path: Path) -> None:
    """PyBullet sets no negative friction, so that such bodies take no mark."""
    path = tmp_path / "ball.urdf"
    path.write_text(
        '<robot name="ball"><link name="b"><contact><lateral_friction value="-0.5"/></contact>'
        '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        f"</inertial>{solid}</link></robot>"
    )
    with headless_world() as client:
        for _ in range(2):
            pybullet.loadURDF(str(path), physicsClientId=client)
        issues = gb.export_world(tmp_path / "world.glb", client)
        assert pybullet.getDynamicsInfo(0, -1, physicsClientId=client)[1] == -0.5
    messages = [i.message for i in issues if i.code == "SAVED_BODY_UNCERTAIN"]
    assert [m.split(";")[0] for m in messages] == [
        f"2 bodies of the world that PyBullet saves may be body {k} (ball)" for k in (0, 1)
    ]
    others = {i.message.split(";")[0] for i in issues if i.code != "SAVED_BODY_UNCERTAIN"}
    lost = "glTF has no words for the friction -0.5 of link 'b'"
    assert others == ({lost} if solid else set())
