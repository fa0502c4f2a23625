"""The joints of a scene connected with the engine, so that kernels call it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gltf_bullet.bullet.exchange.joint_commands import JointCommands
from gltf_bullet.bullet.exchange.multibody_states import StateSource
from gltf_bullet.bullet.exchange.native_calls import (
    NO_NATIVE,
    NativeWorld,
    lease_numbers,
    scene_plan,
)
from gltf_bullet.bullet.joints.scene_arena import Arena
from gltf_bullet.bullet.joints.solving.scene_islands import SceneIslands
from gltf_bullet.bullet.session import EngineSession
from gltf_bullet.solver.engine.stepping import READ, advance
from gltf_bullet.transforms import IntArray

__all__ = ["connect_kernels"]


def connect_kernels(
    world: NativeWorld,
    session: EngineSession,
    arena: Arena,
    islands: SceneIslands,
    sources: Sequence[StateSource],
    commands: JointCommands,
    starts: Sequence[int],
    body_ids: Sequence[int],
    loops: Sequence[IntArray],
    read: Callable[[], None],
) -> bool:
    """Let the kernels call the engine for a scene; whether they can.

    Args:
        world: How they call it.
        session: The world's.
        arena: Of the scene.
        islands: Likewise.
        sources: What is read of its bodies.
        commands: What they are given.
        starts: Bodies whose contacts are the solve's business.
        body_ids: All bodies of the scene, marked.
        loops: Records of the constraints that close loops.
        read: Reads them by PyBullet's calls for Python, to compare.
    """
    if not len(world.engine):
        return False
    first, exerted = arena.commands.start, arena.motor_forces.start
    told = commands.targets
    plan = scene_plan(session.client_id, sources, told, first, exerted, starts, loops)
    if not len(plan):
        return False
    islands.connect((world.engine, plan, lease_numbers(session, body_ids)))
    state = arena.floats[: arena.state_end]
    read()
    seen = state.tobytes()
    state[:] = np.nan
    answers = not advance(islands.row, READ, 0.0, 0.0, 0.0, 0.0)
    if answers and state.tobytes() == seen:
        return True
    # Another library than ours, for all that its versions say.
    islands.connect(NO_NATIVE)
    read()
    return False
