"""Energy from nowhere is taken back: what keeps a fall of limbs from exploding.

Forces are found for contacts as they are foreseen. Where they come about otherwise, the impulse of
a stop may have thrown a light limb aside, and the next one throws it further (measured: 6 of 24
ragdolls dropped at 60 Hz ended as NaN). The balance of work tells: known forces, drives, soft
limits and bodies that move may add energy, hard limits and what stands still may not.
"""

from __future__ import annotations

import math

from gltf_bullet.solver import arena
from gltf_bullet.solver.arena import (
    ANCHOR,
    FLOATING,
    LINK_MASS,
    LINK_SIZE,
    POSE_COM,
    POSE_SIZE,
    REVOLUTE,
    SPHERICAL,
)
from gltf_bullet.solver.compiling import kernel
from gltf_bullet.solver.tree_dynamics import recoil_of_bases
from gltf_bullet.solver.tree_kinematics import move_frames
from gltf_bullet.transforms import FloatArray, IntArray

MISS = 0.1
"""[m/s, rad/s] and share of a velocity, by which a step may end otherwise than its solve foresaw
and still be trusted."""

SEVERE_MISS = 0.5
"""The same, beyond which the balance of work is kept for a while: driving cars stay below."""

MOTOR_MISS = 2.0
"""The same, beyond which the engine's velocity motors take the place of torques. With less, an arm
that carries a load at its stop goes to and fro between the two (measured at 0.1)."""

TRUST_TIME = 0.1
"""[s] For how long the balance of work is kept after a mispredicted step: an impact of many limbs
takes some steps."""

TOLERANCE = 0.05
"""Share of its energy that an articulation may gain from nowhere meanwhile, all steps together."""

RUNAWAY = 1.1
"""Times the energy that it may have, beyond which an articulation is held to it even where the
step went as foreseen: the explicit step itself is too long for it (measured: a rope of 20 at 60 Hz,
whose end reached 47 km/s; a ragdoll in flight, an arm of it at 21 rad/s, had 10 to 20 % more in
each step, and two of 200 heaps gained by it)."""

AT_REST = 0.1
"""[m/s] What moves slower on the whole may: contacts that part bodies lift them, which is work from
nowhere as well (measured: a ragdoll on the floor stood still for 18 steps after each restore)."""

PUSH = 3.0
"""Times what contacts did otherwise than foreseen, from which on the rest is a push of others (with
0.5 one heap of five ragdolls in twelve gained half of its energy at 60 Hz)."""

WHIP = 1.5
"""Times the speed of the fastest body, and of what it hits, that an impact may give to any, beyond
what drives do. Ragdolls that fall at 6.3 m/s have no limb faster than 9.6 m/s at 960 Hz; at 60 Hz
one in sixty had one at 26 to 32 m/s, without (measured)."""

SLOW = 2.0
"""[m/s] Slower ones it may give."""

LIVELY = 0.3
"""[rad] per step that its fastest joint turns then at least."""

FOLLOWED = 1.0
"""[rad] A joint that turns further in a step cannot be followed by the engine: a ragdoll at
91 rad/s and 60 Hz was at 2642 rad/s a step later, without any force (measured)."""


@kernel
def kinetic_energy(ints: IntArray, work: FloatArray, a: int) -> float:
    """Of an articulation as it moves now [J]."""
    n, mass = ints[a + arena.DOF_COUNT], ints[a + arena.MASS]
    velocity, total = ints[a + arena.VELOCITY], 0.0
    for i in range(n):
        momentum = 0.0
        for k in range(n):
            momentum += work[mass + n * i + k] * work[velocity + k]
        total += 0.5 * momentum * work[velocity + i]
    return total


@kernel
def notice_misses(ints: IntArray, floats: FloatArray, work: FloatArray, a: int) -> None:
    """Notice where the last step went otherwise than foreseen."""
    n, last_dt = ints[a + arena.DOF_COUNT], floats[ints[a + arena.LAST_DT]]
    velocity, expected = ints[a + arena.VELOCITY], ints[a + arena.EXPECTED]
    mistrust = ints[a + arena.MISTRUST]
    ints[a + arena.MISPREDICTED], ints[a + arena.MOTORS] = 0, 0
    if last_dt > 0.0:
        floats[mistrust] = max(0.0, floats[mistrust] - last_dt)
        for i in range(n):
            speed = abs(work[velocity + i])
            miss = abs(work[velocity + i] - floats[expected + i])
            if not miss <= MISS * (1.0 + speed):
                ints[a + arena.MISPREDICTED] = 1
            if not miss <= SEVERE_MISS * (1.0 + speed):
                floats[mistrust] = TRUST_TIME
            if not miss <= MOTOR_MISS * (1.0 + speed):
                ints[a + arena.MOTORS] = 1


