"""Worlds that change behind a scene's back: every public call says so, none reads strangers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import EngineSession

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"

CALLS: dict[str, Callable[[gb.Scene, gb.SceneState, Path], object]] = {
    "step": lambda s, _, __: s.step(),
    "step several": lambda s, _, __: s.step(3),
    "before_step": lambda s, _, __: s.before_step(),
    "after_step": lambda s, _, __: s.after_step(),
    "on_trigger": lambda s, _, __: s.on_trigger(print),
    "node_matrices": lambda s, _, __: s.node_matrices,
    "world_from_node": lambda s, _, __: s.world_from_node(0),
    "body_of": lambda s, _, __: s.body_of(0),
    "joint_controls": lambda s, _, __: s.joint_controls,
    "set_drive_targets": lambda s, _, __: s.set_drive_targets([]),
    "apply_impulse": lambda s, _, __: s.apply_impulse(a_body(s).node, (1, 0, 0)),
    "apply_point_impulse": lambda s, _, __: s.apply_point_impulse(
        a_body(s).node, (1, 0, 0), (0, 0, 0)
    ),
    "ray_cast": lambda s, _, __: s.ray_cast((0, 0, 9), (0, 0, -9)),
    "ray_cast_batch": lambda s, _, __: s.ray_cast_batch([(0, 0, 9)], [(0, 0, -9)]),
    "contacts": lambda s, _, __: s.contacts(),
    "contacts of a node": lambda s, _, __: s.contacts(a_body(s).node),
    "save_state": lambda s, _, __: s.save_state(),
    "save_own_state": lambda s, _, __: s.save_state(own_bodies_only=True),
    "restore_state": lambda s, state, __: s.restore_state(state),
    "reset": lambda s, _, __: s.reset(),
    "restart": lambda s, state, __: s.restart(state, {}),
    "get": lambda s, _, __: s.get("/nodes/0/translation"),
    "set": lambda s, _, __: s.set("/nodes/0/translation", (0, 0, 0)),
    "export_glb": lambda s, _, folder: s.export_glb(folder / "pose.glb"),
    "render": lambda s, _, __: s.render(size=(16, 12)),
    "pictures.rgb": lambda s, _, __: s.pictures.rgb(size=(16, 12)),
    "pictures.framed_box": lambda s, _, __: s.pictures.framed_box(),
    "pictures.boxes": lambda s, _, __: s.pictures.boxes(),
    "NodeView.world_matrix": lambda s, _, __: s.node(0).world_matrix,
    "NodeView.local_matrix": lambda s, _, __: s.node(0).local_matrix,
    "NodeView.translation": lambda s, _, __: s.node(0).translation,
    "NodeView.rotation": lambda s, _, __: s.node(0).rotation,
    "NodeView.scale": lambda s, _, __: s.node(0).scale,
    "Body.body_id": lambda s, _, __: a_body(s).body_id,
    "Body.link_index": lambda s, _, __: a_body(s).link_index,
    "Body.center_of_mass": lambda s, _, __: a_body(s).center_of_mass,
    "Body.linear_velocity": lambda s, _, __: a_body(s).linear_velocity,
    "Body.angular_velocity": lambda s, _, __: a_body(s).angular_velocity,
    "Body.apply_impulse": lambda s, _, __: a_body(s).apply_impulse((1, 0, 0)),
    "Body.apply_point_impulse": lambda s, _, __: a_body(s).apply_point_impulse(
        (1, 0, 0), (0, 0, 0)
    ),
    "recording": lambda s, _, folder: gb.record(s).export_glb(folder / "rollout.glb"),
}
JOINT_CALLS: dict[str, Callable[[gb.JointView], object]] = {
    "model": lambda joint: joint.model,
    "limits": lambda joint: joint.limits,
    "drives": lambda joint: joint.drives,
    "degrees_of_freedom": lambda joint: joint.degrees_of_freedom,
}


def a_body(scene: gb.Scene) -> gb.Body:
    return next(iter(scene.bodies.values()))


def message_of(call: Callable[[], object]) -> str:
    try:
        call()
    except gb.WorldChangedError as error:
        return str(error)
    return "nothing"


def reset(client: int, _: gb.Scene) -> None:
    pybullet.resetSimulation(physicsClientId=client)


def reset_and_filled(client: int, scene: gb.Scene) -> None:
    count = pybullet.getNumBodies(physicsClientId=client)
    pybullet.resetSimulation(physicsClientId=client)
    ball = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.1, physicsClientId=client)
    for number in range(count):
        pybullet.createMultiBody(1.0, ball, -1, [number, 0, 0], physicsClientId=client)


def disconnected(client: int, _: gb.Scene) -> None:
    pybullet.disconnect(client)


def reconnected(client: int, _: gb.Scene) -> None:
    pybullet.disconnect(client)
    again = pybullet.connect(pybullet.DIRECT)
    assert again == client, "PyBullet gives the lowest free id"
    gb.load_gltf(ASSETS / "hinge_door.gltf", again)


def robbed(client: int, scene: gb.Scene) -> None:
    pybullet.removeBody(a_body(scene).body_id, physicsClientId=client)


def robbed_and_replaced(client: int, scene: gb.Scene) -> None:
    victim = a_body(scene).body_id
    pybullet.removeBody(victim, physicsClientId=client)
    stranger = pybullet.createMultiBody(1.0, -1, -1, [5, 5, 5], physicsClientId=client)
    assert stranger == victim, "PyBullet gives ids out again"


CHANGES = (reset, reset_and_filled, disconnected, reconnected, robbed, robbed_and_replaced)
SAYS = {
    reset: "another one now",
    reset_and_filled: "another one now",
    disconnected: "was disconnected",
    reconnected: "another one now",
    robbed: "removed from the world",
    robbed_and_replaced: "removed from the world",
}


pytestmark = pytest.mark.world(gravity=(0.0, 0.0, 0.0))


def changed(
    change: Callable[[int, gb.Scene], None], client: int, asset: str
) -> tuple[gb.Scene, gb.SceneState]:
    scene = gb.load_gltf(ASSETS / asset, client)
    scene.step(2)
    state = scene.save_state()
    change(client, scene)
    return scene, state


@pytest.mark.parametrize("change", CHANGES)
def test_every_public_call_says_what_happened(
    change: Callable[[int, gb.Scene], None], client: int, tmp_path: Path
) -> None:
    scene, state = changed(change, client, "hinge_door.gltf")
    joint = next(iter(scene.joints.values()))
    for name, call in CALLS.items():
        assert SAYS[change] in message_of(partial(call, scene, state, tmp_path)), name
    for name, joint_call in JOINT_CALLS.items():
        assert SAYS[change] in message_of(partial(joint_call, joint)), f"JointView.{name}"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("change", CHANGES)
def test_degrees_of_freedom_and_triggers_say_so_too(
    change: Callable[[int, gb.Scene], None], client: int
) -> None:
    scene = gb.load_gltf(ASSETS / "hinge_door.gltf", client)
    dof = next(iter(scene.joints.values())).degrees_of_freedom[0]
    change(client, scene)
    for read in (lambda: dof.state, lambda: dof.position, lambda: dof.velocity):
        with pytest.raises(gb.WorldChangedError):
            read()
    if not pybullet.isConnected(client):
        assert pybullet.connect(pybullet.DIRECT) == client
    goal = gb.load_gltf(ASSETS / "goal_line.gltf", client)
    trigger = next(iter(goal.triggers.values()))
    goal.step()
    change(client, goal)
    for read_trigger in (lambda: trigger.overlapping, lambda: trigger.overlapping_bodies):
        with pytest.raises(gb.WorldChangedError):
            read_trigger()


@pytest.mark.parametrize("change", CHANGES)
def test_animations_say_so_too(
    change: Callable[[int, gb.Scene], None], client: int, tmp_path: Path
) -> None:
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    fallen = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    recording = gb.record(fallen)
    fallen.step(30)
    recording.export_glb(tmp_path / "animated.glb")
    fallen.remove()
    scene = gb.load_gltf(tmp_path / "animated.glb", client)
    player = scene.animations[0]
    change(client, scene)
    for act in (player.play, player.pause, player.stop, lambda: player.seek(0.0)):
        with pytest.raises(gb.WorldChangedError):
            act()


@pytest.mark.parametrize("change", CHANGES)
def test_removing_is_harmless_and_leaves_the_bodies_of_others(
    change: Callable[[int, gb.Scene], None], client: int
) -> None:
    scene, _ = changed(change, client, "shape_zoo.gltf")
    if not pybullet.isConnected(client):
        scene.remove()
        return
    own = set(scene.core.world.body_ids)
    before = {
        body: pybullet.getBasePositionAndOrientation(body, client)
        for body in map(pybullet.getBodyUniqueId, range(pybullet.getNumBodies(client)))
        if change not in (robbed, robbed_and_replaced) or body not in own
    }
    if change is robbed_and_replaced:
        victim = scene.core.world.link_of(a_body(scene).node)[0]
        before[victim] = pybullet.getBasePositionAndOrientation(victim, client)
    scene.remove()
    scene.remove()
    left = {pybullet.getBodyUniqueId(k) for k in range(pybullet.getNumBodies(client))}
    assert left == set(before)
    for body, pose in before.items():
        assert pybullet.getBasePositionAndOrientation(body, client) == pose


def test_a_client_that_was_emptied_takes_new_scenes(client: int) -> None:
    scene, _ = changed(reset_and_filled, client, "falling_box.gltf")
    again = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    again.step(10)
    with pytest.raises(gb.WorldChangedError):
        scene.step()
    assert np.isfinite(again.node_matrices).all()


def test_bodies_of_others_come_and_go_without_a_word(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    scene.step()
    other = pybullet.createMultiBody(1.0, -1, -1, [5, 5, 5], physicsClientId=client)
    scene.step()
    pybullet.removeBody(other, physicsClientId=client)
    scene.step()
    assert scene.bodies["Crate"].mass > 0.0


def test_a_scene_that_lost_its_body_to_a_third_one_says_so(client: int) -> None:
    """Its id was another scene's meanwhile; the joints of a further scene are as they were."""
    first = gb.load_gltf(ASSETS / "hinge_door.gltf", client)
    box = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    lost = box.core.world.body_ids[0]
    pybullet.removeBody(lost, physicsClientId=client)
    third = gb.load_gltf(ASSETS / "hinge_door.gltf", client)
    assert lost in third.core.world.body_ids, "PyBullet gives ids out again"
    third.step()
    third.remove()
    first.step()
    first.step()
    with pytest.raises(gb.WorldChangedError):
        box.step()


