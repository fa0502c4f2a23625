"""What hangs on the fixed world by a joint meets the fixed world, and its stops hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb
from tests.physics.scenes import Jointed, world

LOCKED = {"linearAxes": [0, 1, 2], "min": 0, "max": 0}
HINGE = [LOCKED, {"angularAxes": [0, 1], "min": 0, "max": 0}]
BALL = [LOCKED]
SLIDE = [
    {"linearAxes": [0, 2], "min": 0, "max": 0},
    {"angularAxes": [0, 1, 2], "min": 0, "max": 0},
]
Limits = list[dict[str, Any]]


def anchored(scenery: Jointed, body: int, at: Sequence[float], limits: Limits) -> None:
    """Hold on to a point of the body from the same point of the world."""
    base = scenery.node(f"Anchor of {body}", at=np.add(AT[body], at).tolist())
    scenery.join(base, scenery.attachment(body, at), limits=limits)


AT: dict[int, Sequence[float]] = {}
"""Where each body of the scene in the making stands."""


def body(scenery: Jointed, at: Sequence[float], shape: int, **motion: Any) -> int:
    node = scenery.node("Body", at=at, shape=shape, motion={"mass": 1.0, **motion})
    AT[node] = at
    return node


def lowest(scene: gb.Scene, node: int, steps: int) -> float:
    found = math.inf
    for _ in range(steps):
        scene.step()
        found = min(found, float(scene.world_from_node(node)[1, 3]))
    return found


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("limits", [HINGE, BALL], ids=["hinge", "ball"])
def test_what_swings_on_the_world_lands_on_a_floor(limits: Limits, named: bool) -> None:
    """A cube of 0.4 m on an arm of 1.2 m over a floor 1 m below the pivot.

    Its corners pass the lowest place at 1.2 + 0.2 m: it cannot get below the floor's top by more
    than half a cube turned on its edge.
    """
    scenery = Jointed()
    floor, cube = scenery.shape("box", size=[8, 1, 8]), scenery.shape("box", size=[0.4] * 3)
    scenery.node("Floor", at=(0, -1.5, 0), shape=floor)
    swung = body(scenery, (1.2, 0, 0), cube)
    anchored(scenery, swung, (-1.2, 0, 0), limits)
    with world(scenery.bytes(), options=gb.LoadOptions(link_names=named)) as scene:
        # The cube stands over the floor by half its edge at least, by its half diagonal at most.
        depth = lowest(scene, swung, 480)
        assert -0.8 - 0.01 < depth < -1.0 + 0.2 * math.sqrt(2.0) + 0.01
        assert scene.contacts(swung).node_b.tolist()


@pytest.mark.parametrize("limits", [HINGE, BALL], ids=["hinge", "ball"])
def test_two_pendulums_push_each_other(limits: Limits) -> None:
    """Spheres of 0.25 m: their centres stay half a metre apart, but for what impacts press in."""
    scenery = Jointed()
    sphere = scenery.shape("sphere", radius=0.25)
    pair = [body(scenery, (1.0, 0, 0), sphere), body(scenery, (-0.05, -1, 0), sphere)]
    anchored(scenery, pair[0], (-1.0, 0, 0), limits)
    anchored(scenery, pair[1], (0.0, 1.0, 0), limits)
    nearest, furthest = math.inf, 0.0
    with world(scenery.bytes()) as scene:
        for _ in range(480):
            scene.step()
            places = [scene.world_from_node(node)[:3, 3] for node in pair]
            nearest = min(nearest, float(np.linalg.norm(places[0] - places[1])))
            furthest = max(furthest, abs(float(places[1][0]) + 0.05))
    assert nearest > 0.5 - 0.02
    assert furthest > 0.3


def test_a_kinematic_sphere_pushes_a_pendulum_away() -> None:
    scenery = Jointed()
    sphere = scenery.shape("sphere", radius=0.25)
    hung = body(scenery, (0, -1, 0), sphere)
    anchored(scenery, hung, (0, 1.0, 0), HINGE)
    pusher = scenery.node(
        "Pusher", at=(-0.7, -1, 0), shape=sphere,
        motion={"isKinematic": True, "linearVelocity": [0.5, 0, 0]},
    )  # fmt: skip
    with world(scenery.bytes()) as scene:
        scene.step(240)
        apart = scene.world_from_node(hung)[:3, 3] - scene.world_from_node(pusher)[:3, 3]
    assert np.linalg.norm(apart) > 0.5 - 0.01


@pytest.mark.parametrize("differs", ["material", "filter"])
def test_a_slider_stands_on_the_lower_one_of_its_colliders(differs: str) -> None:
    """Colliders that differ in material or filter are links of their own in the engine."""
    scenery = Jointed()
    floor, cube = scenery.shape("box", size=[8, 1, 8]), scenery.shape("box", size=[0.4] * 3)
    scenery.node("Floor", at=(0, -1.5, 0), shape=floor)
    scenery.material(dynamicFriction=0.2)
    scenery.material(dynamicFriction=0.9)
    scenery.entry("collisionFilters", collisionSystems=["a"])
    scenery.entry("collisionFilters", collisionSystems=["b"])
    kinds = {"material": "material", "filter": "collision_filter"}
    parts = [
        scenery.node("Part", at=(0, y, 0), shape=cube, **{kinds[differs]: k})  # type: ignore[arg-type]
        for k, y in enumerate((0.0, -0.5))
    ]
    slider = scenery.node("Slider", children=parts, motion={"mass": 1.0})
    AT[slider] = (0, 0, 0)
    anchored(scenery, slider, (0, 0, 0), SLIDE)
    with world(scenery.bytes()) as scene:
        scene.step(480)
        # The lower cube's centre is 0.5 m down, its half edge 0.2 m, the floor's top at -1.
        assert scene.world_from_node(slider)[1, 3] == pytest.approx(-0.3, abs=2e-3)


@pytest.mark.parametrize("turn", [3.0, -3.0])
@pytest.mark.parametrize(
    "span", [{"max": 0.3}, {"min": -0.3}, {"min": -10.0, "max": 0.3}, {"min": -0.3, "max": 7.0}]
)
def test_a_limit_with_one_end_holds_at_this_end_alone(span: dict[str, float], turn: float) -> None:
    """The text: without a min there is no lower bound, without a max no upper one; no angle is
    beyond half a turn, so that an end beyond bounds nothing."""
    scenery = Jointed()
    cube = scenery.shape("box", size=[0.4] * 3)
    hinged = body(scenery, (0, 0, 0), cube, gravityFactor=0.0, angularVelocity=[0, 0, turn])
    anchored(scenery, hinged, (0, 0, 0), [*HINGE, {"angularAxes": [2], **span}])
    held = {1.0: span.get("max", math.inf), -1.0: span.get("min", -math.inf)}
    end = held[math.copysign(1.0, turn)]
    expected = end if abs(end) < math.pi else 3.0 * math.copysign(0.5, turn)
    with world(scenery.bytes()) as scene:
        scene.step(120)  # half a second: 1.5 rad where nothing holds
        matrix = scene.world_from_node(hinged)
        angle = math.atan2(matrix[1, 0], matrix[0, 0])
    assert angle == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("holder", ["none", "group", "root"])
@pytest.mark.parametrize("height", [0.7, 3.0])
def test_a_rope_from_a_point_above_lets_a_box_down_to_the_floor(holder: str, height: float) -> None:
    """Whatever node an exporter puts the floor and the point under, with the box or beside it."""
    scenery = Jointed()
    floor, cube = scenery.shape("box", size=[10, 1, 10]), scenery.shape("box", size=[1, 1, 1])
    ground = scenery.node("Floor", at=(0, -0.5, 0), shape=floor)
    box = scenery.node("Box", at=(0, height, 0), shape=cube, motion={"mass": 1.0})
    point = scenery.node("Point", at=(0, height + 1.0, 0))
    scenery.join(point, box, limits=[{"linearAxes": [0, 1, 2], "max": 5.0}])
    if holder != "none":
        held = [ground, point] + ([box] if holder == "root" else [])
        scenery.node("Holder", children=held)
    with world(scenery.bytes()) as scene:
        scene.step(480)
        assert scene.world_from_node(box)[1, 3] == pytest.approx(0.5, abs=2e-3)


@pytest.mark.parametrize("rate", [60.0, 240.0])
@pytest.mark.parametrize("load", [1.0, 10.0])
def test_a_stop_says_what_it_holds(rate: float, load: float) -> None:
    """A box on a beam that turns about its middle, at its stop: weight times lever."""
    scenery = Jointed()
    beam = body(scenery, (0, 0, 0), scenery.shape("box", size=[1.0, 0.1, 0.2]))
    anchored(scenery, beam, (0, 0, 0), [*HINGE, {"angularAxes": [2], "min": 0.0}])
    cube = scenery.shape("box", size=[0.2] * 3)
    scenery.node("Load", at=(0.3, 0.16, 0), shape=cube, motion={"mass": load})
    with world(scenery.bytes(), rate=rate) as scene:
        scene.step(int(4.0 * rate))
        controls = scene.joint_controls
        (handle,) = controls.dofs(next(iter(scene.joints)))
        (force,) = controls.dof_state(handle).applied_force
        assert abs(force) == pytest.approx(load * 9.81 * 0.3, rel=0.02)


@pytest.mark.parametrize("holder", ["the ground", "another base"])
def test_a_joint_that_screws_a_base_to_what_does_not_move_does_nothing(holder: str) -> None:
    """Both ends stand still; the arm on the base swings all the same, as long as it is held."""
    scenery = Jointed()
    block, rod = scenery.shape("box", size=[0.2] * 3), scenery.shape("box", size=[0.4, 0.05, 0.05])
    base = scenery.node("Base", at=(0, 1, 0), shape=block)
    arm = scenery.node("Arm", at=(0.4, 1, 0), shape=rod, motion={"mass": 1.0})
    scenery.join(
        scenery.attachment(arm, (-0.4, 0, 0)), scenery.attachment(base, (0, 0, 0)), limits=HINGE
    )
    ground = scenery.node("Ground", at=(0, 2, 0))
    if holder == "another base":
        other = scenery.node("Other base", at=(0, 3, 0), shape=block)
        hung = scenery.node("Hung", at=(0.4, 3, 0), shape=rod, motion={"mass": 1.0})
        ends = scenery.attachment(hung, (-0.4, 0, 0)), scenery.attachment(other, (0, 0, 0))
        scenery.join(*ends, limits=HINGE)
        ground = scenery.attachment(other, (0, -1, 0))
    screw = scenery.attachment(base, (0, 1, 0))
    scenery.join(screw, ground, limits=[LOCKED, {"angularAxes": [0, 1, 2], "min": 0, "max": 0}])
    with world(scenery.bytes()) as scene:
        found = [(issue.code, issue.pointer) for issue in scene.issues]
        at = f"/nodes/{screw}/extensions/KHR_physics_rigid_bodies/joint"
        assert ("JOINT_MOVES_NOTHING", at) in found
        scene.step(60)
        assert scene.world_from_node(base)[:3, 3].tolist() == [0.0, 1.0, 0.0]
        place = scene.world_from_node(arm)[:3, 3] - [0.0, 1.0, 0.0]
        assert np.linalg.norm(place) == pytest.approx(0.4, abs=1e-3)
        assert place[1] < -0.1
