"""Actuators of joints as drives: ``gain * ctrl + b0 + b1 * length + b2 * velocity``.

The length of an actuator is ``gear`` times the position of its joint, and the force on the joint
is ``gear`` times the force of the actuator (MuJoCo, "Actuation model"). A fixed tendon is one more
gear where equalities make all its joints follow one.

Over several joints ``q_i`` that do not, the length is ``gear * sum(r_i q_i)``, and an actuator that
feels its length with the stiffness ``k`` couples the joints: ``K_ij = k gear^2 r_i r_j``. Drives
feel one joint each: they get the sums of the rows, ``k gear^2 |r_i| sum(|r_j|)``, with targets at
which the force of the start is exact. So the tendon is as stiff as it is where its joints move
alike, its targets are at its length, and motions that leave its length are resisted where MuJoCo
leaves them free. A force that feels nothing (a motor) is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec import field as msgspec_field

from gltf_bullet.convert.mjcf.equalities import Equalities
from gltf_bullet.convert.mjcf.model import JointType, MjcfModel
from gltf_bullet.convert.mjcf.tendons import has_spring, joints_of_tendon
from gltf_bullet.model import DofKind, DriveMode, JointDrive
from gltf_bullet.transforms import FloatArray

_JOINT, _JOINT_IN_PARENT, _TENDON = 0, 1, 3
_RANGES = {
    "actuator_force": "forceRange", "jnt_actfrc": "jointForceRange",
    "tendon_actfrc": "tendonForceRange",
}  # fmt: skip
_FIXED_GAIN = 0
_NO_BIAS, _AFFINE_BIAS = 0, 1
_NO_DYNAMICS, _FILTER, _FILTER_EXACT = 0, 2, 3


class ActuatorDrives(Struct):
    """Drives and notes from the actuators of a model, and the actuators without a drive."""

    drives: dict[int, list[JointDrive]] = msgspec_field(default_factory=dict)
    """Drives by joint; their axis is to be filled in."""
    notes: dict[int, list[dict[str, Any]]] = msgspec_field(default_factory=dict)
    """Notes for ``extras`` by joint."""
    lost: dict[str, list[str]] = msgspec_field(default_factory=dict)
    """Names of actuators without a drive, by the reason."""
    filtered: list[str] = msgspec_field(default_factory=list)
    """Names of actuators whose activation follows the control with a delay."""
    lopsided: list[str] = msgspec_field(default_factory=list)
    """Names of actuators with different limits for both directions."""
    tendons: set[int] = msgspec_field(default_factory=set)
    """Tendons of actuators that have a drive."""
    uncoupled: dict[str, float] = msgspec_field(default_factory=dict)
    """Stiffness [N/m] or [N m/rad], or damping where there is none, against motions that leave the
    length of a tendon, by the name of the actuator, or of the tendon for a spring of its own."""
    springs: set[int] = msgspec_field(default_factory=set)
    """Tendons whose springs and dampers are drives."""


class _Transmission(Struct, frozen=True, kw_only=True):
    """The joints that an actuator drives, each by a ratio that is not 0.

    Its length is ``gear * (sum(ratio * position) + shift)``.
    """

    ratios: dict[int, float]
    shift: float = 0.0
    tendon: int = -1


def read_actuators(
    model: MjcfModel,
    equalities: Equalities,
    controls: Mapping[int, float],
    positions: FloatArray,
) -> ActuatorDrives:
    """Drives of all actuators.

    Args:
        model: The model.
        equalities: Its equalities, which say what joints follow others.
        controls: Initial controls of the drives by actuator; 0 for actuators without an entry.
        positions: Generalised positions at the start.
    """
    result = ActuatorDrives()
    for number in range(model.count("actuator")):
        name = model.name_of("actuator", number)
        by = _transmission(model, equalities, number)
        why = by if isinstance(by, str) else _why_lost(model, number)
        if isinstance(by, str) or why:
            result.lost.setdefault(why, []).append(name)
            continue
        if by.tendon >= 0:
            result.tendons.add(by.tendon)
        _add(result, model, number, name, by, controls.get(number, 0.0), positions)
    for tendon in range(model.count("tendon")):
        if has_spring(model, tendon):
            _add_spring(result, model, equalities, tendon, positions)
    return result


def _transmission(model: MjcfModel, equalities: Equalities, number: int) -> _Transmission | str:
    """Find the transmission of an actuator, or the reason why it drives no joint."""
    kind, target = model["actuator_trntype"][number], int(model["actuator_trnid"][number, 0])
    if kind == _TENDON:
        return _of_tendon(model, equalities, target)
    if kind not in (_JOINT, _JOINT_IN_PARENT):
        return "transmission to no joint"
    if model["jnt_type"][target] not in (JointType.SLIDE, JointType.HINGE):
        return "transmission to a ball or free joint"
    return _Transmission(ratios={target: 1.0})


def _of_tendon(model: MjcfModel, equalities: Equalities, tendon: int) -> _Transmission | str:
    """Return the joints whose positions are the length of a tendon, or the reason why not."""
    joints = joints_of_tendon(model, tendon)
    if joints is None:
        return "transmission to a spatial tendon"
    led = [(value, *equalities.by_leader(joint)) for joint, value in joints.items()]
    ratios: dict[int, float] = {}
    for value, leader, slope, _ in led:
        ratios[leader] = ratios.get(leader, 0.0) + value * slope
    if not any(ratios.values()):
        return "transmission to a tendon whose length stays"
    return _Transmission(
        ratios={leader: ratio for leader, ratio in ratios.items() if ratio},
        shift=sum(value * offset for value, _, _, offset in led),
        tendon=tendon,
    )


def _why_lost(model: MjcfModel, number: int) -> str:
    """Reason why an actuator has no drive, in words; empty if it has one."""
    if model["actuator_dyntype"][number] not in (_NO_DYNAMICS, _FILTER, _FILTER_EXACT):
        return "activation of its own"
    if model["actuator_gaintype"][number] != _FIXED_GAIN or (
        model["actuator_biastype"][number] not in (_NO_BIAS, _AFFINE_BIAS)
    ):
        return "gain that is no constant"
    _, stiffness, damping = _bias(model, number)
    if stiffness > 0.0 or damping > 0.0:
        return "bias that drives away from its target"
    return ""


def _bias(model: MjcfModel, number: int) -> tuple[float, float, float]:
    if model["actuator_biastype"][number] == _NO_BIAS:
        return 0.0, 0.0, 0.0
    b0, b1, b2 = (float(v) for v in model["actuator_biasprm"][number, :3])
    return b0, b1, b2


def _add(
    result: ActuatorDrives,
    model: MjcfModel,
    number: int,
    name: str,
    by: _Transmission,
    control: float,
    positions: FloatArray,
) -> None:
    gear = float(model["actuator_gear"][number, 0])
    felt = _felt(result, model, name, by, gear, _bias(model, number), positions)
    if model["actuator_dyntype"][number] != _NO_DYNAMICS:
        result.filtered.append(name)
    for joint, bias in felt.items():
        _add_drive(result, model, number, name, by, joint, bias, control)


def _felt(
    result: ActuatorDrives,
    model: MjcfModel,
    name: str,
    by: _Transmission,
    gear: float,
    bias: tuple[float, float, float],
    positions: FloatArray,
) -> dict[int, tuple[float, float, float]]:
    """Return the bias as each joint feels it, by its own position and velocity alone."""
    starts = {j: float(positions[model["jnt_qposadr"][j]]) for j in by.ratios}
    length, whole = 0.0, 0.0
    for joint, ratio in by.ratios.items():
        length, whole = length + ratio * starts[joint], whole + abs(ratio)
    if len(by.ratios) > 1 and any(bias[1:]):
        most = max(map(abs, by.ratios.values()))
        result.uncoupled[name] = gear**2 * most * whole * abs(bias[1] or bias[2])
    found = {}
    for joint, ratio in by.ratios.items():
        lump = whole / abs(ratio)  # 1 for a single joint
        # What the length has besides this joint's share of it, at the start.
        rest = by.shift + (length - lump * ratio * starts[joint] if len(by.ratios) > 1 else 0.0)
        found[joint] = (bias[0] + bias[1] * gear * rest, lump * bias[1], lump * bias[2])
    return found


def _add_spring(
    result: ActuatorDrives,
    model: MjcfModel,
    equalities: Equalities,
    tendon: int,
    positions: FloatArray,
) -> None:
    """Add the spring and the damper of a fixed tendon, unless it has lengths without a force."""
    by = _of_tendon(model, equalities, tendon)
    shortest, longest = (float(v) for v in model["tendon_lengthspring"][tendon])
    stiffness, damping = (float(model[f"tendon_{k}"][tendon]) for k in ("stiffness", "damping"))
    if isinstance(by, str) or (stiffness > 0.0 and shortest != longest):
        return
    result.springs.add(tendon)
    name, bias = model.name_of("tendon", tendon), (stiffness * longest, -stiffness, -damping)
    for joint, felt in _felt(result, model, name, by, 1.0, bias, positions).items():
        drive = servo_drive(_kind_of(model, joint), 0, by.ratios[joint], 0.0, felt, 0.0, math.inf)
        if drive is not None:
            result.drives.setdefault(joint, []).append(drive)


def _kind_of(model: MjcfModel, joint: int) -> DofKind:
    is_hinge = model["jnt_type"][joint] == JointType.HINGE
    return DofKind.ANGULAR if is_hinge else DofKind.LINEAR


def _add_drive(
    result: ActuatorDrives,
    model: MjcfModel,
    number: int,
    name: str,
    by: _Transmission,
    joint: int,
    bias: tuple[float, float, float],
    control: float,
) -> None:
    """Add the drive of one joint; ``bias``: as the joint feels it."""
    gear = float(model["actuator_gear"][number, 0]) * by.ratios[joint]
    gain = float(model["actuator_gainprm"][number, 0])
    low, high = (float(v) for v in model["actuator_ctrlrange"][number])
    is_bound = bool(model["actuator_ctrllimited"][number])
    if is_bound:
        control = min(max(control, low), high)
    note: dict[str, Any] = {"name": name, "gear": gear, "gain": gain}
    if any(bias):
        note["bias"] = list(bias)
    if is_bound:
        note["controlRange"] = [low, high]
    if by.tendon >= 0:
        note["tendon"] = model.name_of("tendon", by.tendon)
    limits = [math.inf]
    own = ("jnt_actfrc", joint, 1.0)
    if by.tendon >= 0:
        own = ("tendon_actfrc", by.tendon, abs(by.ratios[joint]))
    for owner, at, scale in (("actuator_force", number, abs(gear)), own):
        if not model[f"{owner}limited"][at]:
            continue
        least, most = (float(v) for v in model[f"{owner}range"][at])
        limits.append(scale * max(abs(least), abs(most)))
        note[_RANGES[owner]] = [least, most]
        if least != -most:
            result.lopsided.append(name)
    if not any(bias) and is_bound:
        limits.append(abs(gear * gain) * max(abs(low), abs(high)))
    result.notes.setdefault(joint, []).append(note)
    drive = servo_drive(_kind_of(model, joint), 0, gear, gain, bias, control, min(limits))
    if drive is not None:
        result.drives.setdefault(joint, []).append(drive)


def servo_drive(
    kind: DofKind,
    axis: int,
    gear: float,
    gain: float,
    bias: tuple[float, float, float],
    control: float,
    bound: float,
) -> JointDrive | None:
    """The drive of an actuator; ``None`` for one without bounds whose control alone is its force.

    Args:
        kind: Kind of the driven axis.
        axis: Its number in the frame of the joint.
        gear: Length of the actuator by position of the joint.
        gain: Force by control.
        bias: Constant, and force by length and by velocity.
        control: The control at the start.
        bound: Largest force on the joint [N] or [N m].
    """
    stiffness, damping = 0.0 - bias[1] * gear**2, 0.0 - bias[2] * gear**2
    if stiffness == 0.0 and damping == 0.0 and math.isinf(bound):
        return None
    constant = gear * (gain * control + bias[0])
    return JointDrive(
        kind=kind,
        axis=axis,
        mode=DriveMode.FORCE,
        max_force=bound,
        stiffness=stiffness,
        damping=damping,
        position_target=constant / stiffness if stiffness > 0.0 else 0.0,
        velocity_target=constant / damping if stiffness == 0.0 and damping > 0.0 else 0.0,
    )
