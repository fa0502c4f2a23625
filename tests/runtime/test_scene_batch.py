"""Scenes of one world stepped together move as scenes stepped one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.exchange.library import SWITCH
from gltf_bullet.bullet.joints import joint_steps
from gltf_bullet.bullet.joints.solving import scene_islands
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.runtime.asset import read_asset
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.solver import scene_table
from gltf_bullet.solver.engine import stepping
from tests.physics.scenes import G, Jointed, Scenery

ASSETS = Path(__file__).parents[2] / "examples" / "assets"


@pytest.fixture
def fresh_world() -> Iterator[Callable[[], int]]:
    with ExitStack() as worlds:
        yield lambda: worlds.enter_context(headless_world())


def copies(client: int, names: Sequence[str]) -> list[Scene]:
    """An example each, far apart."""
    return [
        read_asset(ASSETS / f"{name}.gltf").instantiate(client, position=(30.0 * k, 0.0, 0.0))
        for k, name in enumerate(names)
    ]


def states(scenes: Sequence[Scene]) -> list[np.ndarray]:
    for scene in scenes:
        scene.core.world.articulations.solver.read()
    return [scene.core.world.articulations.solver.arena.floats.copy() for scene in scenes]


def joint_states(scenes: Sequence[Scene]) -> list[object]:
    return [
        pybullet.getJointStates(body, [0], scene.client_id)
        for scene in scenes
        for body in scene.core.world.articulations.body_ids
    ]


def one_by_one(scenes: Sequence[Scene]) -> Callable[[], None]:
    def step() -> None:
        for scene in scenes:
            scene.before_step()
        pybullet.stepSimulation(scenes[0].client_id)
        for scene in scenes:
            scene.after_step()

    return step


@pytest.mark.parametrize("rate", [60, 240])
def test_scenes_stepped_together_move_as_one_by_one(
    rate: int, fresh_world: Callable[[], int]
) -> None:
    # A rope needs more room than the islands begin with; the walker touches the ground.
    names = ("cart_pole", "rope", "walker", "cart_pole", "hinge_door")
    found = []
    for together in (True, False):
        client = fresh_world()
        pybullet.setTimeStep(1.0 / rate, physicsClientId=client)
        scenes = copies(client, names)
        step = scenes[0].step if together else one_by_one(scenes)
        for _ in range(rate // 2):
            step()
        found.append(states(scenes))
    for name, ours, theirs in zip(names, *found, strict=True):
        if name == "walker":
            # The engine's order of contacts is its own in each world.
            np.testing.assert_allclose(ours[:7], theirs[:7], atol=1e-3)
        else:
            assert np.array_equal(ours, theirs), name


@pytest.mark.parametrize("is_native", [True, False])
@pytest.mark.parametrize("names", [("ragdoll",), ("cart_pole", "ragdoll", "walker", "hinge_door")])
def test_steps_at_once_are_steps_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
    fresh_world: Callable[[], int],
    names: Sequence[str],
    is_native: bool,
) -> None:
    """Also those in which somebody pushes a cart, a ragdoll lands or a walker stands."""
    monkeypatch.setenv(SWITCH, str(int(is_native)))
    client, found = fresh_world(), []
    pybullet.setPhysicsEngineParameter(deterministicOverlappingPairs=1, physicsClientId=client)
    scenes = copies(client, names)
    batch, pushed = (
        scenes[0],
        next(iter(scenes[0].bodies.values())),
    )
    alone = one_by_one(scenes)
    starts = [scene.save_state() for scene in scenes]
    for counts, step in (
        ((8, 52, 60), batch.step),
        ((1,) * 120, batch.step),
        ((1,) * 120, lambda _: alone()),
    ):
        for scene, start in zip(scenes, starts, strict=True):
            scene.restore_state(start)
        done = 0
        for count in counts:
            if done in {0, 8, 60}:
                pushed.apply_force((3.0, 0.0, 0.0))
            step(count)
            done += count
        bodies = [body for scene in scenes for body in scene.core.world.articulations.body_ids]
        found.append([
            pybullet.getLinkStates(body, range(pybullet.getNumJoints(body, client)), 1, 1, client)
            for body in bodies
        ])  # fmt: skip
        found[-1].append(tuple(scene.time for scene in scenes))
    assert found[0] == found[1] == found[2]


def test_what_touches_nothing_is_solved_in_one_call(
    monkeypatch: pytest.MonkeyPatch, fresh_world: Callable[[], int]
) -> None:
    scenes = copies(fresh_world(), ("cart_pole",) * 6)
    advance, tables = joint_steps.advance, list[int]()

    def counted(table: np.ndarray, stages: int, *others: float) -> int:
        if stages & stepping.SOLVE:
            tables.append(len(table))
        return int(advance(table, stages, *others))

    monkeypatch.setattr(joint_steps, "advance", counted)
    scenes[0].step(3)
    # Contacts of the first step were kept for its replay: Python knows them. The others are one.
    assert tables == [6]


def lift(height: float, stiffness: float) -> bytes:
    """A box of 1 kg that moves up and down on a driven slide."""
    scenery = Jointed()
    at = (0.0, height, 0.0)
    box = scenery.shape("box", size=[0.2, 0.2, 0.2])
    body = scenery.node("Box", at=at, shape=box, motion={"mass": 1.0})
    scenery.join(
        scenery.node("Rail", at=at),
        scenery.attachment(body, (0.0, 0.0, 0.0)),
        limits=[
            {"linearAxes": [0, 2], "min": 0.0, "max": 0.0},
            {"angularAxes": [0, 1, 2], "min": 0.0, "max": 0.0},
        ],
        drives=[
            {"type": "linear", "mode": "force", "axis": 1, "positionTarget": 0.0,
             "stiffness": stiffness, "damping": 20.0}
        ],
    )  # fmt: skip
    return scenery.bytes()


def test_scenes_that_touch_are_solved_once_and_carry_each_other(
    monkeypatch: pytest.MonkeyPatch, fresh_world: Callable[[], int]
) -> None:
    client = fresh_world()
    pybullet.setGravity(0.0, -G, 0.0, physicsClientId=client)
    # The lowest one holds all three; the others' drives only brake.
    contents = [lift(0.0, 1e4), lift(0.2, 0.0), lift(0.4, 0.0)]
    scenes = [gb.load_gltf(content, client, up_axis="y") for content in contents]
    batch = scenes[0]
    batch.step(480)
    solve, solved = scene_islands.solve, list[int]()

    def noted(table: np.ndarray, stages: int, *others: float) -> int:
        solved.append(stages & scene_table.SOLVE_ISLANDS)
        return int(solve(table, stages, *others))

    monkeypatch.setattr(scene_islands, "solve", noted)
    batch.step()
    assert sum(map(bool, solved)) == 1
    pushes = [scene.core.world.articulations.solver.io.commands.pushes() for scene in scenes]
    found = [abs(axes[0]) for push in pushes for axes, _ in push.values()]
    assert found == pytest.approx([3.0 * G, 0.0, 0.0], abs=0.01 * G)


def test_limits_of_all_scenes_are_asked_before_any_takes_its_forces(
    monkeypatch: pytest.MonkeyPatch, fresh_world: Callable[[], int]
) -> None:
    """Else what one of them makes the others solve anew would not be what the first has taken."""
    client = fresh_world()
    pybullet.setGravity(0.0, -G, 0.0, physicsClientId=client)
    contents = [lift(0.0, 1e4), lift(0.2, 0.0), lift(0.4, 0.0)]
    scenes = [gb.load_gltf(content, client, up_axis="y") for content in contents]
    batch = scenes[0]
    batch.step(4)
    solve, calls = scene_islands.solve, list[tuple[int, int]]()

    def noted(table: np.ndarray, stages: int, *others: float) -> int:
        calls.append((stages, len(table)))
        return int(solve(table, stages, *others))

    monkeypatch.setattr(scene_islands, "solve", noted)
    batch.step()
    last = (scene_table.SOLVE_REDUCE_TARGETS, scene_table.SOLVE_FINISH)
    assert [call for call in calls if call[0] in last] == [
        (scene_table.SOLVE_REDUCE_TARGETS, 3), *((scene_table.SOLVE_FINISH, 1),) * 3
    ]  # fmt: skip


def roped(scenery: Jointed) -> None:
    """A box of 1 kg that falls at the end of 1.5 m of rope, tied to an arm of 1 m."""
    smooth = scenery.material(staticFriction=0.0, dynamicFriction=0.0)
    box = scenery.shape("box", size=[0.5, 0.5, 0.5])
    body = scenery.node(
        "Box", at=(1.0, 0.0, 0.0), shape=box, material=smooth,
        motion={"mass": 1.0, "inertiaDiagonal": [1 / 24] * 3, "linearVelocity": [0.3, -0.2, 0.0]},
    )  # fmt: skip
    held = scenery.attachment(body, (-1.0, 0.0, 0.0))
    scenery.join(scenery.node("Anchor"), held, limits=[{"linearAxes": [0, 1, 2], "max": 1.5}])


def falling(scenery: Jointed) -> None:
    """A ball of 1 kg that falls beside it, free in a plane: no drive and no limit acts on it."""
    smooth = scenery.material(staticFriction=0.0, dynamicFriction=0.0)
    ball, at = scenery.shape("sphere", radius=0.15), (0.57, 0.0, 0.0)
    body = scenery.node(
        "Ball", at=at, shape=ball, material=smooth,
        motion={"mass": 1.0, "linearVelocity": [0.3, -0.2, 0.0]},
    )  # fmt: skip
    limits = [
        {"angularAxes": [0, 1, 2], "min": 0.0, "max": 0.0},
        {"linearAxes": [2], "min": 0.0, "max": 0.0},
    ]
    scenery.join(scenery.node("Plane", at=at), scenery.attachment(body, (0, 0, 0)), limits=limits)


@pytest.mark.parametrize("is_native", [True, False], ids=["kernels", "Python"])
@pytest.mark.parametrize("order", [(roped, falling), (falling, roped)])
def test_scenes_that_touch_move_as_if_they_were_one(
    monkeypatch: pytest.MonkeyPatch,
    fresh_world: Callable[[], int],
    order: Sequence[Callable[[Jointed], None]],
    is_native: bool,
) -> None:
    """In whatever order: the ball's own solve knows nothing of what it touches."""
    monkeypatch.setenv(SWITCH, str(int(is_native)))
    velocities = []
    for parts in ([[roped, falling]], [[part] for part in order]):
        client = fresh_world()
        pybullet.setGravity(0.0, -G, 0.0, physicsClientId=client)
        pybullet.setTimeStep(1 / 60, physicsClientId=client)
        scenes = []
        for part in parts:
            scenery = Jointed()
            for add in part:
                add(scenery)
            scenes.append(gb.load_gltf(scenery.bytes(), client, up_axis="y"))
        batch = scenes[0]
        bodies = {body.name: body for scene in scenes for body in scene.bodies.values()}
        seen = []
        for _ in range(42):  # they touch from the 35th on, the rope pulls from the 37th on
            batch.step()
            seen.append([bodies[name].linear_velocity for name in ("Box", "Ball")])
        velocities.append(np.array(seen))
    assert np.abs(velocities[0][34:] - velocities[0][33]).max() > 1.0
    np.testing.assert_allclose(velocities[1], velocities[0], atol=1e-6)


