"""Scenes of ours come back from ``export_world`` with what their files say, and move the same."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.runtime.world_export import robot_file
from gltf_bullet.transforms import FloatArray
from tests.convert.robots import DATA
from tests.physics.scenes import Scenery

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"


def places(scene: gb.Scene) -> dict[str, FloatArray]:
    """Where the bodies are, by name."""
    return {scene.asset.tree.names[n]: scene.world_from_node(n)[:3, 3] for n in scene.bodies}


def farthest(one: gb.Scene, other: gb.Scene) -> float:
    """How far apart bodies of one name are."""
    found, again = places(one), places(other)
    assert set(found) <= set(again)
    return max(float(np.abs(found[name] - again[name]).max()) for name in found)


@pytest.mark.parametrize(
    ("name", "warmup", "allowed"),
    [
        ("bouncing_balls", 0, 1e-9),
        ("bouncing_balls", 50, 1e-9),
        ("hinge_door", 0, 1e-9),
        ("hinge_door", 50, 1e-9),
        ("six_axis_arm", 0, 1e-9),
        ("six_axis_arm", 50, 1e-6),
        ("slider_motor", 50, 1e-9),
        ("ball_and_cone", 50, 1e-9),
        ("walker", 0, 1e-9),
        ("reacher", 50, 1e-9),
        ("swing_up", 50, 1e-9),
        ("four_bar", 50, 1e-4),
        ("rope", 50, 1e-8),
        ("friction_ramp", 0, 1e-3),
        ("filter_gallery", 0, 1e-9),
    ],
)
def test_a_scene_moves_on_as_it_would_have(
    name: str, warmup: int, allowed: float, tmp_path: Path
) -> None:
    """A second side by side, from load or from within its motion, with other targets."""
    with headless_world() as client, headless_world() as other:
        scene = gb.load_gltf(ASSETS / f"{name}.gltf", physics_client=client)
        scene.step(warmup)
        if warmup:
            scene.set_drive_targets(positions=np.full(len(scene.joint_controls.drives), 0.3))
        issues = gb.export_world(tmp_path / "world.glb", client)
        again = gb.load_gltf(tmp_path / "world.glb", physics_client=other)
        assert {i.code for i in issues} <= {"SCENE_REDUCED"}
        assert farthest(scene, again) < 1e-12
        scene.step(240)
        again.step(240)
        assert farthest(scene, again) < allowed


def test_a_ragdoll_falls_as_it_would_have(tmp_path: Path) -> None:
    """Until it lands: what comes then depends on the last bit."""
    with headless_world() as client, headless_world() as other:
        scene = gb.load_gltf(ASSETS / "ragdoll.gltf", physics_client=client)
        assert gb.export_world(tmp_path / "world.glb", client) == ()
        again = gb.load_gltf(tmp_path / "world.glb", physics_client=other)
        for _ in range(80):
            scene.step()
            again.step()
        assert farthest(scene, again) < 1e-9


def test_the_file_has_the_joints_materials_and_gravity_factors_of_the_scene(
    tmp_path: Path,
) -> None:
    scenery = Scenery()
    joint = scenery.entry(
        "physicsJoints",
        limits=[
            {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
            {"angularAxes": [0, 1], "min": 0, "max": 0.5, "stiffness": 3.0, "damping": 0.25},
        ],
        drives=[
            {
                "type": "angular", "mode": "acceleration", "axis": 2, "maxForce": 7.0,
                "positionTarget": 0.5, "velocityTarget": 0.25, "stiffness": 11.0, "damping": 2.0,
            }
        ],
    )  # fmt: skip
    material = scenery.material(
        staticFriction=0.75, dynamicFriction=0.5, restitution=0.25, frictionCombine="minimum",
        restitutionCombine="maximum",
    )  # fmt: skip
    ball = scenery.shape("sphere", radius=0.25)
    arm = scenery.node(
        "Arm", at=[1, 0, 0], shape=ball, material=material,
        motion={"mass": 2.0, "gravityFactor": 0.5},
    )  # fmt: skip
    pin = scenery.node("Pin", joint={"connectedNode": arm, "joint": joint, "enableCollision": True})
    scenery.node("Base", at=[1, 0, 0], motion={"mass": 3.0}, children=[pin])
    with headless_world() as client:
        scene = gb.load_gltf(scenery.bytes(), physics_client=client)
        gb.export_world(tmp_path / "world.glb", client)
        wanted = scene.asset.physics
    found = gb.read_asset(tmp_path / "world.glb").physics
    ((_, written),) = found.joints.items()
    ((_, stated),) = wanted.joints.items()
    assert written.description == stated.description
    assert written.enable_collision
    assert [c.material for c in found.colliders.values()] == [
        c.material for c in wanted.colliders.values()
    ]
    assert sorted((m.mass, m.gravity_factor) for m in found.motions.values()) == [
        (2.0, 0.5), (3.0, 1.0),
    ]  # fmt: skip


def test_what_is_neither_body_nor_joint_is_named(tmp_path: Path) -> None:
    with headless_world() as client:
        scene = gb.load_gltf(ASSETS / "goal_line.gltf", physics_client=client)
        (issue,) = gb.export_world(tmp_path / "world.glb", client)
        scene.remove()
        assert gb.export_world(tmp_path / "none.glb", client) == ()
    assert issue.code == "SCENE_REDUCED"
    assert "goal_line.gltf (bodies 0, 1, 2, 3, 4, ...): 3 triggers; " in issue.message


def test_a_behavior_graph_that_is_left_out_is_named(tmp_path: Path) -> None:
    with headless_world() as client:
        scene = gb.load_gltf(ASSETS / "sorting_gate.gltf", physics_client=client)
        issues = gb.export_world(tmp_path / "world.glb", client)
        scene.remove()
    (issue,) = (issue for issue in issues if issue.code == "SCENE_REDUCED")
    assert "1 behavior graph; " in issue.message


def test_what_is_lost_of_a_part_of_a_scene_is_named(tmp_path: Path) -> None:
    """As of a recording, which follows the engine's links."""
    with headless_world() as client:
        scene = gb.load_gltf(ASSETS / "bouncing_balls.gltf", physics_client=client)
        (ball, *_) = [body.body_id for body in scene.bodies.values()]
        issues = gb.export_world(tmp_path / "part.glb", client, bodies=[ball])
        recording = gb.record_world(client)
    (part,) = (i for i in issues if i.code == "SCENE_REDUCED")
    (whole,) = (i for i in recording.issues if i.code == "SCENE_REDUCED")
    assert part.values["what"] == whole.values["what"]
    assert "4 colliders' restitution" in str(part.values["what"])


