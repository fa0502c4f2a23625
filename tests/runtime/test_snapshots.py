"""Saved states: identical to the bit after restore, in another process, and without growth."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pybullet
import pytest

import gltf_bullet as gb
from tests.physics.scenes import Scenery, world
from tools.gltf_builder import GltfBuilder

KHR = "KHR_physics_rigid_bodies"


def busy_scene(*, reach: float = 1.0, sliding: float = 0.4) -> bytes:
    """Contacts, a driven hinge, slip friction and an animated pusher.

    Args:
        reach: How far the pusher goes [m]; from -0.5 on it hits the stack.
        sliding: Dynamic friction; the static one is 0.8.
    """
    builder = GltfBuilder()
    builder.root_extension(
        "KHR_implicit_shapes",
        {
            "shapes": [
                {"type": "box", "box": {"size": [20, 1, 20]}},
                {"type": "box", "box": {"size": [0.5, 0.5, 0.5]}},
                {"type": "sphere", "sphere": {"radius": 0.3}},
            ]
        },
    )
    builder.root_extension(
        KHR,
        {
            "physicsMaterials": [{"staticFriction": 0.8, "dynamicFriction": sliding}],
            "physicsJoints": [
                {
                    "limits": [
                        {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
                        {"angularAxes": [0, 1], "min": 0, "max": 0},
                    ],
                    "drives": [
                        {
                            "type": "angular", "mode": "force", "axis": 2,
                            "stiffness": 20, "damping": 1, "positionTarget": 1.0,
                            "velocityTarget": 0.0,
                        }
                    ],
                }
            ],
        },
    )  # fmt: skip

    def collider(shape: int) -> dict[str, object]:
        return {"geometry": {"shape": shape}, "physicsMaterial": 0}

    ground = builder.node(
        "Ground", translation=(0, -0.5, 0), extensions={KHR: {"collider": collider(0)}}
    )
    for k in range(5):
        builder.node(
            f"Box{k}",
            translation=(0.05 * k, 0.25 + 0.51 * k, 0),
            extensions={KHR: {"motion": {"mass": 1}, "collider": collider(1)}},
        )
    builder.node(
        "Arm",
        translation=(3, 1, 0),
        extensions={
            KHR: {
                "motion": {"mass": 1},
                "collider": collider(2),
                "joint": {"connectedNode": ground, "joint": 0},
            }
        },
    )
    pusher = builder.node(
        "Pusher", translation=(-2, 0.5, 0), extensions={KHR: {"collider": collider(1)}}
    )
    builder.animation(
        "Push",
        [(pusher, "translation", [0.0, 2.0, 4.0], [(-2, 0.5, 0), (reach, 0.5, 0), (-2, 0.5, 0)])],
    )
    return builder.glb()


def run(scene: gb.Scene, steps: int) -> bytes:
    trace = []
    for _ in range(steps):
        scene.step()
        trace.append(scene.node_matrices.tobytes())
    return b"".join(trace)


def deterministic(scene: gb.Scene) -> gb.Scene:
    pybullet.setPhysicsEngineParameter(
        deterministicOverlappingPairs=1, physicsClientId=scene.client_id
    )
    return scene


# The pusher stops before the stack: under an edge that a kinematic body pushes, Bullet takes one of
# two next steps from the same visible state (measured: equal poses, velocities, contacts with their
# forces, and coefficients before it; 0 to 10 of 10 replays differ, by 4e-7 rad at first).
@pytest.mark.parametrize(
    ("reach", "sliding"), [(-1.5, 0.8), pytest.param(-1.5, 0.4, marks=pytest.mark.slow)]
)
def test_a_restored_scene_replays_identically_to_the_bit(reach: float, sliding: float) -> None:
    with world(busy_scene(reach=reach, sliding=sliding)) as scene:
        deterministic(scene).step(150)
        saved = scene.save_state()
        first = run(scene, 1000)
        # The whole of it once, and its beginning again: a state can be restored more than once.
        for steps in (1000, 250):
            scene.restore_state(saved)
            assert scene.time == pytest.approx(150 / 240)
            assert first.startswith(run(scene, steps))


@pytest.mark.parametrize("before", [150, 155, 160])
def test_a_moment_of_a_recovery_replays(before: int) -> None:
    """Two axes of the arm begin outside of their limits; one of them is back before the other."""
    with world(busy_scene(reach=-1.5)) as scene:
        deterministic(scene).step(before)
        saved = scene.save_state()
        first = run(scene, 2)
        scene.restore_state(saved)
        assert run(scene, 2) == first


def test_reset_replays_the_scene_from_its_start() -> None:
    with world(busy_scene()) as scene:
        first = run(deterministic(scene), 300)
        scene.reset()
        assert scene.time == 0.0
        assert run(scene, 300) == first


@pytest.mark.parametrize("name", ["walker", "vehicle", "ragdoll"])
def test_driven_bodies_in_contact_replay_identically_to_the_bit(name: str) -> None:
    """The joints' solve reckons with contacts whose forces the engine does not bring back."""
    path = Path(__file__).resolve().parents[2] / "examples" / "assets" / f"{name}.gltf"
    with world(path.read_bytes()) as scene:
        deterministic(scene)
        scene.step(240)
        state = scene.save_state()
        first = run(scene, 120)
        scene.restore_state(state)
        assert run(scene, 120) == first
        scene.restore_state(pickle.loads(pickle.dumps(state)))  # noqa: S301  # our own
        assert run(scene, 120) == first


