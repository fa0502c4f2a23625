"""The joints of a scene connected with the engine, so that kernels call it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gltf_bullet.bullet.exchange.joint_commands import JointCommands
from gltf_bullet.bullet.exchange.multibody_states import StateSource
from gltf_bullet.bullet.exchange.native_calls import (
    NO_NATIVE,
    JointTables,
    NativeWorld,
    joint_tables,
    ownership_numbers,
    scene_plan,
)
from gltf_bullet.bullet.joints.scene_arrays import SceneArrays
from gltf_bullet.bullet.joints.solving.scene_islands import SceneIslands
from gltf_bullet.bullet.session import EngineSession
from gltf_bullet.planning.scene_plan import Derive
from gltf_bullet.solver.engine.stepping import READ, advance
from gltf_bullet.transforms import IntArray

__all__ = ["connect_kernels"]


def connect_kernels(
    world: NativeWorld,
    session: EngineSession,
    arena: SceneArrays,
    islands: SceneIslands,
    sources: Sequence[StateSource],
    commands: JointCommands,
    starts: Sequence[int],
    body_ids: Sequence[int],
    loops: Sequence[IntArray],
    read: Callable[[], None],
    derive: Derive,
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
        derive: Keeps what is the same for all copies of the plan; see ``ScenePlan.derive``.
    """
    if not len(world.engine):
        return False

    def answers() -> bool:
        state = arena.floats[: arena.state_end]
        read()
        seen = state.tobytes()
        state[:] = np.nan
        found = advance(islands.row, READ, 0.0, 0.0, 0.0, 0.0)
        return not found and state.tobytes() == seen

    told = commands.targets
    joints = derive(JointTables, lambda: joint_tables(session.client_id, sources, told))
    if joints is None:
        return False
    ids = [body for body, *_ in sources]
    first, exerted = arena.commands.start, arena.motor_forces.start
    plan = scene_plan(joints, ids, first, exerted, starts, loops)
    islands.connect((world.engine, plan, ownership_numbers(session, body_ids)))
    if derive(connect_kernels, answers):
        return True
    # Another library than ours, for all that its versions say.
    islands.connect(NO_NATIVE)
    read()
    return False
