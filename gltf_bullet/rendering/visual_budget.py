"""Limits of drawn vertices and texels: PyBullet keeps a copy of mesh and texture per body.

Measured: 170 bytes per vertex and 3 per texel for each body, 0.3 ms per 1000 vertices to create
one, and meshes from memory are limited to 131072 vertices and 524288 indices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from gltf_bullet.diagnostics import ROOT, Diagnostics, warning
from gltf_bullet.rendering.atlas import TEXTURE_REDUCED
from gltf_bullet.rendering.visual_plans import NodeVisual, Texture, VisualMesh, VisualPlans
from gltf_bullet.transforms import FloatArray, IntArray

VISUAL_REDUCED = warning(
    "VISUAL_REDUCED",
    "the meshes have {got} vertices and {triangles} triangles; {kept} vertices are shown, "
    "moved by at most {deviation:.2g} m",
)

MESH_VERTICES = 131072
MESH_TRIANGLES = 524288 // 3
"""Largest mesh from memory; with more, PyBullet fails or draws another shape."""
SMALLEST_TEXTURE = 64
"""[pixels] Smallest side of a texture that was made coarser."""


def within_budget(
    plans: VisualPlans, max_vertices: int, max_texels: int, diagnostics: Diagnostics
) -> VisualPlans:
    """The plans with coarser meshes and textures if their total is above the limits.

    Args:
        plans: Plans of one scene.
        max_vertices: Limit of the drawn vertices of all bodies together.
        max_texels: Limit of the texels of all bodies together.
        diagnostics: Receives what was made coarser, and by which factor.
    """
    visuals = [*plans.bodies.values(), *plans.scenery]
    uses = Counter(visual.mesh for visual in visuals)
    if not uses:
        return plans
    total = sum(len(mesh.points) * count for mesh, count in uses.items())
    share = min(1.0, max_vertices / total)
    first_node = {visual.mesh: visual.nodes[0] for visual in reversed(visuals)}
    smaller = {mesh: _fitting(mesh, share, first_node[mesh], diagnostics) for mesh in uses}
    smaller = _with_textures(smaller, uses, max_texels, first_node, diagnostics)

    def changed(visual: NodeVisual) -> NodeVisual:
        mesh = smaller[visual.mesh]
        if mesh is visual.mesh:
            return visual
        return NodeVisual(
            mesh=mesh,
            nodes=visual.nodes,
            carrier=visual.carrier,
            world_from_mesh=visual.world_from_mesh,
        )

    return VisualPlans(
        bodies={node: changed(visual) for node, visual in plans.bodies.items()},
        scenery=tuple(map(changed, plans.scenery)),
    )


def _fitting(mesh: VisualMesh, share: float, node: int, diagnostics: Diagnostics) -> VisualMesh:
    allowed = min(MESH_VERTICES, max(64, int(share * len(mesh.points))))
    if len(mesh.points) <= allowed and len(mesh.triangles) <= MESH_TRIANGLES:
        return mesh
    result, deviation = _clustered(mesh, allowed)
    diagnostics.report(
        VISUAL_REDUCED,
        ROOT / "nodes" / node / "mesh",
        got=len(mesh.points),
        triangles=len(mesh.triangles),
        kept=len(result.points),
        deviation=deviation,
    )
    return result


def _clustered(mesh: VisualMesh, max_vertices: int) -> tuple[VisualMesh, float]:
    """Merge vertices that share a cell of a grid, the finest grid that is sufficient."""
    low, high = mesh.bounds()
    extent = float((high - low).max()) or 1.0
    fine, coarse = 1e-6 * extent, extent
    best = None
    for _ in range(24):
        cell = (fine * coarse) ** 0.5
        kept, triangles, part_of_triangle = _merge_cells(mesh, low, cell)
        if len(kept) <= max_vertices and len(triangles) <= MESH_TRIANGLES:
            best, coarse = (kept, triangles, part_of_triangle, cell), cell
        else:
            fine = cell
        if coarse / fine < 1.02:
            break
    if best is None:
        best = (*_merge_cells(mesh, low, extent), extent)
    kept, triangles, part_of_triangle, cell = best
    result = VisualMesh(
        mesh.points[kept],
        mesh.normals[kept],
        triangles,
        color=mesh.color,
        texture=mesh.texture,
        uvs=mesh.uvs[kept],
        part_of_triangle=part_of_triangle,
    )
    return result, cell * 3.0**0.5


def _merge_cells(
    mesh: VisualMesh, low: FloatArray, cell: float
) -> tuple[IntArray, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The first vertex of each cell, their triangles, and the node of each triangle."""
    # Faces of other directions and other texture coordinates keep their own vertices.
    columns = [*np.floor((mesh.points - low) / cell).T, *np.round(mesh.normals).T]
    if mesh.texture is not None:
        columns += [*np.floor(mesh.uvs * 16.0).T]
    kept, inverse = _distinct_rows(columns)
    triangles = inverse[mesh.triangles].astype(np.int64)
    a, b, c = triangles.T
    is_area = (a != b) & (b != c) & (c != a)
    return kept, triangles[is_area], mesh.part_of_triangle[is_area]


def _distinct_rows(
    columns: Sequence[FloatArray],
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """First row of each kind, and the kind of each row, of a table of whole numbers.

    Packed into one number per row: ``numpy.unique`` of whole rows took 15 s for four meshes of
    245760 vertices.
    """
    keys, span = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        offsets = (column - column.min()).astype(np.int64)
        width = int(offsets.max()) + 1
        if span * width >= 2**62:
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
            offsets = np.unique(offsets, return_inverse=True)[1].astype(np.int64)
            span, width = len(keys), len(keys)
        keys = keys * width + offsets
        span *= width
    _, first, kinds = np.unique(keys, return_index=True, return_inverse=True)
    return first, kinds


def _with_textures(
    meshes: Mapping[VisualMesh, VisualMesh],
    uses: Mapping[VisualMesh, int],
    max_texels: int,
    first_node: Mapping[VisualMesh, int],
    diagnostics: Diagnostics,
) -> dict[VisualMesh, VisualMesh]:
    """Halve the largest textures until their total fits."""
    factors = {mesh: 1 for mesh in meshes if mesh.texture is not None}

    def texels(mesh: VisualMesh) -> int:
        size = mesh.texture.size if mesh.texture is not None else 0
        return size // factors[mesh] ** 2

    while sum(texels(mesh) * uses[mesh] for mesh in factors) > max_texels:
        able = [mesh for mesh in factors if texels(mesh) > SMALLEST_TEXTURE**2]
        if not able:
            break
        factors[max(able, key=texels)] *= 2
    result = dict(meshes)
    for mesh, factor in factors.items():
        if factor == 1 or mesh.texture is None:
            continue
        now = meshes[mesh]
        result[mesh] = VisualMesh(
            now.points,
            now.normals,
            now.triangles,
            color=now.color,
            texture=_shrunk(mesh.texture, factor),
            uvs=now.uvs,
            part_of_triangle=now.part_of_triangle,
        )
        diagnostics.report(
            TEXTURE_REDUCED,
            ROOT / "nodes" / first_node[mesh] / "mesh",
            factor=float(factor),
            why=f"all textures together keep below {max_texels} texels",
        )
    return result


def _shrunk(texture: Texture, factor: int) -> Texture:
    from PIL import Image  # few scenes need it

    height, width = texture.pixels.shape[:2]
    size = (max(1, width // factor), max(1, height // factor))
    return Texture(np.asarray(Image.fromarray(texture.pixels).resize(size, Image.Resampling.BOX)))
