"""KHR_physics_rigid_bodies, "Triggers" and "Simulation notification nodes" (000, 001)."""

from __future__ import annotations

from typing import Any

import pytest

import gltf_bullet as gb
from tests.spec.files import Json, Khr, codes, file, loaded, node

KHR = "KHR_physics_rigid_bodies"
SHAPES: Json = {
    "KHR_implicit_shapes": {
        "shapes": [
            {"type": "box", "box": {"size": [2, 2, 2]}},
            {"type": "sphere", "sphere": {"radius": 0.25}},
        ]
    }
}
SENSES: Json = {KHR: {"trigger": {"geometry": {"shape": 0}}}}
SOLID: Json = {KHR: {"collider": {"geometry": {"shape": 1}}}}
FALLS: Json = {KHR: {"motion": {}, **SOLID[KHR]}}


def events(scene: gb.Scene, steps: int = 1) -> list[tuple[str, int, int, int]]:
    """All events of some steps, each step's asked for."""
    found = []
    for _ in range(steps):
        scene.step()
        found += [(e.kind, e.trigger_node, e.collider_node, e.motion_node) for e in scene.events]
    return found


def test_entering_is_when_any_intersection_begins_to_occur() -> None:
    """The ball touches the volume before its centre is in it: after a fall of 0.75 m."""
    content = file([node(SENSES), node(FALLS, translation=[0, 2, 0])], SHAPES)
    with loaded(content) as scene:
        while not scene.events:
            scene.step()
        (event,) = scene.events
        assert (event.kind, event.collider_node) == ("entered", 1)
        assert event.time == pytest.approx((2 * 0.75 / 9.81) ** 0.5, abs=2 / 240)


def test_exiting_is_when_the_intersection_no_longer_exists() -> None:
    content = file([node(SENSES), node(FALLS, translation=[0, 2, 0])], SHAPES)
    with loaded(content) as scene:
        assert [kind for kind, *_ in events(scene, 240)] == ["entered", "exited"]


def test_the_motion_node_is_the_one_at_or_above_the_collider() -> None:
    nodes = [node(SENSES), node({KHR: {"motion": {}}}, children=[2]), node(SOLID)]
    with loaded(file(nodes, SHAPES)) as scene:
        assert events(scene) == [("entered", 0, 2, 1)]


def test_without_a_motion_node_it_is_minus_1() -> None:
    content = file([node(SENSES), node(SOLID, translation=[8, 0, 0])], SHAPES)
    with loaded(content) as scene:
        scene.step()
        scene.set("/nodes/1/translation", (0, 0, 0))
        assert events(scene) == [("entered", 0, 1, -1)]
        assert scene.triggers[0].overlapping == (1,)
        assert events(scene, 3) == []
        scene.set("/nodes/1/translation", (8, 0, 0))
        assert events(scene) == [("exited", 0, 1, -1)]


def test_a_trigger_that_is_set_onto_a_static_collider_senses_it() -> None:
    content = file([node(SENSES, translation=[9, 0, 0]), node(SOLID)], SHAPES)
    with loaded(content) as scene:
        scene.step()
        scene.set("/nodes/0/translation", (0, 0, 0))
        assert events(scene) == [("entered", 0, 1, -1)]
        scene.set("/nodes/0/translation", (9, 0, 0))
        assert events(scene) == [("exited", 0, 1, -1)]


def test_what_overlaps_at_rest_from_load_on_does_not_begin_to() -> None:
    with loaded(file([node(SENSES), node(SOLID)], SHAPES)) as scene:
        assert events(scene, 3) == []


def test_what_overlaps_at_rest_leaves_when_one_of_them_is_set_elsewhere() -> None:
    with loaded(file([node(SENSES), node(SOLID)], SHAPES)) as scene:
        scene.set("/nodes/1/translation", (0.1, 0, 0))
        assert events(scene, 2) == []
        scene.set("/nodes/1/translation", (8, 0, 0))
        assert events(scene, 2) == [("exited", 0, 1, -1)]


def test_both_set_together_by_their_parent_stay_as_they_are() -> None:
    nodes = [node(children=[1, 2]), node(SENSES), node(SOLID)]
    with loaded(file(nodes, SHAPES)) as scene:
        scene.set("/nodes/0/translation", (3, 0, 0))
        assert events(scene, 2) == []
        scene.set("/nodes/2/translation", (8, 0, 0))
        assert events(scene, 2) == [("exited", 1, 2, -1)]


def test_others_that_rest_stay_silent_when_one_is_set() -> None:
    nodes = [node(SENSES), node(SOLID), node(SOLID, translation=[8, 0, 0])]
    with loaded(file(nodes, SHAPES)) as scene:
        scene.set("/nodes/2/translation", (0.5, 0, 0))
        assert events(scene, 2) == [("entered", 0, 2, -1)]


def test_a_snapshot_goes_back_to_before_it_was_set() -> None:
    content = file([node(SENSES), node(SOLID, translation=[8, 0, 0])], SHAPES)
    with loaded(content) as scene:
        scene.step()
        state = scene.save_state()
        scene.set("/nodes/1/translation", (0, 0, 0))
        assert events(scene) == [("entered", 0, 1, -1)]
        inside = scene.save_state()
        scene.restore_state(state)
        assert events(scene, 2) == []
        scene.restore_state(inside)
        assert scene.triggers[0].overlapping == (1,)
        assert events(scene, 2) == []
        scene.set("/nodes/1/translation", (8, 0, 0))
        assert events(scene) == [("exited", 0, 1, -1)]


