"""Colliders that an animation moves within a body go where their nodes go, and carry what lies on
them. KHR_physics_rigid_bodies, "Colliders": transforms are kept in sync with node transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from tests.physics.scenes import KHR, G, world
from tools.gltf_builder import GltfBuilder

SIDE = 0.4
"""[m] of the boxes that ride."""


class Stage:
    """Nodes with physics, and one animation."""

    def __init__(self) -> None:
        self.builder = GltfBuilder()
        self.shapes: list[dict[str, Any]] = []
        self.tables: dict[str, Any] = {"physicsMaterials": [{}]}
        self._channels: list[Any] = []

    def box(self, *size: float) -> dict[str, Any]:
        self.shapes.append({"type": "box", "box": {"size": list(size)}})
        return {"geometry": {"shape": len(self.shapes) - 1}, "physicsMaterial": 0}

    def node(self, name: str, **values: Any) -> int:
        physics = {k: values.pop(k) for k in ("motion", "collider", "trigger") if k in values}
        extensions = {KHR: physics} if physics else None
        return self.builder.node(name, extensions=extensions, **values)

    def rider(self, at: tuple[float, float, float], **motion: Any) -> int:
        return self.node(
            "Rider",
            translation=at,
            motion={"mass": 1.0, **motion},
            collider=self.box(SIDE, SIDE, SIDE),
        )

    def moves(self, node: int, path: str, times: list[float], values: list[Any]) -> None:
        self._channels.append((node, path, times, values, "LINEAR"))

    def glb(self) -> bytes:
        self.builder.root_extension("KHR_implicit_shapes", {"shapes": self.shapes})
        self.builder.root_extension(KHR, self.tables)
        self.builder.animation("Move", self._channels)
        return self.builder.glb()


def turned(degrees: float) -> tuple[float, float, float, float]:
    half = np.radians(degrees) / 2.0
    return (0.0, float(np.sin(half)), 0.0, float(np.cos(half)))


@pytest.mark.parametrize("rate", [60.0, 240.0])
@pytest.mark.parametrize("between", [False, True])
def test_a_lift_below_a_kinematic_root_carries_a_box_up(rate: float, between: bool) -> None:
    """The platform, or a node above it, rises by 0.5 m/s: after 3 s the box is at 1.5 + 0.2 m."""
    stage = Stage()
    platform = stage.node("Platform", translation=(0, -0.5, 0), collider=stage.box(4, 1, 4))
    cage = stage.node("Cage", children=[platform])
    stage.node("Root", children=[cage], motion={"isKinematic": True})
    rider = stage.rider((0, 0.5 * SIDE, 0))
    low, high = ((0, 0, 0), (0, 2, 0)) if between else ((0, -0.5, 0), (0, 1.5, 0))
    stage.moves(cage if between else platform, "translation", [0, 4], [low, high])
    with world(stage.glb(), rate=rate) as scene:
        scene.step(int(3 * rate))
        # Resting contacts penetrate by less than 2 mm at 60 Hz.
        assert scene.world_from_node(rider)[1, 3] == pytest.approx(1.7, abs=2e-3)
        assert scene.bodies[rider].linear_velocity == pytest.approx([0, 0.5, 0], abs=1e-3)
        hit = scene.ray_cast((1.5, 5, 0), (1.5, -5, 0))
        assert hit is not None
        assert hit.node == platform
        assert hit.position[1] == pytest.approx(1.5, abs=1e-6)


def test_a_turntable_below_a_kinematic_root_takes_a_box_round() -> None:
    """A box at 1 m on a disc that turns by 0.6 rad/s: friction of 0.6 holds it, 0.36 m/s^2."""
    stage = Stage()
    disc = stage.node("Disc", translation=(0, -0.5, 0), collider=stage.box(4, 1, 4))
    stage.node("Root", children=[disc], motion={"isKinematic": True})
    rider = stage.rider(
        (1, 0.5 * SIDE, 0), linearVelocity=[0, 0, -0.6], angularVelocity=[0, 0.6, 0]
    )
    quarter = np.degrees(0.6 * 2.0)
    stage.moves(disc, "rotation", [0, 2], [turned(0), turned(quarter)])
    with world(stage.glb()) as scene:
        scene.step(360)
        angle = 0.6 * 1.5
        found = scene.world_from_node(rider)[:3, 3]
        assert found[[0, 2]] == pytest.approx([np.cos(angle), -np.sin(angle)], abs=0.02)
        assert scene.bodies[rider].angular_velocity[1] == pytest.approx(0.6, abs=0.02)


def test_the_motions_of_body_and_animation_add_up() -> None:
    """A root that drives off at 1 m/s, with a platform that rises by 0.5 m/s: a box rides on it."""
    stage = Stage()
    platform = stage.node("Platform", translation=(0, -0.5, 0), collider=stage.box(4, 1, 4))
    root = stage.node(
        "Root", children=[platform], motion={"isKinematic": True, "linearVelocity": [1, 0, 0]}
    )
    rider = stage.rider((0, 0.5 * SIDE, 0), linearVelocity=[1, 0.5, 0])
    stage.moves(platform, "translation", [0, 4], [(0, -0.5, 0), (0, 1.5, 0)])
    with world(stage.glb()) as scene:
        scene.step(240)
        assert scene.world_from_node(root)[0, 3] == pytest.approx(1.0, abs=1e-9)
        assert scene.world_from_node(rider)[:2, 3] == pytest.approx([1.0, 0.7], abs=2e-3)


def test_a_collider_on_a_spinning_root_stays_with_its_node() -> None:
    """Spin and speed of the body, and the animation: node and engine agree to rounding."""
    stage = Stage()
    arm = stage.node("Arm", translation=(1, 0, 0), collider=stage.box(0.2, 0.2, 0.2))
    stage.node("Hub", children=[arm], collider=stage.box(0.1, 0.1, 0.1), motion={
        "isKinematic": True, "linearVelocity": [0.3, 0, 0], "angularVelocity": [0, 2, 0.5],
    })  # fmt: skip
    stage.moves(arm, "translation", [0, 4], [(1, 0, 0), (3, 0, 0)])
    with world(stage.glb()) as scene:
        scene.step(300)
        body_id = scene.core.world.static_ids[arm]
        position, _ = pybullet.getBasePositionAndOrientation(body_id, scene.client_id)
        assert position == pytest.approx(scene.world_from_node(arm)[:3, 3], abs=1e-9)
        assert [issue.code for issue in scene.issues] == ["ANIMATED_COLLIDER_APART"]


def test_the_center_of_mass_is_still_that_of_all_colliders() -> None:
    """Spin is about the middle of both boxes, though one of them is an engine body of its own."""
    stage = Stage()
    far = stage.node("Far", translation=(2, 0, 0), collider=stage.box(0.2, 0.2, 0.2))
    hub = stage.node("Hub", children=[far], collider=stage.box(0.2, 0.2, 0.2), motion={
        "isKinematic": True, "angularVelocity": [0, np.pi, 0],
    })  # fmt: skip
    stage.moves(far, "rotation", [0, 4], [turned(0), turned(90)])
    with world(stage.glb()) as scene:
        scene.step(240)
        assert scene.world_from_node(hub)[:3, 3] == pytest.approx([2, 0, 0], abs=1e-6)


def test_a_carried_collider_goes_along_when_its_body_is_put_elsewhere() -> None:
    stage = Stage()
    door = stage.node("Door", collider=stage.box(1, 2, 0.1))
    root = stage.node("Root", children=[door], motion={"isKinematic": True})
    stage.moves(door, "translation", [0, 4], [(0, 0, 0), (4, 0, 0)])
    with world(stage.glb()) as scene:
        scene.step(240)
        scene.set(f"/nodes/{root}/translation", [0, 0, 5])
        hit = scene.ray_cast((1, 0, 9), (1, 0, -9))
        assert hit is not None
        assert (hit.node, round(hit.position[2], 6)) == (door, 5.05)
        before = scene.world_from_node(door)[0, 3]
        scene.step()
        speed, _ = pybullet.getBaseVelocity(scene.core.world.static_ids[door], scene.client_id)
        assert speed == pytest.approx([1, 0, 0], abs=1e-6)
        assert scene.world_from_node(door)[0, 3] == pytest.approx(before + 1 / 240, abs=1e-9)


def test_a_carried_collider_goes_along_with_a_body_that_pybullet_moves() -> None:
    """Users move kinematic bodies with PyBullet's own calls: poses and velocities."""
    stage = Stage()
    door = stage.node("Door", collider=stage.box(1, 2, 0.1))
    root = stage.node("Root", children=[door], motion={"isKinematic": True})
    stage.moves(door, "translation", [0, 4], [(0, 0, 0), (4, 0, 0)])
    with world(stage.glb()) as scene:
        carried, client = scene.core.world.static_ids[door], scene.client_id
        for step in range(1, 61):
            pose = ((0, 0, 0.01 * step), (0, 0, 0, 1))
            pybullet.resetBasePositionAndOrientation(
                scene.bodies[root].body_id, *pose, physicsClientId=client
            )
            scene.step()
            place, _ = pybullet.getBasePositionAndOrientation(carried, client)
            assert place == pytest.approx((step / 240, 0, 0.01 * step), abs=1e-9)
        pybullet.resetBaseVelocity(
            scene.bodies[root].body_id, (0, 0, 1), (0, 0, 0), physicsClientId=client
        )
        scene.step(60)
        place, _ = pybullet.getBasePositionAndOrientation(carried, client)
        assert place == pytest.approx((0.5, 0, 0.6 + 0.25), abs=1e-9)


