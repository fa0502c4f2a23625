"""Bodies in maximal coordinates, of which PyBullet tells little, come back as they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.reading.world_reader import read_world
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.convert.description import LinkDescription, WorldDescription
from gltf_bullet.diagnostics import Diagnostics
from tests.convert.robots import DATA
from tests.physics.scenes import Scenery

TURN = (0.36, 0.48, 0.48, 0.64)
OFFSET = (0.1, 0.2, 0.3)
TETRAHEDRON = [[0, 0, 0], [0.3, 0, 0], [0, 0.3, 0], [0, 0, 0.3]]
SHAPES = (
    {"shapeType": pybullet.GEOM_BOX, "halfExtents": [0.1, 0.15, 0.2]},
    {"shapeType": pybullet.GEOM_SPHERE, "radius": 0.15},
    {"shapeType": pybullet.GEOM_CAPSULE, "radius": 0.1, "height": 0.3},
    {"shapeType": pybullet.GEOM_CYLINDER, "radius": 0.1, "height": 0.3},
    {"shapeType": pybullet.GEOM_MESH, "vertices": TETRAHEDRON},
    {"shapeType": pybullet.GEOM_MESH, "vertices": TETRAHEDRON, "indices": [0, 1, 2, 0, 2, 3]},
    {"shapeType": pybullet.GEOM_PLANE, "planeNormal": [0, 0.6, 0.8]},
)


def add(client: int, number: int, *, maximal: bool, at: tuple[float, float, float]) -> int:
    """A body of each shape, its frame away from its centre of mass; the last two are fixed."""
    shape = pybullet.createCollisionShape(
        **SHAPES[number], collisionFramePosition=[0.02, 0.0, 0.01], physicsClientId=client
    )
    body = pybullet.createMultiBody(
        0.0 if number >= 5 else 1.0 + number, shape, -1, at, TURN, OFFSET, TURN,
        useMaximalCoordinates=maximal, physicsClientId=client,
    )  # fmt: skip
    pybullet.changeDynamics(
        body, -1, lateralFriction=0.3 + 0.1 * number, restitution=0.1 * number,
        physicsClientId=client,
    )  # fmt: skip
    pybullet.setCollisionFilterGroupMask(body, -1, 4, 8 + number, physicsClientId=client)
    if number < 5:
        pybullet.resetBaseVelocity(body, [0.1, 0.2, number], [0.3, 0, 0], physicsClientId=client)
    return int(body)


def links(world: WorldDescription) -> list[LinkDescription]:
    return [link for body in world.bodies for link in body.links]


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_a_body_is_read_as_its_twin_in_reduced_coordinates(number: int) -> None:
    """Up to the link frame, which PyBullet tells of multibodies alone."""
    with headless_world() as client:
        add(client, number, maximal=False, at=(0, 0, 1))
        add(client, number, maximal=True, at=(0, 0, 1))
        twin, link = links(read_world(client, None, Diagnostics()))
    assert link.mass == twin.mass
    assert (link.friction, link.restitution) == (twin.friction, twin.restitution)
    assert (link.group, link.mask) == (twin.group, twin.mask)
    assert link.inertia_diagonal == pytest.approx(twin.inertia_diagonal, rel=1e-6)
    assert link.linear_velocity == twin.linear_velocity
    assert link.angular_velocity == twin.angular_velocity
    poses = [(k.world_from_link @ k.link_from_inertial).matrix() for k in (link, twin)] + [
        (k.world_from_link @ k.colliders[0].link_from_shape).matrix() for k in (link, twin)
    ]
    assert np.allclose(poses[0], poses[1], atol=1e-12)
    assert np.allclose(poses[2], poses[3], atol=1e-6)
    shapes = [k.colliders[0].shape for k in (link, twin)]
    if number in (4, 5):
        assert shapes[0] == shapes[1]
    else:
        for key in shapes[1].__slots__:
            assert getattr(shapes[0], key) == pytest.approx(getattr(shapes[1], key), abs=1e-9)
            assert type(shapes[0]) is type(shapes[1])


def test_what_is_drawn_as_it_collides_tells_the_frame() -> None:
    """The engine draws colliders where none is given; they are in the link's frame."""
    with headless_world() as client:
        add(client, 0, maximal=True, at=(0, 0, 1))
        (link,) = links(read_world(client, None, Diagnostics()))
    assert np.allclose(link.world_from_link.translation, (0, 0, 1), atol=1e-6)
    assert np.allclose(link.link_from_inertial.translation, OFFSET, atol=1e-6)
    assert np.allclose(link.visuals[0].link_from_shape.translation, (0.02, 0.0, 0.01), atol=1e-6)