@kernel
def judge_step(ints: IntArray, floats: FloatArray, work: FloatArray, a: int, dt: float) -> None:
    """Slow down what the last step threw, after :func:`notice_misses`."""
    n, last_dt = ints[a + arena.DOF_COUNT], floats[ints[a + arena.LAST_DT]]
    velocity, mistrust = ints[a + arena.VELOCITY], ints[a + arena.MISTRUST]
    before, ledger = ints[a + arena.LAST_VELOCITY], ints[a + arena.LAST_ENERGY]
    ints[a + arena.SLOWED] = 0
    energy = kinetic_energy(ints, work, a)
    gain, effort, inner = _work_done(ints, floats, work, a, last_dt)
    pushed = _work_of_others(ints, floats, work, a, last_dt)
    gain += pushed
    allowed = min(energy, max(floats[ledger] + gain, 0.5 * _mass(ints, floats, a) * AT_REST**2))
    # A stop that lets something in gives it energy, but little speed.
    is_lively = _fastest_turn(ints, work, a) * last_dt > LIVELY
    if is_lively and energy > RUNAWAY * allowed + effort:
        floats[mistrust] = TRUST_TIME
    if floats[mistrust] > 0.0 and not ints[arena.CUTS]:
        if _limit_joints(ints, work, a, FOLLOWED / dt):
            energy = kinetic_energy(ints, work, a)
            ints[a + arena.SLOWED] = 1
        if _hold_back(ints, floats, work, a, max(inner + pushed, 0.0)):
            energy = kinetic_energy(ints, work, a)
            ints[a + arena.SLOWED] = 1
        factor = 1.0
        if energy > (1.0 + TOLERANCE) * allowed + 1e-9:
            factor = slow_joints(ints, work, a, energy, allowed)
            ints[a + arena.SLOWED] = 1
        if ints[a + arena.SLOWED]:
            scale_velocities(ints, floats, work, a, factor)
        energy = min(energy, allowed)
    floats[ledger] = energy
    for i in range(n):
        floats[before + i] = work[velocity + i]


@kernel
def _work_done(
    ints: IntArray, floats: FloatArray, work: FloatArray, a: int, last_dt: float
) -> tuple[float, float, float]:
    """Of the forces that may add energy, in the last step [J]: their sum, and that of the sizes.

    Last what joints do of themselves: what falls does that with its base.

    A spring or a damper that is outrun pushes less, which the engine does not know: what it may add
    is what its law would have (measured: a wheel that an impact spun up took a quarter of a car's
    energy from its motor in one step).

    Where a joint turns further than a step can follow it, forces and velocities of the end are
    those of two different places (measured: weight at a forearm of 160 rad/s "did" 535 J, a
    ragdoll that fell at 60 Hz ended with 1.2 times its energy): the velocities of before count.
    """
    velocity, before = ints[a + arena.VELOCITY], ints[a + arena.LAST_VELOCITY]
    gain, effort, inner = 0.0, 0.0, 0.0
    share = 0.5 if _fastest_turn(ints, work, a) * last_dt <= FOLLOWED else 0.0
    for i in range(ints[a + arena.DOF_COUNT]):
        way = last_dt * ((1.0 - share) * floats[before + i] + share * work[velocity + i])
        own = floats[ints[a + arena.LEGITIMATE] + i] + floats[ints[a + arena.MOTOR_CHANGE] + i]
        own *= way
        moved = way * work[ints[a + arena.MOVING_FORCE] + i]
        giving = floats[ints[a + arena.GIVING] + i]
        outrun = work[velocity + i] - floats[ints[a + arena.EXPECTED] + i]
        given = way * giving
        if given > 0.0:
            lawful = way * (giving - floats[ints[a + arena.GIVING_RATE] + i] * outrun)
            given = min(given, max(lawful, 0.0))
        gain += own + moved + given
        effort += abs(own) + abs(moved) + abs(given)
        if not ints[ints[a + arena.IS_BASE_DOF] + i]:
            inner += own + given
    return gain, effort, inner


