"""Contacts of the islands: Jacobians of the bodies on both sides, and their rows."""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import POSE, articulation_at
from gltf_bullet.solver.cholesky import forward_dense
from gltf_bullet.solver.islands import (
    CONTACT,
    CONTACT_SOURCE,
    FREE,
    POINT_CONSTRAINT_MARK,
    POINT_CONSTRAINT_ROWS_FROM,
    SIDE,
    add_free_bodies,
    add_row,
    islands_at,
    reserve,
)
from gltf_bullet.solver.row_metrics import add_path, prescribed_rate
from gltf_bullet.transforms import FloatArray, IntArray

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
def open_islands(
    index: IntArray, values: FloatArray, contacts: int, free_bodies: int, since: float
) -> None:
    """Begin the islands of a step with the contacts and free bodies that were filled in.

    ``since`` [s], here and below: from when the engine looked for contacts until now.
    """
    islands = islands_at(index, 0)
    islands.block_count = 0
    islands.row_count = 0
    islands.velocity_count = 0
    islands.needed = 0
    islands.top = islands.first
    islands.contact_count = contacts
    islands.free_body_count = free_bodies
    add_free_bodies(index, values)
    for c in range(contacts):
        at = islands.contact + CONTACT.size * c
        for k in range(3):
            middle = 0.5 * (values[at + CONTACT.position + k] + values[at + CONTACT.other + k])
            values[at + CONTACT.position + k] = middle
            values[at + CONTACT.other + k] = middle
        for k in range(CONTACT.rate, CONTACT.size):
            values[at + k] = 0.0
    if islands.needed == 0:
        touch_free_bodies(index, values, since)


@kernel
def touch_articulations(
    ints: IntArray, work: FloatArray, index: IntArray, values: FloatArray, number: int, since: float
) -> None:
    """The sides of all contacts that belong to the articulations of one scene."""
    islands = islands_at(index, 0)
    for c in range(islands.contact_count):
        contact = islands.contact + CONTACT.size * c
        for which in range(2):
            side = islands.contact_sides + SIDE.size * (2 * c + which)
            if index[side + SIDE.scene] != number:
                continue
            articulation = articulation_at(ints, index[side + SIDE.record])
            frame = index[side + SIDE.frame]
            n, sign = articulation.dof_count, 1.0 if which == 0 else -1.0
            rows = reserve(index, 3 * n)
            if rows < 0:
                return
            index[side + SIDE.block] = articulation.block
            index[side + SIDE.jacobian] = rows
            wrench, part = articulation.scratch, articulation.scratch + 8
            reference, twist = articulation.reference_point, articulation.twist + 6 * frame
            # The step has carried the body along since the contact was found, and with it the
            # place where a round one touches: the wheels of a car at 3 m/s and 60 Hz seemed to rise
            # at 1 m/s without, and its dampers pressed it to the ground.
            com = articulation.pose + POSE.size * frame + POSE.com
            cx, cy, cz = work[com], work[com + 1], work[com + 2]
            wx, wy, wz = work[twist], work[twist + 1], work[twist + 2]
            px = since * (work[twist + 3] + wy * cz - wz * cy)
            py = since * (work[twist + 4] + wz * cx - wx * cz)
            pz = since * (work[twist + 5] + wx * cy - wy * cx)
            px += values[contact + CONTACT.position] - work[reference]
            py += values[contact + CONTACT.position + 1] - work[reference + 1]
            pz += values[contact + CONTACT.position + 2] - work[reference + 2]
            for k in range(3):
                d = contact + CONTACT.directions + 3 * k
                x, y, z = values[d], values[d + 1], values[d + 2]
                work[wrench] = py * z - pz * y
                work[wrench + 1] = pz * x - px * z
                work[wrench + 2] = px * y - py * x
                work[wrench + 3], work[wrench + 4], work[wrench + 5] = x, y, z
                for i in range(n):
                    work[part + i] = 0.0
                add_path(ints, work, articulation, frame, wrench, sign, part)
                rate = 0.0
                for i in range(6):
                    rate += work[wrench + i] * work[twist + i]
                values[contact + CONTACT.rate + k] += sign * rate
                values[contact + CONTACT.drift + k] += sign * prescribed_rate(
                    ints, work, articulation, frame, wrench
                )
                for i in range(n):
                    values[rows + n * k + i] = work[part + i]
                forward_dense(work, articulation.factor, n, part)
                total = 0.0
                for i in range(n):
                    total += work[part + i] * work[part + i]
                values[contact + CONTACT.compliance + k] += total


