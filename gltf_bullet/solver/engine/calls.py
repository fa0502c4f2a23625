"""The engine's own C functions, called from compiled code: no Python object per number.

Measured for a cart-pole's step: PyBullet's calls and their tuples take 14 us, these 2 us.
Who calls makes sure that the functions are those that are meant: see ``bullet.exchange``. The file
is long because each function of the engine is called in one place, beside the layout of its answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gltf_bullet.numba_aot import (
    call,
    cells,
    doubles_at,
    kernel,
    place_of,
    record,
    record_reader,
    size_of,
    words_at,
)
from gltf_bullet.solver.outcomes import REFUSED, STATE_LOST
from gltf_bullet.transforms import FloatArray, IntArray

# --- how the engine is called ---------------------------------------------------------------------


class _Function(str):
    """The name of a function of PyBullet's library; the field holds its address."""

    __slots__ = ()


def _function(name: str) -> Any:
    return _Function(name)


MOST_BASES = 16
"""Count of the bases that are remembered within an engine step."""


@record
class Engine:
    """The addresses by which the engine is called, and what was read of it last."""

    client_place: int
    """Address of the place where PyBullet keeps the client's handle."""
    prepare: int
    """Address of the kernel ``prepare``, as a C function."""
    solve: int
    """Address of the kernel ``solve``, likewise."""
    is_direct: int
    """1 if the engine is in this very thread, so that an answer is there at once."""
    scratch_address: int
    """Address of the scratch below."""
    knows_stream: int
    """1 if answers can be read where the engine has written them, :data:`_STREAM` bytes behind the
    status; else the client copies them first, 30 KB each.
    """
    status_place: int
    """Address of the client's status, 0 before it has told it in the present call."""
    can_submit: int = _function("b3CanSubmitCommand")
    submit_and_wait: int = _function("b3SubmitClientCommandAndWaitStatus")
    submit: int = _function("b3SubmitClientCommand")
    process: int = _function("b3ProcessServerStatus")
    status: int = _function("b3GetStatusType")
    state_command: int = _function("b3RequestActualStateCommandInit")
    state: int = _function("b3GetStatusActualState")
    with_velocities: int = _function("b3RequestActualStateCommandComputeLinkVelocity")
    with_kinematics: int = _function("b3RequestActualStateCommandComputeForwardKinematics")
    link_state: int = _function("b3GetLinkState")
    contact_command: int = _function("b3InitRequestContactPointInformation")
    contacts: int = _function("b3GetContactPointInformation")
    settings_command: int = _function("b3InitRequestPhysicsParamCommand")
    settings: int = _function("b3GetStatusPhysicsSimulationParameters")
    change_settings_command: int = _function("b3InitPhysicsParamCommand")
    set_time_step: int = _function("b3PhysicsParamSetTimeStep")
    control_command: int = _function("b3JointControlCommandInit2")
    set_force: int = _function("b3JointControlSetDesiredForceTorque")
    set_speed: int = _function("b3JointControlSetDesiredVelocity")
    set_speed_gain: int = _function("b3JointControlSetKd")
    set_largest_force: int = _function("b3JointControlSetMaximumForce")
    force_command: int = _function("b3ApplyExternalForceCommandInit")
    force: int = _function("b3ApplyExternalForce")
    torque: int = _function("b3ApplyExternalTorque")
    step_command: int = _function("b3InitStepSimulationCommand")
    box_command: int = _function("b3InitAABBOverlapQuery")
    box_contents: int = _function("b3GetAABBOverlapResults")
    ray_command: int = _function("b3CreateRaycastBatchCommandInit")
    add_ray: int = _function("b3RaycastBatchAddRay")
    ray_hits: int = _function("b3GetRaycastInformation")
    body_count: int = _function("b3GetNumBodies")
    body_id: int = _function("b3GetBodyUniqueId")
    constraint_count: int = _function("b3GetNumUserConstraints")
    constraint_id: int = _function("b3GetUserConstraintId")
    user_data: int = _function("b3GetUserData")
    dynamics_command: int = _function("b3GetDynamicsInfoCommandInit")
    dynamics: int = _function("b3GetDynamicsInfo")
    surface_command: int = _function("b3InitChangeDynamicsInfo")
    set_friction: int = _function("b3ChangeDynamicsInfoSetLateralFriction")
    change_command: int = _function("b3InitChangeUserConstraintCommand")
    change_pivot: int = _function("b3InitChangeUserConstraintSetPivotInB")
    known: IntArray = cells(5)
    """Settings that were read last: time step, gravity (as bits), substeps."""
    contact_total: int
    """Count of the contacts that were read last."""
    contact_points: int
    """Address of these contacts."""
    scratch: IntArray = cells(64)
    """Room for what functions find."""
    moment: int
    """Counts calls of kernels and engine steps: what was read in an earlier moment is outdated."""
    base_body: IntArray = cells(MOST_BASES)
    """Ids of the bodies whose bases were read, each at its id modulo MOST_BASES."""
    base_moment: IntArray = cells(MOST_BASES)
    """Moments in which they were read."""
    base_state: FloatArray = cells(MOST_BASES, 13)
    """Position, rotation and velocities: an answer of the engine is 28 KB, of which it is a part.
    """


