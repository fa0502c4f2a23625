"""Conversions between linear light, in which glTF states colours, and sRGB of screens."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gltf_bullet.transforms import FloatArray


def srgb_from_linear(values: npt.ArrayLike) -> FloatArray:
    """SRGB from linear values (IEC 61966-2-1), in 0..1, any shape."""
    linear = np.clip(np.asarray(values, dtype=np.float64), 0.0, 1.0)
    curved = 1.055 * np.maximum(linear, 0.0031308) ** (1.0 / 2.4) - 0.055
    return np.where(linear <= 0.0031308, 12.92 * linear, curved)


def linear_from_srgb(values: npt.ArrayLike) -> FloatArray:
    """Linear values from sRGB (IEC 61966-2-1), in 0..1, any shape."""
    shown = np.clip(np.asarray(values, dtype=np.float64), 0.0, 1.0)
    curved = ((shown + 0.055) / 1.055) ** 2.4
    return np.where(shown <= 0.04045, shown / 12.92, curved)


def tinted(
    pixels: npt.NDArray[np.uint8],
    factor: tuple[float, float, float],
    emissive: tuple[float, float, float],
) -> npt.NDArray[np.uint8]:
    """SRGB pixels times a linear factor plus linear emission; shape [height, width, 3]."""
    if factor == (1.0, 1.0, 1.0) and emissive == (0.0, 0.0, 0.0):
        return np.ascontiguousarray(pixels)
    levels = linear_from_srgb(np.arange(256) / 255.0)
    result = np.empty(pixels.shape, dtype=np.uint8)
    for channel in range(3):
        shown = srgb_from_linear(levels * factor[channel] + emissive[channel])
        result[..., channel] = np.round(255.0 * shown).astype(np.uint8)[pixels[..., channel]]
    return result
