"""Rigid poses, xyzw quaternions, and splitting of matrices into rotation and scale; numpy only.

Frames: ``target_from_source`` maps coordinates in *source* to coordinates in *target*, and a
composition reads by adjacency: ``world_from_node = world_from_body @ body_from_node``.
Functions on arrays take stacks: quaternions ``(..., 4)`` in xyzw order, vectors ``(..., 3)``,
matrices ``(..., 3, 3)`` or ``(..., 4, 4)``, all float64. The file is long since single poses, for
which arrays are slow, have formulas of their own.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.intp]
"""Array of indices or counts."""
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Vec3: TypeAlias = tuple[float, float, float]
Quat: TypeAlias = tuple[float, float, float, float]
Parts: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""Translation [m], rotation xyzw and scale of a local transform."""
"""A unit quaternion in xyzw order, as glTF and PyBullet store it."""


def float_array(name: str, values: object) -> FloatArray:
    """Numbers as an array; those that are not finite are the caller's to name.

    Args:
        name: Their name in a message.
        values: A number, or sequences of numbers.

    Raises:
        ValueError: An integer is beyond the range of floats.
    """
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        raise ValueError(f"{name} is {reprlib.repr(values)}; must be finite") from None


class Pose(Struct, frozen=True):
    """A rigid transform: rotate, then translate. Composes with ``@``; holds no scale."""

    rotation_xyzw: Quat
    translation: Vec3
    """Translation [m]."""

    @staticmethod
    def identity() -> Pose:
        """The identity."""
        return IDENTITY_POSE

    @staticmethod
    def from_translation(translation: Vec3) -> Pose:
        """A pure translation."""
        return Pose((0.0, 0.0, 0.0, 1.0), translation)

    @staticmethod
    def from_matrix(matrix: npt.ArrayLike) -> Pose:
        """The pose of a rigid 4x4 matrix, which is not checked for scale."""
        array = np.asarray(matrix, dtype=np.float64)
        x, y, z = array[:3, 3].tolist()
        qx, qy, qz, qw = quats_from_matrices(array[:3, :3]).tolist()
        return Pose((qx, qy, qz, qw), (x, y, z))

    def __matmul__(self, other: Pose) -> Pose:
        """``a_from_b @ b_from_c`` is ``a_from_c``."""
        return Pose(
            _multiply(self.rotation_xyzw, other.rotation_xyzw), self.apply(other.translation)
        )

    def inverse(self) -> Pose:
        """``a_from_b.inverse()`` is ``b_from_a``."""
        x, y, z, w = self.rotation_xyzw
        rotation = (-x, -y, -z, w)
        tx, ty, tz = _rotate(rotation, self.translation)
        return Pose(rotation, (-tx, -ty, -tz))

    def moved(self, offset: Vec3) -> Pose:
        """The pose with its translation moved by ``offset`` in the target frame [m]."""
        (x, y, z), (dx, dy, dz) = self.translation, offset
        return Pose(self.rotation_xyzw, (x + dx, y + dy, z + dz))

    def apply(self, point: Vec3) -> Vec3:
        """Map a point given in the source frame into the target frame."""
        x, y, z = _rotate(self.rotation_xyzw, point)
        tx, ty, tz = self.translation
        return (x + tx, y + ty, z + tz)

    def rotate(self, vector: Vec3) -> Vec3:
        """Map a direction given in the source frame into the target frame."""
        return _rotate(self.rotation_xyzw, vector)

    def matrix(self) -> FloatArray:
        """The pose as a (4, 4) matrix."""
        (x, y, z, w), (tx, ty, tz) = self.rotation_xyzw, self.translation
        xx, yy, zz = 2.0 * x * x, 2.0 * y * y, 2.0 * z * z
        xy, xz, yz = 2.0 * x * y, 2.0 * x * z, 2.0 * y * z
        wx, wy, wz = 2.0 * w * x, 2.0 * w * y, 2.0 * w * z
        # Number by number: a fifth of the time of a stack of one.
        return np.array(
            [
                [1.0 - yy - zz, xy - wz, xz + wy, tx],
                [xy + wz, 1.0 - xx - zz, yz - wx, ty],
                [xz - wy, yz + wx, 1.0 - xx - yy, tz],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )


IDENTITY_POSE = Pose((0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0))


def _multiply(a: Quat, b: Quat) -> Quat:
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    x = aw * bx + ax * bw + ay * bz - az * by
    y = aw * by - ax * bz + ay * bw + az * bx
    z = aw * bz + ax * by - ay * bx + az * bw
    w = aw * bw - ax * bx - ay * by - az * bz
    # One Newton step towards unit length keeps long products rigid.
    scale = 1.0 / math.sqrt(x * x + y * y + z * z + w * w)
    return (x * scale, y * scale, z * scale, w * scale)


def turned(q: Quat, x: float, y: float, z: float) -> Quat:
    """A rotation followed by one about target axes [rad]; for a single one, without arrays."""
    angle = math.sqrt(x * x + y * y + z * z)
    share = math.sin(0.5 * angle) / angle if angle > 0.0 else 0.5
    return _multiply((share * x, share * y, share * z, math.cos(0.5 * angle)), q)


def _rotate(q: Quat, v: Vec3) -> Vec3:
    qx, qy, qz, qw = q
    vx, vy, vz = v
    tx = 2.0 * (qy * vz - qz * vy)
    ty = 2.0 * (qz * vx - qx * vz)
    tz = 2.0 * (qx * vy - qy * vx)
    return (
        vx + qw * tx + qy * tz - qz * ty,
        vy + qw * ty + qz * tx - qx * tz,
        vz + qw * tz + qx * ty - qy * tx,
    )


def rotation_to(source: Vec3, target: Vec3) -> Quat:
    """The shortest rotation (xyzw) that takes one unit vector to another."""
    (ax, ay, az), (bx, by, bz) = source, target
    w = 1.0 + ax * bx + ay * by + az * bz
    if w < 1e-12:  # half a turn, about any perpendicular axis
        helper = (1.0, 0.0, 0.0) if abs(ax) < 0.9 else (0.0, 1.0, 0.0)
        hx, hy, hz = helper
        x, y, z = ay * hz - az * hy, az * hx - ax * hz, ax * hy - ay * hx
        w = 0.0
    else:
        x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    scale = 1.0 / math.sqrt(x * x + y * y + z * z + w * w)
    return (x * scale, y * scale, z * scale, w * scale)


def quat_normalize(q: FloatArray) -> FloatArray:
    """Scale quaternions to unit length; a zero quaternion becomes the identity."""
    norm = np.linalg.norm(q, axis=-1, keepdims=True)
    safe = np.where(norm > 1e-12, norm, 1.0)
    result: FloatArray = np.where(norm > 1e-12, q / safe, np.array([0.0, 0.0, 0.0, 1.0]))
    return result


def _bilinear(entries: Sequence[Sequence[tuple[int, int, float]]]) -> FloatArray:
    """Sums of products of two quaternions' components, xyzw, as a matrix [16, count].

    One product and one matrix multiplication cost a few calls of numpy instead of thirty, which
    take most of the time for arrays of a few bodies.
    """
    table = np.zeros((4, 4, len(entries)))
    for column, terms in enumerate(entries):
        for row, other, factor in terms:
            table[row, other, column] += factor
    return table.reshape(16, len(entries))


_X, _Y, _Z, _W = range(4)
_HAMILTON: Final = _bilinear([
    [(_W, _X, 1), (_X, _W, 1), (_Y, _Z, 1), (_Z, _Y, -1)],
    [(_W, _Y, 1), (_X, _Z, -1), (_Y, _W, 1), (_Z, _X, 1)],
    [(_W, _Z, 1), (_X, _Y, 1), (_Y, _X, -1), (_Z, _W, 1)],
    [(_W, _W, 1), (_X, _X, -1), (_Y, _Y, -1), (_Z, _Z, -1)],
])  # fmt: skip
_MATRIX: Final = _bilinear([
    [(_Y, _Y, -2), (_Z, _Z, -2)], [(_X, _Y, 2), (_Z, _W, -2)], [(_X, _Z, 2), (_Y, _W, 2)],
    [(_X, _Y, 2), (_Z, _W, 2)], [(_X, _X, -2), (_Z, _Z, -2)], [(_Y, _Z, 2), (_X, _W, -2)],
    [(_X, _Z, 2), (_Y, _W, -2)], [(_Y, _Z, 2), (_X, _W, 2)], [(_X, _X, -2), (_Y, _Y, -2)],
])  # fmt: skip
_IDENTITY: Final = np.eye(3).ravel()
_NEXT: Final = np.array([1, 2, 0])
_AFTER: Final = np.array([2, 0, 1])
_MANY = 600
"""Number of values from which on the work outweighs the calls."""


def quat_conjugate(q: FloatArray) -> FloatArray:
    """The inverse rotations of unit quaternions."""
    result: FloatArray = q * np.array([-1.0, -1.0, -1.0, 1.0])
    return result


def quat_multiply(a: FloatArray, b: FloatArray) -> FloatArray:
    """Hamilton products: the rotation ``b`` followed by ``a``."""
    products = a[..., :, None] * b[..., None, :]
    result: FloatArray = products.reshape(*products.shape[:-2], 16) @ _HAMILTON
    return result


def quat_rotate(q: FloatArray, v: FloatArray) -> FloatArray:
    """Rotate vectors by unit quaternions."""
    u, w = q[..., :3], q[..., 3:]
    t = 2.0 * cross(u, v)
    result: FloatArray = v + w * t + cross(u, t)
    return result


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """``np.cross`` for few vectors, where numpy takes four times as long (measured: 13 us)."""
    if a.size > _MANY:
        return np.asarray(np.cross(a, b), np.float64)
    result: FloatArray = a.take(_NEXT, -1) * b.take(_AFTER, -1)
    result -= a.take(_AFTER, -1) * b.take(_NEXT, -1)
    return result


def quat_from_rotation_vector(vector: FloatArray) -> FloatArray:
    """Quaternions of rotations by ``|vector|`` [rad] about ``vector``."""
    angle = np.linalg.norm(vector, axis=-1, keepdims=True)
    # sin(a/2)/a by numpy's sinc, which is sin(pi x)/(pi x) and exact at 0.
    return np.concatenate(
        [vector * (0.5 * np.sinc(angle / (2.0 * np.pi))), np.cos(angle / 2.0)], -1
    )


def rotation_vector_from_quat(q: FloatArray) -> FloatArray:
    """The shortest rotation vectors [rad] of unit quaternions."""
    q = np.where(q[..., 3:] < 0.0, -q, q)
    sine = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, q[..., 3:])
    factor = np.where(sine > 1e-12, angle / np.where(sine > 1e-12, sine, 1.0), 2.0)
    result: FloatArray = q[..., :3] * factor
    return result


