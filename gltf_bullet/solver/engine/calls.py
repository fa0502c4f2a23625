"""The engine's own C functions, called from compiled code: no Python object per number.

Measured for a cart-pole's step: PyBullet's calls and their tuples take 14 us, these 2 us.
Who calls makes sure that the functions are those that are meant: see ``bullet.exchange``.
"""

from __future__ import annotations

from gltf_bullet.numba_aot import call, doubles_at, kernel, words_at
from gltf_bullet.solver.outcomes import LOST, REFUSED
from gltf_bullet.transforms import FloatArray, IntArray

# --- slots of an engine's integers ----------------------------------------------------------------

HERE = 0
"""Address of the integers themselves."""
CLIENT = 1
"""Address of the place where PyBullet keeps the client's handle."""
PREPARE = 2
"""Addresses of two kernels, as C functions."""
SOLVE = 3
IS_DIRECT = 4
"""Whether the engine is in this very thread, so that an answer is there at once."""
FUNCTION = 5
"""First of the functions below."""

FUNCTIONS = (
    "b3CanSubmitCommand",
    "b3SubmitClientCommandAndWaitStatus",
    "b3SubmitClientCommand",
    "b3ProcessServerStatus",
    "b3GetStatusType",
    "b3RequestActualStateCommandInit",
    "b3GetStatusActualState",
    "b3InitRequestContactPointInformation",
    "b3GetContactPointInformation",
    "b3InitRequestPhysicsParamCommand",
    "b3GetStatusPhysicsSimulationParameters",
    "b3JointControlCommandInit2",
    "b3JointControlSetDesiredForceTorque",
    "b3ApplyExternalForceCommandInit",
    "b3ApplyExternalForce",
    "b3ApplyExternalTorque",
    "b3InitStepSimulationCommand",
    "b3GetNumBodies",
    "b3GetBodyUniqueId",
    "b3GetNumUserConstraints",
    "b3GetUserConstraintId",
    "b3GetUserData",
    "b3GetDynamicsInfoCommandInit",
    "b3GetDynamicsInfo",
    "b3InitChangeUserConstraintCommand",
    "b3InitChangeUserConstraintSetPivotInB",
)
"""Of PyBullet's library, in the order of their addresses in the integers."""

(
    _CAN_SUBMIT, _SUBMIT_AND_WAIT, _SUBMIT, _PROCESS, _STATUS, _STATE_COMMAND, _STATE,
    _CONTACT_COMMAND, _CONTACTS, _SETTINGS_COMMAND, _SETTINGS, CONTROL_COMMAND, SET_FORCE,
    FORCE_COMMAND, FORCE, TORQUE, _STEP_COMMAND, _BODY_COUNT, _BODY_ID, _CONSTRAINT_COUNT,
    _CONSTRAINT_ID,
    _USER_DATA, _DYNAMICS_COMMAND, _DYNAMICS, CHANGE_COMMAND, CHANGE_PIVOT,
) = range(FUNCTION, FUNCTION + len(FUNCTIONS))  # fmt: skip

KNOWN = FUNCTION + len(FUNCTIONS)
"""[5] What was read last: time step, gravity (as bits), substeps."""
CONTACT_COUNT = KNOWN + 5
CONTACT_POINTS = KNOWN + 6
"""Of the contacts that were asked for last: how many, and their address."""
SCRATCH = KNOWN + 7
"""[64] Where functions put what they find."""
SIZE = SCRATCH + 64

# --- what the engine answers (SharedMemoryPublic.h) -----------------------------------------------

_STATE_COMPLETED = 21
_STEP_COMPLETED = 26
_CONTACTS_COMPLETED = 39
_DYNAMICS_COMPLETED = 77

POINT_WORDS = 22
"""Of 8 bytes, in a ``b3ContactPointData``."""
FRICTION = 11
"""Number of the lateral friction in a ``b3DynamicsInfo``."""
_COORDINATES = 128
"""``MAX_DEGREE_OF_FREEDOM``: room for so many numbers in each table of a body's state."""
_MOTOR_FORCES = 7 * _COORDINATES
"""What motors exert, by velocity, from the forces [6] in the joints on."""

# --- slots of a plan, what is read and told of a scene --------------------------------------------

BODIES = 0
"""How many multibodies."""
BODY = 1
"""Offset of their records."""
COMMANDS = 2
"""First number of the forces in the work array."""
STARTS = 3
"""[.] Offset of a switch for each body id: whether its contacts are the solve's business."""
START_COUNT = 4
"""How many such switches; 0 where the scene touches nothing."""
MOTORS = 5
"""First number of what the engine's motors exert in the work array, in the order of the forces."""
LOOPS = 6
"""How many constraints close loops."""
LOOP = 7
"""Offset of their records."""
PLAN_HEADER = 8