@kernel
def _work_of_others(
    ints: IntArray, floats: FloatArray, work: FloatArray, a: int, last_dt: float
) -> float:
    """Of a push that nobody announced, in the last step [J], where it is believed to be one.

    An impact that came out otherwise than foreseen is told by its contacts; what the momentum has
    beyond them, and more of it, is somebody's push (measured: all of one was taken back from a
    robot at rest). Where a joint turns further than a step can follow it may be anything.
    """
    if _fastest_turn(ints, work, a) * last_dt > FOLLOWED:
        return 0.0
    n, mass, done = ints[a + arena.DOF_COUNT], ints[a + arena.MASS], 0.0
    pushed, touched = 0.0, 0.0
    for i in range(n):
        push = work[ints[a + arena.SURPRISE] + i]
        contact = work[ints[a + arena.CONTACT_FORCE] + i] - floats[ints[a + arena.TOUCHED] + i]
        inertia = max(work[mass + (n + 1) * i], 1e-30)
        pushed += push * push / inertia
        touched += contact * contact / inertia
        velocity = floats[ints[a + arena.LAST_VELOCITY] + i] + work[ints[a + arena.VELOCITY] + i]
        done += 0.5 * last_dt * velocity * push
    return max(done, 0.0) if pushed > PUSH * PUSH * touched else 0.0


@kernel
def _mass(ints: IntArray, floats: FloatArray, a: int) -> float:
    """Of all bodies [kg]."""
    total = 0.0
    for f in range(ints[a + arena.FRAME_COUNT]):
        total += floats[ints[a + arena.LINK] + LINK_SIZE * f + LINK_MASS]
    return total


@kernel
def _fastest_turn(ints: IntArray, work: FloatArray, a: int) -> float:
    """Of all joints [rad/s]."""
    velocity, fastest = ints[a + arena.VELOCITY], 0.0
    for f in range(ints[a + arena.FRAME_COUNT]):
        joint = ints[ints[a + arena.FRAME_JOINT] + f]
        dof = ints[ints[a + arena.FRAME_FIRST_DOF] + f]
        if joint == REVOLUTE or joint == SPHERICAL:
            for k in range(velocity + dof, velocity + dof + (1 if joint == REVOLUTE else 3)):
                fastest = max(fastest, abs(work[k]))
    return fastest


@kernel
def _limit_joints(ints: IntArray, work: FloatArray, a: int, limit: float) -> bool:
    """Let no joint turn faster than a step can follow [rad/s]; whether one did.

    Bases take up what momentum that is: of a limb that is one, the joint is not slowed down at the
    cost of all others.
    """
    n, velocity, slower = ints[a + arena.DOF_COUNT], ints[a + arena.VELOCITY], ints[a + arena.AHEAD]
    found = False
    for i in range(n):
        work[slower + i] = work[velocity + i]
    for f in range(ints[a + arena.FRAME_COUNT]):
        joint = ints[ints[a + arena.FRAME_JOINT] + f]
        dof = ints[ints[a + arena.FRAME_FIRST_DOF] + f]
        if joint == REVOLUTE or joint == SPHERICAL:
            for k in range(slower + dof, slower + dof + (1 if joint == REVOLUTE else 3)):
                if abs(work[k]) > limit:
                    ints[a + arena.LIMITED] = f + 1
                    work[k] = limit if work[k] > 0.0 else -limit
                    found = True
    if not found:
        return False
    for i in range(n):
        # What the joints lose.
        work[velocity + i] -= work[slower + i]
    _find_recoil(ints, work, a)
    base = ints[a + arena.BASE_MASS]
    for i in range(n):
        work[velocity + i] = work[slower + i]
        if ints[ints[a + arena.IS_BASE_DOF] + i]:
            work[velocity + i] += work[base]
            base += 1
    return True


@kernel
def _hold_back(ints: IntArray, floats: FloatArray, work: FloatArray, a: int, gain: float) -> bool:
    """Let no body leave an impact much faster than the fastest came.

    ``gain`` [J] is the work that joints had: it may have gone into any of them.
    """
    n, velocity, slower = ints[a + arena.DOF_COUNT], ints[a + arena.VELOCITY], ints[a + arena.AHEAD]
    known = floats[ints[a + arena.FASTEST]] + work[ints[a + arena.PUSHED_BY]]
    known = max(SLOW, WHIP * known)
    factor = 1.0
    for i in range(n):
        work[slower + i] = work[velocity + i]
    while _fastest_square(ints, floats, work, a, slower, 2.0 * gain) > known * known:
        if factor == 1.0:
            _find_recoil(ints, work, a)
        if factor < 0.01:
            return False  # The whole is that fast.
        factor *= 0.9
        _scale_joints(ints, work, a, factor, slower)
    if factor == 1.0:
        return False
    for i in range(n):
        work[velocity + i] = work[slower + i]
    return True


@kernel
def _find_recoil(ints: IntArray, work: FloatArray, a: int) -> None:
    """See :func:`recoil_of_bases`; kept where frames that are moved leave it alone."""
    recoil_of_bases(ints, work, a)
    for k in range(ints[a + arena.BASE_DOF_COUNT]):
        recoil = work[ints[a + arena.SCRATCH] + ints[a + arena.DOF_COUNT] + k]
        work[ints[a + arena.BASE_MASS] + k] = recoil