def test_contacts_and_triggers_name_the_collider_and_its_body() -> None:
    stage = Stage()
    platform = stage.node("Platform", translation=(0, -0.5, 0), collider=stage.box(4, 1, 4))
    root = stage.node("Root", children=[platform], motion={"isKinematic": True})
    rider = stage.rider((0, 0.5 * SIDE, 0))
    sensor = stage.node(
        "Sensor",
        translation=(3, 1, 0),
        trigger={"geometry": stage.box(3, 1, 1)["geometry"]},
    )
    stage.moves(platform, "translation", [0, 4], [(0, -0.5, 0), (0, 1.5, 0)])
    with world(stage.glb()) as scene:
        events: list[gb.TriggerEvent] = []
        scene.on_trigger(events.append)
        scene.step(300)
        touching = scene.contacts(root)
        assert set(touching.node_a.tolist()) == {platform}
        assert set(touching.node_b.tolist()) == {rider}
        assert touching.normal_forces.sum() == pytest.approx(G, rel=0.02)
        # The platform's top, at 0.5 m/s, reaches the volume's lower side at 0.5 m after 1 s.
        (event,) = [event for event in events if event.collider_node == platform]
        assert (event.trigger_node, event.motion_node) == (sensor, root)
        assert event.time == pytest.approx(1.0, abs=2 / 240)