def matrices_from_quats(q: FloatArray) -> FloatArray:
    """Rotation matrices ``(..., 3, 3)`` of unit quaternions."""
    products = q[..., :, None] * q[..., None, :]
    result: FloatArray = products.reshape(*q.shape[:-1], 16) @ _MATRIX + _IDENTITY
    return result.reshape(*q.shape[:-1], 3, 3)


def quats_from_matrices(matrices: FloatArray) -> FloatArray:
    """Unit quaternions of proper rotation matrices ``(..., 3, 3)``, w >= 0."""
    m = np.asarray(matrices, dtype=np.float64)
    if m.ndim == 2:
        return np.array(_quat_of(m.tolist()))
    m00, m11, m22 = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    # Four times the squares of x, y, z, w; the largest one is the stable divisor (Shepperd).
    squares = np.stack(
        [1 + m00 - m11 - m22, 1 - m00 + m11 - m22, 1 - m00 - m11 + m22, 1 + m00 + m11 + m22], -1
    )
    a, b, c = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    d, e, f = m[..., 1, 0] + m[..., 0, 1], m[..., 0, 2] + m[..., 2, 0], m[..., 2, 1] + m[..., 1, 2]
    rows = np.stack(
        [
            np.stack([squares[..., 0], d, e, a], -1),
            np.stack([d, squares[..., 1], f, b], -1),
            np.stack([e, f, squares[..., 2], c], -1),
            np.stack([a, b, c, squares[..., 3]], -1),
        ],
        -2,
    )
    pick = np.argmax(squares, axis=-1)
    q = np.take_along_axis(rows, pick[..., None, None], axis=-2)[..., 0, :]
    q = quat_normalize(q)
    result: FloatArray = np.where(q[..., 3:] < 0.0, -q, q)
    return result


