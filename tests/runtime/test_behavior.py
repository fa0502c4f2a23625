"""Behavior graphs in a running scene: physics nodes, pointers, animations, states."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.runtime.acting.scene_host import SceneHost
from tests.runtime.trigger_scenes import BOX, DT, G, asset, ball, node, solid, y_up_world
from tools.gltf_builder import GltfBuilder
from tools.graph_builder import GraphBuilder, Out

PHYSICS = "KHR_physics_rigid_bodies"
CROSSING = {"colliderNodeIndex": "int", "motionNodeIndex": "int"}


pytestmark = pytest.mark.world(gravity=(0.0, -G, 0.0))


def acting(graph: GraphBuilder, *nodes: dict[str, Any], **extra: Any) -> bytes:
    used = [PHYSICS, "KHR_implicit_shapes", "KHR_interactivity"]
    extensions = {"KHR_interactivity": graph.extension(), **extra.pop("extensions", {})}
    return asset(*nodes, extensions=extensions, extensionsUsed=used, **extra)


def counting(graph: GraphBuilder, variable: int) -> int:
    """A node that adds 1 to a variable."""
    now = graph.add("variable/get", variable=variable)
    more = graph.add("math/add", {"a": Out(now), "b": 1})
    return graph.add("variable/set", {str(variable): Out(more)}, variables=[variable])


def crossing(graph: GraphBuilder, way: str, trigger: int) -> int:
    return graph.add(
        f"event/rigid_body_trigger{way}", extension=PHYSICS, outputs=CROSSING, nodeIndex=trigger
    )


def impulse(graph: GraphBuilder, target: Any, linear: tuple[float, ...], kind: str = "int") -> int:
    return graph.add(
        "rigid_body/applyImpulse",
        {"nodeIndex": target, "linearImpulse": linear},
        extension=PHYSICS,
        inputs={"nodeIndex": kind, "linearImpulse": "float3"},
    )


def falling() -> bytes:
    """A ball falls through a volume; the graph counts, tells, and throws it up again."""
    g = GraphBuilder()
    score, told = g.variable(0, "score"), g.event("thrown", node=-1)
    entered = crossing(g, "Entered", 0)
    g.chain(
        entered,
        counting(g, score),
        g.add("event/send", {"node": Out(entered, "motionNodeIndex")}, event=told),
        impulse(g, Out(entered, "motionNodeIndex"), (0.0, 10.0, 0.0)),
    )
    drop = ball((0, 2, 0), motion={"gravityFactor": 1.0})
    return acting(g, node(name="Volume", trigger=solid(BOX)), drop)


def test_a_file_without_a_graph_has_no_behavior(client: int) -> None:
    scene = gb.load_gltf(asset(ball((0, 1, 0))), client, up_axis="y")
    assert scene.behavior is None
    assert scene.core.acting is None


def test_triggers_count_tell_and_throw(client: int) -> None:
    scene = gb.load_gltf(falling(), client, up_axis="y")
    behavior = scene.behavior
    assert behavior is not None
    assert not scene.issues
    told: list[Any] = []
    end = behavior.on("thrown", lambda values: told.append((values["node"], scene.time)))
    while not told:
        scene.step()
    # The impulse acts at once, in the step that noticed the ball: 1 kg, 10 N s.
    fallen = math.sqrt(2 * G * (2.0 - 0.5 - 0.1))
    assert scene.bodies[1].linear_velocity[1] == pytest.approx(10.0 - fallen, abs=2 * G * DT)
    assert told[0] == (1, scene.time)
    assert behavior.variables["score"] == 1
    end()
    scene.step(600)
    assert behavior.variables["score"] > 1
    assert len(told) == 1


def test_a_reset_takes_the_graph_back_to_before_its_start(client: int) -> None:
    scene = gb.load_gltf(falling(), client, up_axis="y")
    assert scene.behavior is not None
    scene.step(300)
    first = scene.behavior.variables["score"], scene.world_from_node(1)
    scene.reset()
    assert scene.behavior.variables["score"] == 0
    scene.step(300)
    assert scene.behavior.variables["score"] == first[0]
    assert (scene.world_from_node(1) == first[1]).all()


def test_all_is_left_alone_on_demand(client: int) -> None:
    options = gb.LoadOptions(behavior=False)
    scene = gb.load_gltf(falling(), client, up_axis="y", options=options)
    assert scene.behavior is None
    scene.step(200)
    assert scene.bodies[1].linear_velocity[1] == pytest.approx(-G * 200 * DT, rel=1e-6)


def test_an_impulse_at_a_point_pushes_and_turns(client: int) -> None:
    g = GraphBuilder()
    push = g.add(
        "rigid_body/applyPointImpulse",
        {"nodeIndex": 0, "impulse": (0.0, 0.0, 2.0), "position": (1.05, 2.0, 3.0)},
        extension=PHYSICS,
        inputs={"nodeIndex": "int", "impulse": "float3", "position": "float3"},
    )
    g.flow(g.add("event/onStart"), push)
    scene = gb.load_gltf(acting(g, ball((1.0, 2.0, 3.0))), client, up_axis="y")
    scene.step()
    # 1 kg, and 0.05 m beside the centre of a ball of 0.4 m r^2: about -Y by 0.1 N m s.
    radius = 0.1
    moment = 0.4 * radius**2
    assert scene.bodies[0].linear_velocity == pytest.approx((0.0, 0.0, 2.0), abs=1e-9)
    assert scene.bodies[0].angular_velocity == pytest.approx((0.0, -0.1 / moment, 0.0), rel=1e-6)


def test_what_goes_through_a_trigger_has_entered_and_exited_it(client: int) -> None:
    g = GraphBuilder()
    inside, passed = g.variable(0, "inside"), g.variable(-1, "passed")
    g.flow(crossing(g, "Entered", 0), counting(g, inside))
    left = g.add("event/rigid_body_triggerExited", extension=PHYSICS, outputs=CROSSING, nodeIndex=0)
    keep = {str(passed): Out(left, "colliderNodeIndex")}
    g.flow(left, g.add("variable/set", keep, variables=[passed]))
    volume = node(name="Volume", trigger=solid(BOX))
    scene = gb.load_gltf(acting(g, volume, ball((0, 2, 0), (0, -2, 0))), client, up_axis="y")
    assert scene.behavior is not None
    scene.step(round(1.0 / DT))  # at the middle
    assert dict(scene.behavior.variables) == {"inside": 1, "passed": -1}
    scene.step(round(1.0 / DT))
    assert dict(scene.behavior.variables) == {"inside": 1, "passed": 1}


@pytest.mark.parametrize("up_axis", ["y", "z"])
def test_a_graph_lives_in_the_space_of_its_file(up_axis: Any) -> None:
    # Impulses, rays and places are Y-up, wherever and however large the asset stands.
    g = GraphBuilder()
    hits = g.variable(-1, "hit")
    fraction, normal = g.variable(0.0, "fraction"), g.variable((0.0, 0.0, 0.0), "normal")
    place, velocity = g.variable((0.0, 0.0, 0.0), "place"), g.variable((0.0, 0.0, 0.0), "velocity")
    start = g.add("event/onStart")
    ray = g.add(
        "rigid_body/rayCast",
        {"rayStart": (0.0, 5.0, 0.0), "rayEnd": (0.0, -5.0, 0.0)},
        extension=PHYSICS,
        inputs={"rayStart": "float3", "rayEnd": "float3"},
        outputs={"hitNodeIndex": "int", "hitFraction": "float", "hitNormal": "float3"},
    )
    keep = g.add(
        "variable/set",
        {
            str(hits): Out(ray, "hitNodeIndex"),
            str(fraction): Out(ray, "hitFraction"),
            str(normal): Out(ray, "hitNormal"),
        },
        variables=[hits, fraction, normal],
    )
    push = impulse(g, 0, (0.0, 3.0, 0.0))
    sequence = g.add("flow/sequence")
    matrix = g.add("pointer/get", pointer="/nodes/0/globalMatrix", type=g.type("float4x4"))
    parts = g.add("math/matDecompose", {"a": Out(matrix)})
    speed = g.add(
        "pointer/get",
        pointer=f"/nodes/0/extensions/{PHYSICS}/motion/linearVelocity",
        type=g.type("float3"),
    )
    tick = g.add("event/onTick")
    see = g.add(
        "variable/set",
        {str(place): Out(parts, "translation"), str(velocity): Out(speed)},
        variables=[place, velocity],
    )
    g.flow(start, sequence)
    g.flow(sequence, "a", ray)
    g.flow(sequence, "b", push)
    g.flow(ray, "hit", keep)
    g.flow(tick, see)
    with y_up_world() as client:
        scene = gb.load_gltf(
            acting(g, ball((0, 1, 0))), client, up_axis=up_axis,
            position=(7.0, 8.0, 9.0), orientation=(0.0, 0.6, 0.0, 0.8), scale=2.0,
        )  # fmt: skip
        scene.step(2)
        assert scene.behavior is not None
        seen = dict(scene.behavior.variables)
        assert seen["hit"] == 0
        assert seen["fraction"] == pytest.approx(0.39, abs=1e-3)  # from 5 to 1.1 of 10
        assert seen["normal"] == pytest.approx((0.0, 1.0, 0.0), abs=1e-3)
        assert seen["place"][1] > 1.0
        assert seen["place"] == pytest.approx((0.0, 1.0, 0.0), abs=0.02)
        moved = scene.bodies[0].linear_velocity
        up = np.array([0.0, 1.0, 0.0]) if up_axis == "y" else np.array([0.0, 0.0, 1.0])
        turned = scene.core.placement.up
        assert np.allclose(turned, scene.core.placement.matrix[:3, 1] / 2.0)
        assert moved == pytest.approx(3.0 * turned, abs=1e-6)
        assert up.shape == turned.shape


def test_ticks_come_once_per_step_in_simulated_time_and_act_in_it(client: int) -> None:
    g = GraphBuilder()
    count, since = g.variable(0, "count"), g.variable(-1.0, "since")
    tick = g.add("event/onTick")
    keep = g.add("variable/set", {str(since): Out(tick, "timeSinceStart")}, variables=[since])
    set_speed = g.add(
        "pointer/set", {"n": "/nodes/0", "value": (0.0, 0.0, 2.0)},
        pointer=f"/nodes/{{n}}/extensions/{PHYSICS}/motion/linearVelocity", type=g.type("float3"),
    )  # fmt: skip
    g.chain(tick, counting(g, count), keep, set_speed)
    scene = gb.load_gltf(acting(g, ball((0, 1, 0))), client, up_axis="y")
    assert scene.behavior is not None
    scene.step()
    assert scene.world_from_node(0)[2, 3] == pytest.approx(2.0 * DT)
    scene.step(9)
    assert scene.behavior.variables["count"] == 10
    assert scene.behavior.variables["since"] == pytest.approx(9 * DT)
    scene.behavior.pause()
    scene.step(5)
    scene.behavior.resume()
    scene.step()
    assert scene.behavior.variables["count"] == 11
    assert scene.behavior.variables["since"] == pytest.approx(10 * DT)


def test_the_world_outside_sends_and_sets(client: int) -> None:
    g = GraphBuilder()
    goal, count = g.variable(0.0, "goal"), g.variable(0, "count")
    event = g.event("aim", at=1.5)
    receive = g.add("event/receive", event=event)
    g.chain(
        receive,
        g.add("variable/set", {str(goal): Out(receive, "at")}, variables=[goal]),
        counting(g, count),
    )
    scene = gb.load_gltf(acting(g, ball((0, 1, 0))), client, up_axis="y")
    behavior = scene.behavior
    assert behavior is not None
    behavior.send("aim", at=np.float64(2.5))
    assert behavior.variables["count"] == 0
    scene.step()
    assert dict(behavior.variables) == {"goal": 2.5, "count": 1}
    behavior.send("aim")
    scene.step()
    assert behavior.variables[0] == 1.5
    behavior.variables["count"] = 40
    assert behavior.variables[1] == 40
    with pytest.raises(TypeError, match="'count' is a int"):
        behavior.variables["count"] = 0.5
    with pytest.raises(KeyError, match="did you mean"):
        behavior.variables["counts"]
    with pytest.raises(KeyError, match="no event"):
        behavior.send("aims")
    with pytest.raises(KeyError, match="no value"):
        behavior.send("aim", to=1.0)


def animated(graph: GraphBuilder) -> bytes:
    b = GltfBuilder()
    box = {"geometry": {"shape": 0}}
    motion = {"isKinematic": True}
    b.node("Gate", extensions={PHYSICS: {"motion": motion, "collider": box}})
    b.animation("open", [(0, "translation", [0.0, 1.0], [[0, 0, 0], [0, 2, 0]])])
    b.root_extension(
        "KHR_implicit_shapes", {"shapes": [{"type": "box", "box": {"size": [1, 1, 1]}}]}
    )
    b.root_extension("KHR_interactivity", graph.extension(), required=True)
    return b.glb()


def test_animations_wait_for_the_graph_and_move_bodies(client: int) -> None:
    g = GraphBuilder()
    done = g.variable(0, "done")
    start, delay = g.add("event/onStart"), g.add("flow/setDelay", {"duration": 0.5})
    play = g.add(
        "animation/start",
        {"animation": "/animations/0", "startTime": 0.0, "endTime": 1.0, "speed": 2.0},
    )
    g.flow(start, delay)
    g.flow(delay, "done", play)
    g.flow(play, "done", counting(g, done))
    scene = gb.load_gltf(animated(g), client, up_axis="y")
    assert scene.behavior is not None
    scene.step(120)
    assert scene.world_from_node(0)[1, 3] == 0.0
    scene.step(60)  # 0.25 s at double speed
    assert scene.world_from_node(0)[1, 3] == pytest.approx(1.0, abs=1e-6)
    assert scene.bodies[0].linear_velocity[1] == pytest.approx(4.0, rel=1e-6)
    state = scene.save_state()
    scene.step(61)
    assert scene.world_from_node(0)[1, 3] == pytest.approx(2.0, abs=1e-6)
    assert scene.behavior.variables["done"] == 1
    scene.step(20)
    assert scene.world_from_node(0)[1, 3] == pytest.approx(2.0, abs=1e-6)
    after = scene.world_from_node(0)
    scene.restore_state(state)
    assert scene.behavior.variables["done"] == 0
    scene.step(81)
    assert (scene.world_from_node(0) == after).all()


def wild() -> bytes:
    """Physics, delays, interpolation and chance."""
    g = GraphBuilder()
    count = g.variable(0, "count")
    tick, chance = g.add("event/onTick"), g.add("math/random")
    low = g.add("math/lt", {"a": Out(chance), "b": 0.03})
    branch, delay = (
        g.add("flow/branch", {"condition": Out(low)}),
        g.add("flow/setDelay", {"duration": 0.1}),
    )
    side = g.add("math/random")
    vector = g.add("math/combine3", {"a": Out(side), "b": 1.0, "c": 0.2})
    push = g.add(
        "rigid_body/applyImpulse", {"nodeIndex": 1, "linearImpulse": Out(vector)},
        extension=PHYSICS, inputs={"nodeIndex": "int", "linearImpulse": "float3"},
    )  # fmt: skip
    ease = g.add(
        "pointer/interpolate",
        {"value": Out(vector), "duration": 0.05, "p1": (0.4, 0.0), "p2": (0.6, 1.0)},
        pointer=f"/nodes/2/extensions/{PHYSICS}/motion/linearVelocity", type=g.type("float3"),
    )  # fmt: skip
    g.flow(tick, branch)
    g.flow(branch, "true", delay)
    sequence = g.add("flow/sequence")
    g.flow(delay, "done", sequence)
    g.flow(sequence, "a", push)
    g.flow(sequence, "b", ease)
    g.flow(ease, "done", counting(g, count))
    bodies = [ball((0.1 * k, 1 + 0.3 * k, 0), motion={"gravityFactor": 1.0}) for k in range(2)]
    return acting(g, node(at=(0, -0.5, 0), collider=solid(BOX)), *bodies)


REPLAY = """
import pickle, sys, hashlib
import gltf_bullet as gb
from gltf_bullet.runtime.acting.scene_host import SceneHost
from tests.runtime.trigger_scenes import y_up_world
data, state = pickle.load(sys.stdin.buffer)
with y_up_world() as client:
    scene = gb.load_gltf(data, client, up_axis="y")
    scene.restore_state(state)
    scene.step(200)
    print(scene.node_matrices.tobytes().hex()[-400:], dict(scene.behavior.variables))
