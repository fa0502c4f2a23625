"""Contacts of the islands: Jacobians of the bodies on both sides, and their rows."""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import POSE, SceneHeader, articulation_in
from gltf_bullet.solver.cholesky import forward_dense
from gltf_bullet.solver.islands import (
    CONTACT,
    CONTACT_SOURCE,
    FREE,
    POINT_CONSTRAINT_MARK,
    POINT_CONSTRAINT_ROWS_FROM,
    SIDE,
    Islands,
    add_free_bodies,
    add_row,
    reserve,
)
from gltf_bullet.solver.row_metrics import add_path, prescribed_rate
from gltf_bullet.transforms import FloatArray

CONTACT_SOFTNESS = 1e-2
"""Softness of contacts' normals, in multiples of their own inverse mass, towards the impulses that
the engine found last: where several contacts could carry a load, it goes on with what they carried
(measured: 1e-3 doubles the iterations, 5e-2 fails tests)."""
FRICTION_SOFTNESS = 1e-1
"""The softness of friction, likewise. A heap of eight ragdolls with 140 contacts needs 7 to 12
iterations; with the normals' softness 21 to 36, most of them for rows of friction that go to and
fro between their bounds (measured). At rest both are exact; of a slip that could be stopped a step
leaves a tenth."""

HARD = 1e-8
"""Softness of points that are held together, likewise."""

RETURN = 0.2
"""Share of a gap between them that one step closes."""

EMPTY = 1e-12
"""Share of the largest inverse mass below which a row can move nothing."""


@kernel
def open_islands(islands: Islands, contacts: int, free_bodies: int, since: float) -> None:
    """Begin the islands of a step with the contacts and free bodies that were filled in.

    ``since`` [s], here and below: from when the engine looked for contacts until now.
    """
    islands.block_count = 0
    islands.row_count = 0
    islands.velocity_count = 0
    islands.needed = 0
    islands.top = islands.first
    islands.contact_count = contacts
    islands.free_body_count = free_bodies
    add_free_bodies(islands)
    for c in range(contacts):
        at = islands.contact[c]
        for k in range(3):
            middle = 0.5 * (at[CONTACT.position + k] + at[CONTACT.other + k])
            at[CONTACT.position + k] = middle
            at[CONTACT.other + k] = middle
        for k in range(CONTACT.rate, CONTACT.size):
            at[k] = 0.0
    if islands.needed == 0:
        touch_free_bodies(islands, since)


@kernel
def touch_articulations(scene: SceneHeader, islands: Islands, number: int, since: float) -> None:
    """The sides of all contacts that belong to the articulations of one scene."""
    for c in range(islands.contact_count):
        contact = islands.contact[c]
        for which in range(2):
            side = islands.contact_sides[c, SIDE.size * which :]
            if side[SIDE.scene] != number:
                continue
            a = articulation_in(scene, side[SIDE.record])
            frame = side[SIDE.frame]
            n, sign = a.dof_count, 1.0 if which == 0 else -1.0
            rows = reserve(islands, 3 * n)
            if rows < 0:
                return
            side[SIDE.block] = a.block
            side[SIDE.jacobian] = rows
            wrench, part = a.scratch, a.scratch[8:]
            reference, twist = a.reference_point, a.twist[frame]
            # The step has carried the body along since the contact was found, and with it the
            # place where a round one touches: the wheels of a car at 3 m/s and 60 Hz seemed to rise
            # at 1 m/s without, and its dampers pressed it to the ground.
            com = a.pose[frame, POSE.com :]
            cx, cy, cz = com[0], com[1], com[2]
            wx, wy, wz = twist[0], twist[1], twist[2]
            px = since * (twist[3] + wy * cz - wz * cy)
            py = since * (twist[4] + wz * cx - wx * cz)
            pz = since * (twist[5] + wx * cy - wy * cx)
            px += contact[CONTACT.position] - reference[0]
            py += contact[CONTACT.position + 1] - reference[1]
            pz += contact[CONTACT.position + 2] - reference[2]
            for k in range(3):
                d = contact[CONTACT.directions + 3 * k :]
                x, y, z = d[0], d[1], d[2]
                wrench[0] = py * z - pz * y
                wrench[1] = pz * x - px * z
                wrench[2] = px * y - py * x
                wrench[3], wrench[4], wrench[5] = x, y, z
                for i in range(n):
                    part[i] = 0.0
                add_path(a, frame, wrench, sign, part)
                rate = 0.0
                for i in range(6):
                    rate += wrench[i] * twist[i]
                contact[CONTACT.rate + k] += sign * rate
                contact[CONTACT.drift + k] += sign * prescribed_rate(a, frame, wrench)
                row = islands.floats[rows + n * k :]
                for i in range(n):
                    row[i] = part[i]
                forward_dense(a.factor, n, part)
                total = 0.0
                for i in range(n):
                    total += part[i] * part[i]
                contact[CONTACT.compliance + k] += total


