"""Triggers in a running scene: who came, who went, when."""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from tests.runtime.trigger_scenes import (
    BALL,
    BIG,
    BOX,
    CAPSULE,
    CONE,
    CYLINDER,
    DT,
    HINGE,
    PLANE,
    SHEET,
    SLAB,
    G,
    ball,
    load,
    node,
    solid,
    told,
)

pytestmark = pytest.mark.world(gravity=(0.0, -G, 0.0))


@pytest.mark.parametrize(
    ("shape", "reach"),
    [(BOX, 0.5), (BIG, 0.5), (CAPSULE, 0.75), (CYLINDER, 0.5), (PLANE, 0.0), (SHEET, 0.0005)],
)
def test_a_ball_falls_into_and_out_of_a_volume_when_the_formula_says(
    client: int, shape: int, reach: float
) -> None:
    start, radius = 2.0, 0.1
    scene = load(
        client,
        node(name="Volume", trigger=solid(shape)),
        ball((0, start, 0), motion={"gravityFactor": 1.0}),
    )
    events: list[gb.TriggerEvent] = []
    scene.on_trigger(events.append)
    scene.step(240)
    # The centre has fallen start - y when it is at y; semi-implicit Euler is half a step early.
    entered = math.sqrt(2 * (start - reach - radius) / G)
    expected = [("entered", 0, 1, 1)]
    times = [entered]
    if shape != PLANE:
        expected.append(("exited", 0, 1, 1))
        times.append(math.sqrt(2 * (start + reach + radius) / G))
    assert told(events) == expected
    assert [event.time for event in events] == pytest.approx(times, abs=2 * DT)


def test_a_cone_senses_its_slope_and_not_its_bounding_box(client: int) -> None:
    # Apex up, radius 0.5 at the bottom: half way up the slope is 0.25 from the axis.
    scene = load(
        client,
        node(trigger=solid(CONE)),
        ball((0.47, 0.3, 0)),
        ball((0.25, 0.0, 0)),
    )
    scene.step()
    assert scene.triggers[0].overlapping == (2,)


def test_a_trigger_has_a_name_a_kind_and_bodies(client: int) -> None:
    scene = load(
        client,
        node(name="Goal", trigger=solid(BOX)),
        node((0, 0, 0), children=[2, 3], name="Pair", motion={"gravityFactor": 0.0}),
        node((-0.2, 0, 0), collider=solid(BALL)),
        node((0.2, 0, 0), collider=solid(BALL)),
    )
    goal = scene.triggers["Goal"]
    assert goal.overlapping == ()
    scene.step()
    assert (goal.node, goal.name, goal.shape_kind) == (0, "Goal", "box")
    assert goal.overlapping == (2, 3)
    assert [body.node for body in goal.overlapping_bodies] == [1]
    assert "Goal" in repr(goal)


def test_the_very_collider_of_a_compound_body_is_named(client: int) -> None:
    scene = load(
        client,
        node((1.3, 0, 0), trigger=solid(BIG)),
        node(children=[2, 3], motion={"gravityFactor": 0.0, "mass": 1.0}),
        node((-0.9, 0, 0), collider=solid(BALL)),
        node((0.9, 0, 0), collider=solid(BALL)),
    )
    scene.step()
    assert told(scene.events) == [("entered", 0, 3, 1)]


def test_a_compound_reports_once_as_the_node_that_lists_its_parts(client: int) -> None:
    scene = load(
        client,
        node(name="L", children=[1, 2], trigger={"nodes": [1, 2]}),
        node((0, 0, 0), trigger=solid(BOX)),
        node((1, 0, 0), trigger=solid(BOX)),
        ball((-1.5, 0, 0), (2, 0, 0)),
    )
    events: list[gb.TriggerEvent] = []
    scene.on_trigger(events.append)
    scene.step(480)
    assert told(events) == [("entered", 0, 3, 3), ("exited", 0, 3, 3)]
    # In at x = -0.6, out at 1.6: 0.9 m and 3.1 m of way at 2 m/s.
    assert [event.time for event in events] == pytest.approx([0.45, 1.55], abs=2 * DT)
    assert list(scene.triggers) == [0]
    assert scene.triggers["L"].shape_kind == "compound"


def test_filters_say_what_a_trigger_senses(client: int) -> None:
    filters = [
        {"collisionSystems": ["sensor"], "collideWithSystems": ["red"]},
        {"collisionSystems": ["red"]},
        {"collisionSystems": ["blue"]},
        {"collisionSystems": ["red"], "notCollideWithSystems": ["sensor"]},
    ]
    scene = load(
        client,
        node(trigger=solid(BOX, collisionFilter=0)),
        ball((-0.3, 0, 0), collisionFilter=1),
        ball((0, 0, 0), collisionFilter=2),
        ball((0.3, 0, 0), collisionFilter=3),
        ball((0, 0.3, 0)),
        extensions={"KHR_physics_rigid_bodies": {"collisionFilters": filters}},
    )
    scene.step()
    assert scene.triggers[0].overlapping == (1, 4)


