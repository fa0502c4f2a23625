"""Scenes of one world stepped together move as scenes stepped one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.baselines.joint_loops import add_floor
from gltf_bullet.bullet.headless import headless_world
from gltf_bullet.bullet.joints import joint_solver, solver_batch
from gltf_bullet.cli.benches.assets import without_static_parts
from gltf_bullet.runtime.asset import read_asset
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.runtime.scene_batch import SceneBatch

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
        step = SceneBatch([s.core for s in scenes]).step if together else one_by_one(scenes)
        for _ in range(rate // 2):
            step()
        found.append(states(scenes))
    for name, ours, theirs in zip(names, *found, strict=True):
        if name == "walker":
            # The engine's order of contacts is its own in each world.
            np.testing.assert_allclose(ours[:7], theirs[:7], atol=1e-3)
        else:
            assert np.array_equal(ours, theirs), name


def test_what_touches_nothing_is_solved_in_one_call(
    monkeypatch: pytest.MonkeyPatch, fresh_world: Callable[[], int]
) -> None:
    scenes = copies(fresh_world(), ("cart_pole",) * 6)
    tables: list[int] = []
    solve = solver_batch.solve

    def counted(table: np.ndarray, *others: float) -> int:
        tables.append(len(table))
        return int(solve(table, *others))

    monkeypatch.setattr(solver_batch, "solve", counted)
    SceneBatch([scene.core for scene in scenes]).step(3)
    assert tables == [6, 6, 6]


def test_scenes_that_touch_are_solved_once_as_each_would_be_by_itself(
    monkeypatch: pytest.MonkeyPatch, fresh_world: Callable[[], int]
) -> None:
    asset = read_asset(without_static_parts("ragdoll"))
    solve, stages_seen = joint_solver.solve, list[int]()

    def noted(table: np.ndarray, stages: int, *others: float) -> int:
        stages_seen.append(stages)
        return int(solve(table, stages, *others))

    monkeypatch.setattr(joint_solver, "solve", noted)
    found = []
    for together in (True, False):
        client = fresh_world()
        add_floor(client)
        scenes = [asset.instantiate(client, position=(0.1 * k, 0, 0.25 * k)) for k in range(3)]
        step = one_by_one(scenes)
        for _ in range(30):
            step()
        stages_seen.clear()
        if together:
            SceneBatch([scene.core for scene in scenes]).step()
            assert sum(bool(stages & joint_solver.SOLVE) for stages in stages_seen) == 1
        else:
            step()
        found.append([scene.core.world.articulations.solver.pushes() for scene in scenes])
    touching = {frozenset((p[1], p[2])) for p in pybullet.getContactPoints(physicsClientId=client)}
    assert len([pair for pair in touching if 0 not in pair]) >= 2
    for ours, theirs in zip(*found, strict=True):
        for body, (axes, balls) in theirs.items():
            np.testing.assert_allclose(ours[body][0], axes, rtol=1e-4, atol=1e-2)
            np.testing.assert_allclose(ours[body][1], balls, rtol=1e-4, atol=1e-2)


def test_a_force_that_is_not_finite_is_told_before_anything_moves(
    fresh_world: Callable[[], int],
) -> None:
    scenes = copies(fresh_world(), ("cart_pole",) * 3)
    batch = SceneBatch([scene.core for scene in scenes])
    batch.step(5)
    arena = scenes[1].core.world.articulations.solver.arena
    arena.records[0].rows.max_force[:] = np.nan
    arena.records[0].rows.velocity_target[:] = np.nan
    before = joint_states(scenes)
    with pytest.raises(gb.EngineError, match="not finite"):
        batch.step()
    assert joint_states(scenes) == before