BODY_ID = 0
BASE = 1
"""Offset of the base's state, or -1."""
BASE_SIZE = 2
JOINTS = 3
"""How many joints."""
JOINT = 4
"""Offset of their records."""
AXES = 5
"""How many velocities of joints are pushed."""
AXIS = 6
"""Offset of their numbers in the engine."""
IS_PUSHED = 7
"""Whether the base is."""
BODY_SIZE = 8

CONSTRAINT, FRAME_POSE, GAP, IS_SHIFTED = range(4)
"""PyBullet's id; pose of the child's frame and gap in the work array; whether the engine is shown
more of it than there is."""
PIVOT, INERTIAL, PULL = 0, 3, 12
"""[3] in the child's inertial frame, [3, 3] its frame from that, and how much more: floats behind
the integers."""
LOOP_INTS, LOOP_SIZE = 4, 17

POSITION_AT, POSITIONS, VELOCITY_AT, VELOCITIES, JOINT_STATE = range(5)
"""Where the engine has a joint's position, and how many numbers; the offset of its state."""
JOINT_SIZE = 5


@kernel
def low_half(word: int) -> int:
    """The signed 32 bits at the lower end."""
    return ((word & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000


@kernel
def _copy(address: int, count: int, floats: FloatArray, at: int) -> None:
    source = doubles_at(address, count)
    for k in range(count):
        floats[at + k] = source[k]


@kernel
def byte_at(address: int) -> int:
    """A byte in memory."""
    return int((words_at(address & ~7, 1)[0] >> (8 * (address & 7))) & 255)


@kernel
def scratch(engine: IntArray) -> int:
    """Address of the scratch."""
    return int(engine[HERE] + 8 * SCRATCH)


@kernel
def engine_client(engine: IntArray) -> int:
    """The client's handle, 0 where it is not connected."""
    client = words_at(engine[CLIENT], 1)[0]
    if client == 0 or low_half(call(engine[_CAN_SUBMIT], (client,))) == 0:
        return 0
    return int(client)


@kernel
def submit(engine: IntArray, client: int, command: int) -> int:
    """Let the engine do something; the status.

    Waiting for it takes the clock three times: a tenth of a cart-pole's step (measured).
    """
    if engine[IS_DIRECT]:
        call(engine[_SUBMIT], (client, command))
        return call(engine[_PROCESS], (client,))
    return call(engine[_SUBMIT_AND_WAIT], (client, command))


@kernel
def read_settings(engine: IntArray, client: int) -> bool:
    """Put the world's settings into the scratch, as :data:`KNOWN` has them."""
    command = call(engine[_SETTINGS_COMMAND], (client,))
    status = submit(engine, client, command)
    at = scratch(engine)
    if low_half(call(engine[_SETTINGS], (status, at + 64))) == 0:
        return False
    # b3PhysicsSimulationParameters: time step, time, gravity [3], substeps (32 bits), ...
    engine[SCRATCH] = engine[SCRATCH + 8]
    for k in range(3):
        engine[SCRATCH + 1 + k] = engine[SCRATCH + 10 + k]
    engine[SCRATCH + 4] = low_half(engine[SCRATCH + 13])
    return True


@kernel
def is_as_known(engine: IntArray, client: int) -> bool:
    """Whether the world's settings are those that were read last."""
    if not read_settings(engine, client):
        return False
    for k in range(5):  # noqa: SIM110  # kernels know no generators
        if engine[SCRATCH + k] != engine[KNOWN + k]:
            return False
    return True


@kernel
def last_body(engine: IntArray, client: int) -> int:
    """How many bodies there are, times 2^32, plus the id of the last one."""
    return int(_last(client, engine[_BODY_COUNT], engine[_BODY_ID]))


@kernel
def last_constraint(engine: IntArray, client: int) -> int:
    """Likewise of constraints."""
    return int(_last(client, engine[_CONSTRAINT_COUNT], engine[_CONSTRAINT_ID]))


@kernel
def _last(client: int, count_of: int, id_of: int) -> int:
    count = low_half(call(count_of, (client,)))
    if count == 0:
        return 0
    return int((count << 32) + low_half(call(id_of, (client, count - 1))))


@kernel
def user_data(engine: IntArray, client: int, number: int) -> int:
    """Address of a user datum's text, 0 without."""
    at = scratch(engine)
    if low_half(call(engine[_USER_DATA], (client, number, at))) == 0:
        return 0
    return int(engine[SCRATCH + 1])


@kernel
def read_pose_only(engine: IntArray, client: int, body: int, floats: FloatArray, pose: int) -> bool:
    """Take position and rotation [7] of a base from the engine."""
    if not _ask_state(engine, client, body):
        return False
    _copy(engine[SCRATCH], 7, floats, pose)
    return True


@kernel
def _ask_state(engine: IntArray, client: int, body: int) -> bool:
    """Put the addresses of a body's coordinates, velocities and forces into the scratch."""
    command = call(engine[_STATE_COMMAND], (client, body))
    status = submit(engine, client, command)
    if low_half(call(engine[_STATUS], (status,))) != _STATE_COMPLETED:
        return False
    at = scratch(engine)
    call(engine[_STATE], (status, 0, 0, 0, 0, at, at + 8, at + 16))
    return True


@kernel
def _is_finite(address: int, count: int) -> bool:
    """Whether some numbers are."""
    total = 0.0
    numbers = doubles_at(address, count)
    for k in range(count):
        total += 0.0 * numbers[k]
    return total == 0.0


@kernel
def read_state(
    engine: IntArray,
    client: int,
    plan: IntArray,
    body: int,
    floats: FloatArray,
    work: FloatArray,
    motors: int,
) -> int:
    """Take base, joints and what their motors exert of a multibody from the engine: 0, or REFUSED.

    Where they are not finite: LOST, and the numbers of before are kept.
    """
    if not _ask_state(engine, client, plan[body + BODY_ID]):
        return REFUSED
    q, u = engine[SCRATCH], engine[SCRATCH + 1]
    base = plan[body + BASE]
    if base >= 0 and not (_is_finite(q, 7) and _is_finite(u, 6)):
        return LOST
    for j in range(plan[body + JOINTS]):
        joint = plan[body + JOINT] + JOINT_SIZE * j
        if not _is_finite(q + 8 * plan[joint + POSITION_AT], plan[joint + POSITIONS]):
            return LOST
        if not _is_finite(u + 8 * plan[joint + VELOCITY_AT], plan[joint + VELOCITIES]):
            return LOST
    if base >= 0:
        _copy(q, 7, floats, base)
        _copy(u, 6, floats, base + 7)
        for k in range(13, plan[body + BASE_SIZE]):
            floats[base + k] = 0.0
    for j in range(plan[body + JOINTS]):
        joint = plan[body + JOINT] + JOINT_SIZE * j
        here, count = plan[joint + JOINT_STATE], plan[joint + POSITIONS]
        _copy(q + 8 * plan[joint + POSITION_AT], count, floats, here)
        _copy(u + 8 * plan[joint + VELOCITY_AT], plan[joint + VELOCITIES], floats, here + count)
    exerted = engine[SCRATCH + 2] + 8 * _MOTOR_FORCES
    for i in range(plan[body + AXES]):
        _copy(exerted + 8 * plan[plan[body + AXIS] + i], 1, work, motors + i)
    return 0


@kernel
def find_contacts(engine: IntArray, client: int) -> int:
    """Put count and address of the world's contacts into the scratch; the count, -1 on failure."""
    command = call(engine[_CONTACT_COMMAND], (client,))
    status = submit(engine, client, command)
    if low_half(call(engine[_STATUS], (status,))) != _CONTACTS_COMPLETED:
        return -1
    call(engine[_CONTACTS], (client, scratch(engine)))
    engine[CONTACT_COUNT], engine[CONTACT_POINTS] = low_half(engine[SCRATCH]), engine[SCRATCH + 1]
    return int(engine[CONTACT_COUNT])


@kernel
def copy_point(address: int, rows: FloatArray, to: int) -> None:
    """A contact as ``contact_following`` has it."""
    words, numbers = words_at(address, POINT_WORDS), doubles_at(address, POINT_WORDS)
    # b3ContactPointData: flags, bodies and links (32 bits each), points on both [3, 3],
    # normal, distance, force, forces along two tangents, the tangents.
    rows[to] = low_half(words[0] >> 32)
    rows[to + 1] = low_half(words[1])
    rows[to + 2] = low_half(words[1] >> 32)
    rows[to + 3] = low_half(words[2])
    for i in range(9):
        rows[to + 4 + i] = numbers[3 + i]
    for i in range(6):
        rows[to + 13 + i] = numbers[16 + i]
    for i in range(4):
        rows[to + 19 + i] = numbers[12 + i]


@kernel
def read_dynamics(engine: IntArray, client: int, body: int, link: int) -> int:
    """Address of mass, moments [3] and more of a link; 0 where there is none."""
    command = call(engine[_DYNAMICS_COMMAND], (client, body, link))
    status = submit(engine, client, command)
    if low_half(call(engine[_STATUS], (status,))) != _DYNAMICS_COMPLETED:
        return 0
    call(engine[_DYNAMICS], (status, scratch(engine)))
    return scratch(engine)


@kernel
def read_pose(
    engine: IntArray, client: int, body: int, floats: FloatArray, pose: int, velocity: int
) -> bool:
    """Take position and rotation [7] and both velocities [6] of a base from the engine."""
    if not _ask_state(engine, client, body):
        return False
    _copy(engine[SCRATCH], 7, floats, pose)
    _copy(engine[SCRATCH + 1], 6, floats, velocity)
    return True


@kernel
def make_step(engine: IntArray, client: int) -> bool:
    """``stepSimulation``."""
    status = submit(engine, client, call(engine[_STEP_COMMAND], (client,)))
    return low_half(call(engine[_STATUS], (status,))) == _STEP_COMPLETED