def test_a_trigger_is_blind_to_its_own_body_to_triggers_and_at_rest_to_statics(client: int) -> None:
    scene = load(
        client,
        node(children=[1], motion={"gravityFactor": 0.0, "mass": 1.0}, collider=solid(BALL)),
        node(trigger=solid(BOX)),
        node((0.5, 0, 0), collider=solid(BALL)),
        node(trigger=solid(BOX)),
        node((0, 0.3, 0), motion={"isKinematic": True}, collider=solid(BALL)),
    )
    scene.step()
    assert scene.triggers[1].overlapping == (2, 4)
    assert scene.triggers[3].overlapping == (0, 4)


@pytest.mark.parametrize("floor", [BIG, PLANE])
def test_a_trigger_on_a_body_senses_the_floor_that_it_falls_on(client: int, floor: int) -> None:
    """KHR: "any intersection", with a collider of no motion: -1."""
    scene = load(
        client,
        node((0, 2, 0), children=[1], motion={"mass": 1.0}, collider=solid(BALL)),
        node((0, -0.5, 0), trigger=solid(BALL)),
        node(collider=solid(floor)),
    )
    events: list[gb.TriggerEvent] = []
    scene.on_trigger(events.append)
    scene.step(240)
    (entered,) = events
    assert (entered.kind, entered.trigger_node, entered.collider_node) == ("entered", 1, 2)
    assert entered.motion_node == -1


def test_a_trigger_rides_on_its_body(client: int) -> None:
    scene = load(
        client,
        node(
            (-2, 0, 0),
            children=[1],
            motion={"isKinematic": True, "linearVelocity": [1, 0, 0]},
        ),
        node((0, 0, 0), trigger=solid(BOX)),
        ball((0, 0, 0)),
    )
    events: list[gb.TriggerEvent] = []
    scene.on_trigger(events.append)
    scene.step(int(2.8 / DT))
    assert told(events) == [("entered", 1, 2, 2), ("exited", 1, 2, 2)]
    assert [event.time for event in events] == pytest.approx([1.4, 2.6], abs=2 * DT)


def test_who_starts_inside_enters_in_the_first_step(client: int) -> None:
    scene = load(client, node(trigger=solid(BOX)), ball((0, 0, 0)))
    assert scene.events == ()
    scene.step()
    assert told(scene.events) == [("entered", 0, 1, 1)]
    assert scene.events[0].time == pytest.approx(DT)
    scene.step()
    assert scene.events == ()


@pytest.mark.parametrize("substeps", [1, 4])
@pytest.mark.parametrize("begin", [-1.0, -0.4])
def test_a_bullet_through_a_thin_trigger_in_one_step_is_seen(
    client: int, substeps: int, begin: float
) -> None:
    pybullet.setPhysicsEngineParameter(
        fixedTimeStep=1 / 60, numSubSteps=substeps, physicsClientId=client
    )
    scene = load(client, node(trigger=solid(SLAB)), ball((0, begin, 0), (0, 90, 0)))
    scene.step()
    assert told(scene.events) == [("entered", 0, 1, 1), ("exited", 0, 1, 1)]
    # It travels 1.5 m in the step, at 90 m/s.
    times = [(-begin - 0.101) / 90, (-begin + 0.101) / 90]
    assert [event.time for event in scene.events] == pytest.approx(times, abs=1e-4)
    assert scene.triggers[0].overlapping == ()


def test_a_bullet_stopped_by_a_wall_behind_the_trigger_is_seen(client: int) -> None:
    pybullet.setPhysicsEngineParameter(fixedTimeStep=1 / 60, numSubSteps=4, physicsClientId=client)
    scene = load(
        client,
        node((0, 0, 0), trigger=solid(SLAB)),
        node((0, 1.0, 0), collider=solid(BOX)),
        ball((0, -0.4, 0), (0, 90, 0)),
    )
    scene.step(2)
    assert told(scene.events) == [("entered", 0, 2, 2), ("exited", 0, 2, 2)]


def test_a_bullet_beside_a_thin_trigger_is_not_seen(client: int) -> None:
    scene = load(client, node(trigger=solid(SLAB)), ball((1.2, -0.2, 0), (0, 90, 0)))
    scene.step(3)
    assert scene.events == ()