@pytest.mark.parametrize("asset", ["hinge_door.gltf", "falling_box.gltf"])
def test_two_scenes_of_a_world_that_is_gone_say_so(asset: str, client: int) -> None:
    scenes = [gb.load_gltf(ASSETS / asset, client, position=(5.0 * k, 0, 0)) for k in range(2)]
    scenes[0].step(2)
    pybullet.disconnect(client)
    for scene in scenes:
        with pytest.raises(gb.WorldChangedError):
            scene.step()


def test_a_jointed_scene_whose_ids_are_another_ones_says_so(client: int) -> None:
    """Never stepped before: its joints were read first then, of bodies of another kind."""
    pendulum = gb.load_gltf(ASSETS / "pendulum.gltf", client)
    [lost] = pendulum.core.world.body_ids
    stranger = pybullet.createMultiBody(1.0, physicsClientId=client)
    for body in (lost, stranger):
        pybullet.removeBody(body, physicsClientId=client)
    ragdoll = gb.load_gltf(ASSETS / "ragdoll.gltf", client)
    assert ragdoll.core.world.body_ids[-1] == lost, "PyBullet gives ids out again"
    with pytest.raises(gb.WorldChangedError):
        pendulum.step()
    ragdoll.step()


@pytest.mark.parametrize("field", ["linearVelocity", "angularVelocity"])
def test_pointers_to_a_body_that_is_gone_raise_our_own_error(
    field: str, client: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyBullet may still have the mark of a body that it has no more (fuzz: 1 of 20 000)."""
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    body = a_body(scene)
    pointer = f"/nodes/{body.node}/extensions/KHR_physics_rigid_bodies/motion/{field}"
    pybullet.removeBody(body.body_id, physicsClientId=client)
    monkeypatch.setattr(EngineSession, "has_body", lambda *_: True)
    with pytest.raises(gb.EngineError):
        scene.get(pointer)
    with pytest.raises(gb.EngineError):
        scene.set(pointer, (1.0, 0.0, 0.0))
