"""Pictures of a world without a display: PyBullet's software renderer, framed on some bodies."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pybullet

from gltf_bullet.transforms import FloatArray

__all__ = ["PixelArray", "framed_box", "render"]

PixelArray: TypeAlias = npt.NDArray[np.uint8]

ENDLESS = 1e4
"""[m] Boxes larger than this are planes without an end and do not count for the framing."""

FIELD_OF_VIEW_DEG = 40.0
VIEW_FROM = (0.55, -0.75, 0.42)
"""Direction from the middle of the picture to the camera: right, towards the viewer, up."""
LIGHT_FROM = (-0.4, -0.6, 1.0)
MARGIN = 1.08
"""Room around what is framed."""
SKY = (226, 232, 240)


def render(
    client_id: int,
    body_ids: Iterable[int],
    *,
    moving_ids: Collection[int] = (),
    up: npt.ArrayLike = (0.0, 0.0, 1.0),
    width: int = 800,
    height: int = 600,
    box: tuple[FloatArray, FloatArray] | None = None,
) -> PixelArray:
    """Draw the world as it stands.

    Args:
        client_id: The world; everything in it is drawn.
        body_ids: The bodies to frame; planes without an end are left out of the framing.
        moving_ids: Those of them that matter most: scenery is framed only as far as they are wide.
        up: Upwards in the picture, world axes.
        width: [pixels]
        height: [pixels]
        box: Lowest and highest corner of what to frame instead, for a camera that stands still.

    Returns:
        RGB, shape [height, width, 3].
    """
    low, high = framed_box(client_id, body_ids, moving_ids) if box is None else box
    center = 0.5 * (low + high)
    axes = _picture_axes(np.asarray(up, dtype=np.float64))
    towards_eye = axes @ (np.array(VIEW_FROM) / np.linalg.norm(VIEW_FROM))
    distance = _distance(0.5 * (high - low), towards_eye, axes[:, 2], width / height)
    eye = center + distance * towards_eye
    view = pybullet.computeViewMatrix(eye.tolist(), center.tolist(), axes[:, 2].tolist())
    projection = pybullet.computeProjectionMatrixFOV(
        FIELD_OF_VIEW_DEG, width / height, 0.02 * distance, 40.0 * distance
    )
    _, _, pixels, _, segmentation = pybullet.getCameraImage(
        width,
        height,
        view,
        projection,
        lightDirection=(axes @ np.array(LIGHT_FROM)).tolist(),
        lightColor=[1.0, 1.0, 1.0],
        lightAmbientCoeff=0.55,
        lightDiffuseCoeff=0.5,
        lightSpecularCoeff=0.1,
        shadow=0,
        renderer=pybullet.ER_TINY_RENDERER,
        physicsClientId=client_id,
    )
    image = np.array(pixels, dtype=np.uint8).reshape(height, width, 4)[:, :, :3].copy()
    image[np.array(segmentation).reshape(height, width) < 0] = SKY
    return image


def framed_box(
    client_id: int, body_ids: Iterable[int], moving_ids: Collection[int]
) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest corner of what :func:`render` frames now [m], world axes."""
    moving: list[FloatArray] = []
    resting: list[FloatArray] = []
    for body_id in body_ids:
        count = pybullet.getNumJoints(body_id, physicsClientId=client_id)
        for link in range(-1, count):
            box = np.array(pybullet.getAABB(body_id, link, physicsClientId=client_id))
            size = np.ptp(box, axis=0)
            if np.isfinite(box).all() and 0.0 < size.max() < ENDLESS:
                (moving if body_id in moving_ids else resting).append(box)
    if not moving:
        moving, resting = resting, []
    if not moving:
        return np.full(3, -1.0), np.full(3, 1.0)
    boxes = np.array(moving)
    low, high = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
    reach = float((high - low).max())
    inner_low, inner_high = low - reach, high + reach
    for box in resting:
        near_low = np.maximum(box[0], inner_low)
        near_high = np.minimum(box[1], inner_high)
        if (near_low <= near_high).all():
            low, high = np.minimum(low, near_low), np.maximum(high, near_high)
    return low, high


def _distance(half: FloatArray, towards_eye: FloatArray, up: FloatArray, aspect: float) -> float:
    """How far away a camera sees the whole box with the half extents ``half``."""
    right = np.cross(up, towards_eye)
    right /= np.linalg.norm(right)
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    corners = signs * half
    slope = np.tan(np.radians(0.5 * FIELD_OF_VIEW_DEG)) / MARGIN
    across = np.abs(corners @ right) / (slope * aspect)
    upwards = np.abs(corners @ np.cross(towards_eye, right)) / slope
    return max(float((np.maximum(across, upwards) + corners @ towards_eye).max()), 1e-3)


def _picture_axes(up: FloatArray) -> FloatArray:
    """world_from_picture: columns right, away from the viewer, up."""
    third = up / np.linalg.norm(up)
    helper = np.eye(3)[int(np.argmin(np.abs(third)))]
    first = np.cross(helper, third) if abs(third[0]) > 0.5 else np.eye(3)[0]
    first = first - third * float(first @ third)
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(third, first), third], axis=1)
