"""External forces, estimated by the balance of momentum.

With an implicit law a force that the solve does not know of moves the rest pose of a drive
(measured: 0.265 rad instead of 0.100 at 60 Hz for 50 N on a lever). What changed the momentum in
the last step and is not accounted for is an external force, and is assumed to act in the
coming step too, as far as it lasts: an impact is over by then.
"""

from __future__ import annotations

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import (
    POSE,
    Articulation,
    SceneHeader,
    articulation_in,
    articulation_of,
    scene_around,
)
from gltf_bullet.solver.islands import CONTACT, POINT_CONSTRAINT_MARK, SIDE, Islands
from gltf_bullet.solver.row_metrics import add_path

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
def last_engine_step(scene: SceneHeader, dt: float) -> float:
    """Seconds of the last engine step, before one of ``dt`` seconds; as long, where none is known.

    PyBullet tells forces of contacts as impulse by *present* time step, whatever the step was that
    they acted in: where the user has changed the time step that is another one.
    """
    for k in range(scene.articulation_count):
        a = articulation_of(scene, k)
        if a.participation == 1 and a.last_dt[0] > 0.0:
            return float(a.last_dt[0])
    return dt


@kernel
def add_contact_forces(
    scene: SceneHeader, islands: Islands, number: int, contacts: int, dt: float
) -> None:
    """Generalized forces of the engine's contacts in the last step on a scene's articulations.

    Sets ``measured_contact_force``.
    """
    for k in range(scene.articulation_count):
        a = articulation_of(scene, k)
        for i in range(a.dof_count):
            a.measured_contact_force[i] = 0.0
    last_dt = last_engine_step(scene, dt)
    share, since = dt / last_dt, last_dt / max(scene.substeps, 1)
    for c in range(contacts):
        contact = islands.contact[c]
        if contact[CONTACT.distance] <= -POINT_CONSTRAINT_MARK:
            continue
        for which in range(2):
            side = islands.contact_sides[c, SIDE.size * which :]
            if side[SIDE.scene] != number:
                continue
            a = articulation_in(scene, side[SIDE.record])
            sign = 1.0 if which == 0 else -1.0
            wrench, reference = a.scratch, a.reference_point
            for k in range(3):
                wrench[3 + k] = 0.0
                for i in range(3):
                    force = share * contact[CONTACT.forces + i]
                    direction = contact[CONTACT.directions + 3 * i :]
                    wrench[3 + k] += force * direction[k]
            # The contact was where it is before the step moved the body: it is carried along, so
            # that its lever arm is the one of then (a wheel at 4 m/s and 60 Hz moves by 67 mm).
            frame, arm = side[SIDE.frame], wrench[6:]
            twist = a.twist[frame]
            com = a.pose[frame, POSE.com :]
            for k in range(3):
                p, q = (k + 1) % 3, (k + 2) % 3
                middle = 0.5 * (contact[CONTACT.position + k] + contact[CONTACT.other + k])
                speed = twist[3 + k] + twist[p] * com[q] - twist[q] * com[p]
                arm[k] = middle + since * speed - reference[k]
            for k in range(3):
                p, q = (k + 1) % 3, (k + 2) % 3
                force = wrench[3 + q]
                wrench[k] = arm[p] * force - arm[q] * wrench[3 + p]
            add_path(a, frame, wrench, sign, a.measured_contact_force)


