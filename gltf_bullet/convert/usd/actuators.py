"""Actuators of MuJoCo's schema as drives of the joints that they name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gltf_bullet.convert.mjcf.actuators import servo_drive
from gltf_bullet.convert.usd.joints import UsdJoint
from gltf_bullet.convert.usd.losses import Losses
from gltf_bullet.convert.usd.stage import Entry, StagePrims, path_string
from gltf_bullet.records import replace


def add_actuators(prims: StagePrims, joints: Sequence[UsdJoint], losses: Losses) -> None:
    """Give joints the drives of their actuators; others are reported."""
    at = {joint.entry.path: joint for joint in joints}
    for entry in prims.entries:
        if entry.prim.GetTypeName() != "MjcActuator":
            continue
        targets = entry.prim.GetRelationship("mjc:target").GetTargets()
        joint = at.get(entry.target(path_string(targets[0]))) if targets else None
        why = _why_lost(entry.prim, joint)
        if why or joint is None:
            losses.lost(f"an actuator with {why}", entry.path)
        else:
            _add(joint, entry)


def _why_lost(prim: Any, joint: UsdJoint | None) -> str:
    if joint is None or joint.single is None:
        return "a target other than a hinge or slide"
    if _word(prim, "gainType", "fixed") != "fixed":
        return "a gain that is no constant"
    if _word(prim, "biasType", "none") not in ("none", "affine"):
        return "a bias of its own"
    if _word(prim, "dynType", "none") not in ("none", "filter", "filterexact"):
        return "an activation of its own"
    _, stiffness, damping = _bias(prim)
    return "a bias that drives away from its target" if max(stiffness, damping) > 0.0 else ""


def _word(prim: Any, name: str, default: str) -> str:
    return str(prim.GetAttribute(f"mjc:{name}").Get() or default)


def _first(prim: Any, name: str, default: float) -> float:
    values = prim.GetAttribute(f"mjc:{name}").Get()
    return default if values is None or not len(values) else float(values[0])


def _bias(prim: Any) -> tuple[float, float, float]:
    if _word(prim, "biasType", "none") == "none":
        return 0.0, 0.0, 0.0
    found = [float(v) for v in prim.GetAttribute("mjc:biasPrm").Get() or ()]
    b0, b1, b2 = [*found, 0.0, 0.0, 0.0][:3]
    return b0, b1, b2


def _range(prim: Any, name: str) -> tuple[float, float] | None:
    """The range of a control or force; ``None`` if it has none."""
    low, high = (
        float(prim.GetAttribute(f"mjc:{name}Range:{end}").Get() or 0.0) for end in ("min", "max")
    )
    limited = _word(prim, f"{name}Limited", "auto")
    return (low, high) if limited == "true" or (limited == "auto" and low < high) else None


def _add(joint: UsdJoint, entry: Entry) -> None:
    prim = entry.prim
    gear, gain, bias = _first(prim, "gear", 1.0), _first(prim, "gainPrm", 1.0), _bias(prim)
    note: dict[str, Any] = {"name": prim.GetName(), "gear": gear, "gain": gain}
    if any(bias):
        note["bias"] = list(bias)
    control, bound = 0.0, math.inf
    controls, forces = _range(prim, "ctrl"), _range(prim, "force")
    if controls is not None:
        note["controlRange"] = list(controls)
        control = min(max(control, controls[0]), controls[1])
        if not any(bias):
            bound = abs(gear * gain) * max(map(abs, controls))
    if forces is not None:
        note["forceRange"] = list(forces)
        bound = min(bound, abs(gear) * max(map(abs, forces)))
    joint.notes.setdefault("actuators", []).append(note)
    kind, axis = joint.single or (None, 0)
    drive = None
    if kind is not None:
        drive = servo_drive(kind, axis, gear, gain, bias, control, bound)
    if drive is not None:
        stated = joint.description
        joint.description = replace(stated, drives=(*stated.drives, drive))
