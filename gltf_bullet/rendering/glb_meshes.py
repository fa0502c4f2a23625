"""A visible mesh as the bytes of a GLB file, for the browser."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import trimesh
from PIL import Image
from trimesh.visual.material import PBRMaterial

from gltf_bullet.rendering.colors import linear_from_srgb, srgb_from_linear
from gltf_bullet.rendering.visual_plans import VisualMesh
from gltf_bullet.transforms import FloatArray

# --- Colours for three.js as viser uses it, so that a browser shows the colours of the file -------
#
# viser lights its scenes twice as bright as white, and keeps three.js's ACES film curve on: a
# green of (124, 188, 124) came out as (215, 235, 215) (measured). Colours mapped by the inverse of
# both first come out unchanged. The lights themselves stay viser's: pages that play over and over
# reset them at each turn.

LEVEL_LIGHT: Final = np.array([2.19, 2.19, 2.46])
"""Light that a white level surface reflects of viser's lights (its environment "city", and 3.0 from
above), as a share of white; measured with levels of grey."""
GLOW: Final = 0.4
"""Light that surfaces give off by themselves, as a share of what they reflect where they are level.

Sides in viser's light receive 0.19 to 0.37 of it (measured), and the film curve takes most of the
rest: an orange of (243, 138, 46) was (141, 41, 8) there. With this they keep about half; more would
ask for an ``emissiveFactor`` above 1.
"""

# ACESFilmicToneMapping of three.js (tonemapping_pars_fragment.glsl): Stephen Hill's fit.
_TO_FILM: Final = np.array(
    [[0.59719, 0.35458, 0.04823], [0.07600, 0.90834, 0.01566], [0.02840, 0.13383, 0.83777]]
)
_TO_SCREEN: Final = np.array(
    [[1.60475, -0.53108, -0.07367], [-0.10208, 1.10813, -0.00605], [-0.00327, -0.07276, 1.07602]]
)
_EXPOSURE: Final = 1.0 / 0.6
_A, _B, _C, _D, _E = 0.0245786, 0.000090537, 0.983729, 0.4329510, 0.238081
"""Coefficients of the curve (v (v + a) - b) / (v (c v + d) + e)."""
_MOST: Final = 0.999
"""Largest output of the curve that is inverted, since its inverse soon goes to infinity."""


def _before_film(linear: FloatArray) -> FloatArray:
    """Apply the inverse of the curve, shape [..., 3]."""
    wanted = np.clip(linear @ np.linalg.inv(_TO_SCREEN).T, 0.0, _MOST)
    a, b, c = 1.0 - _C * wanted, _A - _D * wanted, -_B - _E * wanted
    v = (np.sqrt(b * b - 4.0 * a * c) - b) / (2.0 * a)
    result: FloatArray = np.maximum(v @ np.linalg.inv(_TO_FILM).T, 0.0) / _EXPOSURE
    return result


def shown_in_browser(shown: npt.ArrayLike) -> FloatArray:
    """The sRGB colours that a level surface must have to look like ``shown``; 0..1, shape [..., 3].

    Colours that would have to reflect more light than they receive become the brightest ones of
    their hue: white is seen as 247 of 255.
    """
    light = _before_film(linear_from_srgb(shown)) / ((1.0 + GLOW) * LEVEL_LIGHT)
    brightest = np.maximum(light.max(axis=-1, keepdims=True), 1.0)
    return srgb_from_linear(light / brightest)


# --- The GLB file of a mesh -----------------------------------------------------------------------

_MATT = "KHR_materials_specular"
"""Extension that removes specular light, which does not have the file's colour."""


@lru_cache(maxsize=256)
def glb_of(mesh: VisualMesh) -> bytes:
    """A file of one node and one primitive: positions, normals, and a material for the browser."""
    pixels = None if mesh.texture is None else _tinted(mesh.texture.pixels, mesh.color[:3])
    shown = shown_in_browser(mesh.color[:3]) if pixels is None else np.ones(3)
    color = linear_from_srgb(shown)
    image = None if pixels is None else Image.fromarray(pixels)
    material = PBRMaterial(
        baseColorFactor=[*color.tolist(), mesh.color[3]],
        emissiveFactor=(GLOW * LEVEL_LIGHT * color).tolist(),
        emissiveTexture=image,
        metallicFactor=0.0,
        roughnessFactor=1.0,
        alphaMode="BLEND" if mesh.is_transparent else "OPAQUE",
        baseColorTexture=image,
    )
    # trimesh's v is upwards.
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
    """Let the materials of a glTF file reflect light equally in all directions."""
    for entry in tree["materials"]:
        entry["extensions"] = {_MATT: {"specularFactor": 0.0}}
    tree["extensionsUsed"] = [*tree.get("extensionsUsed", ()), _MATT]


def _tinted(
    pixels: npt.NDArray[np.uint8], color: tuple[float, float, float]
) -> npt.NDArray[np.uint8]:
    """A texture times a colour, both in sRGB, for a browser."""
    factor = linear_from_srgb(color)
    result = np.empty_like(pixels)
    for number, row in enumerate(pixels):  # row by row: as numbers it takes eight times its size
        shown = srgb_from_linear(linear_from_srgb(row / 255.0) * factor)
        result[number] = np.round(255.0 * shown_in_browser(shown))
    return result