@kernel
def estimate_external_force(a: Articulation) -> None:
    """Estimate the external generalized force from the velocities after the last engine step.

    With the masses that the step began with, as the engine reckons: those of now make loads out of
    its turn, and each load a larger one (measured: a ball of 1 cm and 1 kg on a soft joint 1 m away
    left at 10^5 m/s).

    The engine forgets what it is given by ``applyExternalForce`` after each step of its own. So
    what acted in the first part of a divided step, and does not last by itself, is given to the
    other parts again, and is expected in the first part of the next step.

    Sets ``external_force``, ``lasting_force``, ``momentum_residual``, ``first_force`` and
    ``external_pulse``.
    """
    scene = scene_around(a)
    n, last_dt = a.dof_count, a.last_dt[0]
    estimated, lasting = a.external_force, a.lasting_force
    first, pulse = a.first_force, a.external_pulse
    # Constraints of the engine that close loops exert forces that are not reported.
    if last_dt <= 0.0 or a.closure_count or scene.cut_count:
        return
    # Contacts are read of who has limits or drives: those of others would pass for pushes, which
    # the next parts would give again.
    if scene.part == 1:
        is_pulse = a.row_count > 0 and _is_push(a)
        for i in range(n):
            raw = _momentum_residual(a, i, last_dt)
            first[i] = raw if is_pulse else 0.0
            pulse[i] = raw - lasting[i] if is_pulse else 0.0
            if is_pulse:
                estimated[i] = lasting[i]
        if is_pulse:
            return
    elif _is_repeated(a):
        # It goes on by itself.
        for i in range(n):
            raw = _momentum_residual(a, i, last_dt)
            lasting[i], a.momentum_residual[i] = raw, raw
            estimated[i], first[i], pulse[i] = raw, 0.0, 0.0
        return
    _estimate_lasting(a)
    for i in range(n):
        estimated[i] = lasting[i]
        if scene.part == 0 and first[i] != 0.0:
            estimated[i] = first[i]


@kernel
def _estimate_lasting(a: Articulation) -> None:
    """Believe what acted in the last engine step as far as it acted in the one before, too."""
    n, last_dt = a.dof_count, a.last_dt[0]
    found, predicted = a.measured_contact_force, a.predicted_contact_force
    unsteady = False
    if a.mispredicted:
        for i in range(n):
            if found[i] != 0.0 or predicted[i] != 0.0:
                unsteady = True
    for i in range(n):
        raw = _momentum_residual(a, i, last_dt)
        before = a.momentum_residual[i]
        a.momentum_residual[i] = raw
        believed = 0.0
        if raw * before > 0.0:
            believed = raw if abs(raw) < abs(before) else before
        if unsteady and abs(raw - before) > AGREEMENT * abs(raw):
            # Contacts that come and go scatter by far more than any load.
            believed = 0.0
        a.lasting_force[i] = believed


@kernel
def _momentum_residual(a: Articulation, i: int, last_dt: float) -> float:
    """Force that explains the velocity after the last engine step, of one degree of freedom."""
    n, mass = a.dof_count, a.last_mass
    velocity, expected = a.velocity, a.expected_velocity
    change = 0.0
    for k in range(n):
        change += mass[i, k] * (velocity[k] - expected[k])
    raw = a.external_force[i] + change / last_dt
    raw -= a.measured_contact_force[i] - a.predicted_contact_force[i]
    return float(raw - a.external_motor_change[i])


@kernel
def _counts(a: Articulation, i: int) -> bool:
    """Tell whether a velocity counts in a push: what limbs do to each other cancels."""
    return bool(a.base_dof_count == 0 or a.is_base_dof[i])


@kernel
def _is_push(a: Articulation) -> bool:
    """Tell whether something other than contacts pushed in the first part of a step."""
    pushed, other, fastest = 0.0, 0.0, 0.0
    last_dt = a.last_dt[0]
    for i in range(a.dof_count):
        if not _counts(a, i):
            continue
        inertia = _inertia_of(a, i)
        push = _momentum_residual(a, i, last_dt)
        push -= a.lasting_force[i]
        contact = a.measured_contact_force[i] - a.predicted_contact_force[i]
        pushed += push * push / inertia
        other += contact * contact / inertia
        fastest = max(fastest, abs(push) / inertia * last_dt)
    return fastest > NOTICED and pushed > PUSH * PUSH * other


@kernel
def _is_repeated(a: Articulation) -> bool:
    """Tell whether what is given again acted by itself as well, in the last part."""
    pushed, told = 0.0, 0.0
    for i in range(a.dof_count):
        pulse = a.external_pulse[i]
        if pulse == 0.0 or not _counts(a, i):
            continue
        inertia = _inertia_of(a, i)
        last_dt = a.last_dt[0]
        push = _momentum_residual(a, i, last_dt)
        push -= a.lasting_force[i]
        pushed += pulse * pulse / inertia
        told += (push - pulse) * (push - pulse) / inertia
    return pushed > 0.0 and told < PERSISTENCE * PERSISTENCE * pushed


@kernel
def _inertia_of(a: Articulation, i: int) -> float:
    return float(max(a.last_mass[i, i], 1e-30))