def test_a_force_that_is_not_finite_is_told_before_anything_moves(
    fresh_world: Callable[[], int],
) -> None:
    scenes = copies(fresh_world(), ("cart_pole",) * 3)
    batch = scenes[0]
    batch.step(5)
    rows = scenes[1].core.world.articulations.articulations[0].rows
    rows.max_force[:] = np.nan
    rows.velocity_target[:] = np.nan
    before = joint_states(scenes)
    with pytest.raises(gb.EngineError, match="not finite"):
        batch.step()
    assert joint_states(scenes) == before


@pytest.mark.parametrize("together", [False, True])
def test_a_change_of_the_substeps_is_known_to_all(
    together: bool, fresh_world: Callable[[], int]
) -> None:
    """As ``Scene.step`` knows it: a batch, and scenes in a loop of the caller's own."""
    found = []
    for count in (1, 2):
        client = fresh_world()
        pybullet.setGravity(0.0, 0.0, -G, physicsClientId=client)
        pybullet.setTimeStep(1.0 / 60.0, physicsClientId=client)
        scenes = copies(client, ["six_axis_arm"] * count)
        last = scenes[-1]
        step = scenes[0].step if together else one_by_one(scenes)
        hand = last.bodies["Hand"]
        course = []
        for k in range(120):
            if k == 30:
                pybullet.setPhysicsEngineParameter(numSubSteps=4, physicsClientId=client)
            if k >= 60:
                # Who counts other substeps takes a steady load for somebody's hands.
                pybullet.applyExternalForce(
                    hand.body_id, hand.link_index, (0.0, 0.0, -200.0), hand.center_of_mass,
                    pybullet.WORLD_FRAME, physicsClientId=client,
                )  # fmt: skip
            (last.step if count == 1 else step)()
            axes = [axis for joint in last.joints.values() for axis in joint.degrees_of_freedom]
            course.append([(*axis.state.position, *axis.state.velocity) for axis in axes])
        found.append(course)
    assert np.array(found[1]) == pytest.approx(np.array(found[0]), abs=1e-9)