@kernel
def _scale_joints(ints: IntArray, work: FloatArray, a: int, factor: float, target: int) -> None:
    """Velocities with that share of the joints' speeds and all momentum, after _find_recoil.

    A base may be the lightest of limbs: were its velocity kept, that of the whole would change, or
    nothing could be done about the limb (measured: 35 m/s after a fall of 7).
    """
    velocity, base = ints[a + arena.VELOCITY], ints[a + arena.BASE_MASS]
    for i in range(ints[a + arena.DOF_COUNT]):
        if ints[ints[a + arena.IS_BASE_DOF] + i]:
            work[target + i] = work[velocity + i] + (1.0 - factor) * work[base]
            base += 1
        else:
            work[target + i] = factor * work[velocity + i]


@kernel
def slow_joints(ints: IntArray, work: FloatArray, a: int, energy: float, allowed: float) -> float:
    """Bring an energy [J] down to what is allowed, by the joints' speeds as far as they have it.

    The momentum stays. Returns the share of all velocities that is left to be taken.
    """
    velocity, ahead = ints[a + arena.VELOCITY], ints[a + arena.AHEAD]
    _find_recoil(ints, work, a)
    _scale_joints(ints, work, a, 0.0, ahead)
    for i in range(ints[a + arena.DOF_COUNT]):
        speed = work[velocity + i]
        work[velocity + i], work[ahead + i] = work[ahead + i], speed
    whole = kinetic_energy(ints, work, a)
    if whole >= allowed:
        return math.sqrt(allowed / whole) if whole > 0.0 else 0.0
    for i in range(ints[a + arena.DOF_COUNT]):
        work[velocity + i] = work[ahead + i]
    # What joints add to the motion of the whole has no share of its momentum: energies add up.
    share = math.sqrt((allowed - whole) / max(energy - whole, 1e-30))
    _scale_joints(ints, work, a, min(share, 1.0), velocity)
    return 1.0


@kernel
def note_speed(ints: IntArray, floats: FloatArray, work: FloatArray, a: int) -> None:
    """Remember how fast an articulation is in a step that begins."""
    twist = ints[a + arena.TWIST]
    floats[ints[a + arena.FASTEST]] = math.sqrt(square_of_speed(ints, floats, work, a, twist, 0.0))


@kernel
def _fastest_square(
    ints: IntArray, floats: FloatArray, work: FloatArray, a: int, velocity: int, given: float
) -> float:
    """Of the speeds of all centres of mass [m^2/s^2], less what an energy [J] twice makes of it."""
    twist = ints[a + arena.TWIST_MEAN]
    move_frames(ints, floats, work, a, velocity, twist)
    return float(square_of_speed(ints, floats, work, a, twist, given))


@kernel
def square_of_speed(
    ints: IntArray, floats: FloatArray, work: FloatArray, a: int, twist: int, given: float
) -> float:
    """The same of twists that are known."""
    fastest = 0.0
    for f in range(ints[a + arena.FRAME_COUNT]):
        mass = floats[ints[a + arena.LINK] + LINK_SIZE * f + LINK_MASS]
        if mass <= 0.0:
            continue
        t, c = twist + 6 * f, ints[a + arena.POSE] + POSE_SIZE * f + POSE_COM
        x = work[t + 3] + work[t + 1] * work[c + 2] - work[t + 2] * work[c + 1]
        y = work[t + 4] + work[t + 2] * work[c] - work[t] * work[c + 2]
        z = work[t + 5] + work[t] * work[c + 1] - work[t + 1] * work[c]
        fastest = max(fastest, x * x + y * y + z * z - given / mass)
    return fastest


@kernel
def scale_velocities(
    ints: IntArray, floats: FloatArray, work: FloatArray, a: int, factor: float
) -> None:
    """Scale all velocities."""
    velocity = ints[a + arena.VELOCITY]
    for f in range(ints[a + arena.FRAME_COUNT]):
        dof, joint = (
            ints[ints[a + arena.FRAME_FIRST_DOF] + f],
            ints[ints[a + arena.FRAME_JOINT] + f],
        )
        if dof < 0 or joint == ANCHOR:
            continue
        state = ints[ints[a + arena.FRAME_STATE] + f]
        size, start = 1, state + 1
        if joint == SPHERICAL:
            size, start = 3, state + 4
        elif joint == FLOATING:
            size, start = 6, state + 7
        for k in range(size):
            speed = factor * work[velocity + dof + k]
            work[velocity + dof + k] = speed
            floats[start + k] = speed
    move_frames(ints, floats, work, a, velocity, ints[a + arena.TWIST])
