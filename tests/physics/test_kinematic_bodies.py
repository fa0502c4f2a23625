"""Kinematic bodies keep their velocity while they spin, and what hangs on them feels only that."""

from __future__ import annotations

import numpy as np
import pybullet
import pytest

from gltf_bullet.bullet.joints.moving_anchors import MovingAnchors
from gltf_bullet.bullet.world.compiled_steps import CompiledSteps
from tests.physics.scenes import Scenery, world

POINT_CONSTRAINT_MARK = {"linearAxes": [0, 1, 2], "min": 0.0, "max": 0.0}


@pytest.mark.parametrize("rate", [60.0, 240.0])
@pytest.mark.parametrize("center", [(0.0, 0.0, 0.0), (0.5, 0.2, 0.0)])
def test_a_spinning_kinematic_body_goes_straight(rate: float, center: tuple[float, ...]) -> None:
    """The centre of mass moves by v t whatever the spin."""
    velocity, spin = np.array([2.0, 0.5, -1.0]), [1.0, 5.0, 2.0]
    scenery = Scenery()
    node = scenery.node("Body", motion={
        "isKinematic": True, "centerOfMass": list(center),
        "linearVelocity": velocity.tolist(), "angularVelocity": spin,
    })  # fmt: skip
    with world(scenery.bytes(), rate=rate) as scene:
        scene.step(int(2 * rate))
        found = scene.world_from_node(node) @ [*center, 1.0]
        assert found[:3] == pytest.approx(np.array(center) + velocity * 2.0, abs=1e-6)
        assert scene.bodies[node].linear_velocity == pytest.approx(velocity, abs=1e-9)


@pytest.mark.parametrize("speed", [1.0, 3.0])
def test_a_pendulum_hangs_straight_from_a_spinning_carriage_at_constant_speed(
    speed: float,
) -> None:
    """Neither constant speed nor a spin about the pivot's vertical accelerates the pivot."""
    velocity = [speed, 0.0, 0.0]
    scenery = Scenery()
    ball = scenery.entry("physicsJoints", limits=[POINT_CONSTRAINT_MARK])
    carriage = scenery.node("Carriage", at=(0, 2, 0), motion={
        "isKinematic": True, "linearVelocity": velocity, "angularVelocity": [0.0, speed, 0.0],
    })  # fmt: skip
    pivot = scenery.node("Pivot", at=(0, 1, 0), joint={"connectedNode": carriage, "joint": ball})
    bob = scenery.node("Bob", at=(0, 1, 0), children=[pivot], motion={
        "mass": 1, "inertiaDiagonal": [0.01] * 3, "linearVelocity": velocity,
    })  # fmt: skip
    with world(scenery.bytes()) as scene:
        scene.step(240)
        hanging = scene.bodies[bob].center_of_mass
        assert hanging == pytest.approx([speed, 1.0, 0.0], abs=2e-3)


def pendulum_on_a_carriage() -> tuple[bytes, int, int]:
    """A bob that hangs at rest 1 m below a kinematic carriage; the file, and both nodes."""
    scenery = Scenery()
    ball = scenery.entry("physicsJoints", limits=[POINT_CONSTRAINT_MARK])
    carriage = scenery.node("Carriage", at=(0, 2, 0), motion={"isKinematic": True})
    pivot = scenery.node("Pivot", at=(0, 1, 0), joint={"connectedNode": carriage, "joint": ball})
    bob = scenery.node("Bob", at=(0, 1, 0), children=[pivot], motion={
        "mass": 1, "inertiaDiagonal": [0.01] * 3,
    })  # fmt: skip
    return scenery.bytes(), carriage, bob


