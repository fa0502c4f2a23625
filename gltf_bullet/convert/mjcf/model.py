"""A compiled MuJoCo model as arrays, named as in ``mjModel``, without MuJoCo."""

from __future__ import annotations

import enum
import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gltf_bullet.transforms import Pose, Vec3

WORLD = 0
"""Number of the body at the root of the tree, the fixed world."""


class JointType(enum.IntEnum):
    """``mjtJoint``."""

    FREE = 0
    BALL = 1
    SLIDE = 2
    HINGE = 3


class GeomType(enum.IntEnum):
    """``mjtGeom``, restricted to geoms of models."""

    PLANE = 0
    HFIELD = 1
    SPHERE = 2
    CAPSULE = 3
    ELLIPSOID = 4
    CYLINDER = 5
    BOX = 6
    MESH = 7
    SDF = 8


_WORDS = {"jnt": "joint", "cam": "camera", "mat": "material", "tex": "texture", "eq": "equality"}


@dataclass(frozen=True, eq=False)
class MjcfModel:
    """A compiled model; positions [m], angles [rad], quaternions w first."""

    arrays: dict[str, npt.NDArray[Any]]
    facts: dict[str, Any]
    """Names, options and counts, which are no arrays."""

    @staticmethod
    def load(path: str | os.PathLike[str]) -> MjcfModel:
        """Read the output of the compiling process; it contains no code."""
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: np.array(file[key]) for key in file.files}
        facts = json.loads(arrays.pop("facts").tobytes())
        _switch_off(arrays, facts["options"])
        return MjcfModel(arrays, facts)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self.arrays[name]

    def get(self, name: str, like: str) -> npt.NDArray[Any]:
        """An array, or zeros for each row of ``like`` if this version of MuJoCo lacks it."""
        found = self.arrays.get(name)
        return np.zeros(len(self.arrays[like])) if found is None else found

    @property
    def name(self) -> str:
        """Name of the model; MuJoCo's default is "MuJoCo Model"."""
        return str(self.facts["name"])

    def option(self, name: str) -> Any:
        """A value of ``<option>``."""
        return self.facts["options"][name]

    def count(self, kind: str) -> int:
        """Number of elements of a kind (``"body"``, ``"jnt"``, ...)."""
        return len(self.facts["names"][kind])

    def name_of(self, kind: str, number: int) -> str:
        """The name of an element; without one, its kind and number."""
        given = str(self.facts["names"][kind][number])
        return given or f"{_WORDS.get(kind, kind)} {number}"

    def joints_of(self, body: int) -> range:
        """The numbers of a body's joints."""
        first, count = int(self["body_jntadr"][body]), int(self["body_jntnum"][body])
        return range(first, first + count) if count else range(0)

    def geoms_of(self, body: int) -> range:
        """The numbers of a body's geoms."""
        first, count = int(self["body_geomadr"][body]), int(self["body_geomnum"][body])
        return range(first, first + count) if count else range(0)

    def is_free(self, body: int) -> bool:
        """Return True if a body has a free joint."""
        return any(self["jnt_type"][joint] == JointType.FREE for joint in self.joints_of(body))

    def is_static(self, body: int) -> bool:
        """Return True if nothing can move a body: it is the world, or fixed to it."""
        return int(self["body_weldid"][body]) == WORLD and int(self["body_mocapid"][body]) < 0

    def keyframe(self, wanted: str) -> int:
        """The number of a keyframe, of its name or number.

        Raises:
            ValueError: The keyframe does not exist; the message lists those that do.
        """
        names = [self.name_of("key", k) for k in range(self.count("key"))]
        if wanted in names:
            return names.index(wanted)
        if wanted.isdecimal() and int(wanted) < len(names):
            return int(wanted)
        found = ", ".join(names) or "none"
        raise ValueError(f"keyframe is {wanted!r}; the model has {found}")

    def start(self, key: int | None) -> npt.NDArray[np.float64]:
        """The generalised positions of a keyframe; ``None``: ``qpos0``, as in ``mj_resetData``."""
        chosen = self["qpos0"] if key is None else self["key_qpos"][key]
        return np.array(chosen, dtype=np.float64)


_CONSTRAINTS = 1
_SWITCHES = {
    1 << 1: ("eq_active0",),
    1 << 2: ("dof_frictionloss",),
    1 << 3: ("jnt_limited",),
    1 << 4: ("geom_contype", "geom_conaffinity"),
    1 << 5: ("jnt_stiffness", "jnt_stiffnesspoly"),
    1 << 6: ("dof_damping", "dof_dampingpoly"),
    1 << 11: ("actuator_gainprm", "actuator_biasprm"),
}
"""Bits of ``<option><flag>`` (``mjtDisableBit``), and the arrays that they set to 0."""
_GRAVITY_OFF = 1 << 7
_CONTACT_OFF = 1 << 4


def _switch_off(arrays: dict[str, npt.NDArray[Any]], options: dict[str, Any]) -> None:
    """Apply ``<flag>`` to the arrays; one bit stands for all constraints."""
    flags = int(options["disableflags"])
    if flags & _CONSTRAINTS:
        flags |= (1 << 1) | (1 << 2) | (1 << 3) | _CONTACT_OFF
    for bit, names in _SWITCHES.items():
        for name in names if flags & bit else ():
            if name in arrays:
                arrays[name][:] = 0
    if flags & _CONTACT_OFF:
        for name in ("pair_geom1", "pair_geom2"):
            arrays[name] = arrays[name][:0]
    if flags & _GRAVITY_OFF:
        options["gravity"] = [0.0, 0.0, 0.0]


def vector(values: npt.ArrayLike) -> Vec3:
    """Three numbers as floats."""
    x, y, z = np.asarray(values, dtype=np.float64).tolist()
    return x, y, z


def pose_of(position: npt.ArrayLike, quaternion: npt.ArrayLike) -> Pose:
    """A pose from MuJoCo's numbers; the quaternion need not have length 1."""
    quat = np.asarray(quaternion, dtype=np.float64)
    length = float(np.linalg.norm(quat))
    w, x, y, z = (quat / length).tolist() if length > 0.0 else (1.0, 0.0, 0.0, 0.0)
    return Pose((x, y, z, w), vector(position))
