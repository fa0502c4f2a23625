"""Contacts as arrays with glTF nodes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from tests.physics.scenes import Scenery, world

ASSETS = Path(__file__).parents[2] / "examples" / "assets"
G = 9.81
SHAPES = [
    {"type": "box", "box": {"size": [10, 1, 10]}},
    {"type": "box", "box": {"size": [0.2, 0.2, 0.2]}},
    {"type": "sphere", "sphere": {"radius": 0.1}},
]


pytestmark = pytest.mark.world(gravity=(0.0, -G, 0.0))


def entry(at: list[float], **physics: object) -> dict[str, object]:
    return {"translation": at, "extensions": {"KHR_physics_rigid_bodies": physics}}


def load(client: int, *nodes: dict[str, object]) -> gb.Scene:
    below = {child for node in nodes for child in node.get("children", ())}  # type: ignore[attr-defined]
    document = {
        "asset": {"version": "2.0"},
        "extensionsUsed": ["KHR_physics_rigid_bodies", "KHR_implicit_shapes"],
        "extensions": {
            "KHR_implicit_shapes": {"shapes": SHAPES},
            "KHR_physics_rigid_bodies": {
                "physicsMaterials": [{"staticFriction": 0.5, "dynamicFriction": 0.5}]
            },
        },
        "scene": 0,
        "scenes": [{"nodes": [k for k in range(len(nodes)) if k not in below]}],
        "nodes": list(nodes),
    }
    return gb.load_gltf(json.dumps(document).encode(), client, up_axis="y")


def solid(shape: int) -> dict[str, object]:
    return {"geometry": {"shape": shape}, "physicsMaterial": 0}


FLOOR = entry([0, -0.5, 0], collider=solid(0))


def test_a_resting_box_is_carried_by_its_contacts(client: int) -> None:
    scene = load(client, FLOOR, entry([0, 0.1, 0], motion={"mass": 2.0}, collider=solid(1)))
    scene.step(120)
    contacts = scene.contacts()
    assert len(contacts) >= 3
    for found, side in ((scene.contacts(1), 1.0), (scene.contacts(0), -1.0)):
        assert set(found.node_a.tolist()) == {1 if side > 0 else 0}
        assert set(found.node_b.tolist()) == {0 if side > 0 else 1}
        np.testing.assert_allclose(found.normals, np.tile([0, side, 0], (len(found), 1)), atol=1e-6)
        # The weight, per contact: m g = 2 * 9.81.
        assert found.normal_forces.sum() == pytest.approx(2 * G, rel=0.02)
        np.testing.assert_allclose(found.positions[:, 1], 0.0, atol=2e-3)
    assert set(scene.contacts(1).body_a.tolist()) == {scene.bodies[1].body_id}


def test_friction_on_a_sliding_box_points_against_its_way(client: int) -> None:
    motion = {"mass": 2.0, "linearVelocity": [3, 0, 0]}
    scene = load(client, FLOOR, entry([0, 0.1, 0], motion=motion, collider=solid(1)))
    scene.step(10)
    for node, side in ((1, -1.0), (0, 1.0)):
        total = np.zeros(3)
        for _ in range(40):
            scene.step()
            total += scene.contacts(node).friction_forces.sum(axis=0)
        # mu m g against the motion on the box, with it on the floor; single steps rock.
        np.testing.assert_allclose(total / 40, [side * 0.5 * 2 * G, 0, 0], atol=0.5)


def test_the_child_of_a_compound_is_named(client: int) -> None:
    body = entry([0, 0.3, 0], motion={"mass": 1.0})
    body["children"] = [2, 3]
    scene = load(
        client,
        FLOOR,
        body,
        entry([0, -0.2, 0], collider=solid(2)),
        entry([0, 0.2, 0], collider=solid(2)),
    )
    scene.step(5)
    assert set(scene.contacts(3).node_a.tolist()) == {2}


def test_foreign_bodies_are_minus_one_and_touch_free_nodes_have_none(client: int) -> None:
    floor = pybullet.createCollisionShape(
        pybullet.GEOM_BOX, halfExtents=[5, 0.5, 5], physicsClientId=client
    )
    foreign = pybullet.createMultiBody(0, floor, basePosition=[0, -0.5, 0], physicsClientId=client)
    other = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.1, physicsClientId=client)
    pybullet.createMultiBody(1, other, basePosition=[2, 0.1, 0], physicsClientId=client)
    scene = load(
        client,
        entry([0, 0.1, 0], motion={"mass": 1.0}, collider=solid(1)),
        entry([0, 5, 0], trigger={"geometry": {"shape": 1}}),
    )
    scene.step(60)
    contacts = scene.contacts()
    assert set(contacts.node_a.tolist()) == {0}
    assert set(contacts.node_b.tolist()) == {-1}
    assert set(contacts.body_b.tolist()) == {foreign}
    assert len(scene.contacts(1)) == 0
    assert scene.contacts(1).positions.shape == (0, 3)


def test_contacts_hits_and_bodies_have_names(client: int) -> None:
    floor, box = FLOOR | {"name": "Floor"}, entry([0, 0.1, 0], motion={}, collider=solid(1))
    scene = load(client, floor, box | {"name": "Small box"})
    scene.step(20)
    found = scene.contacts()
    assert set(zip(found.names_a, found.names_b, strict=True)) in (
        {("Floor", "Small box")}, {("Small box", "Floor")},
    )  # fmt: skip
    assert "'Small box'" in repr(found)
    assert "4 points" in repr(found)
    hit = scene.ray_cast([0, 1, 0], [0, -1, 0])
    assert hit is not None
    assert hit.name == "Small box"
    assert "Small box" in repr(hit)
    assert scene.bodies.names == ("Small box",)


def test_issues_begin_with_the_name_of_the_node(client: int) -> None:
    bracket = entry([0, 0, 0], motion={}, collider={"geometry": {"shape": 9}})
    scene = load(client, bracket | {"name": "L Bracket"})
    told = {issue.code: str(issue) for issue in scene.issues}
    at = "/nodes/0/extensions/KHR_physics_rigid_bodies/collider/geometry/shape"
    assert told["REFERENCE_MISSING"].startswith(f'error: node "L Bracket" ({at}): shape is 9')
    report = gb.check(json.dumps({"asset": {"version": "2.0"}, "nodes": [{"name": "x"}]}).encode())
    assert [issue.code for issue in report.issues] == ["NO_PHYSICS"]


@pytest.mark.parametrize("parts", [1, 2, 8])
def test_contact_forces_are_those_of_the_last_part_of_a_divided_step(parts: int) -> None:
    """What lies on the ground presses with its weight, however often the step is divided.

    PyBullet tells impulse by the present time step: an eighth of it after a step in eight parts.
    """
    scenery = Scenery()
    scenery.node("Floor", at=(0, -0.5, 0), shape=scenery.shape("box", size=[10, 1, 10]))
    box = scenery.shape("box", size=[0.2, 0.2, 0.2])
    node = scenery.node("Box", at=(0, 0.1, 0), shape=box, motion={"mass": 2.0})
    with world(scenery.bytes(), options=gb.LoadOptions(substeps=parts)) as scene:
        scene.step(240)
        forces = scene.contacts(node)
        assert forces.normal_forces.sum() == pytest.approx(2.0 * G, rel=0.01)
        scene.before_step()
        pybullet.stepSimulation(scene.client_id)
        scene.after_step()
        assert scene.contacts(node).normal_forces.sum() == pytest.approx(2.0 * G, rel=0.01)


def test_partners_of_others_are_named_by_body_and_link() -> None:
    with headless_world(gravity=(0.0, 0.0, -9.81)) as client:
        shape = pybullet.createCollisionShape(
            pybullet.GEOM_BOX, halfExtents=[2.0, 2.0, 0.5], physicsClientId=client
        )
        ground = pybullet.createMultiBody(0.0, shape, physicsClientId=client)
        below = gb.load_gltf(ASSETS / "falling_box.gltf", client, position=(0.0, 0.0, -9.0))
        above = gb.load_gltf(ASSETS / "falling_box.gltf", client, position=(0.0, 0.0, -9.0))
        for scene, height in ((below, 1.0), (above, 2.0)):
            scene.bodies["Crate"].orientation = (0.0, 0.0, 0.0, 1.0)
            scene.bodies["Crate"].position = (0.0, 0.0, height)
        below.step(10)
        crate = below.bodies["Crate"]
        found = above.contacts("Crate")
        assert set(found.names_a) == {"Crate"}
        assert set(found.names_b) == {f"Crate, body {crate.body_id}, link -1"}
        assert set(found.link_b.tolist()) == {-1}
        on_ground = below.contacts("Crate")
        assert f"body {ground}, link -1" in on_ground.names_b
        assert f"'Crate' on body {ground}, link -1: 4 points" in repr(on_ground)
