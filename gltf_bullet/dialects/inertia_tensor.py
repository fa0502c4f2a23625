"""The inertia tensor of MSFT_RigidBodies as principal moments and axes."""

from __future__ import annotations

from typing import Final

import numpy as np

from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.dialects.mass_properties import INERTIA_NEGATIVE, finite_or_infinite
from gltf_bullet.dialects.properties import AS_ABSENT
from gltf_bullet.gltf.fields import JsonObject, read_numbers
from gltf_bullet.transforms import FloatArray, Quat, Vec3, quats_from_matrices

__all__ = ["TENSOR_NOT_SYMMETRIC", "principal_inertia", "read_inertia_tensor"]

TENSOR_NOT_SYMMETRIC = IssueKind(
    "TENSOR_NOT_SYMMETRIC",
    Severity.WARNING,
    "{key} is not symmetric (largest difference {got:g}); must be; its symmetric part is used",
)

_IDENTITY: Final[Quat] = (0.0, 0.0, 0.0, 1.0)


def read_inertia_tensor(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics
) -> tuple[Vec3 | None, Quat]:
    """Principal moments [kg m^2] and the rotation (xyzw) from principal to node axes.

    ``None`` where absent or wrong: the shapes' inertia. A moment of 0 is infinite, as for mass.
    """
    numbers = read_numbers(owner, key, at, diagnostics, count=9, instead=AS_ABSENT)
    if numbers is None:
        return None, _IDENTITY
    tensor = np.array(numbers).reshape(3, 3)
    # Scaled so that neither a large nor a small tensor leaves the range of floats on the way.
    scale = float(np.abs(tensor).max()) or 1.0
    tensor = tensor / scale
    skew = float(np.abs(tensor - tensor.T).max())
    if skew > 1e-5:
        diagnostics.report(TENSOR_NOT_SYMMETRIC, at / key, key=key, got=skew * scale)
    moments, rotation = principal_inertia(0.5 * (tensor + tensor.T))
    smallest = min(moments)
    if smallest < -1e-6:
        diagnostics.report(INERTIA_NEGATIVE, at / key, key=key, got=smallest * scale)
        return None, _IDENTITY
    # Rounding leaves 1e-17 where a component is 0, and 0 means something else.
    x, y, z = (finite_or_infinite(0.0 if moment < 1e-12 else moment * scale) for moment in moments)
    return (x, y, z), rotation


def principal_inertia(tensor: FloatArray) -> tuple[Vec3, Quat]:
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