def test_an_anchor_at_rest_needs_no_python_until_somebody_moves_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pendulum on a carriage: at rest, moved by the user for a while, at rest again."""
    content, carriage, bob = pendulum_on_a_carriage()
    asked: list[float] = []
    before = MovingAnchors.before_step

    def noted(self: MovingAnchors, time_step: float, part: int = 0) -> None:
        asked.append(time_step)
        before(self, time_step, part)

    def path() -> tuple[np.ndarray, list[int]]:
        """The bob's way, and how often Python moved the anchor in each phase."""
        found, counts = [], []
        with world(content) as scene:
            body = scene.bodies[carriage].body_id
            for speed in (0.0, 1.0, 0.0):
                pybullet.resetBaseVelocity(body, [speed, 0, 0], [0, 0, 0], scene.client_id)
                asked.clear()
                for _ in range(24):
                    scene.step()
                    found.append(scene.bodies[bob].center_of_mass)
                counts.append(len(asked))
        return np.array(found), counts

    monkeypatch.setattr(MovingAnchors, "before_step", noted)
    compiled, counts = path()
    assert counts[0] <= 3
    assert counts[1] == 24
    assert counts[2] <= 3
    # It swings once the carriage has moved, by 0.1 m.
    assert compiled[23] == pytest.approx([0.0, 1.0, 0.0], abs=1e-9)
    assert compiled[47, 0] > 1e-3
    monkeypatch.setattr(CompiledSteps, "are_possible", lambda *_: False)
    in_python, counts = path()
    assert counts == [24, 24, 24]
    assert np.array_equal(compiled, in_python)


def test_a_state_of_the_moment_an_anchor_stopped_goes_on_as_it_did() -> None:
    """The anchor's deceleration is of that step alone, wherever kernels have seen it at rest."""
    content, carriage, bob = pendulum_on_a_carriage()
    with world(content) as scene:
        body = scene.bodies[carriage].body_id

        def course() -> list[tuple[float, ...]]:
            found = []
            for _ in range(24):
                scene.step()
                found.append(tuple(scene.bodies[bob].center_of_mass))
            return found

        pybullet.resetBaseVelocity(body, [1.0, 0, 0], [0, 0, 0], scene.client_id)
        scene.step(24)
        pybullet.resetBaseVelocity(body, [0.0, 0, 0], [0, 0, 0], scene.client_id)
        scene.step()
        state = scene.save_state()
        first = course()
        scene.restore_state(state)
        assert course() == first


MOTION = "/nodes/0/extensions/KHR_physics_rigid_bodies/motion"


def moving_box(**motion: object) -> bytes:
    scenery = Scenery()
    scenery.node("Box", shape=scenery.shape("box", size=[1, 1, 1]), motion=motion)
    return scenery.bytes()


SPINNING = {
    "mass": 1.0, "gravityFactor": 0.0, "linearVelocity": [1, 0, 0], "angularVelocity": [0, 0, 1],
}  # fmt: skip


def test_a_body_that_becomes_kinematic_keeps_its_velocity_though_it_has_turned() -> None:
    """Its velocity is constant from then on, in the world: v t, whatever the node's axes are."""
    with world(moving_box(**SPINNING)) as scene:
        scene.step(240)
        scene.set(f"{MOTION}/isKinematic", True)
        assert scene.get(f"{MOTION}/linearVelocity") == pytest.approx(
            [np.cos(1.0), -np.sin(1.0), 0.0], abs=1e-3
        )
        scene.step(60)
        body = scene.bodies[0]
        assert body.linear_velocity == pytest.approx([1, 0, 0], abs=1e-6)
        assert body.angular_velocity == pytest.approx([0, 0, 1], abs=1e-6)
        assert scene.world_from_node(0)[:3, 3] == pytest.approx([1.25, 0, 0], abs=1e-5)


def test_a_falling_body_goes_on_at_its_speed_when_it_becomes_kinematic_and_falls_on_after() -> None:
    with world(moving_box(mass=1.0)) as scene:
        scene.step(120)
        scene.set(f"{MOTION}/isKinematic", True)
        scene.step(60)
        assert scene.bodies[0].linear_velocity == pytest.approx([0, -9.81 * 0.5, 0], abs=1e-6)
        scene.set(f"{MOTION}/isKinematic", False)
        scene.step(60)
        assert scene.bodies[0].linear_velocity == pytest.approx([0, -9.81 * 0.75, 0], abs=1e-6)