engine_at = record_reader(Engine)

FUNCTIONS: Mapping[str, str] = {
    name: str(function)
    for name, function in vars(Engine).items()
    if isinstance(function, _Function)
}
"""Names of the functions in PyBullet's library, by field."""

# --- what the engine answers (SharedMemoryPublic.h) -----------------------------------------------

_STATE_COMPLETED = 21
_STEP_COMPLETED = 26
_CONTACTS_COMPLETED = 39
_DYNAMICS_COMPLETED = 77

POINT_WORDS = 22
"""Words of 8 bytes in a ``b3ContactPointData``."""
FRICTION = 11
"""Number of the lateral friction in a ``b3DynamicsInfo``."""
ROLLING = 12
"""Likewise of the rolling friction, which the spinning friction follows."""
DAMPING = 18
"""Likewise of the damping of turns, which that of motion follows."""
_STREAM = 0xAAE8
"""Distance of the stream of answers from the status in a ``PhysicsDirectInternalData``."""
_CACHE = _STREAM + 0x800310
"""Likewise of the copy of the last state of a body."""
_COORDINATES = 128
"""``MAX_DEGREE_OF_FREEDOM``: room for so many numbers in each table of a body's state."""
_MOTOR_FORCES = 7 * _COORDINATES
"""Offset of the motors' forces, by velocity, from the forces [6] in the joints."""

# --- what is read of a scene and applied to it ----------------------------------------------------


@record
class Plan:
    """The multibodies of a scene, as the engine numbers them; tables follow in the same array."""

    body_count: int
    bodies: int
    """Offset of a :class:`Body` for each."""
    commands: int
    """First number of the forces in the work array."""
    starts: int
    """Offset of a switch for each body id: 1 if its contacts belong to the solve."""
    start_count: int
    """Count of these switches; 0 if the scene touches nothing."""
    motor_targets: int
    """First number of the velocities for the engine's motors in the work array, in the order of the
    commands."""
    motor_bounds: int
    """Likewise of the largest forces of these motors."""
    motors: int
    """Likewise of the forces that all motors have exerted."""
    own_motors: int
    """First of the switches of motors that are ours in the integers, in the same order."""
    loop_count: int
    """Count of the constraints that close loops."""
    loops: int
    """Offset of a :class:`Loop` for each."""


@record
class Body:
    """A multibody."""

    body_id: int
    base: int
    """Offset of the base's state, or -1."""
    base_size: int
    joint_count: int
    joints: int
    """Offset of a :class:`Joint` for each."""
    axis_count: int
    """Count of the joints' velocities that forces are applied to."""
    axes: int
    """Offset of their numbers in the engine."""
    base_is_pushed: int
    """1 if forces are applied to the base."""


@record
class Joint:
    """A joint."""

    position_at: int
    """Number of its first coordinate in the engine."""
    positions: int
    """Count of its coordinates."""
    velocity_at: int
    velocities: int
    state: int
    """Offset of its state in the floats."""


@record
class Loop:
    """A constraint of the engine that closes a loop."""

    constraint: int
    """PyBullet's id."""
    frame_pose: int
    """Offset of the pose of the child's frame in the work array."""
    shift: int
    """Offset of what is added to the gap that the engine sees, in the work array."""
    is_shifted: int
    """1 if the engine is shown another gap than there is."""
    pivot: FloatArray = cells(3)
    """Point in the child's inertial frame."""
    inertial: FloatArray = cells(3, 3)
    """Rotation frame_from_inertial of the child."""
    sign: float
    """-1 if the child is the first end of the loop, else 1."""


plan_at, body_at, joint_at, loop_at = (
    record_reader(Plan), record_reader(Body), record_reader(Joint), record_reader(Loop),
)  # fmt: skip
PLAN_SIZE, BODY_SIZE, JOINT_SIZE = size_of(Plan), size_of(Body), size_of(Joint)
LOOP_SIZE, START_COUNT = size_of(Loop), place_of(Plan, "start_count")


