"""Servos for converted robots: position drives on axes that have limits and a largest effort."""

from __future__ import annotations

import os
from copy import deepcopy
from pathlib import Path
from typing import Any

Servo = tuple[float, float]
"""Stiffness [1/s^2] and damping [1/s] per moment of inertia, so that one pair suits all joints."""

DEFAULT_SERVO: Servo = (1e4, 200.0)
"""Critically damped within 10 ms; an arm of a metre sags by g / stiffness, a milliradian."""


def default_servo(path: str | os.PathLike[str]) -> Servo | None:
    """The servo of a robot's file where nobody says another; an MJCF has actuators of its own."""
    return None if Path(path).suffix.lower() in (".xml", ".mjcf") else DEFAULT_SERVO


_KHR = "KHR_physics_rigid_bodies"


def add_servos(root: dict[str, Any], servo: Servo) -> int:
    """Let drives of a converted robot hold their axes where they are; return their number.

    Those are drives without stiffness that have a largest force, on an axis with two limits: an
    effort is a bound, and with it alone nothing holds. Wheels, which have no limits, keep turning;
    so does what follows another joint. Targets are 0, where robots are described, or the limit
    nearest to it.
    """
    joints = root.get("extensions", {}).get(_KHR, {}).get("physicsJoints", [])
    leading: dict[int, list[dict[str, Any]]] = {}
    following: set[int] = set()
    for node in root.get("nodes", ()):
        reference = node.get("extensions", {}).get(_KHR, {}).get("joint")
        if reference is None:
            continue
        if "mimic" in node.get("extras", {}).get("gltf_bullet", {}):
            following.add(reference["joint"])
        else:
            leading.setdefault(reference["joint"], []).append(reference)
    count = 0
    for index, references in leading.items():
        held = deepcopy(joints[index])
        added = sum(_hold(held, drive, servo) for drive in held.get("drives", ()))
        count += added
        if added and index in following:  # which share the description
            joints.append(held)
            for reference in references:
                reference["joint"] = len(joints) - 1
        elif added:
            joints[index] = held
    return count


def _hold(joint: dict[str, Any], drive: dict[str, Any], servo: Servo) -> bool:
    """Let a drive hold its axis, if it is one that should; return True if it is."""
    span = _span(joint, drive)
    if span is None or drive.get("stiffness") or "maxForce" not in drive:
        return False
    drive.update(
        mode="acceleration", stiffness=servo[0], damping=servo[1],
        positionTarget=min(max(0.0, span[0]), span[1]), velocityTarget=0.0,
    )  # fmt: skip
    return True


def _span(joint: dict[str, Any], drive: dict[str, Any]) -> tuple[float, float] | None:
    """The limits of the axis of a drive; ``None`` where one is missing."""
    key = "linearAxes" if drive["type"] == "linear" else "angularAxes"
    for limit in joint.get("limits", ()):
        if limit.get(key) == [drive["axis"]] and "min" in limit and "max" in limit:
            return limit["min"], limit["max"]
    return None
