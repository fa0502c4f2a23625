"""A mesh to look at as the bytes of a GLB file, for the browser."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import trimesh
from PIL import Image
from trimesh.visual.material import PBRMaterial

from gltf_bullet.rendering.colors import linear_from_srgb, srgb_from_linear
from gltf_bullet.rendering.visual_plans import VisualMesh
from gltf_bullet.rendering.web_colors import shown_in_browser

__all__ = ["glb_of"]

_MATT = "KHR_materials_specular"
"""Extension that says that nothing shines: what does is not of the file's colour."""


@lru_cache(maxsize=256)
def glb_of(mesh: VisualMesh) -> bytes:
    """One node with one primitive: positions, normals, one material, as a browser shall show it."""
    pixels = None if mesh.texture is None else _tinted(mesh.texture.pixels, mesh.color[:3])
    shown = shown_in_browser(mesh.color[:3]) if pixels is None else np.ones(3)
    color = np.append(linear_from_srgb(shown), mesh.color[3])
    material = PBRMaterial(
        baseColorFactor=color.tolist(),
        metallicFactor=0.0,
        roughnessFactor=1.0,
        alphaMode="BLEND" if mesh.is_transparent else "OPAQUE",
        baseColorTexture=None if pixels is None else Image.fromarray(pixels),
    )
    # trimesh's v grows upwards.
    uvs = np.stack([mesh.uvs[:, 0], 1.0 - mesh.uvs[:, 1]], axis=1)
    shape = trimesh.Trimesh(
        vertices=mesh.points,
        faces=mesh.triangles,
        vertex_normals=mesh.normals,
        visual=trimesh.visual.TextureVisuals(uv=uvs, material=material),
        process=False,
    )
    data: bytes = shape.export(file_type="glb", include_normals=True, tree_postprocessor=_make_matt)
    return data


def _make_matt(tree: dict[str, Any]) -> None:
    """Let the materials of a glTF file reflect light in all directions alike."""
    for entry in tree["materials"]:
        entry["extensions"] = {_MATT: {"specularFactor": 0.0}}
    tree["extensionsUsed"] = [*tree.get("extensionsUsed", ()), _MATT]


def _tinted(
    pixels: npt.NDArray[np.uint8], color: tuple[float, float, float]
) -> npt.NDArray[np.uint8]:
    """A texture times a colour, both as a screen shows them, for a browser."""
    factor = linear_from_srgb(color)
    result = np.empty_like(pixels)
    for number, row in enumerate(pixels):  # row by row: as numbers a large one is eight times that
        shown = srgb_from_linear(linear_from_srgb(row / 255.0) * factor)
        result[number] = np.round(255.0 * shown_in_browser(shown))
    return result