@kernel
def touch_free_bodies(index: IntArray, values: FloatArray, since: float) -> None:
    """The sides of all contacts that belong to free bodies."""
    islands = islands_at(index, 0)
    for c in range(islands.contact_count):
        contact = islands.contact + CONTACT.size * c
        for which in range(2):
            side = islands.contact_sides + SIDE.size * (2 * c + which)
            if index[side + SIDE.scene] >= 0:
                continue
            number, sign = index[side + SIDE.record], 1.0 if which == 0 else -1.0
            body = islands.free + FREE.size * number
            block = index[islands.free_block + number]
            rows = reserve(index, 36)
            if rows < 0:
                return
            index[side + SIDE.block] = block
            index[side + SIDE.jacobian] = rows
            v = body + FREE.velocity
            px = values[contact + CONTACT.position] - values[body + FREE.com] + since * values[v]
            py = (
                values[contact + CONTACT.position + 1]
                - values[body + FREE.com + 1]
                + since * values[v + 1]
            )
            pz = (
                values[contact + CONTACT.position + 2]
                - values[body + FREE.com + 2]
                + since * values[v + 2]
            )
            inertia = rows + 24
            if block >= 0:
                _invert(values, body + FREE.inertia, inertia)
            for k in range(3):
                d, row = contact + CONTACT.directions + 3 * k, rows + 6 * k
                x, y, z = values[d], values[d + 1], values[d + 2]
                ax, ay, az = py * z - pz * y, pz * x - px * z, px * y - py * x
                rate = sign * (
                    x * values[v]
                    + y * values[v + 1]
                    + z * values[v + 2]
                    + ax * values[v + 3]
                    + ay * values[v + 4]
                    + az * values[v + 5]
                )
                values[contact + CONTACT.rate + k] += rate
                if block < 0:
                    values[contact + CONTACT.drift + k] += rate
                    continue
                values[row], values[row + 1], values[row + 2] = sign * x, sign * y, sign * z
                values[row + 3], values[row + 4], values[row + 5] = sign * ax, sign * ay, sign * az
                turn = 0.0
                for i in range(3):
                    turn += values[row + 3 + i] * (
                        values[inertia + 3 * i] * values[row + 3]
                        + values[inertia + 3 * i + 1] * values[row + 4]
                        + values[inertia + 3 * i + 2] * values[row + 5]
                    )
                values[contact + CONTACT.compliance + k] += turn + 1.0 / values[body + FREE.mass]


@kernel
def _invert(values: FloatArray, m: int, out: int) -> None:
    """Inverse of a symmetric matrix [3, 3]."""
    a, b, c = values[m], values[m + 1], values[m + 2]
    d, e, f = values[m + 4], values[m + 5], values[m + 8]
    x, y, z = d * f - e * e, c * e - b * f, b * e - c * d
    inverse = 1.0 / (a * x + b * y + c * z)
    values[out], values[out + 1], values[out + 2] = x * inverse, y * inverse, z * inverse
    values[out + 3], values[out + 4] = y * inverse, (a * f - c * c) * inverse
    values[out + 5] = (b * c - a * e) * inverse
    values[out + 6], values[out + 7] = z * inverse, (b * c - a * e) * inverse
    values[out + 8] = (a * d - b * b) * inverse


@kernel
def add_contact_rows(
    index: IntArray, values: FloatArray, dt: float, since: float, share: float
) -> None:
    """Three rows for each contact that presses, one for each that may; all sides are known.

    ``share``: Factor of the reported forces; see ``last_engine_step``.
    """
    islands = islands_at(index, 0)
    largest = 0.0
    for c in range(islands.contact_count):
        at = islands.contact + CONTACT.size * c + CONTACT.compliance
        for k in range(3):
            largest = max(largest, values[at + k])
    if largest == 0.0:
        return
    for c in range(islands.contact_count):
        contact = islands.contact + CONTACT.size * c
        sides = islands.contact_sides + 2 * SIDE.size * c
        first, second = sides, sides + SIDE.size
        if index[first + SIDE.block] < 0:
            first, second = second, first
        if index[first + SIDE.block] < 0:
            continue
        strength = -POINT_CONSTRAINT_MARK - values[contact + CONTACT.distance]
        # The engine detected the contacts before the last step moved the bodies.
        gap = values[contact + CONTACT.distance] + since * values[contact + CONTACT.rate]
        pressing = dt * share * values[contact + CONTACT.forces]
        grip = values[contact + CONTACT.friction] * pressing
        for k in range(3 if grip > 0.0 or strength >= 0.0 else 1):
            compliance = values[contact + CONTACT.compliance + k]
            # A locked axis cannot slide at all: its row is empty.
            softness = CONTACT_SOFTNESS if k == 0 else FRICTION_SOFTNESS
            softness *= compliance if compliance > EMPTY * largest else largest
            last = dt * share * values[contact + CONTACT.forces + k]
            target = softness * last - values[contact + CONTACT.drift + k]
            if k == 0:
                # A penetration is not corrected: with the engine's own recovery of 0.08 a
                # light lift under 25 boxes sagged 14 % too far, without by 0.17 % (measured).
                target -= max(gap, 0.0) / dt
            low, high = 0.0 if k == 0 else -grip, math.inf if k == 0 else grip
            source = CONTACT_SOURCE + c
            if strength >= 0.0:
                low, high, source = -dt * strength, dt * strength, POINT_CONSTRAINT_ROWS_FROM + c
                softness = HARD * (compliance if compliance > EMPTY * largest else largest)
                target = -values[contact + CONTACT.drift + k]
                target -= RETURN / dt * values[contact + CONTACT.forces + k]
            row = add_row(
                index,
                values,
                index[first + SIDE.block],
                index[first + SIDE.jacobian]
                + k * index[islands.block_size + index[first + SIDE.block]],
                -1,
                source,
                target,
                softness,
                low,
                high,
            )
            block = index[second + SIDE.block]
            if block == index[first + SIDE.block]:
                # Two links of one articulation: one row of both.
                n = index[islands.block_size + block]
                to = index[first + SIDE.jacobian] + n * k
                source = index[second + SIDE.jacobian] + n * k
                for i in range(n):
                    values[to + i] += values[source + i]
            elif block >= 0:
                index[islands.row_second + row] = block
                index[islands.row_second_jacobian + row] = (
                    index[second + SIDE.jacobian] + k * index[islands.block_size + block]
                )
