"""What a solve has found, given to the engine by its own functions."""

from __future__ import annotations

from gltf_bullet.numba_aot import call, doubles_at, kernel
from gltf_bullet.solver.engine import calls
from gltf_bullet.solver.engine.calls import scratch, submit
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["CLOSED", "LARGEST_GAP", "tell"]

LARGEST_GAP = 0.01
"""[m] No larger gap is shown to the engine than the solve reckons with."""

CLOSED = 1e-7
"""[m] Smaller gaps are not worth the call."""

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
    for k in range(plan[calls.LOOPS]):
        _tighten(engine, client, plan, plan[calls.LOOP] + calls.LOOP_SIZE * k, work)
    return 0


@kernel
def _tighten(engine: IntArray, client: int, plan: IntArray, loop: int, work: FloatArray) -> None:
    """Show the engine a larger gap than there is: see ``bullet.joints.loop_closing``."""
    gap = plan[loop + calls.GAP]
    is_open = max(abs(work[gap]), abs(work[gap + 1]), abs(work[gap + 2])) > CLOSED
    if not (is_open or plan[loop + calls.IS_SHIFTED]):
        return
    plan[loop + calls.IS_SHIFTED] = 1 if is_open else 0
    numbers = doubles_at(plan.ctypes.data + 8 * (loop + calls.LOOP_INTS), calls.LOOP_SIZE)
    here = scratch(engine)
    pivot, pose = doubles_at(here, 6), plan[loop + calls.FRAME_POSE]
    for i in range(3):
        pivot[i] = numbers[calls.PIVOT + i]
    for j in range(3 if is_open else 0):
        way = 0.0
        for i in range(3):
            way += work[pose + 3 * i + j] * min(max(work[gap + i], -LARGEST_GAP), LARGEST_GAP)
        for i in range(3):
            pivot[i] += numbers[calls.PULL] * way * numbers[calls.INERTIAL + 3 * j + i]
    command = call(engine[calls.CHANGE_COMMAND], (client, plan[loop + calls.CONSTRAINT]))
    call(engine[calls.CHANGE_PIVOT], (command, here))
    submit(engine, client, command)


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
