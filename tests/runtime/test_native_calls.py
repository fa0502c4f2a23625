"""Kernels that call the engine do what PyBullet's calls for Python do, to the last bit."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.exchange import library
from gltf_bullet.bullet.exchange.library import SWITCH
from gltf_bullet.bullet.joints.joint_steps import AFTER_ENGINE, MadeSteps
from gltf_bullet.bullet.joints.solving import engine_io
from gltf_bullet.bullet.session import EngineSettings, headless_world
from tests.physics.scenes import Scenery
from tests.trust.test_random_machines import machines

ASSETS = Path(__file__).parents[2] / "examples" / "assets"
STEPS = 80

Act = Callable[[int, gb.Scene], object]
"""Somebody who has a say before a step: client, scene."""


def all_states(client: int) -> list[float]:
    """Of every body of a world."""
    found: list[float] = []
    for number in range(pybullet.getNumBodies(client)):
        body = pybullet.getBodyUniqueId(number, client)
        for part in pybullet.getBasePositionAndOrientation(body, client):
            found += part
        for part in pybullet.getBaseVelocity(body, client):
            found += part
        for joint in range(pybullet.getNumJoints(body, client)):
            state = pybullet.getJointStateMultiDof(body, joint, client)
            found += (*state[0], *state[1])
    return found


class Run:
    """One scene's way through an empty world at 60 Hz."""

    def __init__(self, source: Path | bytes, acts: Mapping[int, Act], steps: int) -> None:
        self.states: list[list[float]] = []
        """After each step."""
        self.by_kernels = 0
        """Steps that were made by one call."""
        with headless_world() as client:
            pybullet.setTimeStep(1 / 60, client)
            scene = gb.load_gltf(source, client)
            solver = scene.core.world.articulations.solver
            self.is_native = solver.is_native
            joints = scene.core.world.compiled_steps.joints
            finish = joints.finish

            def counted(found: int, settings: EngineSettings, parts: int) -> MadeSteps:
                made = finish(found, settings, parts)
                self.by_kernels += made.finished + (made.pending == AFTER_ENGINE)
                return made

            joints.finish = counted  # type: ignore[method-assign]
            for step in range(steps):
                if step in acts:
                    acts[step](client, scene)
                scene.step()
                self.states.append(all_states(client))


def assert_alike(
    name: str | bytes,
    monkeypatch: pytest.MonkeyPatch,
    acts: Mapping[int, Act] = MappingProxyType({}),
    steps: int = STEPS,
) -> int:
    """Run an example, or a file, both ways; how many steps kernels made."""
    source = name if isinstance(name, bytes) else ASSETS / f"{name}.gltf"
    ours = Run(source, acts, steps)
    with monkeypatch.context() as patch:
        patch.setenv(SWITCH, "0")
        theirs = Run(source, acts, steps)
    assert not theirs.is_native
    assert not theirs.by_kernels
    for step, (mine, other) in enumerate(zip(ours.states, theirs.states, strict=True)):
        assert mine == other, f"step {step} differs"
    return ours.by_kernels


needs_library = pytest.mark.skipif(
    not library.client_place(0), reason="PyBullet's library is another one here"
)