def test_states_are_taken_back_with_carried_colliders() -> None:
    stage = Stage()
    platform = stage.node("Platform", translation=(0, -0.5, 0), collider=stage.box(4, 1, 4))
    stage.node("Root", children=[platform], motion={
        "isKinematic": True, "linearVelocity": [1, 0, 0],
    })  # fmt: skip
    rider = stage.rider((0, 0.5 * SIDE, 0), linearVelocity=[1, 0.5, 0])
    stage.moves(platform, "translation", [0, 4], [(0, -0.5, 0), (0, 1.5, 0)])
    with world(stage.glb()) as scene:
        scene.step(60)
        state = scene.save_state()
        scene.step(60)
        first = scene.world_from_node(rider).copy()
        scene.restore_state(state)
        scene.step(60)
        assert scene.world_from_node(rider) == pytest.approx(first, abs=1e-12)


def test_a_paused_animation_leaves_the_collider_to_its_body() -> None:
    stage = Stage()
    arm = stage.node("Arm", translation=(1, 0, 0), collider=stage.box(0.2, 0.2, 0.2))
    stage.node("Hub", children=[arm], motion={"isKinematic": True, "linearVelocity": [0, 1, 0]})
    stage.moves(arm, "translation", [0, 4], [(1, 0, 0), (3, 0, 0)])
    options = gb.LoadOptions(play_animations=False)
    with world(stage.glb(), options=options) as scene:
        scene.step(240)
        hit = scene.ray_cast((1, 5, 0), (1, -5, 0))
        assert hit is not None
        assert hit.position[1] == pytest.approx(1.1, abs=1e-6)


@pytest.mark.parametrize("speed", [0.0, 0.4])
def test_what_hangs_on_an_animated_attachment_of_a_kinematic_body_goes_along(speed: float) -> None:
    """A crane that drives off, whose trolley an animation moves out: the load is welded to it."""
    stage = Stage()
    weld = [
        {"linearAxes": [0, 1, 2], "min": 0.0, "max": 0.0},
        {"angularAxes": [0, 1, 2], "min": 0.0, "max": 0.0},
    ]
    stage.tables["physicsJoints"] = [{"limits": weld}]
    load = stage.rider((0, 2, 0), linearVelocity=[0.5, 0, speed])
    trolley = stage.builder.node(
        "Trolley", translation=(0, 2, 0), extensions={KHR: {"joint": {
            "connectedNode": load, "joint": 0}}},
    )  # fmt: skip
    stage.node(
        "Crane", children=[trolley], motion={"isKinematic": True, "linearVelocity": [0, 0, speed]}
    )
    stage.moves(trolley, "translation", [0, 4], [(0, 2, 0), (2, 2, 0)])
    with world(stage.glb()) as scene:
        scene.step(480)
        at = scene.world_from_node(trolley)[:3, 3]
        assert at == pytest.approx([1.0, 2.0, 2.0 * speed], abs=1e-6)
        assert scene.world_from_node(load)[:3, 3] == pytest.approx(at, abs=2e-3)


