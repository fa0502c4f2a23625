"""What a solve has found, given to the engine by its own functions."""

from __future__ import annotations

from gltf_bullet.solver.compiling import call, doubles_at, kernel
from gltf_bullet.solver.engine import calls
from gltf_bullet.solver.engine.calls import scratch, submit
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["tell"]

_TORQUE_CONTROL = 1
_WORLD_FRAME = 2


@kernel
def tell(
    engine: IntArray, client: int, plan: IntArray, floats: FloatArray, work: FloatArray
) -> int:
    """Push joints and bases of a scene with the forces that the solve has found; 0."""
    at = plan[calls.COMMANDS]
    for k in range(plan[calls.BODIES]):
        body = plan[calls.BODY] + calls.BODY_SIZE * k
        axes = plan[body + calls.AXES]
        if axes:
            command = call(
                engine[calls.CONTROL_COMMAND], (client, plan[body + calls.BODY_ID], _TORQUE_CONTROL)
            )
            for i in range(axes):
                axis = plan[plan[body + calls.AXIS] + i]
                call(engine[calls.SET_FORCE], (command, axis, work[at + i]))
            submit(engine, client, command)
            at += axes
        if plan[body + calls.IS_PUSHED]:
            _push_base(engine, client, plan, body, floats, work, at)
            at += 6
    return 0


@kernel
def _push_base(
    engine: IntArray,
    client: int,
    plan: IntArray,
    body: int,
    floats: FloatArray,
    work: FloatArray,
    at: int,
) -> None:
    number, here = plan[body + calls.BODY_ID], scratch(engine)
    values = doubles_at(here, 6)
    for k in range(3):
        values[k] = work[at + k]
        values[3 + k] = floats[plan[body + calls.BASE] + k]
    if values[0] != 0.0 or values[1] != 0.0 or values[2] != 0.0:
        command = call(engine[calls.FORCE_COMMAND], (client,))
        call(engine[calls.FORCE], (command, number, -1, here, here + 24, _WORLD_FRAME))
        submit(engine, client, command)
    for k in range(3):
        values[k] = work[at + 3 + k]
    if values[0] != 0.0 or values[1] != 0.0 or values[2] != 0.0:
        command = call(engine[calls.FORCE_COMMAND], (client,))
        call(engine[calls.TORQUE], (command, number, -1, here, _WORLD_FRAME))
        submit(engine, client, command)
