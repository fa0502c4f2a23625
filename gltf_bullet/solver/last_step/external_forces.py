"""External forces, estimated by the balance of momentum.

With an implicit law a force that the solve does not know of moves the rest pose of a drive
(measured: 0.265 rad instead of 0.100 at 60 Hz for 50 N on a lever). What changed the momentum in
the last step and is not accounted for is an external force, and is assumed to act in the
coming step too, as far as it lasts: an impact is over by then.
"""

from __future__ import annotations

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import POSE, Articulation, articulation_at, scene_at
from gltf_bullet.solver.islands import CONTACT, POINT_CONSTRAINT_MARK, SIDE, islands_at
from gltf_bullet.solver.row_metrics import add_path
from gltf_bullet.transforms import FloatArray, IntArray

PUSH = 3.0
"""Least external force, in multiples of the contacts' deviation from their prediction."""

NOTICED = 1e-3
"""[m/s, rad/s] That a push must have given to be one."""

PERSISTENCE = 0.3
"""Share of a push by which the next part may differ, where it goes on by itself."""

AGREEMENT = 0.1
"""Share by which a load may change from step to step, and be believed, while contacts turn out
otherwise than foreseen."""


@kernel
def last_engine_step(ints: IntArray, floats: FloatArray, dt: float) -> float:
    """Seconds of the last engine step, before one of ``dt`` seconds; as long, where none is known.

    PyBullet tells forces of contacts as impulse by *present* time step, whatever the step was that
    they acted in: where the user has changed the time step that is another one.
    """
    scene = scene_at(ints, 0)
    for k in range(scene.articulation_count):
        articulation = articulation_at(ints, ints[scene.articulations + k])
        if articulation.participation == 1 and floats[articulation.last_dt] > 0.0:
            return float(floats[articulation.last_dt])
    return dt


@kernel
def add_contact_forces(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    index: IntArray,
    values: FloatArray,
    number: int,
    contacts: int,
    dt: float,
) -> None:
    """Generalized forces of the engine's contacts in the last step on a scene's articulations."""
    scene = scene_at(ints, 0)
    islands = islands_at(index, 0)
    for k in range(scene.articulation_count):
        articulation = articulation_at(ints, ints[scene.articulations + k])
        for i in range(articulation.dof_count):
            work[articulation.measured_contact_force + i] = 0.0
    last_dt = last_engine_step(ints, floats, dt)
    share, since = dt / last_dt, last_dt / max(scene.substeps, 1)
    for c in range(contacts):
        contact = islands.contact + CONTACT.size * c
        if values[contact + CONTACT.distance] <= -POINT_CONSTRAINT_MARK:
            continue
        for which in range(2):
            side = islands.contact_sides + SIDE.size * (2 * c + which)
            if index[side + SIDE.scene] != number:
                continue
            articulation = articulation_at(ints, index[side + SIDE.record])
            sign = 1.0 if which == 0 else -1.0
            wrench, reference = articulation.scratch, articulation.reference_point
            for k in range(3):
                work[wrench + 3 + k] = 0.0
                for i in range(3):
                    force = share * values[contact + CONTACT.forces + i]
                    direction = contact + CONTACT.directions + 3 * i
                    work[wrench + 3 + k] += force * values[direction + k]
            # The contact was where it is before the step moved the body: it is carried along, so
            # that its lever arm is the one of then (a wheel at 4 m/s and 60 Hz moves by 67 mm).
            frame, arm = index[side + SIDE.frame], wrench + 6
            twist = articulation.twist + 6 * frame
            com = articulation.pose + POSE.size * frame + POSE.com
            for k in range(3):
                p, q = (k + 1) % 3, (k + 2) % 3
                middle = 0.5 * (
                    values[contact + CONTACT.position + k] + values[contact + CONTACT.other + k]
                )
                speed = (
                    work[twist + 3 + k]
                    + work[twist + p] * work[com + q]
                    - work[twist + q] * work[com + p]
                )
                work[arm + k] = middle + since * speed - work[reference + k]
            for k in range(3):
                p, q = (k + 1) % 3, (k + 2) % 3
                force = work[wrench + 3 + q]
                work[wrench + k] = work[arm + p] * force - work[arm + q] * work[wrench + 3 + p]
            add_path(
                ints, work, articulation, frame, wrench, sign, articulation.measured_contact_force
            )