@kernel
def touch_free_bodies(islands: Islands, since: float) -> None:
    """The sides of all contacts that belong to free bodies."""
    for c in range(islands.contact_count):
        contact = islands.contact[c]
        for which in range(2):
            side = islands.contact_sides[c, SIDE.size * which :]
            if side[SIDE.scene] >= 0:
                continue
            number, sign = side[SIDE.record], 1.0 if which == 0 else -1.0
            body = islands.free[number]
            block = islands.free_block[number]
            rows = reserve(islands, 36)
            if rows < 0:
                return
            side[SIDE.block] = block
            side[SIDE.jacobian] = rows
            v = body[FREE.velocity :]
            px = contact[CONTACT.position] - body[FREE.com] + since * v[0]
            py = contact[CONTACT.position + 1] - body[FREE.com + 1] + since * v[1]
            pz = contact[CONTACT.position + 2] - body[FREE.com + 2] + since * v[2]
            inverse = islands.floats[rows + 24 :]
            if block >= 0:
                _invert(body[FREE.inertia :], inverse)
            for k in range(3):
                d, row = contact[CONTACT.directions + 3 * k :], islands.floats[rows + 6 * k :]
                x, y, z = d[0], d[1], d[2]
                ax, ay, az = py * z - pz * y, pz * x - px * z, px * y - py * x
                rate = sign * (x * v[0] + y * v[1] + z * v[2] + ax * v[3] + ay * v[4] + az * v[5])
                contact[CONTACT.rate + k] += rate
                if block < 0:
                    contact[CONTACT.drift + k] += rate
                    continue
                row[0], row[1], row[2] = sign * x, sign * y, sign * z
                row[3], row[4], row[5] = sign * ax, sign * ay, sign * az
                turn = 0.0
                for i in range(3):
                    turn += row[3 + i] * (
                        inverse[3 * i] * row[3]
                        + inverse[3 * i + 1] * row[4]
                        + inverse[3 * i + 2] * row[5]
                    )
                contact[CONTACT.compliance + k] += turn + 1.0 / body[FREE.mass]


@kernel
def _invert(matrix: FloatArray, out: FloatArray) -> None:
    """Inverse of a symmetric matrix [3, 3]."""
    a, b, c = matrix[0], matrix[1], matrix[2]
    d, e, f = matrix[4], matrix[5], matrix[8]
    x, y, z = d * f - e * e, c * e - b * f, b * e - c * d
    inverse = 1.0 / (a * x + b * y + c * z)
    out[0], out[1], out[2] = x * inverse, y * inverse, z * inverse
    out[3], out[4] = y * inverse, (a * f - c * c) * inverse
    out[5] = (b * c - a * e) * inverse
    out[6], out[7] = z * inverse, (b * c - a * e) * inverse
    out[8] = (a * d - b * b) * inverse


@kernel
def add_contact_rows(islands: Islands, dt: float, since: float, share: float) -> None:
    """Three rows for each contact that presses, one for each that may; all sides are known.

    ``share``: Factor of the reported forces; see ``last_engine_step``.
    """
    largest = 0.0
    for c in range(islands.contact_count):
        at = islands.contact[c, CONTACT.compliance :]
        for k in range(3):
            largest = max(largest, at[k])
    if largest == 0.0:
        return
    for c in range(islands.contact_count):
        contact = islands.contact[c]
        sides = islands.contact_sides[c]
        first, second = sides, sides[SIDE.size :]
        if first[SIDE.block] < 0:
            first, second = second, first
        if first[SIDE.block] < 0:
            continue
        strength = -POINT_CONSTRAINT_MARK - contact[CONTACT.distance]
        # The engine detected the contacts before the last step moved the bodies.
        gap = contact[CONTACT.distance] + since * contact[CONTACT.rate]
        pressing = dt * share * contact[CONTACT.forces]
        grip = contact[CONTACT.friction] * pressing
        for k in range(3 if grip > 0.0 or strength >= 0.0 else 1):
            compliance = contact[CONTACT.compliance + k]
            # A locked axis cannot slide at all: its row is empty.
            softness = CONTACT_SOFTNESS if k == 0 else FRICTION_SOFTNESS
            softness *= compliance if compliance > EMPTY * largest else largest
            last = dt * share * contact[CONTACT.forces + k]
            target = softness * last - contact[CONTACT.drift + k]
            if k == 0:
                # A penetration is not corrected: with the engine's own recovery of 0.08 a
                # light lift under 25 boxes sagged 14 % too far, without by 0.17 % (measured).
                target -= max(gap, 0.0) / dt
            low, high = 0.0 if k == 0 else -grip, math.inf if k == 0 else grip
            source = CONTACT_SOURCE + c
            if strength >= 0.0:
                low, high, source = -dt * strength, dt * strength, POINT_CONSTRAINT_ROWS_FROM + c
                softness = HARD * (compliance if compliance > EMPTY * largest else largest)
                target = -contact[CONTACT.drift + k]
                target -= RETURN / dt * contact[CONTACT.forces + k]
            row = add_row(
                islands,
                first[SIDE.block],
                first[SIDE.jacobian] + k * islands.block_size[first[SIDE.block]],
                -1,
                source,
                target,
                softness,
                low,
                high,
            )
            block = second[SIDE.block]
            if block == first[SIDE.block]:
                # Two links of one articulation: one row of both.
                n = islands.block_size[block]
                to = islands.floats[first[SIDE.jacobian] + n * k :]
                more = islands.floats[second[SIDE.jacobian] + n * k :]
                for i in range(n):
                    to[i] += more[i]
            elif block >= 0:
                islands.row_second[row] = block
                islands.row_second_jacobian[row] = (
                    second[SIDE.jacobian] + k * islands.block_size[block]
                )