def test_bodies_at_one_place_keep_their_shapes_after_others_were_removed() -> None:
    with headless_world() as client:
        bodies = []
        for k in range(6):
            shape = pybullet.createCollisionShape(
                pybullet.GEOM_SPHERE, radius=0.1 + 0.1 * k, physicsClientId=client
            )
            bodies.append(
                pybullet.createMultiBody(
                    0.0, shape, useMaximalCoordinates=True, physicsClientId=client
                )
            )
        # The engine then puts the last one in its place.
        pybullet.removeBody(bodies.pop(1), physicsClientId=client)
        for chosen in (bodies, bodies[2:3]):
            found = links(read_world(client, chosen, Diagnostics()))
            radii = [link.colliders[0].shape.radius for link in found]  # type: ignore[union-attr]
            assert radii == pytest.approx([0.1 + 0.1 * body for body in chosen])


def many_statics() -> bytes:
    """More than 64 fixed colliders: a scene makes those in maximal coordinates."""
    scenery = Scenery()
    box = scenery.shape("box", size=[1, 1, 1])
    bouncy = scenery.material(
        staticFriction=0.25, dynamicFriction=0.25, restitution=0.5,
        frictionCombine="multiply", restitutionCombine="multiply",
    )  # fmt: skip
    for k in range(66):
        scenery.node(
            f"Step{k}", at=[2 * k, 0.01 * k, 0], rotation=[0, 0.6, 0, 0.8], shape=box,
            material=bouncy if k % 2 else None,
        )  # fmt: skip
    scenery.node("Ball", at=[1, 3, 0], shape=scenery.shape("sphere"), material=bouncy, motion={})
    return scenery.bytes()


def places(world: WorldDescription) -> np.ndarray:
    """Where each solid is, by place, and the friction between it and the ball."""
    (ball,) = (link for link in links(world) if link.mass > 0.0)
    rows = [
        (
            *(link.world_from_link @ solid.link_from_shape).matrix()[:3].ravel(),
            0.0 if link is ball else link.friction * ball.friction,
        )
        for link in links(world)
        for solid in link.colliders
    ]  # fmt: skip
    return np.array(sorted(rows, key=lambda row: np.round([row[3], row[7], row[11]], 3).tolist()))


def test_a_scene_of_many_fixed_colliders_comes_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "world.glb"
    with headless_world() as client:
        scene = gb.load_gltf(many_statics(), physics_client=client)
        scene.step(60)
        native = read_world(client, None, Diagnostics())
        assert gb.export_world(path, client) == ()
    with headless_world() as client:
        gb.load_gltf(path, physics_client=client)
        again = read_world(client, None, Diagnostics())
    assert len(native.bodies) == 67
    assert np.allclose(places(native), places(again), rtol=0.0, atol=1e-6)
    written = [c.material for c in gb.read_asset(path).physics.colliders.values()]
    found = sorted((m.dynamic_friction, m.restitution) for m in written if m)
    # Materials are those of the file, of which the engine has but products: half of them default.
    assert np.allclose(found, [(0.25, 0.5)] * 34 + [(0.6, 0.0)] * 33)


def test_such_a_world_is_recorded(tmp_path: Path) -> None:
    with headless_world() as client:
        scene = gb.load_gltf(many_statics(), physics_client=client)
        recording = gb.record_world(client)
        for _ in range(120):
            scene.step()
            recording.after_step()
        assert [issue.code for issue in recording.issues] == ["SCENE_REDUCED"]
        recording.export_glb(tmp_path / "film.glb")
    again = gb.read_asset(tmp_path / "film.glb")
    assert len(again.physics.colliders) == 67


def test_links_of_robots_in_maximal_coordinates_are_named(tmp_path: Path) -> None:
    """PyBullet answers for the first link alone, and says that there are no joints."""
    with headless_world() as client:
        pybullet.loadURDF(
            str(DATA / "r2d2.urdf"), useMaximalCoordinates=True, physicsClientId=client
        )
        issues = gb.export_world(tmp_path / "robot.glb", client)
    assert "LINKS_UNREADABLE" in {issue.code for issue in issues}