"""


def test_replay_is_identical_to_the_bit_also_in_another_process(client: int) -> None:
    data = wild()
    scene = gb.load_gltf(data, client, up_axis="y")
    assert scene.behavior is not None
    scene.behavior.reseed(11)
    scene.step(100)
    state = scene.save_state()

    def run() -> str:
        scene.step(200)
        assert scene.behavior is not None
        matrices = scene.node_matrices.tobytes().hex()[-400:]
        return f"{matrices} {dict(scene.behavior.variables)}"

    first = run()
    assert scene.behavior.variables["count"] > 2
    scene.restore_state(state)
    assert run() == first
    told = pickle.dumps((data, state))
    other = subprocess.run(
        [sys.executable, "-c", REPLAY], input=told, capture_output=True, check=True
    )
    assert other.stdout.decode().strip().splitlines()[-1] == first


def test_a_graph_without_end_is_stopped_and_the_scene_goes_on(client: int) -> None:
    g = GraphBuilder()
    tick, loop = g.add("event/onTick"), g.add("flow/while", {"condition": True})
    g.flow(tick, loop)
    options = gb.LoadOptions(behavior_budget=2000)
    scene = gb.load_gltf(acting(g, ball((0, 1, 0))), client, up_axis="y", options=options)
    scene.step(100)
    (issue,) = [issue for issue in scene.issues if issue.code == "BEHAVIOR_ENDLESS"]
    assert str(issue.pointer).endswith(f"/graphs/0/nodes/{loop}")
    assert scene.time == pytest.approx(100 * DT)
    assert scene.behavior is not None
    assert scene.behavior.is_paused


def test_a_value_that_cannot_be_is_passed_over_and_told_once(client: int) -> None:
    g = GraphBuilder()
    tick = g.add("event/onTick")
    mass = g.add(
        "pointer/set", {"value": -1.0},
        pointer=f"/nodes/0/extensions/{PHYSICS}/motion/mass", type=g.type("float"),
    )  # fmt: skip
    g.flow(tick, mass)
    scene = gb.load_gltf(acting(g, ball((0, 1, 0))), client, up_axis="y")
    scene.step(5)
    assert [issue.code for issue in scene.issues] == ["BEHAVIOR_VALUE_REFUSED"]
    assert scene.get(f"/nodes/0/extensions/{PHYSICS}/motion/mass") == 1.0


def test_a_broken_graph_leaves_the_physics(client: int) -> None:
    g = GraphBuilder()
    g.add("math/abs", {"a": True})
    scene = gb.load_gltf(acting(g, ball((0, 1, 0))), client, up_axis="y")
    assert scene.behavior is None
    assert [issue.code for issue in scene.issues] == ["BEHAVIOR_INVALID"]
    scene.step(10)
    data = json.loads(acting(g, ball((0, 1, 0))))
    data["extensionsRequired"] = ["KHR_interactivity"]
    with pytest.raises(gb.InvalidAssetError, match="BEHAVIOR_REQUIRED"):
        gb.read_asset(json.dumps(data).encode())


def test_a_graph_acts_in_a_scene_that_others_step(client: int) -> None:
    import pybullet

    scene = gb.load_gltf(falling(), client, up_axis="y")
    for _ in range(300):
        scene.before_step()
        pybullet.stepSimulation(client)
        scene.after_step()
    assert scene.behavior is not None
    count = scene.behavior.variables["score"]
    other = gb.load_gltf(falling(), client, up_axis="y", position=(50, 0, 0))
    other.step(300)
    assert other.behavior is not None
    assert other.behavior.variables["score"] == count >= 1


def test_selecting_and_hovering(client: int) -> None:
    g = GraphBuilder()
    count, point = g.variable(0, "count"), g.variable((0.0, 0.0, 0.0), "point")
    select = g.add(
        "event/onSelect", extension="KHR_node_selectability",
        outputs={"selectionPoint": "float3"}, nodeIndex=0,
    )  # fmt: skip
    hover = g.add("event/onHoverIn", extension="KHR_node_hoverability", nodeIndex=0)
    keep = g.add("variable/set", {str(point): Out(select, "selectionPoint")}, variables=[point])
    g.flow(select, keep)
    g.flow(hover, counting(g, count))
    data = json.loads(acting(g, ball((0, 1, 0))))
    data["extensionsUsed"] += ["KHR_node_selectability", "KHR_node_hoverability"]
    scene = gb.load_gltf(json.dumps(data).encode(), client, up_axis="z", position=(1, 0, 0))
    assert scene.behavior is not None
    assert scene.behavior.select(0, point=(1.0, 0.0, 2.0))
    scene.behavior.hover(0)
    scene.step()
    # Up is +Z in the world and +Y in the file.
    assert scene.behavior.variables["point"] == pytest.approx((0.0, 2.0, 0.0), abs=1e-12)
    assert scene.behavior.variables["count"] == 1


def test_nodes_that_carry_nothing_are_moved_without_new_bodies(client: int) -> None:
    g = GraphBuilder()
    tick = g.add("event/onTick")
    move = g.add(
        "pointer/set", {"value": (3.0, 0.0, 0.0)}, pointer="/nodes/1/translation",
        type=g.type("float3"),
    )  # fmt: skip
    g.flow(tick, move)
    data = acting(g, ball((0, 1, 0)), node(name="Sign", children=[2]), node(at=(0, 1, 0)))
    scene = gb.load_gltf(data, client, up_axis="y")
    ids = scene.bodies[0].body_id
    rebuilt: list[object] = []
    scene.core.rebuild = lambda *_: rebuilt.append(_)  # type: ignore[method-assign, assignment]
    scene.step(3)
    assert scene.bodies[0].body_id == ids
    assert not rebuilt
    assert scene.world_from_node(2)[:3, 3] == pytest.approx((3.0, 1.0, 0.0))
    scene.reset()
    assert scene.world_from_node(2)[:3, 3] == pytest.approx((0.0, 1.0, 0.0))


def walled(operation: str, kinematic: bool) -> bytes:
    g = GraphBuilder()
    start, kind = g.add("event/onStart"), g.type("float3")
    goal = (2.0, 0.5, 0.0)
    if operation == "pointer/set":
        move = g.add(operation, {"value": goal}, pointer="/nodes/1/translation", type=kind)
    else:
        ease = {"value": goal, "duration": 1.0, "p1": (0.0, 0.0), "p2": (1.0, 1.0)}
        move = g.add(operation, ease, pointer="/nodes/1/translation", type=kind)
    g.flow(start, move)
    motion = {"motion": {"isKinematic": True}} if kinematic else {}
    wall = node(at=(0, 0.5, 0), collider=solid(BOX), **motion)
    return acting(g, node(at=(0, -9, 0), collider=solid(BOX)), wall, ball((0.7, 0.1, 0)))


@pytest.mark.parametrize("kinematic", [False, True])
def test_a_wall_that_glides_pushes_with_its_speed(client: int, kinematic: bool) -> None:
    scene = gb.load_gltf(walled("pointer/interpolate", kinematic), client, up_axis="y")
    made: list[object] = []
    scene.core.rebuild = lambda *_: made.append(_)  # type: ignore[method-assign, assignment]
    scene.step(120)
    assert scene.bodies[2].linear_velocity[0] == pytest.approx(2.0, abs=0.02)
    # It is where the graph had it as the step began.
    assert scene.world_from_node(1)[0, 3] == pytest.approx(2.0 * 119 * DT, abs=1e-6)
    state = scene.save_state()
    scene.step(200)
    assert scene.world_from_node(1)[0, 3] == pytest.approx(2.0, abs=1e-6)
    after = scene.node_matrices.copy()
    scene.restore_state(state)
    scene.step(200)
    assert (scene.node_matrices == after).all()
    assert not made
    scene.reset()
    assert scene.world_from_node(1)[0, 3] == 0.0


def test_a_wall_that_is_set_is_there_without_pushing(client: int) -> None:
    scene = gb.load_gltf(walled("pointer/set", kinematic=False), client, up_axis="y")
    scene.step(120)
    assert scene.world_from_node(1)[0, 3] == pytest.approx(2.0, abs=1e-9)
    assert scene.bodies[2].linear_velocity == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)
    assert scene.ray_cast((2, 5, 0), (2, -5, 0)).node == 1  # type: ignore[union-attr]


def test_the_object_model_is_read_with_and_without_a_graph(client: int) -> None:
    g = GraphBuilder()
    g.add("event/onTick")
    for data in (
        asset(ball((0, 1, 0)), node(children=[0])),
        acting(g, ball((0, 1, 0)), node(children=[0])),
    ):
        scene = gb.load_gltf(data, client, up_axis="z", position=(5, 0, 0))
        assert scene.get("/nodes/0/parent") == 1
        assert scene.get("/nodes/0/globalMatrix")[:3, 3] == pytest.approx((0.0, 1.0, 0.0))
        with pytest.raises(KeyError):
            scene.get("/nodes/1/parent")
        scene.remove()


def test_what_only_viewers_show_is_kept_for_the_graph(client: int) -> None:
    g = GraphBuilder()
    g.variable(True, "visible")
    pointer, kind = "/nodes/0/extensions/KHR_node_visibility/visible", g.type("bool")
    seen = g.add("pointer/get", pointer=pointer, type=kind)
    tick = g.add("event/onTick")
    g.flow(tick, g.add("variable/set", {"0": Out(seen)}, variables=[0]))
    data = json.loads(acting(g, ball((0, 1, 0))))
    data["extensionsUsed"].append("KHR_node_visibility")
    data["materials"] = [{"alphaCutoff": 0.25}]
    scene = gb.load_gltf(json.dumps(data).encode(), client, up_axis="y")
    assert scene.behavior is not None
    state = scene.save_state()
    scene.set(pointer, False)
    scene.step()
    assert scene.behavior.variables["visible"] is False
    assert scene.get(pointer) is False
    assert [issue.code for issue in scene.issues] == ["BEHAVIOR_UNSEEN"]
    assert scene.get("/materials/0/alphaCutoff") == 0.25
    scene.set("/materials/0/alphaCutoff", 0.75)
    assert scene.get("/materials/0/alphaCutoff") == 0.75
    scene.restore_state(state)
    assert scene.get(pointer) is True
    assert scene.get("/materials/0/alphaCutoff") == 0.25
    with pytest.raises(TypeError):
        scene.set(pointer, 1.0)
    with pytest.raises(KeyError):
        scene.set("/nodes/0/globalMatrix", np.eye(4))


@pytest.mark.parametrize(
    "name", ["cart_pole", "hinge_door", "compound", "falling_box", "vehicle", "ragdoll"]
)
def test_a_graph_sees_bodies_where_users_see_them(client: int, name: str) -> None:
    assets = Path(__file__).resolve().parents[2] / "examples" / "assets"
    scene = gb.load_gltf(
        assets / f"{name}.gltf", client,
        position=(3, 4, 5), orientation=(0.1, 0.2, 0.3, 0.9), scale=1.5,
    )  # fmt: skip
    for body in scene.bodies:
        scene.apply_impulse(body, (0.1, 0.2, 0.3), (0.01, 0.02, 0.01))
    scene.step(100)
    host = SceneHost(scene.core)
    for body in scene.bodies:
        view = scene.node(body)
        for path, expected in (("translation", view.translation), ("rotation", view.rotation)):
            found = host.find(f"/nodes/{body}/{path}")
            assert found is not None
            assert found.get() == pytest.approx(expected, abs=1e-9)