def test_what_is_lost_of_a_scene_that_nobody_holds_is_named(tmp_path: Path) -> None:
    with headless_world() as client:
        scene = gb.load_gltf(ASSETS / "slider_motor.gltf", physics_client=client)
        del scene
        gc.collect()
        (issue,) = gb.export_world(tmp_path / "world.glb", client)
        assert issue.values["what"] == "1 drive"
        assert "while something holds the scene" in issue.message
        for body in range(pybullet.getNumBodies(client)):
            pybullet.removeBody(body, client)
        assert gb.export_world(tmp_path / "world.glb", client) == ()


def test_numbers_that_somebody_else_has_set_count(tmp_path: Path) -> None:
    """Friction of one ball, collision bits of another, mass and motor of the arm."""
    with headless_world() as client:
        balls = gb.load_gltf(ASSETS / "bouncing_balls.gltf", physics_client=client)
        rough, ghost = list(balls.bodies.values())[:2]
        pybullet.changeDynamics(rough.body_id, -1, lateralFriction=0.125, physicsClientId=client)
        pybullet.changeDynamics(ghost.body_id, -1, mass=7.0, physicsClientId=client)
        pybullet.setCollisionFilterGroupMask(ghost.body_id, -1, 0, 0, physicsClientId=client)
        gb.export_world(tmp_path / "world.glb", client)
        names = balls.asset.tree.names
        wanted = [names[body.node] for body in (rough, ghost)]
    asset = gb.read_asset(tmp_path / "world.glb")
    nodes = [asset.tree.names.index(name) for name in wanted]
    materials = {
        name: asset.physics.colliders[node].material
        for name, node in zip(wanted, nodes, strict=True)
    }
    assert materials[wanted[0]] is not None
    assert materials[wanted[0]].dynamic_friction == 0.125
    assert asset.physics.motions[nodes[1]].mass == 7.0
    with headless_world() as client:
        again = gb.load_gltf(tmp_path / "world.glb", physics_client=client)
        again.step(480)
        assert places(again)[wanted[0]][2] > -0.5
        assert places(again)[wanted[1]][2] < -5.0