@kernel
def estimate_external_force(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation
) -> None:
    """Estimate the external generalized force from the velocities after the last engine step.

    With the masses that the step began with, as the engine reckons: those of now make loads out of
    its turn, and each load a larger one (measured: a ball of 1 cm and 1 kg on a soft joint 1 m away
    left at 10^5 m/s).

    The engine forgets what it is given by ``applyExternalForce`` after each step of its own. So
    what acted in the first part of a divided step, and does not last by itself, is given to the
    other parts again, and is expected in the first part of the next step.
    """
    scene = scene_at(ints, 0)
    n, last_dt = articulation.dof_count, floats[articulation.last_dt]
    estimated, lasting = articulation.external_force, articulation.lasting_force
    first, pulse = articulation.first_force, articulation.external_pulse
    # Constraints of the engine that close loops exert forces that are not reported.
    if last_dt <= 0.0 or articulation.closure_count or scene.cut_count:
        return
    # Contacts are read of who has limits or drives: those of others would pass for pushes, which
    # the next parts would give again.
    if scene.part == 1:
        is_pulse = articulation.row_count > 0 and _is_push(ints, floats, work, articulation)
        for i in range(n):
            raw = _momentum_residual(floats, work, articulation, i, last_dt)
            floats[first + i] = raw if is_pulse else 0.0
            floats[pulse + i] = raw - floats[lasting + i] if is_pulse else 0.0
            if is_pulse:
                floats[estimated + i] = floats[lasting + i]
        if is_pulse:
            return
    elif _is_repeated(ints, floats, work, articulation):
        # It goes on by itself.
        for i in range(n):
            raw = _momentum_residual(floats, work, articulation, i, last_dt)
            floats[lasting + i], floats[articulation.momentum_residual + i] = raw, raw
            floats[estimated + i], floats[first + i], floats[pulse + i] = raw, 0.0, 0.0
        return
    _estimate_lasting(floats, work, articulation)
    for i in range(n):
        floats[estimated + i] = floats[lasting + i]
        if scene.part == 0 and floats[first + i] != 0.0:
            floats[estimated + i] = floats[first + i]


@kernel
def _estimate_lasting(floats: FloatArray, work: FloatArray, articulation: Articulation) -> None:
    """Believe what acted in the last engine step as far as it acted in the one before, too."""
    n, last_dt = articulation.dof_count, floats[articulation.last_dt]
    found, predicted = articulation.measured_contact_force, articulation.predicted_contact_force
    unsteady = False
    if articulation.mispredicted:
        for i in range(n):
            if work[found + i] != 0.0 or floats[predicted + i] != 0.0:
                unsteady = True
    for i in range(n):
        raw = _momentum_residual(floats, work, articulation, i, last_dt)
        before = floats[articulation.momentum_residual + i]
        floats[articulation.momentum_residual + i] = raw
        believed = 0.0
        if raw * before > 0.0:
            believed = raw if abs(raw) < abs(before) else before
        if unsteady and abs(raw - before) > AGREEMENT * abs(raw):
            # Contacts that come and go scatter by far more than any load.
            believed = 0.0
        floats[articulation.lasting_force + i] = believed


@kernel
def _momentum_residual(
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    i: int,
    last_dt: float,
) -> float:
    """Force that explains the velocity after the last engine step, of one degree of freedom."""
    n, mass = articulation.dof_count, articulation.last_mass
    velocity, expected = articulation.velocity, articulation.expected_velocity
    change = 0.0
    for k in range(n):
        change += floats[mass + n * i + k] * (work[velocity + k] - floats[expected + k])
    raw = floats[articulation.external_force + i] + change / last_dt
    raw -= (
        work[articulation.measured_contact_force + i]
        - floats[articulation.predicted_contact_force + i]
    )
    return float(raw - floats[articulation.external_motor_change + i])


@kernel
def _counts(ints: IntArray, articulation: Articulation, i: int) -> bool:
    """Tell whether a velocity counts in a push: what limbs do to each other cancels."""
    return bool(articulation.base_dof_count == 0 or ints[articulation.is_base_dof + i])


@kernel
def _is_push(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation
) -> bool:
    """Tell whether something other than contacts pushed in the first part of a step."""
    pushed, other, fastest = 0.0, 0.0, 0.0
    last_dt = floats[articulation.last_dt]
    for i in range(articulation.dof_count):
        if not _counts(ints, articulation, i):
            continue
        inertia = _inertia_of(floats, articulation, i)
        push = _momentum_residual(floats, work, articulation, i, last_dt)
        push -= floats[articulation.lasting_force + i]
        contact = (
            work[articulation.measured_contact_force + i]
            - floats[articulation.predicted_contact_force + i]
        )
        pushed += push * push / inertia
        other += contact * contact / inertia
        fastest = max(fastest, abs(push) / inertia * last_dt)
    return fastest > NOTICED and pushed > PUSH * PUSH * other


@kernel
def _is_repeated(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation
) -> bool:
    """Tell whether what is given again acted by itself as well, in the last part."""
    pushed, told = 0.0, 0.0
    for i in range(articulation.dof_count):
        pulse = floats[articulation.external_pulse + i]
        if pulse == 0.0 or not _counts(ints, articulation, i):
            continue
        inertia = _inertia_of(floats, articulation, i)
        last_dt = floats[articulation.last_dt]
        push = _momentum_residual(floats, work, articulation, i, last_dt)
        push -= floats[articulation.lasting_force + i]
        pushed += pulse * pulse / inertia
        told += (push - pulse) * (push - pulse) / inertia
    return pushed > 0.0 and told < PERSISTENCE * PERSISTENCE * pushed


@kernel
def _inertia_of(floats: FloatArray, articulation: Articulation, i: int) -> float:
    at = articulation.last_mass + (articulation.dof_count + 1) * i
    return float(max(floats[at], 1e-30))