def test_a_state_is_pickled_whatever_became_of_its_world() -> None:
    """Its bytes are made when it is saved: pickling neither needs nor moves the world."""
    with world(busy_scene()) as scene:
        deterministic(scene).step(150)
        state = scene.save_state()
        expected = run(scene, 50)
        other = gb.load_gltf(compound_pile(1), scene.client_id)
        scene.step(3)
        before = scene.node_matrices.tobytes()
        pickled = pickle.dumps(state)
        assert scene.node_matrices.tobytes() == before
        other.remove()
        scene.restore_state(pickle.loads(pickled))  # noqa: S301  # our own
        assert run(scene, 50) == expected
    assert pickle.dumps(state) == pickled


def compound_pile(count: int, seed: int = 0) -> bytes:
    """Bodies of a box, a sphere and a capsule each, falling onto a floor one upon the other."""
    random = np.random.default_rng(seed)
    builder = GltfBuilder()
    shapes = [
        {"type": "box", "box": {"size": [6, 0.2, 6]}},
        {"type": "box", "box": {"size": [0.3, 0.1, 0.1]}},
        {"type": "sphere", "sphere": {"radius": 0.08}},
        {"type": "capsule", "capsule": {"height": 0.2, "radiusTop": 0.05, "radiusBottom": 0.05}},
    ]
    builder.root_extension("KHR_implicit_shapes", {"shapes": shapes})
    builder.node("Floor", extensions={KHR: {"collider": {"geometry": {"shape": 0}}}})
    for k in range(count):
        body = builder.node(
            f"Compound{k}",
            translation=(*random.uniform(-0.2, 0.2, 1), 0.6 + 0.25 * k, 0.1 * (k % 3)),
            extensions={KHR: {"motion": {"mass": 0.5}}},
        )
        for j in range(3):
            builder.node(
                parent=body, translation=(0.15 * j, 0.05 * j, 0),
                extensions={KHR: {"collider": {"geometry": {"shape": 1 + (j + k) % 3}}}},
            )  # fmt: skip
    return builder.glb()


@pytest.mark.parametrize(("count", "before"), [(2, 300), (30, 100), (30, 300)])
def test_compounds_replay_identically_to_the_bit(count: int, before: int) -> None:
    """What follows a save is what follows a restore, in the order of pairs too."""
    with world(compound_pile(count)) as scene:
        deterministic(scene).step(before)
        saved = scene.save_state()
        first = run(scene, 200)
        for _ in range(2):
            scene.restore_state(saved)
            assert run(scene, 200) == first


