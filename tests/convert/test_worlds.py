"""PyBullet worlds, whoever made them, and what of them comes along; the rest: tests.equivalence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from tests.convert.robots import DATA
from tests.runtime.pictures import corner_image, png, quad
from tools.gltf_builder import GltfBuilder

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"

World = Callable[[int], object]


def urdf(client: int, name: str, position: tuple[float, float, float], **options: object) -> int:
    body = pybullet.loadURDF(str(DATA / name), position, physicsClientId=client, **options)
    return int(body)


def table_top(client: int) -> None:
    urdf(client, "plane.urdf", (0, 0, 0))
    urdf(client, "table/table.urdf", (0, 0, 0))
    urdf(client, "tray/traybox.urdf", (0, 0, 0.65))
    urdf(client, "duck_vhacd.urdf", (0.2, 0.1, 0.8))
    urdf(client, "lego/lego.urdf", (-0.2, 0, 0.9))


def arm_and_box(client: int) -> None:
    arm = urdf(client, "kuka_iiwa/model.urdf", (0, 0, 0), useFixedBase=True)
    for joint in range(7):
        pybullet.resetJointState(arm, joint, 0.2 * joint - 0.5, 0.1, physicsClientId=client)
    urdf(client, "cube_small.urdf", (0.6, 0.0, 0.3))


def rover_field(client: int) -> None:
    urdf(client, "plane.urdf", (0, 0, 0))
    rover = urdf(client, "husky/husky.urdf", (0, 0, 0.2))
    pybullet.resetBaseVelocity(rover, [0.5, 0, 0], [0, 0, 0.1], physicsClientId=client)
    urdf(client, "sphere2.urdf", (2, 0, 0.6))


def droid(client: int) -> None:
    urdf(client, "r2d2.urdf", (0, 0, 0.6), baseOrientation=(0, 0, 0.6, 0.8))


def textures(client: int) -> None:
    urdf(client, "plane.urdf", (0, 0, 0))
    urdf(client, "soccerball.urdf", (0, 0.5, 1.0))
    urdf(client, "racecar/racecar.urdf", (0, -0.5, 0.1))


def constraints(client: int) -> None:
    boxes = [urdf(client, "cube_small.urdf", (0.2 * k, 0, 1)) for k in range(4)]
    for kind, a, b in (
        (pybullet.JOINT_POINT2POINT, boxes[0], boxes[1]),
        (pybullet.JOINT_FIXED, boxes[2], boxes[3]),
    ):
        pybullet.createConstraint(
            a, -1, b, -1, kind, [0, 0, 0], [0.1, 0, 0], [-0.1, 0, 0], physicsClientId=client
        )
    pybullet.createConstraint(
        boxes[0], -1, -1, -1, pybullet.JOINT_POINT2POINT, [0, 0, 0], [0, 0, 0], [0, 0, 1],
        physicsClientId=client,
    )  # fmt: skip


def zoo(client: int) -> None:
    """Every shape, with an offset and turned centre of mass, and a chain of every joint."""
    turn = pybullet.getQuaternionFromEuler([0.3, 0.5, 0.7])
    tetrahedron = [[0, 0, 0], [0.3, 0, 0], [0, 0.3, 0], [0, 0, 0.3]]
    kinds = (
        (pybullet.GEOM_BOX, {"halfExtents": [0.1, 0.15, 0.2]}),
        (pybullet.GEOM_SPHERE, {"radius": 0.15}),
        (pybullet.GEOM_CAPSULE, {"radius": 0.1, "height": 0.3}),
        (pybullet.GEOM_CYLINDER, {"radius": 0.1, "height": 0.3}),
        (pybullet.GEOM_MESH, {"vertices": tetrahedron}),
    )
    shapes = [
        pybullet.createCollisionShape(
            kind, collisionFramePosition=[0.02, 0.0, 0.01], collisionFrameOrientation=turn,
            physicsClientId=client, **values,
        )
        for kind, values in kinds
    ]  # fmt: skip
    for k, shape in enumerate(shapes):
        body = pybullet.createMultiBody(
            1.0 + k, shape, -1, [0.6 * k, 0, 1], turn, [0.01, 0.02, 0.03], turn,
            physicsClientId=client,
        )  # fmt: skip
        pybullet.changeDynamics(
            body, -1, lateralFriction=0.3 + 0.1 * k, restitution=0.1 * k,
            localInertiaDiagonal=[0.02, 0.03, 0.04], physicsClientId=client,
        )  # fmt: skip
        pybullet.resetBaseVelocity(body, [0.1, 0.2, k], [0.3, 0, 0], physicsClientId=client)
    square = [[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0.2]]
    ground = pybullet.createCollisionShape(
        pybullet.GEOM_MESH, vertices=square, indices=[0, 1, 2, 0, 2, 3], physicsClientId=client
    )
    pybullet.createMultiBody(0, ground, -1, [0, 4, 0], physicsClientId=client)
    kinds_of_joint = (
        pybullet.JOINT_REVOLUTE, pybullet.JOINT_PRISMATIC, pybullet.JOINT_FIXED,
        pybullet.JOINT_SPHERICAL,
    )  # fmt: skip
    n = len(kinds_of_joint)
    pybullet.createMultiBody(
        0.0, shapes[0], -1, [0, 2, 1], turn,
        linkMasses=[0.5] * n, linkCollisionShapeIndices=[shapes[0]] * n,
        linkVisualShapeIndices=[-1] * n, linkPositions=[[0.5, 0, 0]] * n,
        linkOrientations=[turn] * n, linkInertialFramePositions=[[0.1, 0, 0]] * n,
        linkInertialFrameOrientations=[[0, 0, 0, 1]] * n, linkParentIndices=list(range(n)),
        linkJointTypes=list(kinds_of_joint), linkJointAxis=[[0, 0.6, 0.8]] * n,
        physicsClientId=client,
    )  # fmt: skip


def example(name: str) -> World:
    def load(client: int) -> object:
        return gb.load_gltf(ASSETS / name, physics_client=client)

    load.__name__ = name
    return load


WORLDS: tuple[World, ...] = (
    table_top, arm_and_box, rover_field, droid, textures, constraints, zoo,
    example("six_axis_arm.gltf"), example("vehicle.gltf"), example("shape_zoo.gltf"),
)  # fmt: skip


def look(client: int) -> np.ndarray:
    view = pybullet.computeViewMatrix([2.5, -2.5, 2.0], [0.3, 0, 0.5], [0, 0, 1])
    lens = pybullet.computeProjectionMatrixFOV(50, 4 / 3, 0.05, 20)
    image = pybullet.getCameraImage(
        160, 120, view, lens, renderer=pybullet.ER_TINY_RENDERER, physicsClientId=client
    )
    return np.array(image[2], dtype=np.float64).reshape(120, 160, 4)[:, :, :3]


def seen(client: int) -> list[int]:
    """Kinds of the visual shapes that are not transparent."""
    return [
        entry[2]
        for k in range(pybullet.getNumBodies(client))
        for entry in pybullet.getVisualShapeData(
            pybullet.getBodyUniqueId(k, client), physicsClientId=client
        )
        if entry[7][3] > 0.0
    ]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("falling_box", [pybullet.GEOM_MESH] * 2),
        ("toy_blocks", [pybullet.GEOM_MESH] * 7),
        ("cart_pole", [pybullet.GEOM_BOX] * 3),
        ("ragdoll", []),
        ("four_bar", []),
    ],
)
def test_meshes_of_our_own_scenes_come_along(name: str, shown: list[int], tmp_path: Path) -> None:
    """PyBullet does not tell what it draws from memory; colliders are not what the file shows.

    Links of robots show meshes that are boxes as boxes.
    """
    path = tmp_path / "world.glb"
    pictures, colliders = [], []
    for source in (ASSETS / f"{name}.gltf", path):
        with headless_world() as client:
            scene = gb.load_gltf(source, physics_client=client)
            assert seen(client) == shown
            colliders.append(len(scene.asset.physics.colliders))
            pictures.append(look(client))
            issues = gb.export_world(path, client)
            assert not [issue for issue in issues if issue.code == "VISUAL_UNREADABLE"]
    assert colliders[0] == colliders[1]
    assert float(np.abs(pictures[0] - pictures[1]).mean()) <= 2.0


def test_a_texture_of_our_own_scene_comes_along(tmp_path: Path) -> None:
    builder = GltfBuilder()
    image = builder.image(png(corner_image(32)), "image/png")
    builder.node("Quad", mesh=quad(builder, builder.textured(builder.texture(image))))
    path = tmp_path / "world.glb"
    with headless_world() as client:
        scene = gb.load_gltf(builder.glb(), physics_client=client)
        assert gb.export_world(path, client) == ()
        wanted = look(client)
        assert scene.issues == ()
    with headless_world() as client:
        gb.load_gltf(path, physics_client=client)
        found = look(client)
    # The background and the four colours of the quad.
    assert len(np.unique(wanted.reshape(-1, 3), axis=0)) >= 5
    assert float(np.abs(wanted - found).mean()) <= 0.5


def test_the_world_is_left_as_it_is(tmp_path: Path) -> None:
    with headless_world() as client:
        arm_and_box(client)
        before = pybullet.saveState(physicsClientId=client)
        ids = [pybullet.getBodyUniqueId(k, client) for k in range(pybullet.getNumBodies(client))]
        gb.export_world(tmp_path / "a.glb", client)
        assert ids == [
            pybullet.getBodyUniqueId(k, client) for k in range(pybullet.getNumBodies(client))
        ]
        states = []
        for _ in range(2):
            pybullet.restoreState(before, physicsClientId=client)
            for _ in range(60):
                pybullet.stepSimulation(client)
            states.append(pybullet.getBasePositionAndOrientation(ids[1], client))
            gb.export_world(tmp_path / "b.glb", client)
        assert states[0] == states[1]


def test_masks_and_self_collision_become_filters(tmp_path: Path) -> None:
    """Whom a body meets in Bullet's default mode, it meets when loaded back, and nobody else."""
    bits = ((1, -1), (4, 8), (8, 4), (16, 0))
    path = tmp_path / "masks.glb"

    def drop(client: int, body: int, above: int) -> bool:
        return bool(pybullet.getContactPoints(body, above, physicsClientId=client))

    with headless_world() as client:
        box = pybullet.createCollisionShape(
            pybullet.GEOM_BOX, halfExtents=[0.5] * 3, physicsClientId=client
        )
        bodies = []
        for k, (group, mask) in enumerate(bits):
            # All in one place: everybody would meet everybody.
            body = pybullet.createMultiBody(1.0, box, -1, [0.01 * k, 0, 0], physicsClientId=client)
            pybullet.setCollisionFilterGroupMask(body, -1, group, mask, physicsClientId=client)
            bodies.append(body)
        gb.export_world(path, client)
        pybullet.performCollisionDetection(client)
        wanted = {(a, b) for a in range(4) for b in range(a) if drop(client, bodies[a], bodies[b])}
    assert wanted == {(1, 0), (2, 0), (2, 1), (3, 0)}
    with headless_world() as client:
        scene = gb.load_gltf(path, physics_client=client)
        again = [body.body_id for body in scene.bodies.values()]
        pybullet.performCollisionDetection(client)
        found = {(a, b) for a in range(4) for b in range(a) if drop(client, again[a], again[b])}
    assert found == wanted


def test_a_selection_takes_its_constraints_along(tmp_path: Path) -> None:
    with headless_world() as client:
        constraints(client)
        gb.export_world(tmp_path / "two.glb", client, bodies=[2, 3])
        with pytest.raises(gb.EngineError, match="no body 77"):
            gb.export_world(tmp_path / "no.glb", client, bodies=[77])
        with pytest.raises(ValueError, match=r"must end in \.glb or \.gltf"):
            gb.export_world(tmp_path / "no.obj", client)
    physics = gb.read_asset(tmp_path / "two.glb").physics
    assert len(physics.motions) == 2
    assert len(physics.joints) == 1
    assert not (tmp_path / "no.glb").exists()
