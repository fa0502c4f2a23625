"""Going back to one state again and again is going back to it: whatever lies between.

A scene that has just come from a state copies back what steps change, and no more. ``other_state``
is one that it has not come from, which takes the long way.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.records import replace
from gltf_bullet.runtime.scene_state import SceneState
from gltf_bullet.solver.contact_following import ROW_SIZE
from gltf_bullet.solver.engine.calls import START_COUNT
from gltf_bullet.transforms import FloatArray

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"
GRAVITY = (0.0, 0.0, -9.81)


@pytest.fixture
def load() -> Callable[[str], gb.Scene]:
    """Loads an example into a world of its own."""

    def load_one(name: str) -> gb.Scene:
        client = pybullet.connect(pybullet.DIRECT)
        pybullet.setGravity(*GRAVITY, client)
        pybullet.setPhysicsEngineParameter(deterministicOverlappingPairs=1, physicsClientId=client)
        return gb.load_gltf(ASSETS / f"{name}.gltf", physics_client=client)

    yield load_one
    for client in range(16):
        if pybullet.isConnected(client):
            pybullet.disconnect(client)


def other_state(state: SceneState) -> SceneState:
    return replace(state, world=replace(state.world))


def course(scene: gb.Scene, steps: int = 60) -> FloatArray:
    """Where all nodes go under drives that change, shape [steps, nodes, 4, 4]."""
    rng, places = np.random.default_rng(1), []
    count = len(scene.joint_controls.drives)
    for _ in range(steps):
        if count:
            scene.set_drive_targets(rng.uniform(-0.7, 0.7, count), rng.uniform(-1.0, 1.0, count))
        scene.step(2)
        places.append(scene.node_matrices.copy())
    return np.array(places)


@pytest.mark.parametrize("own_bodies_only", [False, True])
@pytest.mark.parametrize("name", ["cart_pole", "swing_up", "reacher", "walker", "goal_line"])
def test_the_short_way_leads_where_the_long_way_does(
    load: Callable[[str], gb.Scene], name: str, *, own_bodies_only: bool
) -> None:
    scene = load(name)
    course(scene, 20)
    state = scene.save_state(own_bodies_only=own_bodies_only)
    found = []
    for one in (state, state, state, other_state(state)):
        scene.restore_state(one)
        found.append(course(scene))
    for again in found[1:]:
        assert (again == found[0]).all()


def lower_limit(scene: gb.Scene) -> None:
    joint = scene.joints["FrontLeftKnee"].node
    numbers = [k for k, one in enumerate(scene.joints[joint].limits) if one.maximum > 0.0]
    assert scene.joint_controls.set_limit(joint, numbers[0], maximum=0.2)


def give_a_motor(scene: gb.Scene) -> None:
    (dof,) = scene.joints["FrontLeftHip"].degrees_of_freedom
    pybullet.setJointMotorControl2(
        dof.body_id, dof.link_index, pybullet.POSITION_CONTROL, targetPosition=0.3, force=20.0,
        physicsClientId=scene.client_id,
    )  # fmt: skip
    scene.step(10)


def add_a_ball(scene: gb.Scene) -> None:
    ball = pybullet.createCollisionShape(
        pybullet.GEOM_SPHERE, radius=0.1, physicsClientId=scene.client_id
    )
    pybullet.createMultiBody(1.0, ball, -1, (0.0, 0.0, 2.0), physicsClientId=scene.client_id)


def weigh(scene: gb.Scene) -> None:
    node = scene.bodies["Torso"].node
    scene.set(f"/nodes/{node}/extensions/KHR_physics_rigid_bodies/motion/mass", 4.0)


def stiffen(scene: gb.Scene) -> None:
    pointer = "/extensions/KHR_physics_rigid_bodies/physicsJoints/0/drives/0/stiffness"
    scene.set(pointer, 90.0)


@pytest.mark.parametrize("change", [lower_limit, give_a_motor, weigh, stiffen])
def test_what_lies_between_makes_no_difference(
    load: Callable[[str], gb.Scene], change: Callable[[gb.Scene], None]
) -> None:
    """The same is done on both sides; one of them never takes the short way."""
    found = []
    for states in ((lambda state: state), other_state):
        scene = load("walker")
        course(scene, 10)
        state = scene.save_state(own_bodies_only=True)
        for _ in range(2):
            scene.restore_state(states(state))
            course(scene, 10)
        change(scene)
        scene.restore_state(states(state))
        found.append(course(scene))
    assert (found[0] == found[1]).all()


def test_bodies_of_others_are_left_where_they_are(load: Callable[[str], gb.Scene]) -> None:
    scene = load("walker")
    course(scene, 10)
    state = scene.save_state(own_bodies_only=True)
    for _ in range(2):
        scene.restore_state(state)
        course(scene, 5)
    add_a_ball(scene)
    scene.step(30)
    ball = pybullet.getNumBodies(scene.client_id) - 1
    before = pybullet.getBasePositionAndOrientation(ball, scene.client_id)
    scene.restore_state(state)
    assert pybullet.getBasePositionAndOrientation(ball, scene.client_id) == before
    whole = scene.save_state()
    scene.step(30)
    for _ in range(2):
        scene.restore_state(whole)
        assert pybullet.getBasePositionAndOrientation(ball, scene.client_id) == before


def asks_for_contacts(scene: gb.Scene) -> bool:
    _, plan, _ = scene.core.world.articulations.solver.islands.native
    return bool(plan[START_COUNT])


@pytest.mark.parametrize("by_hand", [False, True])
def test_contacts_that_cannot_be_are_not_asked_for(
    load: Callable[[str], gb.Scene], *, by_hand: bool
) -> None:
    def step() -> None:
        if by_hand:
            scene.before_step()
            pybullet.stepSimulation(scene.client_id)
            scene.after_step()
        else:
            scene.step()

    scene = load("swing_up")
    if not scene.core.world.articulations.solver.is_native:
        pytest.skip("kernels do not call the engine here")
    step()
    step()
    assert not asks_for_contacts(scene)  # stand and rod are jointed
    # A ball of 1 kg flies at the rod's end.
    ball = pybullet.createCollisionShape(
        pybullet.GEOM_SPHERE, radius=0.1, physicsClientId=scene.client_id
    )
    x, y, z = scene.world_from_node("Rod")[:3, 3].tolist()
    body = pybullet.createMultiBody(
        1.0, ball, -1, (x - 0.5, y, z - 0.3), physicsClientId=scene.client_id
    )
    pybullet.resetBaseVelocity(body, (5.0, 0.0, 0.0), physicsClientId=scene.client_id)
    step()
    assert asks_for_contacts(scene)
    for _ in range(60):
        step()
    assert abs(scene.joints["HingeOnRod"].degrees_of_freedom[0].state.position[0]) > 0.1
    pybullet.removeBody(body, physicsClientId=scene.client_id)
    step()
    step()
    assert not asks_for_contacts(scene)


def test_rules_that_users_give_pybullet_are_noticed(
    load: Callable[[str], gb.Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``setCollisionFilterPair`` may let links touch that the file keeps apart."""
    scene = load("swing_up")
    if not scene.core.world.articulations.solver.is_native:
        pytest.skip("kernels do not call the engine here")
    scene.step(2)
    assert not asks_for_contacts(scene)
    engine_io = scene.core.world.articulations.solver.io
    monkeypatch.setattr(engine_io, "_fetch", lambda: np.ones(ROW_SIZE))
    for _ in range(16):
        scene.step()
    assert asks_for_contacts(scene)
    monkeypatch.undo()
    add_a_ball(scene)
    scene.step(2)
    assert asks_for_contacts(scene)


def test_links_that_may_meet_are_asked_about(load: Callable[[str], gb.Scene]) -> None:
    for name in ("cart_pole", "walker"):  # a pole meets its rail where it turns on
        scene = load(name)
        scene.step(2)
        assert asks_for_contacts(scene)


def test_touching_that_is_known_again_changes_nothing(load: Callable[[str], gb.Scene]) -> None:
    """Feet come down and leave; one side forgets how they did before each step."""
    found = []
    for forgets in (False, True):
        scene = load("walker")
        rng, places = np.random.default_rng(3), []
        for _ in range(120):
            scene.set_drive_targets(rng.uniform(-0.7, 0.7, 8))
            for _ in range(4):
                if forgets:
                    scene.core.world.articulations.solver.islands.forget()
                scene.step()
            places.append(scene.node_matrices.copy())
        found.append(np.array(places))
    assert (found[0] == found[1]).all()