def matrices_from_trs(
    translation: FloatArray, rotation_xyzw: FloatArray, scale: FloatArray
) -> FloatArray:
    """T * R * S, as glTF composes a node, as ``(..., 4, 4)`` matrices."""
    out = np.zeros((*translation.shape[:-1], 4, 4))
    out[..., :3, :3] = matrices_from_quats(rotation_xyzw) * scale[..., None, :]
    out[..., :3, 3] = translation
    out[..., 3, 3] = 1.0
    return out


def decompose_trs(
    matrices: FloatArray, authored_scales: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Split ``(..., 4, 4)`` matrices into translation, rotation (xyzw) and scale.

    A mirrored matrix gets a negative x scale. Shear, which T * R * S cannot hold, is dropped: the
    rotation is the one of the orthonormalised columns, the scale their lengths.

    Args:
        matrices: Matrices to split.
        authored_scales: Shape ``(..., 3)``; their signs are used for the scales, if both mirror
            alike: two negative scales are equivalent to half a turn.
    """
    translation = matrices[..., :3, 3].copy()
    if authored_scales is None:
        rotation, scale, _ = split_linear(matrices[..., :3, :3])
        return translation, rotation, scale
    signs = np.where(authored_scales < 0.0, -1.0, 1.0)
    rotation, scale, _ = split_linear(matrices[..., :3, :3] * signs[..., None, :])
    return translation, rotation, scale * signs


def split_linear(linear: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Split ``(..., 3, 3)`` matrices into rotation (xyzw), scale and shear.

    ``linear`` is ``R @ diag(scale)`` when ``shear`` is 0. Columns of length 0 are completed to a
    right-handed frame; a mirrored matrix gets a negative x scale.

    Returns:
        Quaternions ``(..., 4)``, scales ``(..., 3)`` and shears ``(...)``: the largest cosine
        between two columns, 0 for orthogonal ones.
    """
    linear = np.asarray(linear, dtype=np.float64)
    if linear.ndim == 2 and (found := _split_frame(linear.tolist())) is not None:
        return found
    scale = np.linalg.norm(linear, axis=-2)
    columns = linear / np.where(scale > 0.0, scale, 1.0)[..., None, :]
    x, y, z = columns[..., :, 0], columns[..., :, 1], columns[..., :, 2]
    shear = np.abs(np.stack([(x * y).sum(-1), (y * z).sum(-1), (z * x).sum(-1)], -1)).max(-1)
    missing = (scale == 0.0).any(-1) | (shear > 1e-9)
    mirrored = np.linalg.det(columns) < 0.0
    scale = np.where(mirrored[..., None] & (np.arange(3) == 0), -scale, scale)
    columns = columns * np.where(mirrored[..., None, None] & (np.arange(3) == 0), -1.0, 1.0)
    if np.any(missing):
        # Gram-Schmidt with fall-back axes, only where the columns are no frame already.
        flat, flags = columns.reshape(-1, 3, 3), np.atleast_1d(missing).reshape(-1)
        flat = flat.copy()
        for index in np.flatnonzero(flags):
            flat[index] = _orthonormal_frame(flat[index])
        columns = flat.reshape(columns.shape)
    return quats_from_matrices(columns), scale, shear


def _quat_of(rows: Sequence[Sequence[float]]) -> Quat:
    """:func:`quats_from_matrices` for one matrix: a tenth of the time of a stack of one."""
    (a, b, c), (d, e, f), (g, h, i) = rows
    squares = (1.0 + a - e - i, 1.0 - a + e - i, 1.0 - a - e + i, 1.0 + a + e + i)
    largest = squares.index(max(squares))
    if largest == 0:
        x, y, z, w = squares[0], d + b, c + g, h - f
    elif largest == 1:
        x, y, z, w = d + b, squares[1], h + f, c - g
    elif largest == 2:
        x, y, z, w = c + g, h + f, squares[2], d - b
    else:
        x, y, z, w = h - f, c - g, d - b, squares[3]
    factor = math.copysign(1.0, w) / math.sqrt(x * x + y * y + z * z + w * w)
    return x * factor, y * factor, z * factor, w * factor


def _split_frame(
    rows: Sequence[Sequence[float]],
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """:func:`split_linear` for one matrix with orthogonal columns, else ``None``."""
    columns = list(zip(*rows, strict=True))
    scale = [math.sqrt(x * x + y * y + z * z) for x, y, z in columns]
    if not min(scale) > 0.0:
        return None
    u, v, w = (
        (x / size, y / size, z / size) for (x, y, z), size in zip(columns, scale, strict=True)
    )
    shear = max(abs(p[0] * q[0] + p[1] * q[1] + p[2] * q[2]) for p, q in ((u, v), (v, w), (w, u)))
    if not shear <= 1e-9:
        return None
    volume = (
        u[0] * (v[1] * w[2] - v[2] * w[1])
        + u[1] * (v[2] * w[0] - v[0] * w[2])
        + u[2] * (v[0] * w[1] - v[1] * w[0])
    )
    if volume < 0.0:
        scale[0], u = -scale[0], (-u[0], -u[1], -u[2])
    quat = _quat_of(list(zip(u, v, w, strict=True)))
    return np.array(quat), np.array(scale), np.array(shear)


def _orthonormal_frame(columns: FloatArray) -> FloatArray:
    """The nearest rotation to unit (or zero) columns, by polar decomposition where possible."""
    if abs(np.linalg.det(columns)) > 1e-9:
        left, _, right = np.linalg.svd(columns)
        frame: FloatArray = left @ right
        if np.linalg.det(frame) < 0.0:
            left[:, -1] *= -1.0
            frame = left @ right
        return frame
    basis: list[FloatArray | None] = []
    for k in range(3):
        vector = columns[:, k].copy()
        for other in basis:
            if other is not None:
                vector -= other * (other @ vector)
        length = float(np.linalg.norm(vector))
        basis.append(vector / length if length > 1e-6 else None)
    for k in range(3):
        if basis[k] is None:
            known = [b for b in basis if b is not None]
            candidates = np.eye(3)
            best = max(
                (c - sum((b * (b @ c) for b in known), np.zeros(3)) for c in candidates),
                key=lambda v: float(np.linalg.norm(v)),
            )
            basis[k] = best / np.linalg.norm(best)
    frame = np.stack([b for b in basis if b is not None], axis=1)
    if np.linalg.det(frame) < 0.0:
        zero = [k for k in range(3) if not columns[:, k].any()]
        frame[:, zero[0] if zero else 0] *= -1.0
    return frame