# --- within dynamic bodies: made anew when they are off -----------------------------------------


def hits(scene: gb.Scene, x: float, *, node: int) -> bool:
    """Whether a ray straight down at ``x`` meets a node."""
    hit = scene.ray_cast((x, 9, 0), (x, -9, 0))
    return hit is not None and hit.node == node


@pytest.mark.parametrize("between", [False, True])
def test_a_collider_within_a_dynamic_body_is_where_its_node_is(between: bool) -> None:
    """It is off by a fiftieth of its size at most, and the body flies on as if nothing was."""
    stage = Stage()
    arm = stage.node("Arm", translation=(1, 0, 0), collider=stage.box(0.2, 0.2, 0.2))
    sleeve = stage.node("Sleeve", children=[arm])
    body = stage.node("Body", children=[sleeve], motion={
        "mass": 1.0, "gravityFactor": 0.0, "centerOfMass": [0, 0, 0],
        "inertiaDiagonal": [1, 1, 1], "linearVelocity": [0, 0.5, 0],
    })  # fmt: skip
    low, high = ((0, 0, 0), (2, 0, 0)) if between else ((1, 0, 0), (3, 0, 0))
    stage.moves(sleeve if between else arm, "translation", [0, 2], [low, high])
    with world(stage.glb()) as scene:
        (issue,) = scene.issues
        assert issue.code == "ANIMATED_WITHIN_BODY"
        # A ball about a box of 0.2 m has a radius of 0.1 sqrt(3).
        off = issue.values["tolerance"]
        assert off == pytest.approx(0.02 * 0.1 * np.sqrt(3.0))
        for step in range(1, 240):
            scene.step()
            x = 1.0 + step / 240
            assert hits(scene, x + 0.1 - off - 1 / 240 - 2e-3, node=arm), step
            assert not hits(scene, x + 0.1 + off + 1 / 240 + 2e-3, node=arm), step
        assert scene.world_from_node(body)[:3, 3] == pytest.approx(
            [0, 0.5 * 239 / 240, 0], abs=1e-5
        )


def test_a_body_is_lifted_by_the_leg_that_an_animation_puts_out() -> None:
    """The leg goes down by 0.5 m in 2 s: the body stands half a metre higher, on its leg."""
    stage = Stage()
    stage.node("Floor", translation=(0, -0.5, 0), collider=stage.box(10, 1, 10))
    leg = stage.node("Leg", translation=(0, -0.5, 0), collider=stage.box(0.5, 1, 0.5))
    body = stage.node("Body", translation=(0, 1, 0), children=[leg], motion={
        "mass": 1.0, "centerOfMass": [0, 0, 0], "inertiaDiagonal": [1, 1, 1],
    })  # fmt: skip
    stage.moves(leg, "translation", [0, 2], [(0, -0.5, 0), (0, -1.0, 0)])
    with world(stage.glb()) as scene:
        scene.animations[0].loop = False
        scene.step(600)
        assert scene.world_from_node(body)[1, 3] == pytest.approx(1.5, abs=0.02)


def test_a_joint_follows_an_attachment_that_is_animated_within_a_dynamic_body() -> None:
    """A weld to the world 1 m, then 2 m above the body: it hangs 2 m below, with a short lag."""
    stage = Stage()
    weld = [
        {"linearAxes": [0, 1, 2], "min": 0.0, "max": 0.0},
        {"angularAxes": [0, 1, 2], "min": 0.0, "max": 0.0},
    ]
    stage.tables["physicsJoints"] = [{"limits": weld}]
    hook = stage.builder.node("Hook", translation=(0, 1, 0))
    body = stage.node(
        "Body", translation=(0, -1, 0), children=[hook], motion={"mass": 1.0},
        collider=stage.box(SIDE, SIDE, SIDE),
    )  # fmt: skip
    stage.builder.node("Beam", extensions={KHR: {"joint": {"connectedNode": hook, "joint": 0}}})
    stage.moves(hook, "translation", [0, 2], [(0, 1, 0), (0, 2, 0)])
    with world(stage.glb()) as scene:
        assert [issue.code for issue in scene.issues] == ["ANIMATED_WITHIN_BODY"]
        scene.animations[0].loop = False
        scene.step(240)
        # Displaced locks come back with a time constant of 0.06 s: 0.5 m/s leave 0.03 m.
        assert scene.world_from_node(body)[1, 3] == pytest.approx(-1.5, abs=0.04)
        scene.step(360)
        assert scene.world_from_node(body)[1, 3] == pytest.approx(-2.0, abs=0.01)
        assert scene.world_from_node(hook)[:3, 3] == pytest.approx([0, 0, 0], abs=0.01)