def test_damping_that_somebody_has_added_is_named(tmp_path: Path) -> None:
    with headless_world() as client:
        scene = gb.load_gltf(ASSETS / "hinge_door.gltf", physics_client=client)
        (view,) = scene.joints.values()
        (dof,) = view.degrees_of_freedom
        pybullet.changeDynamics(
            dof.body_id, dof.link_index, jointDamping=0.5, physicsClientId=client
        )
        (issue,) = gb.export_world(tmp_path / "world.glb", client)
    assert "the damping 0.5 that was added to the file's" in issue.message


def test_scenes_and_bodies_of_others_meet_whom_they_met(tmp_path: Path) -> None:
    """Two scenes with filters of one name, and boxes with bits of their own, all in one place."""

    def scene_of(kind: str) -> bytes:
        scenery = Scenery()
        ball = scenery.shape("sphere", radius=0.5)
        red = scenery.entry("collisionFilters", collisionSystems=["red"])
        blue = scenery.entry(
            "collisionFilters", collisionSystems=["blue"], notCollideWithSystems=["red"]
        )
        for name, chosen in (("red", red), ("blue", blue), ("plain", None)):
            scenery.node(
                f"{kind} {name}", at=[0.01 * len(name), 0.02 * len(kind), 0], shape=ball,
                collision_filter=chosen, motion={"mass": 1.0},
            )  # fmt: skip
        return scenery.bytes()

    def pairs(client: int, names: dict[int, str]) -> set[frozenset[str]]:
        pybullet.performCollisionDetection(client)
        return {
            frozenset((names[a], names[b]))
            for a in names
            for b in names
            if a < b and pybullet.getContactPoints(a, b, physicsClientId=client)
        }

    def named(scenes: list[gb.Scene]) -> dict[int, str]:
        """Boxes come first in the file, in their order, and have all one name."""
        names = {
            body.body_id: scene.asset.tree.names[body.node]
            for scene in scenes
            for body in scene.bodies.values()
        }
        boxes = [body for body, name in names.items() if name == "link0"]
        return names | {body: f"box{k}" for k, body in enumerate(boxes)}

    with headless_world() as client:
        scenes = [gb.load_gltf(scene_of(kind), physics_client=client) for kind in ("one", "second")]
        names = named(scenes)
        box = pybullet.createCollisionShape(
            pybullet.GEOM_BOX, halfExtents=[0.5] * 3, physicsClientId=client
        )
        for k, bits in enumerate(((1, -1), (64, 128), (128, 64), (0, 0))):
            body = pybullet.createMultiBody(1.0, box, physicsClientId=client)
            pybullet.setCollisionFilterGroupMask(body, -1, *bits, physicsClientId=client)
            names[body] = f"box{k}"
        wanted = pairs(client, names)
        gb.export_world(tmp_path / "world.glb", client)
    with headless_world() as client:
        again = gb.load_gltf(tmp_path / "world.glb", physics_client=client)
        found = pairs(client, named([again]))
    assert found == wanted
    assert frozenset(("one red", "one blue")) not in wanted
    assert frozenset(("box1", "box2")) in wanted


