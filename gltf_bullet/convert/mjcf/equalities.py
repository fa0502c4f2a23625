"""Equalities: ``connect`` and ``weld`` as constraints, ``joint`` and ``tendon`` as a mimic rule.

They hold in ``qpos0``; the engine closes the gap of a start at other positions.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gltf_bullet.convert.description import ConstraintDescription, ConstraintKind, MimicRule
from gltf_bullet.convert.mjcf.model import MjcfModel, pose_of, vector
from gltf_bullet.convert.mjcf.tendons import joints_of_tendon
from gltf_bullet.transforms import Pose

_CONNECT, _WELD, _JOINT, _TENDON = 0, 1, 2, 3
_KINDS = (
    "connect", "weld", "joint", "tendon", "flex", "flexvert", "flexstrain", "distance",
)  # fmt: skip
_OF_SITES = 6
"""``mjOBJ_SITE``."""


class Equalities:
    """The equalities of a model: constraints, mimic rules, and those without a counterpart."""

    def __init__(self, model: MjcfModel) -> None:
        self._model = model
        self.lost: dict[str, list[str]] = {}
        """Names of equalities without a counterpart, by the reason."""
        self.curved: dict[str, float] = {}
        """Largest deviation of a mimic curve from its line within the range [rad or m], by name of
        the joint."""
        self.tendons: set[int] = set()
        """Tendons that a mimic rule stands for."""
        self._leaders: dict[int, tuple[int, float, float]] = {}
        """Leading joint, multiplier and offset, by following joint."""
        self._holding: list[int] = []
        for number in range(model.count("eq")):
            self._read(number)

    def mimic(self, joint: int) -> MimicRule | None:
        """The rule by which a joint follows another; ``None`` if it follows none."""
        if joint not in self._leaders:
            return None
        leader, slope, offset = self._leaders[joint]
        return MimicRule(self._model.name_of("jnt", leader), slope, offset)

    def by_leader(self, joint: int) -> tuple[int, float, float]:
        """The joint that leads another in the end, with multiplier and offset; itself if none."""
        slope, offset = 1.0, 0.0
        for _ in self._leaders:
            if joint not in self._leaders:
                break
            joint, factor, shift = self._leaders[joint]
            slope, offset = slope * factor, offset + slope * shift
        return joint, slope, offset

    def _read(self, number: int) -> None:
        model = self._model
        kind = int(model["eq_type"][number])
        name = model.name_of("eq", number)
        if not model["eq_active0"][number]:
            self._lose("equality that is off", name)
        elif kind in (_CONNECT, _WELD):
            self._holding.append(number)
        elif kind == _TENDON:
            self._read_tendons(number, name)
        elif kind != _JOINT:
            self._lose(f"equality of type {_KINDS[kind] if kind < len(_KINDS) else kind}", name)
        else:
            self._read_rule(number, name)

    def _lose(self, why: str, name: str) -> None:
        self.lost.setdefault(why, []).append(name)

    def _read_rule(self, number: int, name: str) -> None:
        """Read ``q1 - q1_0 = a0 + a1 (q2 - q2_0) + a2 (q2 - q2_0)^2 ...``."""
        model = self._model
        one, other = int(model["eq_obj1id"][number]), int(model["eq_obj2id"][number])
        coefficients = model["eq_data"][number, :5].astype(np.float64)
        if other < 0:
            self._lose("equality that holds one joint", name)
            return
        starts = [float(model["qpos0"][int(model["jnt_qposadr"][j])]) for j in (one, other)]
        slope = float(coefficients[1])
        offset = starts[0] + float(coefficients[0]) - slope * starts[1]
        if not self._lead(one, other, slope, offset):
            self._lose("second equality of a joint", name)
            return
        if coefficients[2:].any():
            low, high = -1.0, 1.0
            if model["jnt_limited"][other]:
                low, high = (float(v) - starts[1] for v in model["jnt_range"][other])
            at = np.linspace(low, high, 101)
            bend = coefficients[2] * at**2 + coefficients[3] * at**3 + coefficients[4] * at**4
            self.curved[model.name_of("jnt", one)] = float(np.abs(bend).max())

    def _lead(self, joint: int, leader: int, slope: float, offset: float) -> bool:
        """Let a joint follow another; False if it follows one already, or leads that one."""
        if joint in self._leaders or self.by_leader(leader)[0] == joint:
            return False
        self._leaders[joint] = (leader, slope, offset)
        return True

    def _read_tendons(self, number: int, name: str) -> None:
        """Read ``L1 - L1_0 = a0 + a1 (L2 - L2_0) + ...`` of sums of joint positions.

        Over two joints it says one by the other.
        """
        model = self._model
        tendons = [int(model[f"eq_obj{k}id"][number]) for k in (1, 2)]
        coefficients = model["eq_data"][number, :5].astype(np.float64)
        sums: dict[int, float] = {}
        for tendon, factor in zip(tendons, (1.0, -float(coefficients[1])), strict=True):
            joints = joints_of_tendon(model, tendon) if tendon >= 0 else {}
            if joints is None:
                self._lose("equality of spatial tendons", name)
                return
            for joint, value in joints.items():
                sums[joint] = sums.get(joint, 0.0) + factor * value
        sums = {joint: value for joint, value in sums.items() if value}
        if tendons[1] >= 0 and coefficients[2:].any():
            self._lose("polynomial of an equality of tendons", name)
            return
        if len(sums) != 2:
            self._lose(f"equality of tendons over {len(sums)} joint(s)", name)
            return
        starts = {j: float(model["qpos0"][int(model["jnt_qposadr"][j])]) for j in sums}
        for joint, leader in (sorted(sums, reverse=True), sorted(sums)):
            slope = -sums[leader] / sums[joint]
            offset = starts[joint] + float(coefficients[0]) / sums[joint] - slope * starts[leader]
            if self._lead(joint, leader, slope, offset):
                self.tendons.update(tendon for tendon in tendons if tendon >= 0)
                return
        self._lose("second equality of a joint", name)

    def constraints(
        self, places: Mapping[int, tuple[int, int]]
    ) -> tuple[ConstraintDescription, ...]:
        """The points and welds, between links of the description."""
        return tuple(self._constraint(number, places) for number in self._holding)

    def _constraint(
        self, number: int, places: Mapping[int, tuple[int, int]]
    ) -> ConstraintDescription:
        model = self._model
        data = model["eq_data"][number].astype(np.float64)
        ends = [int(model[f"eq_obj{k}id"][number]) for k in (1, 2)]
        is_weld = int(model["eq_type"][number]) == _WELD
        if "eq_objtype" in model.arrays and int(model["eq_objtype"][number]) == _OF_SITES:
            frames = [pose_of(model["site_pos"][s], model["site_quat"][s]) for s in ends]
            ends = [int(model["site_bodyid"][s]) for s in ends]
        elif is_weld:
            # The point in the second body, then in the first, and the second's relative rotation.
            frames = [pose_of(data[3:6], data[6:10]), Pose.from_translation(vector(data[:3]))]
        else:
            frames = [Pose.from_translation(vector(data[3 * k : 3 * k + 3])) for k in (0, 1)]
        return ConstraintDescription(
            kind=ConstraintKind.FIXED if is_weld else ConstraintKind.POINT,
            parent=places[ends[0]],
            child=places[ends[1]],
            parent_from_frame=frames[0],
            child_from_frame=frames[1],
        )
