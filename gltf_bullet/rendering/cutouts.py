"""Alpha modes as geometry: PyBullet draws no holes in textures, so they are cut out of the mesh.

glTF 2.0, "Alpha Coverage". Blending is one number per mesh in PyBullet: its mean is used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gltf_bullet.diagnostics import Diagnostics, IssueKind, Severity
from gltf_bullet.gltf.materials import AlphaMode, TextureUse
from gltf_bullet.rendering.mesh_parts import Part
from gltf_bullet.rendering.texture_sampling import sampled
from gltf_bullet.transforms import FloatArray

__all__ = ["cut_out"]

ALPHA_CUT_COARSE = IssueKind(
    "ALPHA_CUT_COARSE",
    Severity.WARNING,
    "the holes of a texture are cut into the mesh, by triangles; {share:.1%} of its area is cut "
    "or left wrongly",
)
ALPHA_AVERAGED = IssueKind(
    "ALPHA_AVERAGED",
    Severity.WARNING,
    "alpha runs from {low:.2f} to {high:.2f} over the surface; Bullet blends all of it with "
    "{used:.2f}",
)

MAX_TRIANGLES = 16384
"""From here on mixed triangles are not divided any more."""
LEVELS = 7
"""Times that a triangle at the edge of a hole is divided in four."""
ROWS = 9
"""Samples along the edges of a triangle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lattice:
    weights: FloatArray
    """Barycentric coordinates, shape [sample_count, 3]."""

    @staticmethod
    def of(rows: int) -> _Lattice:
        pairs = [(i, j) for i in range(rows) for j in range(rows - i)]
        first, second = np.array(pairs, dtype=np.float64).T
        # Moved a little inwards: a texel that a corner only touches does not count.
        inner = (np.stack([first, second, rows - 1 - first - second], 1) + 0.2) / (rows - 0.4)
        return _Lattice(weights=inner / inner.sum(axis=1, keepdims=True))


_LATTICE = _Lattice.of(ROWS)


def cut_out(part: Part, diagnostics: Diagnostics) -> tuple[Part, float] | None:
    """The visible rest of a part and its alpha; ``None`` where nothing of it is seen."""
    material = part.material
    if material.alpha_mode is AlphaMode.OPAQUE:
        return part, 1.0
    alphas = _alphas(part, part.corners())
    if material.alpha_mode is AlphaMode.MASK:
        return _cut(part, alphas, material.alpha_cutoff, diagnostics)
    low, high = float(alphas.min()), float(alphas.max())
    if high < 1.0 / 255.0:
        return None
    if high - low < 2.0 / 255.0:
        return part, min(1.0, high)
    if ((alphas < 0.1) | (alphas > 0.9 * high)).mean() > 0.9:
        # Leaves and decals: holes rather than glass.
        found = _cut(part, alphas, 0.5 * high, diagnostics)
        return None if found is None else (found[0], 1.0 if high > 0.9 else high)
    used = float(np.average(alphas.mean(axis=1), weights=_areas(part.corners()) + 1e-30))
    diagnostics.report(ALPHA_AVERAGED, material.pointer, low=low, high=high, used=used)
    return part, used


def _alphas(part: Part, corners: FloatArray) -> FloatArray:
    """Alpha at the lattice points of each triangle, shape [triangle_count, sample_count]."""
    result = np.full((len(corners), len(_LATTICE.weights)), part.material.base_color[3])
    use = part.material.texture
    column = 6
    if part.uvs is not None:
        if part.image is not None and isinstance(use, TextureUse):
            uvs = np.einsum("sk,tkn->tsn", _LATTICE.weights, corners[:, :, 6:8])
            result = result * (sampled(part.image, uvs, use.wraps)[..., 3] / 255.0)
        column = 8
    if part.colors is not None:
        result = result * (corners[:, :, column + 3] @ _LATTICE.weights.T)
    return result


def _cut(
    part: Part, alphas: FloatArray, cutoff: float, diagnostics: Diagnostics
) -> tuple[Part, float] | None:
    seen = alphas >= cutoff
    if seen.all():
        return part, 1.0
    kept: list[FloatArray] = []
    corners = part.corners()
    whole = float(_areas(corners).sum())
    doubtful = 0.0
    for level in range(LEVELS + 1):
        share = seen.mean(axis=1)
        kept.append(corners[share == 1.0])
        mixed = (share > 0.0) & (share < 1.0)
        rest, rest_share = corners[mixed], share[mixed]
        count = sum(map(len, kept)) + len(rest)
        if not len(rest):
            break
        if level == LEVELS or count + 3 * len(rest) > MAX_TRIANGLES:
            doubtful = float((_areas(rest) * np.minimum(rest_share, 1.0 - rest_share)).sum())
            kept.append(rest[rest_share >= 0.5])
            break
        corners = _quartered(rest)
        seen = _alphas(part, corners) >= cutoff
    found = np.concatenate(kept)
    if whole > 0.0 and doubtful / whole > 1e-3:
        diagnostics.report(ALPHA_CUT_COARSE, part.material.pointer, share=doubtful / whole)
    return (part.with_corners(found), 1.0) if len(found) else None


def _quartered(corners: FloatArray) -> FloatArray:
    """Each triangle as four, by the middles of its edges; shape [4 * count, 3, n]."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
    return np.concatenate(
        [np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
    )


def _areas(corners: FloatArray) -> npt.NDArray[np.float64]:
    points = corners[:, :, :3]
    normals = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    return np.asarray(0.5 * np.linalg.norm(normals, axis=1), np.float64)