def test_reading_a_spinning_body_changes_nothing() -> None:
    scenery = Scenery()
    box = scenery.shape("box", size=[1, 0.5, 0.2])
    scenery.node(
        "Box",
        shape=box,
        motion={"mass": 1.0, "angularVelocity": [1, 5, 2], "gravityFactor": 0},
    )
    with world(scenery.bytes()) as scene:
        scene.step(10)
        saved = scene.save_state()
        scene.step(240)
        unread = scene.node_matrices.tobytes()
        scene.restore_state(saved)
        for _ in range(240):
            assert scene.node("Box").world_matrix.shape == (4, 4)
            scene.step()
        assert scene.node_matrices.tobytes() == unread


def in_another_process(program: str, folder: Path) -> bytes:
    head = f"""
import pathlib, pickle, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.physics.scenes import world
from tests.runtime.test_snapshots import busy_scene, deterministic, run
folder = pathlib.Path({str(folder)!r})
"""
    subprocess.run([sys.executable, "-c", head + program], check=True)
    return (folder / "trace").read_bytes()


def test_a_run_in_another_process_is_identical_to_the_bit(tmp_path: Path) -> None:
    with world(busy_scene()) as scene:
        expected = run(deterministic(scene), 300)
    program = """
with world(busy_scene()) as scene:
    (folder / "trace").write_bytes(run(deterministic(scene), 300))
"""
    assert in_another_process(program, tmp_path) == expected


@pytest.mark.slow
def test_a_pickled_state_replays_identically_in_another_process(tmp_path: Path) -> None:
    with world(busy_scene()) as scene:
        deterministic(scene).step(150)
        (tmp_path / "state").write_bytes(pickle.dumps(scene.save_state()))
        expected = run(scene, 300)
    program = """
with world(busy_scene()) as scene:
    deterministic(scene).restore_state(pickle.loads((folder / "state").read_bytes()))
    (folder / "trace").write_bytes(run(scene, 300))
"""
    assert in_another_process(program, tmp_path) == expected


def test_saving_and_restoring_does_not_grow() -> None:
    scenery = Scenery()
    box = scenery.shape("box")
    scenery.node("Ground", shape=box)
    for k in range(5):
        scenery.node(f"B{k}", at=(0, 1 + k, 0), shape=box, motion={"mass": 1})
    with world(scenery.bytes()) as scene:
        scene.step(50)

        def cycle(count: int) -> None:
            for _ in range(count):
                scene.restore_state(scene.save_state())

        cycle(300)
        before = psutil.Process().memory_info().rss
        cycle(1000)
        grown = psutil.Process().memory_info().rss - before
        assert grown < 1_000_000


def test_a_state_of_other_bodies_is_refused() -> None:
    with world(busy_scene()) as scene:
        scene.step(3)
        saved = scene.save_state()
        pybullet.createMultiBody(1.0, physicsClientId=scene.client_id)
        with pytest.raises(gb.EngineError, match="other bodies"):
            scene.restore_state(saved)
        assert np.isfinite(scene.node_matrices).all()


@pytest.mark.parametrize("is_restart", [False, True])
@pytest.mark.parametrize("motion", [{"mass": 1.0}, None])
def test_what_is_no_state_of_the_asset_is_refused_and_changes_nothing(
    motion: dict[str, object] | None, *, is_restart: bool
) -> None:
    """A number of pybullet.saveState, and a state of an asset with other nodes."""
    scenery = Scenery()
    ball = scenery.shape("sphere", radius=0.3)
    scenery.node("Ball", at=(0, 5, 0), shape=ball, motion=motion)
    source = busy_scene() if motion else Scenery().bytes()
    with world(source) as scene, world(scenery.bytes()) as other:
        scene.step(10)
        before = scene.node_matrices.copy()
        number = pybullet.saveState(physicsClientId=scene.client_id)

        def go(state: Any) -> None:
            scene.restart(state, {}) if is_restart else scene.restore_state(state)

        with pytest.raises(TypeError, match=r"state is \d+; must be what save_state returned"):
            go(number)
        with pytest.raises(ValueError, match="state is of another asset"):
            go(other.save_state())
        assert np.array_equal(scene.node_matrices, before)
