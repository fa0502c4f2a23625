"""Forces and motors of a solve, set by the engine's own functions."""

from __future__ import annotations

from gltf_bullet.numba_aot import call, doubles_at, kernel
from gltf_bullet.solver.engine.calls import (
    BODY_SIZE,
    LOOP_SIZE,
    Body,
    Engine,
    Loop,
    Plan,
    body_at,
    loop_at,
    plan_at,
    submit,
)
from gltf_bullet.transforms import FloatArray, IntArray

CLOSED = 1e-7
"""[m] Smaller shifts are not worth the call."""

_VELOCITY_CONTROL = 0
_TORQUE_CONTROL = 1
_WORLD_FRAME = 2


@kernel
def apply_commands(
    engine: Engine,
    client: int,
    plan: IntArray,
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
) -> int:
    """Apply the forces of the solve to the joints and bases of a scene, set motors; return 0."""
    header = plan_at(plan, 0)
    at = header.commands
    for k in range(header.body_count):
        body = body_at(plan, header.bodies + BODY_SIZE * k)
        axes = body.axis_count
        if axes:
            command = call(engine.control_command, (client, body.body_id, _TORQUE_CONTROL))
            for i in range(axes):
                axis = plan[body.axes + i]
                call(engine.set_force, (command, axis, work[at + i]))
            submit(engine, client, command)
            _set_motors(engine, client, header, body, at - header.commands, plan, ints, work)
            at += axes
        if body.base_is_pushed:
            _push_base(engine, client, body, floats, work, at)
            at += 6
    for k in range(header.loop_count):
        _tighten(engine, client, loop_at(plan, header.loops + LOOP_SIZE * k), work)
    return 0


@kernel
def _set_motors(
    engine: Engine,
    client: int,
    header: Plan,
    body: Body,
    first: int,
    plan: IntArray,
    ints: IntArray,
    work: FloatArray,
) -> None:
    """Use the engine's velocity motors where the last step went otherwise than predicted.

    See ``JointCommands.set_motors``, which does the same by PyBullet's calls. ``first``: number of
    the body's first command.
    """
    targets, bounds = header.motor_targets + first, header.motor_bounds + first
    own, command = header.own_motors + first, 0
    for i in range(body.axis_count):
        bound = work[bounds + i]
        if bound == 0.0 and ints[own + i] == 0:
            continue
        if command == 0:
            command = call(engine.control_command, (client, body.body_id, _VELOCITY_CONTROL))
        axis = plan[body.axes + i]
        call(engine.set_speed, (command, axis, work[targets + i]))
        call(engine.set_speed_gain, (command, axis, 1.0))
        call(engine.set_largest_force, (command, axis, bound))
        ints[own + i] = 1 if bound != 0.0 else 0
    if command != 0:
        submit(engine, client, command)


@kernel
def _tighten(engine: Engine, client: int, loop: Loop, work: FloatArray) -> None:
    """Show the engine another gap than there is: see ``solver.closure_bend``."""
    shift = loop.shift
    is_open = max(abs(work[shift]), abs(work[shift + 1]), abs(work[shift + 2])) > CLOSED
    if not (is_open or loop.is_shifted):
        return
    loop.is_shifted = 1 if is_open else 0
    here = engine.scratch_address
    pivot, pose = doubles_at(here, 6), loop.frame_pose
    for i in range(3):
        pivot[i] = loop.pivot[i]
    for j in range(3 if is_open else 0):
        way = 0.0
        for i in range(3):
            way += work[pose + 3 * i + j] * work[shift + i]
        for i in range(3):
            pivot[i] += loop.sign * way * loop.inertial[j, i]
    command = call(engine.change_command, (client, loop.constraint))
    call(engine.change_pivot, (command, here))
    submit(engine, client, command)


@kernel
def _push_base(
    engine: Engine,
    client: int,
    body: Body,
    floats: FloatArray,
    work: FloatArray,
    at: int,
) -> None:
    number, here = body.body_id, engine.scratch_address
    values = doubles_at(here, 6)
    for k in range(3):
        values[k] = work[at + k]
        values[3 + k] = floats[body.base + k]
    if values[0] != 0.0 or values[1] != 0.0 or values[2] != 0.0:
        command = call(engine.force_command, (client,))
        call(engine.force, (command, number, -1, here, here + 24, _WORLD_FRAME))
        submit(engine, client, command)
    for k in range(3):
        values[k] = work[at + 3 + k]
    if values[0] != 0.0 or values[1] != 0.0 or values[2] != 0.0:
        command = call(engine.force_command, (client,))
        call(engine.torque, (command, number, -1, here, _WORLD_FRAME))
        submit(engine, client, command)