def test_a_teleport_over_a_trigger_is_no_passage_but_one_into_it_is_an_entry(client: int) -> None:
    scene = load(client, node(trigger=solid(SLAB)), ball((0, -2, 0)))
    body = scene.bodies[1].body_id
    for height, expected in ((2, []), (-2, []), (0, ["entered"]), (2, ["exited"])):
        pybullet.resetBasePositionAndOrientation(body, (0, height, 0), (0, 0, 0, 1), client)
        scene.step()
        assert [event.kind for event in scene.events] == expected


def test_a_body_put_at_the_muzzle_and_shot_through_a_trigger_is_seen(client: int) -> None:
    scene = load(client, node(trigger=solid(SLAB)), ball((5, 5, 5)))
    scene.step(5)
    body = scene.bodies[1].body_id
    pybullet.resetBasePositionAndOrientation(body, (0, -0.2, 0), (0, 0, 0, 1), client)
    pybullet.resetBaseVelocity(body, (0, 96, 0), physicsClientId=client)
    scene.step()
    assert [event.kind for event in scene.events] == ["entered", "exited"]


def test_events_are_those_of_all_steps_of_the_last_call(client: int) -> None:
    scene = load(client, node(trigger=solid(SLAB)), ball((0, -0.5, 0), (0, 2, 0)))
    scene.step(240)
    assert [event.kind for event in scene.events] == ["entered", "exited"]
    scene.before_step()
    pybullet.stepSimulation(client)
    scene.after_step()
    assert scene.events == ()


def test_callbacks_end_when_told_to(client: int) -> None:
    scene = load(client, node(trigger=solid(SLAB)), ball((0, -0.5, 0), (0, 2, 0)))
    first: list[str] = []
    second: list[str] = []
    unsubscribe = scene.on_trigger(lambda event: first.append(event.kind))
    scene.on_trigger(lambda event: (second.append(event.kind), unsubscribe()))
    scene.step(240)
    unsubscribe()
    assert (first, second) == (["entered"], ["entered", "exited"])


def test_a_scene_may_be_removed_in_a_callback(client: int) -> None:
    scene = load(client, node(trigger=solid(BOX)), ball((0, 0, 0)))
    scene.on_trigger(lambda _: scene.remove())
    scene.step()
    assert pybullet.getNumBodies(physicsClientId=client) == 0


def test_scenes_in_one_world_sense_their_own_colliders(client: int) -> None:
    first = load(client, node(trigger=solid(BOX)), ball((0, 0, 0)))
    second = load(client, node(trigger=solid(BOX)), ball((0, 0.3, 0)), ball((0.2, 0, 0)))
    for scene in (first, second):
        scene.before_step()
    pybullet.stepSimulation(client)
    for scene in (first, second):
        scene.after_step()
    assert first.triggers[0].overlapping == (1,)
    assert second.triggers[0].overlapping == (1, 2)


def test_a_trigger_leaves_nothing_in_the_world(client: int) -> None:
    load(client, node(trigger=solid(CONE)))
    assert pybullet.getNumBodies(physicsClientId=client) == 0


def test_state_comes_back_with_who_was_inside(client: int) -> None:
    scene = load(client, node(trigger=solid(BOX)), ball((0, 0, 0), (1, 0, 0)))
    scene.step(60)
    state = scene.save_state()
    pickle.dumps(state)
    scene.step(240)
    assert [event.kind for event in scene.events] == ["exited"]
    scene.restore_state(state)
    assert scene.events == ()
    assert scene.triggers[0].overlapping == (1,)
    scene.step(240)
    assert [event.kind for event in scene.events] == ["exited"]
    scene.reset()
    scene.step()
    assert [event.kind for event in scene.events] == ["entered"]


def test_a_static_collider_on_an_animated_node_is_sensed(client: int) -> None:
    keys = np.array([0.0, 1.0, -1.0, 0, 0, 1.0, 0, 0], dtype="<f4").tobytes()
    import base64

    scene = load(
        client,
        node((0, 0, 0), trigger=solid(SLAB)),
        node((0, 0, 0), children=[2]),
        node((0, 0, 0), collider=solid(BALL)),
        buffers=[{
            "byteLength": len(keys),
            "uri": "data:application/octet-stream;base64," + base64.b64encode(keys).decode(),
        }],
        bufferViews=[
            {"buffer": 0, "byteLength": 8},
            {"buffer": 0, "byteOffset": 8, "byteLength": 24},
        ],
        accessors=[
            {"bufferView": 0, "componentType": 5126, "count": 2, "type": "SCALAR",
             "min": [0], "max": [1]},
            {"bufferView": 1, "componentType": 5126, "count": 2, "type": "VEC3"},
        ],
        animations=[{
            "channels": [{"sampler": 0, "target": {"node": 1, "path": "translation"}}],
            "samplers": [{"input": 0, "output": 1}],
        }],
    )  # fmt: skip
    events: list[gb.TriggerEvent] = []
    scene.on_trigger(events.append)
    scene.step(200)
    # From x = -1 to 1 at 2 m/s over a sheet of 2 m: touching from the first step on.
    assert told(events) == [("entered", 0, 2, -1)]


