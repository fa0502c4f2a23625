"""Motors beside the joint-space solve, for what it does not know: contacts.

Pure numpy. A drive that a contact holds back presses with what its law still owes; an axis that a
contact pushes out of its hard limit is pushed back.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gltf_bullet.bullet.articulation_model import ComponentModel
from gltf_bullet.transforms import FloatArray

__all__ = ["ContactMotors"]

PUSH_BACK = 1.0
"""Share of a hard limit's violation that a motor aims to take back in one step. The solve knows no
contacts, and the engine's own limits lose to heavy ones (measured at 240 Hz: 10 kg at 0.8 m on an
arm of 1 kg sink 1.12 degrees into its stop; with 1.0 0.26, with 1.5 0.18, but then a ragdoll does
not come to rest)."""

PUSH_BACK_FROM = 1e-5
"""[m, rad] Violations that the solve leaves by itself are smaller."""

PUSH_BACK_FORCE = 1e9
"""[N, N m] As much as it takes."""

BoolArray = npt.NDArray[np.bool_]


class ContactMotors:
    """Force limits and speeds of one component's motors, step by step."""

    def __init__(self, model: ComponentModel) -> None:
        self.model = model
        self.expected = np.zeros(model.free_count)
        """Velocities [n] that the last solve aimed at."""

    def owed(
        self,
        values: FloatArray,
        velocities: FloatArray,
        used: FloatArray,
        gain_scale: FloatArray,
    ) -> FloatArray:
        """Per velocity: the force that the springs' law still owes when the axis is held."""
        rows = self.model.rows
        owed = np.zeros(self.model.free_count)
        spring = (rows.coordinate >= 0) & np.isfinite(rows.stiffness)
        if not spring.any():
            return owed
        index = rows.coordinate[spring]
        value, drive = values[spring], rows.is_drive[spring]
        beyond = np.minimum(0.0, rows.upper[spring] - value) + np.maximum(
            0.0, rows.lower[spring] - value
        )
        error = np.where(drive, rows.position_target[spring] - value, beyond)
        lag = rows.velocity_target[spring] - velocities[index]
        law = gain_scale[spring] * (rows.stiffness[spring] * error + rows.damping[spring] * lag)
        law = np.clip(law, -rows.max_force[spring], rows.max_force[spring])
        law = np.where(drive | (beyond != 0.0), law, 0.0)
        used = used[spring]
        rest = np.where(law * used >= 0.0, np.abs(law) - np.abs(used), 0.0)
        np.add.at(owed, index, np.maximum(rest, 0.0))
        return owed

    def speeds(
        self,
        values: FloatArray,
        velocities: FloatArray,
        after: FloatArray,
        owed: FloatArray,
        inverse: FloatArray,
        gain_scale: FloatArray,
        dt: float,
    ) -> FloatArray:
        """The speed that the motors aim at: the solve's, more where the axis is held fast.

        The engine's solver raises a motor's impulse by mass times missing speed per iteration:
        aiming at the free speed, k = 1e6 against a wall at 60 Hz gave 22 of 100 kN (measured).
        The aim is what the spring's energy could reach, so that a sudden release is harmless.
        """
        rows = self.model.rows
        speed = after.copy()
        springs = np.flatnonzero((rows.coordinate >= 0) & rows.is_drive & (rows.stiffness > 0.0))
        for r in springs.tolist():
            index = int(rows.coordinate[r])
            expected = self.expected[index]
            held = abs(velocities[index]) < 0.2 * abs(expected)
            if held and owed[index] > 0.0 and expected * after[index] > 0.0:
                inverse_mass = float(inverse[index, r])
                reach = math.sqrt(rows.stiffness[r] * gain_scale[r] * inverse_mass)
                reach *= abs(rows.position_target[r] - values[r])
                extra = min(reach, owed[index] * dt * inverse_mass)
                speed[index] += math.copysign(extra, after[index])
        self.expected = after
        return speed

    def push_back(
        self,
        values: FloatArray,
        recovering: BoolArray,
        force: FloatArray,
        speed: FloatArray,
        dt: float,
    ) -> BoolArray:
        """Turn the motors of axes outside of their hard limits into stops, in place."""
        rows = self.model.rows
        beyond = np.minimum(0.0, rows.upper - values) + np.maximum(0.0, rows.lower - values)
        acts = (rows.coordinate >= 0) & ~rows.is_drive & np.isinf(rows.stiffness)
        acts &= (np.abs(beyond) > PUSH_BACK_FROM) & ~recovering
        index = rows.coordinate[acts]
        force[index] = PUSH_BACK_FORCE
        speed[index] = PUSH_BACK * beyond[acts] / dt
        pushed = np.zeros(len(force), dtype=bool)
        pushed[index] = True
        return pushed
