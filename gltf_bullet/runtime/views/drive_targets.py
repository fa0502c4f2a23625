"""Targets of all drives of a scene, by order or by joint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.views.joints import JointView
from gltf_bullet.runtime.views.nodes import ByNode
from gltf_bullet.transforms import FloatArray

__all__ = ["Targets", "set_drive_targets"]

Targets: TypeAlias = "Sequence[float] | FloatArray | Mapping[int | str, float]"

_MOST_NAMES = 12
"""That a message lists."""


def set_drive_targets(
    core: SceneCore,
    joints: ByNode[JointView],
    positions: Targets | None,
    velocities: Targets | None,
) -> None:
    """Set them; arguments and errors as of ``Scene.set_drive_targets``."""
    controls = core.joint_controls
    now: tuple[FloatArray, FloatArray] | None = None
    given: list[FloatArray | None] = []
    for number, (what, targets) in enumerate(
        (("positions", positions), ("velocities", velocities))
    ):
        if isinstance(targets, Mapping):
            now = now or controls.drive_targets()
            given.append(_by_joint(core, joints, targets, now[number]))
        elif targets is None:
            given.append(None)
        else:
            given.append(_in_order(core, targets, what))
    controls.set_drive_targets(*given)


def _in_order(core: SceneCore, targets: Sequence[float] | FloatArray, what: str) -> FloatArray:
    count = len(core.joint_controls.drives)
    values: FloatArray = np.array(targets, dtype=np.float64)
    if values.shape != (count,) or not np.isfinite(values).all():
        got = f"{len(values)} came" if values.ndim == 1 else f"an array of {values.shape} came"
        if values.shape == (count,):
            got = f"{values[~np.isfinite(values)][0]} is among them"
        raise ValueError(
            f"drive targets must be {count} finite numbers; {got} as {what}; in this order: "
            f"{_order(core)}; or a dict by joint"
        )
    return values


def _order(core: SceneCore) -> str:
    names = [
        core.asset.tree.names[drive.joint_node] or f"node {drive.joint_node}"
        for drive in core.joint_controls.drives
    ]
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f", and {more} more" if more > 0 else "")


def _by_joint(
    core: SceneCore, joints: ByNode[JointView], targets: Mapping[int | str, float], now: FloatArray
) -> FloatArray:
    values = now.copy()
    for key, wanted in targets.items():
        node = joints[key].node
        rows = [k for k, d in enumerate(core.joint_controls.drives) if d.joint_node == node]
        numbers: FloatArray = np.atleast_1d(np.array(wanted, dtype=np.float64))
        if numbers.shape != (len(rows),) or not np.isfinite(numbers).all():
            raise ValueError(
                f"joint {key!r} has {len(rows)} drives; got {wanted!r}, must be as many finite "
                "numbers"
            )
        values[rows] = numbers
    return values