@pytest.mark.parametrize("kind", ["static", "kinematic"])
def test_a_body_that_nothing_moves_is_sensed_when_it_is_set(kind: str) -> None:
    shape: dict[str, Any] = {"OMI_physics_shape": {"shapes": [{"type": "box", "box": {}}]}}
    body = {"motion": {"type": kind}, "collider": {"shape": 0}}
    nodes = [
        node({"OMI_physics_body": {"trigger": {"shape": 0}}}),
        node({"OMI_physics_body": body}, translation=[8, 0, 0]),
    ]
    with loaded(file(nodes, shape)) as scene:
        scene.step()
        scene.set("/nodes/1/translation", (0, 0, 0))
        assert events(scene) == [("entered", 0, 1, 1)]
        scene.set("/nodes/1/translation", (8, 0, 0))
        assert events(scene) == [("exited", 0, 1, 1)]


def test_a_trigger_does_not_see_another_trigger() -> None:
    content = file([node(SENSES), node(SENSES, translation=[8, 0, 0])], SHAPES)
    with loaded(content) as scene:
        scene.set("/nodes/1/translation", (0, 0, 0))
        assert events(scene, 2) == []


# --- volumes --------------------------------------------------------------------------------------


def passing(scene: gb.Scene, steps: int = 240) -> list[tuple[str, int]]:
    return [(kind, trigger) for kind, trigger, *_ in events(scene, steps)]


def test_a_trigger_generates_no_impulses(khr: Khr) -> None:
    """A ball falls through it as it falls beside it."""
    ball = {KHR: {"motion": {}, "collider": khr.ball(0.25)}}
    nodes = [
        node({KHR: {"trigger": khr.box(1, 1, 1)}}),
        node(ball, translation=[0, 2, 0]),
        node(ball, translation=[9, 2, 0]),
    ]
    with loaded(khr.file(nodes)) as scene:
        scene.step(240)
        heights = [scene.world_from_node(k)[1, 3] for k in (1, 2)]
        assert heights[0] == pytest.approx(heights[1], abs=1e-9)


def compound(khr: Khr) -> list[Json]:
    """A compound (0) of two boxes, the lower 0.5 m below the upper one, and a ball above."""
    return [
        node({KHR: {"trigger": {"nodes": [1, 2]}}}, children=[1, 2]),
        node({KHR: {"trigger": khr.box(1, 0.5, 1)}}, translation=[0, 0.5, 0]),
        node({KHR: {"trigger": khr.box(1, 0.5, 1)}}, translation=[0, 0, 0]),
        node({KHR: {"motion": {}, "collider": khr.ball(0.25)}}, translation=[0, 2, 0]),
    ]


def test_a_compound_of_nodes_is_one_trigger(khr: Khr) -> None:
    with loaded(khr.file(compound(khr))) as scene:
        assert passing(scene) == [("entered", 0), ("exited", 0)]


def test_the_nodes_of_a_compound_must_be_descendents_with_triggers(khr: Khr) -> None:
    nodes = compound(khr)
    nodes[0]["extensions"][KHR]["trigger"]["nodes"] = [1, 2, 3]
    assert codes(khr.file(nodes)) == {"TRIGGER_NODE_NOT_BELOW"}
    nodes = [*compound(khr), node()]
    nodes[0]["extensions"][KHR]["trigger"]["nodes"] = [1, 2, 4]
    nodes[0]["children"] = [1, 2, 4]
    assert codes(khr.file(nodes)) == {"TRIGGER_NODE_WITHOUT_TRIGGER"}


def test_an_empty_list_of_nodes_is_no_compound(khr: Khr) -> None:
    nodes = [node({KHR: {"trigger": {**khr.box(1, 1, 1), "nodes": []}}}), *compound(khr)[3:]]
    content = khr.file(nodes)
    with loaded(content) as scene:
        assert passing(scene) == [("entered", 0), ("exited", 0)]
    assert codes(content) == {"LIST_EMPTY"}


@pytest.mark.parametrize(("systems", "senses"), [(["a"], True), (["b"], False)])
def test_a_filter_says_what_a_trigger_senses(khr: Khr, systems: list[str], senses: bool) -> None:
    filters = [{"collisionSystems": ["a"]}, {"collideWithSystems": systems}]
    ball = {"motion": {}, "collider": {**khr.ball(0.25), "collisionFilter": 0}}
    nodes = [
        node({KHR: {"trigger": {**khr.box(1, 1, 1), "collisionFilter": 1}}}),
        node({KHR: ball}, translation=[0, 2, 0]),
    ]
    with loaded(khr.file(nodes, collisionFilters=filters)) as scene:
        assert bool(passing(scene)) is senses


def test_a_trigger_on_a_body_moves_with_it_and_does_not_sense_it(khr: Khr) -> None:
    body = {"motion": {"gravityFactor": 0, "linearVelocity": [2, 0, 0]}}
    nodes = [
        node({KHR: {**body, "collider": khr.ball(0.25), "trigger": khr.box(1, 1, 1)}}),
        node({KHR: {"collider": khr.ball(0.25)}}, translation=[1.5, 0.6, 0]),
    ]
    with loaded(khr.file(nodes)) as scene:
        assert events(scene, 300) == [("entered", 0, 1, -1), ("exited", 0, 1, -1)]


def test_a_collider_that_passes_within_one_step_enters_and_exits(khr: Khr) -> None:
    """At 240 m/s a ball goes 1 m in a step."""
    ball = {"motion": {"gravityFactor": 0, "linearVelocity": [240, 0, 0]}}
    nodes = [
        node({KHR: {"trigger": khr.box(0.1, 1, 1)}}),
        node({KHR: {**ball, "collider": khr.ball(0.05)}}, translation=[-2.5, 0, 0]),
    ]
    with loaded(khr.file(nodes)) as scene:
        assert passing(scene, 6) == [("entered", 0), ("exited", 0)]