def test_constraints_of_others_hold_links_of_scenes(tmp_path: Path) -> None:
    """A ball hangs on the hand of an arm; the arm is as it was, and so is what hangs there."""
    with headless_world() as client, headless_world() as other:
        scene = gb.load_gltf(ASSETS / "six_axis_arm.gltf", physics_client=client)
        hand = next(b for n, b in scene.bodies.items() if scene.asset.tree.names[n] == "Hand")
        state = pybullet.getLinkState(hand.body_id, hand.link_index, physicsClientId=client)
        ball = pybullet.createMultiBody(
            0.125, basePosition=np.array(state[0]) - [0, 0, 0.5], physicsClientId=client
        )
        pybullet.changeDynamics(ball, -1, localInertiaDiagonal=[0.01] * 3, physicsClientId=client)
        pybullet.changeDynamics(ball, -1, linearDamping=0, angularDamping=0, physicsClientId=client)
        constraint = pybullet.createConstraint(
            hand.body_id, hand.link_index, ball, -1, pybullet.JOINT_POINT2POINT, [0, 0, 0],
            [0, 0, 0], [0, 0, 0.5], physicsClientId=client,
        )  # fmt: skip
        pybullet.changeConstraint(constraint, maxForce=1e10, physicsClientId=client)
        assert gb.export_world(tmp_path / "world.glb", client) == ()
        again = gb.load_gltf(tmp_path / "world.glb", physics_client=other)
        scene.step(120)
        again.step(120)
        assert farthest(scene, again) < 2e-3
        assert len(again.bodies) == len(scene.bodies) + 1


def test_mimic_rules_of_a_scene_come_along(tmp_path: Path) -> None:
    file, _ = robot_file(DATA / "franka_panda" / "panda.urdf", Diagnostics(), fixed_base=True)
    file.write(tmp_path / "panda.glb")
    with headless_world() as client:
        gb_scene = gb.load_gltf(tmp_path / "panda.glb", physics_client=client)
        issues = gb.export_world(tmp_path / "world.glb", client)
        assert len(gb_scene.joints)
    assert [issue.values.get("what") for issue in issues] == ["the mimic rule"]
    (coupling,) = (
        joint.coupling
        for joint in gb.read_asset(tmp_path / "world.glb").physics.joints.values()
        if joint.coupling is not None
    )
    assert (coupling.multiplier, coupling.offset) == (1.0, 0.0)


def test_a_kinematic_body_turns_about_the_centre_that_its_file_states(tmp_path: Path) -> None:
    scenery = Scenery()
    ball = scenery.shape("sphere", radius=0.1)
    scenery.node(
        "Wheel", shape=ball,
        motion={"isKinematic": True, "centerOfMass": [0.5, 0, 0], "angularVelocity": [0, 2, 0]},
    )  # fmt: skip
    with headless_world() as client, headless_world() as other:
        gb.load_gltf(scenery.bytes(), physics_client=client)
        gb.export_world(tmp_path / "world.glb", client)
        again = gb.load_gltf(tmp_path / "world.glb", physics_client=other)
        again.step(240)
        # One second at 2 rad/s about the world's Z through (0.5, 0, 0).
        expected = (0.5 - 0.5 * np.cos(2.0), -0.5 * np.sin(2.0), 0.0)
        np.testing.assert_allclose(places(again)["Wheel"], expected, atol=1e-4)


def test_robots_of_our_scenes_keep_their_names(tmp_path: Path) -> None:
    """Two of them, one fixed, through a second and a third file."""
    with headless_world() as client:
        for name, fixed in (("kuka_iiwa/model.urdf", True), ("r2d2.urdf", False)):
            pybullet.loadURDF(
                str(DATA / name), (0, 2.0 * fixed, 1), useFixedBase=fixed, physicsClientId=client
            )
        wanted = [pybullet.getBodyInfo(body, client) for body in (0, 1)]
        gb.export_world(tmp_path / "first.glb", client)
    for source, target in (("first", "second"), ("second", "third")):
        with headless_world() as client:
            scene = gb.load_gltf(tmp_path / f"{source}.glb", client)
            robots = {body.body_id for body in scene.bodies.values()}
            assert sorted(pybullet.getBodyInfo(body, client) for body in robots) == sorted(wanted)
            gb.export_world(tmp_path / f"{target}.glb", client)
