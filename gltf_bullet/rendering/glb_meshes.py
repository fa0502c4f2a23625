"""A mesh to look at as the bytes of a GLB file, for renderers that read glTF."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import trimesh
from PIL import Image
from trimesh.visual.material import PBRMaterial

from gltf_bullet.rendering.colors import linear_from_srgb
from gltf_bullet.rendering.visual_plans import VisualMesh

__all__ = ["glb_of"]

ROUGHNESS = 0.8
"""PyBullet knows no roughness, and neither do our meshes: matt plastic shows shape best."""


@lru_cache(maxsize=256)
def glb_of(mesh: VisualMesh) -> bytes:
    """One node with one primitive: positions, normals, one material."""
    color = np.append(linear_from_srgb(mesh.color[:3]), mesh.color[3])
    material = PBRMaterial(
        baseColorFactor=color.tolist(),
        metallicFactor=0.0,
        roughnessFactor=ROUGHNESS,
        alphaMode="BLEND" if mesh.is_transparent else "OPAQUE",
        baseColorTexture=None if mesh.texture is None else Image.fromarray(mesh.texture.pixels),
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
    data: bytes = shape.export(file_type="glb", include_normals=True)
    return data
