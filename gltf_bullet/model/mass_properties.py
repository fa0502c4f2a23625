"""Volume, centre and second moments of shapes under any linear map; numpy only.

Second moments ``integral(x x^T dV)`` transform as ``|det L| L C L^T``, so one closed form per shape
covers uniform, non-uniform, negative and sheared node scale exactly, whatever the engine shape is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gltf_bullet.model.shapes import Box, Capsule, Cylinder, Sphere
from gltf_bullet.transforms import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Integrals over a solid of density 1, about the origin of its frame."""

    volume: float
    """[m^3]"""
    first: FloatArray
    """``integral(x dV)`` [m^4], shape [3]."""
    second: FloatArray
    """``integral(x x^T dV)`` [m^5], shape [3, 3]."""

    @staticmethod
    def zero() -> Moments:
        """The moments of nothing."""
        return Moments(0.0, np.zeros(3), np.zeros((3, 3)))

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.volume + other.volume, self.first + other.first, self.second + other.second
        )

    def mapped(self, linear: FloatArray, translation: FloatArray) -> Moments:
        """The moments of the solid after ``x -> linear @ x + translation``."""
        jacobian = abs(float(np.linalg.det(linear)))
        volume = jacobian * self.volume
        first = jacobian * (linear @ self.first)
        shift = np.outer(first, translation)
        second = (
            jacobian * (linear @ self.second @ linear.T)
            + shift
            + shift.T
            + volume * np.outer(translation, translation)
        )
        return Moments(volume, first + volume * translation, second)

    @property
    def center(self) -> FloatArray:
        """The centre of mass [m], shape [3]; the origin for no volume."""
        return self.first / self.volume if self.volume > 0.0 else np.zeros(3)

    def inertia_about(self, point: FloatArray) -> FloatArray:
        """Inertia tensor [m^5] about ``point`` at density 1, shape [3, 3]."""
        shift = np.outer(self.first, point)
        central = self.second - shift - shift.T + self.volume * np.outer(point, point)
        return float(np.trace(central)) * np.eye(3) - central


@dataclass(frozen=True, slots=True)
class PrincipalInertia:
    """Principal moments and the axes they belong to."""

    diagonal: tuple[float, float, float]
    orientation: npt.NDArray[np.float64] | None
    """Rotation matrix from principal to body axes; ``None`` is the identity."""


def principal_inertia(tensor: FloatArray) -> PrincipalInertia:
    """Diagonalise an inertia tensor; axes stay where they are when it is diagonal already.

    A tensor that overflowed keeps its axes as well: the caller refuses what is not finite.
    """
    xx, yy, zz = float(tensor[0, 0]), float(tensor[1, 1]), float(tensor[2, 2])
    mixed = max(abs(tensor[0, 1]), abs(tensor[0, 2]), abs(tensor[1, 2]))
    if mixed <= 1e-9 * (xx + yy + zz) or not np.isfinite(tensor).all():
        return PrincipalInertia((xx, yy, zz), None)
    values, axes = np.linalg.eigh(tensor)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    first, second, third = values.tolist()
    return PrincipalInertia((first, second, third), axes)


def solid_moments(shape: Box | Sphere | Capsule | Cylinder) -> Moments:
    """Closed forms for the solids of KHR_implicit_shapes; tapered capsules by exact quadrature."""
    if isinstance(shape, Box):
        size = np.array(shape.size)
        volume = float(size.prod())
        return Moments(volume, np.zeros(3), np.diag(volume * size**2 / 12.0))
    if isinstance(shape, Sphere):
        volume = 4.0 / 3.0 * math.pi * shape.radius**3
        return Moments(volume, np.zeros(3), np.eye(3) * (volume * shape.radius**2 / 5.0))
    if isinstance(shape, Cylinder):
        half = 0.5 * shape.height
        return _revolved([(-half, half, shape.radius_bottom, shape.radius_top)], [])
    return _capsule_moments(shape)


def _capsule_moments(shape: Capsule) -> Moments:
    """Two spherical caps and the cone frustum that touches both spheres tangentially."""
    half, rb, rt = 0.5 * shape.mid_height, shape.radius_bottom, shape.radius_top
    if abs(rb - rt) >= shape.mid_height:
        # One sphere holds the other: the hull is that sphere.
        center, radius = (-half, rb) if rb >= rt else (half, rt)
        return _revolved([], [(center, radius, center - radius, center + radius)])
    sine = (rb - rt) / shape.mid_height
    cosine = math.sqrt(1.0 - sine * sine)
    low, high = -half + rb * sine, half + rt * sine
    return _revolved(
        [(low, high, rb * cosine, rt * cosine)],
        [(-half, rb, -half - rb, low), (half, rt, high, half + rt)],
    )


# Gauss-Legendre with 6 points is exact to degree 11; the integrands are of degree 4 at most.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)


def _revolved(
    frusta: list[tuple[float, float, float, float]],
    caps: list[tuple[float, float, float, float]],
) -> Moments:
    """Moments of a solid of revolution about Y.

    Args:
        frusta: ``(y0, y1, radius at y0, radius at y1)``.
        caps: ``(sphere centre, sphere radius, y0, y1)``.
    """
    volume = moment_y = second_y = second_x = 0.0
    for y0, y1, r0, r1 in frusta:
        y = 0.5 * (y1 - y0) * _NODES + 0.5 * (y1 + y0)
        radius_squared = (r0 + (r1 - r0) * (y - y0) / (y1 - y0)) ** 2 if y1 > y0 else 0.0 * y
        weight = 0.5 * (y1 - y0) * _WEIGHTS * math.pi * radius_squared
        volume += float(weight.sum())
        moment_y += float((weight * y).sum())
        second_y += float((weight * y * y).sum())
        second_x += float((weight * radius_squared).sum()) / 4.0
    for center, radius, y0, y1 in caps:
        y = 0.5 * (y1 - y0) * _NODES + 0.5 * (y1 + y0)
        radius_squared = radius * radius - (y - center) ** 2
        weight = 0.5 * (y1 - y0) * _WEIGHTS * math.pi * radius_squared
        volume += float(weight.sum())
        moment_y += float((weight * y).sum())
        second_y += float((weight * y * y).sum())
        second_x += float((weight * radius_squared).sum()) / 4.0
    return Moments(volume, np.array([0.0, moment_y, 0.0]), np.diag([second_x, second_y, second_x]))


def mesh_moments(points: FloatArray, triangles: npt.NDArray[np.int64]) -> Moments:
    """Moments of the solid inside closed, outward-facing triangles (signed tetrahedra)."""
    a, b, c = points[triangles[:, 0]], points[triangles[:, 1]], points[triangles[:, 2]]
    sixth = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
    total = a + b + c
    first = (sixth[:, None] * total).sum(0) / 4.0
    # For a tetrahedron with one corner at the origin: (sum of outer squares + outer of the sum)/20.
    second = (
        np.einsum("i,ij,ik->jk", sixth, a, a)
        + np.einsum("i,ij,ik->jk", sixth, b, b)
        + np.einsum("i,ij,ik->jk", sixth, c, c)
        + np.einsum("i,ij,ik->jk", sixth, total, total)
    ) / 20.0
    return Moments(float(sixth.sum()), first, second)