def test_a_wide_box_in_a_box_is_told_by_its_corner(client: int) -> None:
    # Turned by 45 degrees its corner reaches 0.5 sqrt(2) = 0.707 towards the volume's face.
    half_turn = [0, 0, math.sin(math.pi / 8), math.cos(math.pi / 8)]
    crate = node((0.5 + 0.707 - 0.01, 0, 0), motion={"gravityFactor": 0.0}, collider=solid(BOX))
    crate["rotation"] = half_turn
    far = node((0.5 + 0.707 + 0.01, 0, 0), motion={"gravityFactor": 0.0}, collider=solid(BOX))
    far["rotation"] = half_turn
    for crate_or_far, expected in ((crate, (1,)), (far, ())):
        scene = load(client, node(trigger=solid(BOX)), crate_or_far)
        scene.step()
        assert scene.triggers[0].overlapping == expected
        scene.remove()


def test_a_jointed_body_is_sensed_when_it_swings_through(client: int) -> None:
    # A ball on a hinge 1 m below the pivot, released at a right angle; the sheet is at the bottom.
    arm = node((1, 0, 0), children=[2], motion={"mass": 1.0}, collider=solid(BALL))
    gate = node((0, -1, 0), trigger=solid(SLAB))
    gate["rotation"] = [0, 0, math.sqrt(0.5), math.sqrt(0.5)]
    scene = load(
        client,
        gate,
        arm,
        node((-1, 0, 0)),
        node((0, 0, 0), joint={"connectedNode": 2, "joint": 0}),
        extensions=HINGE,
    )
    events: list[gb.TriggerEvent] = []
    scene.on_trigger(events.append)
    # A quarter of the period of a pendulum of amplitude 90 degrees.
    quarter = 0.5 * math.pi * math.sqrt(1 / G) * 1.18034
    scene.step(round(1.5 * quarter / DT))
    assert told(events) == [("entered", 0, 1, 1), ("exited", 0, 1, 1)]
    # Past the bottom at sqrt(2 g); the ball of 0.1 m touches the sheet 0.101 m before and after.
    around = 0.101 / math.sqrt(2 * G)
    times = [quarter - around, quarter + around]
    assert [event.time for event in events] == pytest.approx(times, abs=3 * DT)


def test_volumes_and_colliders_ride_where_the_nodes_are(client: int) -> None:
    # A turned and scaled volume below a swinging arm, another below a tumbling body, and a ball
    # carried sideways: what triggers reckon with is where the node tree says that they are.
    turned = {"rotation": [0.5, 0.5, 0.5, 0.5], "scale": [2.0, 1.0, 0.5]}
    arm = node((1, 0, 0), children=[2, 4], motion={"mass": 1.0, "centerOfMass": [0.1, 0.2, 0.0]},
               collider=solid(BALL))  # fmt: skip
    spinning = node((0, 5, 0), children=[5], collider=solid(BOX),
                    motion={"mass": 1.0, "angularVelocity": [1, 2, 3]})  # fmt: skip
    scene = load(
        client,
        spinning,
        arm,
        node((-1, 0, 0)),
        node((0, 0, 0), joint={"connectedNode": 2, "joint": 0}),
        node((0.3, 0.1, 0.2), trigger=solid(BOX)) | turned,
        node((0.2, 0.4, 0.1), trigger=solid(BOX)) | turned,
        extensions=HINGE,
    )
    scene.step(37)
    memory = scene.save_state().triggers
    assert set(memory.places) == {0, 1, 4, 5}
    for at, place in memory.places.items():
        shown = scene.world_from_node(at)
        size = [2.0, 1.0, 0.5] if at in (4, 5) else [1.0, 1.0, 1.0]
        assert place[9:] == pytest.approx(shown[:3, 3], abs=1e-12)
        turn = np.array(place[:9]).reshape(3, 3)
        assert turn * size == pytest.approx(shown[:3, :3], abs=1e-12)


def test_what_cannot_be_called_is_refused_before_any_event(client: int) -> None:
    scene = gb.load_gltf(Path(__file__).parents[2] / "examples/assets/goal_line.gltf", client)
    with pytest.raises(TypeError, match=r"callback is 2\.0; must be"):
        scene.on_trigger(2.0)  # type: ignore[arg-type]