SPEEDS = (0.0, 5.0, 200.0)
"""[m/s] Downwards: the last one passes the floor within a step, if nobody looks."""


@pytest.mark.parametrize("together", [False, True])
def test_free_bodies_of_many_scenes_are_watched_together(
    together: bool, fresh_world: Callable[[], int]
) -> None:
    client = fresh_world()
    scenery = Scenery()
    ball = scenery.shape("sphere", radius=0.05)
    scenery.node("Ball", at=(0.0, 3.0, 0.0), shape=ball, motion={"mass": 1.0})
    asset = gb.read_asset(scenery.bytes())
    scenes = [asset.instantiate(client, position=(float(k), 0.0, 0.0)) for k in range(9)]
    floor = pybullet.createCollisionShape(
        pybullet.GEOM_BOX, halfExtents=[20.0, 20.0, 0.01], physicsClientId=client
    )
    pybullet.createMultiBody(0.0, floor, physicsClientId=client)
    step = scenes[0].step if together else one_by_one(scenes)
    balls = [body.body_id for scene in scenes for body in scene.bodies.values()]
    step()
    for k, body in enumerate(balls):
        velocity = (0.0, 0.0, -SPEEDS[k % len(SPEEDS)])
        pybullet.resetBaseVelocity(body, velocity, physicsClientId=client)
    for _ in range(480):
        step()
        heights = [pybullet.getBasePositionAndOrientation(body, client)[0][2] for body in balls]
        assert min(heights) > 0.0
    assert heights == pytest.approx([0.01 + 0.05] * len(balls), abs=2e-3)
    assert [scene.time for scene in scenes] == [scenes[0].time] * len(scenes)
    assert scenes[0].world_from_node("Ball")[2, 3] == heights[0]
    pybullet.removeBody(balls[4], physicsClientId=client)
    with pytest.raises(gb.WorldChangedError, match="Ball"):
        scenes[4].step()
    scenes[0].step()  # It is not the other scenes' fault.


def test_scenes_of_which_nothing_moves_are_stepped_together(
    fresh_world: Callable[[], int],
) -> None:
    client = fresh_world()
    scenery = Scenery()
    scenery.node("Wall", shape=scenery.shape("box", size=[1.0, 1.0, 1.0]))
    walls = [gb.load_gltf(scenery.bytes(), client) for _ in range(2)]
    walls[0].step(5)
    assert [scene.time for scene in walls] == pytest.approx([5 / 240] * 2)