@needs_library
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("cart_pole", 79),
        ("ball_and_cone", 70),
        ("rope", 2),  # it swings: most of its steps are divided
        ("reacher", 79),
        ("vehicle", 5),
        ("walker", 60),
        ("ragdoll", 15),
        ("suspension_bridge", 0),
    ],
)
def test_the_engine_is_told_the_same_with_and_without_python(
    name: str, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert assert_alike(name, monkeypatch) >= least


@needs_library
def test_limbs_that_slide_are_seen_by_kernels_as_by_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = json.loads((ASSETS / "walker.gltf").read_text())
    materials = file["extensions"]["KHR_physics_rigid_bodies"]["physicsMaterials"]
    for material in materials:
        material |= {"staticFriction": 0.9, "dynamicFriction": 0.3}
    assert assert_alike(json.dumps(file).encode(), monkeypatch, steps=90) >= 80


@needs_library
@pytest.mark.parametrize(
    "seeds", [(8, 36), pytest.param((41, 60, 75, 84), marks=pytest.mark.slow)], ids=str
)
def test_machines_that_land_one_by_one_are_told_the_same(
    seeds: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels did not see one that landed while another lay there.

    Its contacts counted as pushes of somebody else, and threw limbs of 5 of 160 machines away.
    """
    for seed in seeds:
        assert_alike(machines(seed), monkeypatch, steps=70)


def _floor(client: int) -> int:
    """The body that carries the scene: the only one of mass 0 without joints."""
    bodies = [pybullet.getBodyUniqueId(k, client) for k in range(pybullet.getNumBodies(client))]
    return next(
        body
        for body in bodies
        if not pybullet.getNumJoints(body, client)
        and pybullet.getDynamicsInfo(body, -1, client)[0] == 0.0
    )


def less_gravity(client: int, _: gb.Scene) -> None:
    pybullet.setGravity(0.3, 0.0, -2.0, physicsClientId=client)


def shorter_steps(client: int, _: gb.Scene) -> None:
    pybullet.setTimeStep(1 / 200, client)


def ice(client: int, _: gb.Scene) -> None:
    pybullet.changeDynamics(_floor(client), -1, lateralFriction=0.01, physicsClientId=client)


def a_box_falls_on_it(client: int, _: gb.Scene) -> None:
    shape = pybullet.createCollisionShape(
        pybullet.GEOM_BOX, halfExtents=[0.1] * 3, physicsClientId=client
    )
    pybullet.createMultiBody(2.0, shape, -1, [0.0, 0.0, 1.2], physicsClientId=client)


def heavier(client: int, _: gb.Scene) -> None:
    last = pybullet.getBodyUniqueId(pybullet.getNumBodies(client) - 1, client)
    pybullet.changeDynamics(last, -1, mass=6.0, physicsClientId=client)


def a_weight_hangs_on_it(client: int, scene: gb.Scene) -> None:
    body, link = next(iter(scene.core.world.articulations.link_of.values()))
    ball = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.05, physicsClientId=client)
    weight = pybullet.createMultiBody(1.0, ball, -1, [0.0, 0.0, 3.0], physicsClientId=client)
    pybullet.createConstraint(
        body, link, weight, -1, pybullet.JOINT_POINT2POINT, [0, 0, 0], [0, 0, 0], [0, 0, 0.3],
        physicsClientId=client,
    )  # fmt: skip


def nailed_to_the_world(client: int, scene: gb.Scene) -> None:
    body, link = list(scene.core.world.articulations.link_of.values())[-1]
    place = pybullet.getLinkState(body, link, physicsClientId=client)[0]
    pybullet.createConstraint(
        body, link, -1, -1, pybullet.JOINT_POINT2POINT, [0, 0, 0], [0, 0, 0], place,
        physicsClientId=client,
    )  # fmt: skip


def pushed(_: int, scene: gb.Scene) -> None:
    articulations = scene.core.world.articulations
    articulations.apply_impulse(next(iter(articulations.link_of)), (3.0, 1.0, 0.0), (0.0,) * 3)


@needs_library
@pytest.mark.parametrize(
    ("name", "acts"),
    [
        ("cart_pole", {20: less_gravity, 50: shorter_steps}),
        ("walker", {30: ice, 50: less_gravity}),
        ("walker", {10: a_box_falls_on_it, 55: heavier}),
        ("ragdoll", {5: a_box_falls_on_it}),
        ("six_axis_arm", {20: a_weight_hangs_on_it}),
        ("vehicle", {20: pushed, 40: ice}),
    ],
)
def test_what_others_do_meanwhile_is_seen(
    name: str, acts: Mapping[int, Act], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert assert_alike(name, monkeypatch, acts) > 0


@pytest.mark.parametrize("is_native", [True, False])
@pytest.mark.parametrize("name", ["cart_pole", "reacher", "ragdoll", "hinge_door", "goal_line"])
def test_many_steps_at_once_are_as_many_one_by_one(
    name: str, is_native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SWITCH, str(int(is_native)))

    def run(at_once: int) -> tuple[list[float], float, list[gb.TriggerEvent]]:
        with headless_world() as client:
            scene = gb.load_gltf(ASSETS / f"{name}.gltf", client)
            if name == "reacher":
                # Its tip comes into the goal and leaves it.
                scene.set_drive_targets([0.0, 0.0], [0.6, 2.0])
            events: list[gb.TriggerEvent] = []
            for _ in range(240 // at_once):
                scene.step(at_once)
                events += scene.events
            return all_states(client), scene.time, events

    apart = run(1)
    assert apart == run(40)
    assert name != "reacher" or [event.kind for event in apart[2]] == ["entered", "exited"]


@needs_library
def test_a_scene_sees_what_holds_it_after_another_one_was_stepped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run() -> list[float]:
        with headless_world() as client:
            asset = gb.read_asset(ASSETS / "six_axis_arm.gltf")
            first, second = (
                asset.instantiate(client, position=(4.0 * k, 0.0, 0.0)) for k in range(2)
            )
            for step in range(40):
                if step == 20:
                    nailed_to_the_world(client, second)
                first.step()
                second.step()
            return all_states(client)

    ours = run()
    monkeypatch.setenv(SWITCH, "0")
    assert run() == ours


@needs_library
@pytest.mark.parametrize("names", [("cart_pole", "six_axis_arm", "hinge_door"), ("walker",)])
def test_scenes_stepped_together_are_told_the_same(
    names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several islands with contacts PyBullet solves otherwise from world to world."""

    def run() -> list[float]:
        with headless_world() as client:
            scenes = [
                gb.read_asset(ASSETS / f"{name}.gltf").instantiate(client, position=(5.0 * k, 0, 0))
                for k, name in enumerate(names)
            ]
            scenes[0].step(STEPS)
            return all_states(client)

    ours = run()
    monkeypatch.setenv(SWITCH, "0")
    assert run() == ours


@needs_library
def test_kernels_that_read_something_else_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a library whose structures are others: nothing is read where it should be."""
    path = ASSETS / "cart_pole.gltf"
    monkeypatch.setattr(engine_io, "advance", lambda *_: 0)
    with headless_world() as client:
        scene = gb.read_asset(path).instantiate(client)
        solver = scene.core.world.articulations.solver
        assert not solver.is_native
        scene.step(3)
        ours = all_states(client)
    monkeypatch.undo()
    with headless_world() as client:
        gb.read_asset(path).instantiate(client).step(3)
        assert all_states(client) == ours


def test_a_library_that_tells_nothing_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stripped = tmp_path / "pybullet.so"
    for content in (
        b"",
        b"MZ" + bytes(200),
        b"\x7fELF\x02\x01" + bytes(10),
        b"\x7fELF\x02\x01" + bytes(90),
    ):
        stripped.write_bytes(content)
        library._client_table.cache_clear()
        with monkeypatch.context() as patch:
            patch.setattr(pybullet, "__file__", str(stripped))
            assert library.client_place(0) == 0
    library._client_table.cache_clear()
    monkeypatch.setattr(library, "_API_VERSION", 1)
    library.function_addresses.cache_clear()
    assert library.client_place(0) == 0
    monkeypatch.undo()
    library.function_addresses.cache_clear()
    library._client_table.cache_clear()


@needs_library
@pytest.mark.parametrize("hidden", ["b3JointControlSetDesiredForceTorque", "sPhysicsClients1"])
def test_without_one_of_its_symbols_python_calls_the_engine_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch, hidden: str
) -> None:
    """As in PyBullet's libraries for macOS and Windows, and in builds of one's own."""

    class Without(ctypes.CDLL):
        def __getattr__(self, name: str) -> Any:
            if name == hidden:
                raise AttributeError(name)
            return super().__getattr__(name)

    ours = Run(ASSETS / "ragdoll.gltf", {}, 40)
    library.function_addresses.cache_clear()
    library._client_table.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(library.ctypes, "CDLL", Without)
        if hidden.encode() == library._TABLE:
            patch.setattr(library, "_symbols", lambda _, names: dict.fromkeys(names))
        theirs = Run(ASSETS / "ragdoll.gltf", {}, 40)
    library.function_addresses.cache_clear()
    library._client_table.cache_clear()
    assert ours.is_native
    assert not theirs.is_native
    assert ours.states == theirs.states


def tumbling() -> bytes:
    """Plates and rods over a floor, of different moments, each with another spin."""
    scenery = Scenery()
    floor = scenery.shape("box", size=[20.0, 1.0, 20.0])
    scenery.node("floor", at=(0.0, -0.5, 0.0), shape=floor)
    for k in range(6):
        size = [0.3 + 0.05 * k, 0.06, 0.2]
        spin = {"angularVelocity": [5.0, 0.1 * k, 3.0], "linearVelocity": [0.0, 1.0, 0.1 * k]}
        shape = scenery.shape("box", size=size)
        scenery.node(f"plate {k}", at=(float(k), 1.0, 0.0), shape=shape, motion=spin)
    return scenery.bytes()


@needs_library
def test_kernels_keep_bodies_tumbling_as_python_does(monkeypatch: pytest.MonkeyPatch) -> None:
    def states() -> list[list[float]]:
        found = []
        with headless_world() as client:
            pybullet.setTimeStep(1 / 60, client)
            pybullet.setGravity(0.0, 0.0, -9.81, client)
            scene = gb.load_gltf(tumbling(), client)
            for _ in range(120):
                scene.step()
                found.append(all_states(client))
        return found

    ours = states()
    with monkeypatch.context() as patch:
        patch.setenv(SWITCH, "0")
        theirs = states()
    for step, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        assert mine == other, f"step {step} differs"
