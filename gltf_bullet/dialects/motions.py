"""Motions: mass, inertia and velocities, with the rules for what is infinite or left to the shapes.

KHR_physics_rigid_bodies, "Motions": JSON has no infinity, so a 0 in ``mass`` or in a component of
``inertiaDiagonal`` means infinite. OMI_physics_body reads a zero inertia as "compute";
MSFT_RigidBodies writes a tensor.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from gltf_bullet import number_ranges
from gltf_bullet.diagnostics import error, warning
from gltf_bullet.dialects.reading import (
    AS_ABSENT,
    keys_of,
    read_values,
    read_vector,
    report_unknown,
)
from gltf_bullet.gltf.fields import Reader
from gltf_bullet.model import Motion
from gltf_bullet.model.properties import MASS, MOTION, Dialect, Property
from gltf_bullet.transforms import FloatArray, Quat, Vec3, quats_from_matrices

MASS_NEGATIVE = error("MASS_NEGATIVE", "mass is {got:g} kg; must be >= 0 (0 means infinite)")
INERTIA_NEGATIVE = warning(
    "INERTIA_NEGATIVE",
    "{key} has a principal moment of {got:g} kg m^2; must be >= 0; the shapes' inertia is used",
)
TENSOR_NOT_SYMMETRIC = warning(
    "TENSOR_NOT_SYMMETRIC",
    "{key} is not symmetric (largest difference {got:g}); must be; its symmetric part is used",
)

_DIAGONAL: Final = MOTION["inertiaDiagonal"]
_IDENTITY: Final[Quat] = (0.0, 0.0, 0.0, 1.0)


def parse_motion(motion: Reader, dialect: Dialect) -> Motion:
    """A motion object of KHR, or of MSFT_rigid_bodies, which has another default."""
    report_unknown(motion, keys_of(MOTION, dialect), MOTION.what)
    diagonal = read_inertia_diagonal(motion)
    if diagonal is not None:
        x, y, z = map(_finite_or_infinite, diagonal)
        diagonal = (x, y, z)
    return read_motion(motion, dialect, inertia_diagonal=diagonal)


def read_motion(motion: Reader, dialect: Dialect, **given: Any) -> Motion:
    """A motion, of which the dialect writes the ``given`` fields in its own way."""
    readers = {MASS: _read_mass}
    values = read_values(motion, MOTION, dialect, readers=readers, given=given)
    return Motion(**values, pointer=motion.at)


def _read_mass(owner: Reader, entry: Property, dialect: Dialect) -> float | None:
    """Mass [kg]; the default where absent or wrong (``None``: from the shapes), infinite for 0."""
    default: float | None = entry.default_in(dialect)
    mass = owner.number(entry.key, default=None, instead=AS_ABSENT, allowed=entry.carried)
    if mass is None:
        return default
    if mass < 0.0:
        owner.report(MASS_NEGATIVE, entry.key, got=mass)
        return default
    return _finite_or_infinite(mass)


def _finite_or_infinite(value: float) -> float:
    """A mass or moment as the model has it: what the file can only write as 0 is infinite."""
    return math.inf if value == 0.0 else value


def read_inertia_diagonal(motion: Reader) -> Vec3 | None:
    """The moments [kg m^2] as written, zeros and all; ``None`` where absent or wrong."""
    diagonal = read_vector(motion, _DIAGONAL, Dialect.KHR)
    if diagonal is None:
        return None
    smallest = min(diagonal)
    if smallest < 0.0:
        key = _DIAGONAL.key
        motion.report(INERTIA_NEGATIVE, key, key=key, got=smallest)
        return None
    return diagonal


def read_inertia_tensor(owner: Reader, key: str) -> tuple[Vec3 | None, Quat]:
    """Principal moments [kg m^2] and the rotation (xyzw) from principal to node axes.

    ``None`` where absent or wrong: the shapes' inertia. A moment of 0 is infinite, as for mass.
    """
    numbers = owner.numbers(key, count=9, instead=AS_ABSENT, allowed=number_ranges.INERTIA_TENSOR)
    if numbers is None:
        return None, _IDENTITY
    tensor = np.array(numbers).reshape(3, 3)
    # Scaled so that neither a large nor a small tensor leaves the range of floats on the way.
    scale = float(np.abs(tensor).max()) or 1.0
    tensor = tensor / scale
    skew = float(np.abs(tensor - tensor.T).max())
    if skew > 1e-5:
        owner.report(TENSOR_NOT_SYMMETRIC, key, key=key, got=skew * scale)
    moments, rotation = _principal_inertia(0.5 * (tensor + tensor.T))
    smallest = min(moments)
    if smallest < -1e-6:
        owner.report(INERTIA_NEGATIVE, key, key=key, got=smallest * scale)
        return None, _IDENTITY
    # Rounding leaves 1e-17 where a component is 0, and 0 means something else.
    x, y, z = (_finite_or_infinite(0.0 if moment < 1e-12 else moment * scale) for moment in moments)
    return (x, y, z), rotation


def _principal_inertia(tensor: FloatArray) -> tuple[Vec3, Quat]:
    """Moments and the rotation (xyzw) from principal axes, of a symmetric (3, 3) tensor.

    A diagonal tensor keeps its order and the identity, so that it reads like inertiaDiagonal.
    """
    off_diagonal = tensor - np.diag(np.diagonal(tensor))
    if not off_diagonal.any():
        x, y, z = np.diagonal(tensor).tolist()
        return (x, y, z), _IDENTITY
    moments, axes = np.linalg.eigh(tensor)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    x, y, z = moments.tolist()
    qx, qy, qz, qw = quats_from_matrices(axes).tolist()
    return (x, y, z), (qx, qy, qz, qw)