@kernel
def low_half(word: int) -> int:
    """The signed 32 bits at the lower end."""
    return ((word & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000


@kernel
def copy_floats(address: int, count: int, floats: FloatArray, at: int) -> None:
    """Copy floats from memory into an array, from number ``at`` on."""
    source = doubles_at(address, count)
    for k in range(count):
        floats[at + k] = source[k]


@kernel
def byte_at(address: int) -> int:
    """A byte in memory."""
    return int((words_at(address & ~7, 1)[0] >> (8 * (address & 7))) & 255)


@kernel
def begin_call(engine: Engine) -> int:
    """Begin a call of a kernel: the client's handle, 0 where it is not connected.

    Whatever was read in earlier calls is outdated.
    """
    engine.moment += 1
    engine.status_place = 0
    client = words_at(engine.client_place, 1)[0]
    if client == 0 or low_half(call(engine.can_submit, (client,))) == 0:
        return 0
    return int(client)


@kernel
def submit(engine: Engine, client: int, command: int) -> int:
    """Submit a command to PyBullet; return the handle of its status.

    Waiting for it takes the clock three times: a tenth of a cart-pole's step (measured).
    """
    if engine.is_direct:
        call(engine.submit, (client, command))
        return call(engine.process, (client,))
    return call(engine.submit_and_wait, (client, command))


@kernel
def read_settings(engine: Engine, client: int) -> bool:
    """Put the world's settings into the scratch, as :attr:`Engine.known` has them."""
    command = call(engine.settings_command, (client,))
    status = submit(engine, client, command)
    at = engine.scratch_address
    if low_half(call(engine.settings, (status, at + 64))) == 0:
        return False
    if engine.knows_stream:
        engine.status_place = status
    # b3PhysicsSimulationParameters: time step, time, gravity [3], substeps (32 bits), ...
    engine.scratch[0] = engine.scratch[8]
    for k in range(3):
        engine.scratch[1 + k] = engine.scratch[10 + k]
    engine.scratch[4] = low_half(engine.scratch[13])
    return True


@kernel
def is_as_known(engine: Engine, client: int) -> bool:
    """Tell whether the world's settings are those that were read last."""
    if not read_settings(engine, client):
        return False
    for k in range(5):  # noqa: SIM110  # kernels know no generators
        if engine.scratch[k] != engine.known[k]:
            return False
    return True


@kernel
def known_time_step(engine: Engine) -> float:
    """The world's time step as it was read last [s]."""
    return float(doubles_at(engine.known.ctypes.data, 1)[0])


@kernel
def change_time_step(engine: Engine, client: int, dt: float) -> None:
    """Let the engine make steps of ``dt`` seconds."""
    command = call(engine.change_settings_command, (client,))
    call(engine.set_time_step, (command, dt))
    submit(engine, client, command)


@kernel
def last_body(engine: Engine, client: int) -> int:
    """Count of the bodies, times 2^32, plus the id of the last one."""
    return int(_last(client, engine.body_count, engine.body_id))


@kernel
def last_constraint(engine: Engine, client: int) -> int:
    """Count of the constraints, times 2^32, plus the id of the last one."""
    return int(_last(client, engine.constraint_count, engine.constraint_id))


@kernel
def _last(client: int, count_of: int, id_of: int) -> int:
    count = low_half(call(count_of, (client,)))
    if count == 0:
        return 0
    return int((count << 32) + low_half(call(id_of, (client, count - 1))))


@kernel
def user_data(engine: Engine, client: int, number: int) -> int:
    """Address of a user datum's text, 0 without."""
    at = engine.scratch_address
    if low_half(call(engine.user_data, (client, number, at))) == 0:
        return 0
    return int(engine.scratch[1])


@kernel
def read_pose_only(engine: Engine, client: int, body: int, floats: FloatArray, pose: int) -> bool:
    """Take position and rotation [7] of a base from the engine."""
    slot = _read_base(engine, client, body)
    for k in range(7 if slot >= 0 else 0):
        floats[pose + k] = engine.base_state[slot, k]
    return slot >= 0


@kernel
def is_base_at(engine: Engine, client: int, body: int, floats: FloatArray, state: int) -> bool:
    """Tell whether a base has a position, a rotation and velocities [13], to the bit."""
    slot = _read_base(engine, client, body)
    for k in range(13 if slot >= 0 else 0):
        if floats[state + k] != engine.base_state[slot, k]:
            return False
    return slot >= 0


@kernel
def _read_base(engine: Engine, client: int, body: int) -> int:
    """Have the state of a base at its place of ``base_state``; the place, -1 without an answer."""
    slot = body % MOST_BASES
    if engine.base_body[slot] == body and engine.base_moment[slot] == engine.moment:
        return slot
    engine.base_moment[slot] = -1
    if not ask_state(engine, client, body):
        return -1
    pose, velocity = doubles_at(engine.scratch[0], 7), doubles_at(engine.scratch[1], 6)
    for k in range(7):
        engine.base_state[slot, k] = pose[k]
    for k in range(6):
        engine.base_state[slot, 7 + k] = velocity[k]
    engine.base_body[slot], engine.base_moment[slot] = body, engine.moment
    return slot


@kernel
def ask_state(engine: Engine, client: int, body: int) -> int:
    """Put the addresses of a body's coordinates, velocities and forces into the scratch.

    Returns:
        The status, 0 if the engine does not answer.
    """
    if engine.knows_stream and engine.status_place == 0 and not read_settings(engine, client):
        return 0
    command, status = call(engine.state_command, (client, body)), engine.status_place
    if status == 0:
        return int(_state_of(engine, client, command))
    call(engine.submit, (client, command))
    if low_half(call(engine.status, (status,))) != _STATE_COMPLETED:
        return 0
    for k in range(3):
        engine.scratch[k] = status + _STREAM + 8 * _COORDINATES * k
    return int(status)


@kernel
def ask_links(engine: Engine, client: int, body: int) -> int:
    """The same as :func:`ask_state`, with the states of links found anew."""
    command = call(engine.state_command, (client, body))
    call(engine.with_velocities, (command, 1))
    call(engine.with_kinematics, (command, 1))
    return int(_state_of(engine, client, command))


@kernel
def copy_link(
    engine: Engine, client: int, status: int, link: int, floats: FloatArray, state: int
) -> bool:
    """Take pose, velocity and spin [13] of a link's centre of mass from an answer.

    ``status``: what :func:`ask_links` returned.
    """
    here = engine.scratch_address + 64
    if low_half(call(engine.link_state, (client, status, link, here))) == 0:
        return False
    # A b3LinkState begins with the poses of the centre of mass, in the world and in the link, and
    # of the link's frame, 7 numbers each; velocity and spin follow.
    copy_floats(here, 7, floats, state)
    copy_floats(here + 8 * 21, 6, floats, state + 7)
    return True


@kernel
def change_friction(engine: Engine, client: int, body: int, link: int, friction: float) -> None:
    """Give a link another lateral friction."""
    command = call(engine.surface_command, (client,))
    call(engine.set_friction, (command, body, link, friction))
    submit(engine, client, command)


@kernel
def _state_of(engine: Engine, client: int, command: int) -> int:
    status = submit(engine, client, command)
    if low_half(call(engine.status, (status,))) != _STATE_COMPLETED:
        return 0
    at = engine.scratch_address
    call(engine.state, (status, 0, 0, 0, 0, at, at + 8, at + 16))
    if engine.is_direct and engine.scratch[0] - status == _CACHE:
        engine.knows_stream = 1
    return int(status)


@kernel
def _is_finite(address: int, count: int) -> bool:
    """Tell whether all of some floats in memory are finite."""
    total = 0.0
    numbers = doubles_at(address, count)
    for k in range(count):
        total += 0.0 * numbers[k]
    return total == 0.0


@kernel
def read_state(
    engine: Engine,
    client: int,
    plan: IntArray,
    body: Body,
    floats: FloatArray,
    work: FloatArray,
    motors: int,
) -> int:
    """Take base, joints and what their motors exert of a multibody from the engine: 0, or REFUSED.

    Where they are not finite: STATE_LOST, and the numbers of before are kept.
    """
    if not ask_state(engine, client, body.body_id):
        return REFUSED
    q, u = engine.scratch[0], engine.scratch[1]
    base = body.base
    if base >= 0 and not (_is_finite(q, 7) and _is_finite(u, 6)):
        return STATE_LOST
    for j in range(body.joint_count):
        joint = joint_at(plan, body.joints + JOINT_SIZE * j)
        if not _is_finite(q + 8 * joint.position_at, joint.positions):
            return STATE_LOST
        if not _is_finite(u + 8 * joint.velocity_at, joint.velocities):
            return STATE_LOST
    if base >= 0:
        copy_floats(q, 7, floats, base)
        copy_floats(u, 6, floats, base + 7)
        for k in range(13, body.base_size):
            floats[base + k] = 0.0
    for j in range(body.joint_count):
        joint = joint_at(plan, body.joints + JOINT_SIZE * j)
        here, count = joint.state, joint.positions
        copy_floats(q + 8 * joint.position_at, count, floats, here)
        copy_floats(u + 8 * joint.velocity_at, joint.velocities, floats, here + count)
    exerted = engine.scratch[2] + 8 * _MOTOR_FORCES
    for i in range(body.axis_count):
        copy_floats(exerted + 8 * plan[body.axes + i], 1, work, motors + i)
    return 0


@kernel
def find_contacts(engine: Engine, client: int) -> int:
    """Put count and address of the world's contacts into the scratch; the count, -1 on failure."""
    command = call(engine.contact_command, (client,))
    status = submit(engine, client, command)
    if low_half(call(engine.status, (status,))) != _CONTACTS_COMPLETED:
        return -1
    call(engine.contacts, (client, engine.scratch_address))
    engine.contact_total, engine.contact_points = low_half(engine.scratch[0]), engine.scratch[1]
    return int(engine.contact_total)


@kernel
def copy_point(address: int, rows: FloatArray, to: int) -> None:
    """A contact as ``contact_following`` has it.

    Points that do not press were not solved: PyBullet tells the friction of an earlier step.
    """
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
    if numbers[13] == 0.0:
        rows[to + 21], rows[to + 22] = 0.0, 0.0


@kernel
def read_dynamics(engine: Engine, client: int, body: int, link: int) -> int:
    """Address of mass, moments [3] and more of a link; 0 where there is none."""
    command = call(engine.dynamics_command, (client, body, link))
    status = submit(engine, client, command)
    if low_half(call(engine.status, (status,))) != _DYNAMICS_COMPLETED:
        return 0
    call(engine.dynamics, (status, engine.scratch_address))
    return engine.scratch_address


@kernel
def read_pose(
    engine: Engine, client: int, body: int, floats: FloatArray, pose: int, velocity: int
) -> bool:
    """Take position and rotation [7] and both velocities [6] of a base from the engine."""
    slot = _read_base(engine, client, body)
    if slot < 0:
        return False
    for k in range(7):
        floats[pose + k] = engine.base_state[slot, k]
    for k in range(6):
        floats[velocity + k] = engine.base_state[slot, 7 + k]
    return True


@kernel
def is_alone_in_box(engine: Engine, client: int, body: int, low: int, high: int) -> bool:
    """Tell whether no other body's box overlaps one; ``low`` and ``high``: addresses of its ends.

    The boxes are those of the engine, as of its last look for contacts.
    """
    submit(engine, client, call(engine.box_command, (client, low, high)))
    call(engine.box_contents, (client, engine.scratch_address))
    # b3AABBOverlapData: count (32 bits), address; of each its body and its link (32 bits).
    count, objects = low_half(engine.scratch[0]), engine.scratch[1]
    for k in range(count):  # noqa: SIM110  # kernels know no generators
        if low_half(words_at(objects + 8 * k, 1)[0]) != body:
            return False
    return True


MOST_RAYS = 256
"""``MAX_RAY_INTERSECTION_BATCH_SIZE``: what a command holds."""


@kernel
def begin_rays(engine: Engine, client: int) -> int:
    """Begin a cast of at most MOST_RAYS rays; the command for the functions below.

    Nothing else may be asked of the engine until they are cast: there is one place for commands.
    """
    return int(call(engine.ray_command, (client,)))


@kernel
def add_ray(engine: Engine, command: int, start: int, end: int) -> None:
    """Add a ray; ``start`` and ``end`` are the addresses of three numbers each."""
    call(engine.add_ray, (command, start, end))


@kernel
def cast_rays(engine: Engine, client: int, command: int) -> int:
    """Cast the rays; the address of their hits, which :func:`is_hit` takes."""
    submit(engine, client, command)
    call(engine.ray_hits, (client, engine.scratch_address))
    # b3RaycastInformation: count (32 bits), address.
    return int(engine.scratch[1])


@kernel
def is_hit(hits: int, ray: int) -> bool:
    """Tell whether a ray hit anything."""
    # b3RayHitInfo: 8 words, the second of which holds the body, -1 for none, and the link.
    return bool(low_half(words_at(hits + 64 * ray, 2)[1]) >= 0)


@kernel
def make_step(engine: Engine, client: int) -> bool:
    """``stepSimulation``."""
    engine.moment += 1
    status = submit(engine, client, call(engine.step_command, (client,)))
    return low_half(call(engine.status, (status,))) == _STEP_COMPLETED