def test_a_turned_kinematic_body_keeps_its_velocity_when_something_else_is_rebuilt() -> None:
    with world(moving_box(**(SPINNING | {"isKinematic": True}))) as scene:
        scene.step(240)
        scene.set("/extensions/KHR_implicit_shapes/shapes/0/box/size", [2, 2, 2])
        scene.step(60)
        assert scene.bodies[0].linear_velocity == pytest.approx([1, 0, 0], abs=1e-6)


def test_a_stated_velocity_is_taken_when_a_body_is_kinematic() -> None:
    """Values of a file are in node space: after a quarter turn its x is the world's y."""
    quarter = SPINNING | {"isKinematic": True, "angularVelocity": [0, 0, np.pi / 2.0]}
    with world(moving_box(**quarter)) as scene:
        scene.step(240)
        scene.set(f"{MOTION}/linearVelocity", [3, 0, 0])
        scene.step(1)
        assert scene.bodies[0].linear_velocity == pytest.approx([0, 3, 0], abs=1e-4)
        assert scene.bodies[0].angular_velocity == pytest.approx([0, 0, np.pi / 2], abs=1e-6)


def test_states_of_both_kinds_are_taken_back() -> None:
    with world(moving_box(**SPINNING)) as scene:
        scene.step(240)
        dynamic = scene.save_state()
        scene.set(f"{MOTION}/isKinematic", True)
        scene.step(30)
        kinematic = scene.save_state()
        scene.restore_state(dynamic)
        scene.body_of(0).apply_impulse((0, 1, 0))
        scene.step(1)
        assert scene.bodies[0].linear_velocity == pytest.approx([1, 1, 0], abs=1e-6)
        scene.restore_state(kinematic)
        scene.step(30)
        assert scene.bodies[0].linear_velocity == pytest.approx([1, 0, 0], abs=1e-6)
        assert scene.world_from_node(0)[:3, 3] == pytest.approx([1.25, 0, 0], abs=1e-5)


@pytest.mark.parametrize("speed", [0.0, 0.5])
def test_a_body_welded_to_the_world_and_to_what_drives_off_goes_along_and_is_named(
    speed: float,
) -> None:
    """Impossible content: it cannot be in both places, and v t is how far they are apart."""
    scenery = Scenery()
    weld = [POINT_CONSTRAINT_MARK, {"angularAxes": [0, 1, 2], "min": 0.0, "max": 0.0}]
    joint = scenery.entry("physicsJoints", limits=weld)
    body = scenery.node("Body", at=(1, 0, 0), motion={"mass": 1, "inertiaDiagonal": [0.01] * 3})
    scenery.node("OnCart", at=(1, 0, 0), joint={"connectedNode": body, "joint": joint})
    cart = scenery.node("Cart", children=[1], motion={
        "isKinematic": True, "linearVelocity": [speed, 0, 0],
    })  # fmt: skip
    scenery.node("OnWorld", at=(1, 0, 0), joint={"connectedNode": body, "joint": joint})
    with world(scenery.bytes()) as scene:
        scene.step(240)
        assert scene.world_from_node(cart)[0, 3] == pytest.approx(speed, abs=1e-9)
        found = scene.world_from_node(body)[:3, 3]
        assert np.isfinite(found).all()
        torn = [issue for issue in scene.issues if issue.code == "JOINT_LOOP_TORN"]
        assert len(torn) == (1 if speed else 0)
        if torn:
            assert str(torn[0].pointer) in ("/nodes/1", "/nodes/3")
            assert found[0] == pytest.approx(1.0 + speed, abs=1e-3)
            # Told at the first step that leaves more than 2 cm.
            assert torn[0].values["gap"] == pytest.approx(0.02, abs=2 * speed / 240)
