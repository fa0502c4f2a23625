"""MJCF models of installed packages, what MuJoCo says of them, and the same of their glTF."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pybullet

import gltf_bullet as gb
from gltf_bullet.convert.mjcf.compiling import compile_mjcf
from gltf_bullet.convert.mjcf.model import MjcfModel
from gltf_bullet.convert.mjcf.world import describe_mjcf
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.model import DofKind
from gltf_bullet.runtime.world_export import checked_file

Array = npt.NDArray[np.float64]

WITHOUT_DRAWING = gb.LoadOptions(visuals="none")

_PACKAGES = {
    "gymnasium": ("envs/mujoco/assets/*.xml",),
    "gymnasium_robotics": (
        "envs/assets/fetch/*.xml",
        "envs/assets/hand/*.xml",
        "envs/assets/adroit_hand/adroit_*.xml",
        "envs/assets/kitchen_franka/*/kitchen_env_model.xml",
        "envs/assets/kitchen_franka/*/franka_config.xml",
        "envs/assets/point/*.xml",
        "envs/multiagent_mujoco/assets/*.xml",
    ),
    "dm_control": (
        "suite/*.xml",
        "third_party/*/*.xml",
        "mujoco/testing/assets/*.xml",
        "locomotion/walkers/assets/*.xml",
        "locomotion/walkers/assets/*/*.xml",
        "locomotion/soccer/assets/*/*.xml",
        "entities/props/*/*.xml",
    ),
    "mujoco": ("testdata/*.xml",),
}
_TENDON, _OF_JOINT = 3, 1
"""``mjTRN_TENDON``, ``mjWRAP_JOINT``."""
_FRAGMENTS = ("shared", "assets", "common", "touch_sensors_92", "floor", "defaults")
"""Parts of names of files that others include."""


def root_of(package: str) -> Path | None:
    """The folder of an installed package, without importing it."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        return None
    return Path(next(iter(found.submodule_search_locations)))


def installed_models() -> list[tuple[Path, Path]]:
    """Models with the folders of their packages, fragments left out."""
    found = []
    for package, patterns in _PACKAGES.items():
        root = root_of(package)
        if root is None:
            continue
        for pattern in patterns:
            found += [
                (path, root)
                for path in sorted(root.glob(pattern))
                if not path.stem.endswith(_FRAGMENTS) and "<worldbody" in _text_of(path)
            ]
    return found


def _text_of(path: Path) -> str:
    text = path.read_text(errors="replace")
    return text if "<mujoco" in text else ""


@cache
def compiled(path: Path, root: Path) -> tuple[MjcfModel, Diagnostics]:
    diagnostics = Diagnostics()
    return compile_mjcf(path, diagnostics, [root]), diagnostics


def asset_of(model: MjcfModel, diagnostics: Diagnostics | None = None) -> gb.Asset:
    found = Diagnostics() if diagnostics is None else diagnostics
    return checked_file(describe_mjcf(model, found), found)[1]


def truth(path: Path) -> Any:
    """MuJoCo's own model."""
    import mujoco

    return mujoco.MjModel.from_xml_path(str(path))


def nodes_by_name(asset: gb.Asset) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, name in enumerate(asset.document.tree.names):
        found.setdefault(name, []).append(number)
    return found


def body_nodes(asset: gb.Asset, model: MjcfModel) -> dict[int, int]:
    """The node of each body; names of bodies may be those of joints and sites, too."""
    names, found = nodes_by_name(asset), {}
    for body in range(1, model.count("body")):
        numbers = names.get(model.name_of("body", body), [])
        moving = [n for n in numbers if n in asset.physics.motions]
        others = [n for n in numbers if n not in asset.physics.joints]
        if moving or others:
            found[body] = (moving or others)[0]
    return found


def joint_nodes(asset: gb.Asset, model: MjcfModel) -> dict[int, int]:
    names, found = nodes_by_name(asset), {}
    for joint in range(model.count("jnt")):
        numbers = names.get(model.name_of("jnt", joint), [])
        joints = [n for n in numbers if n in asset.physics.joints]
        if len(joints) == 1:
            found[joint] = joints[0]
    return found


def rotors(native: Any, body: int) -> Array:
    """The tensor of the rotors of a body's hinges and balls, which is part of ours."""
    found = np.zeros((3, 3))
    first = int(native.body_jntadr[body])
    for joint in range(first, first + int(native.body_jntnum[body])):
        armature = float(native.dof_armature[native.jnt_dofadr[joint]])
        if native.jnt_type[joint] == 3:
            found += armature * np.outer(native.jnt_axis[joint], native.jnt_axis[joint])
        elif native.jnt_type[joint] == 1:
            found += armature * np.eye(3)
    return found


def tensor(diagonal: npt.ArrayLike, quaternion_wxyz: npt.ArrayLike) -> Array:
    turn = tensor_turn(quaternion_wxyz)
    return np.asarray(turn @ np.diag(np.asarray(diagonal, dtype=float)) @ turn.T)


def set_joints(
    client: int, scene: gb.Scene, nodes: dict[int, int], model: Any, positions: Array,
    speeds: Array | None = None,
) -> None:  # fmt: skip
    """Put the joints of a scene where MuJoCo's generalised positions have them."""
    for joint, node in nodes.items():
        (dof,) = scene.joints[node].degrees_of_freedom
        at, first = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        if model.jnt_type[joint] == 1:
            w, x, y, z = positions[at : at + 4]
            pybullet.resetJointStateMultiDof(
                dof.body_id, dof.link_index, [x, y, z, w], [0.0] * 3, physicsClientId=client
            )
        else:
            speed = 0.0 if speeds is None else float(speeds[first])
            pybullet.resetJointState(
                dof.body_id, dof.link_index, float(positions[at]), speed, physicsClientId=client
            )


def random_positions(model: Any, chance: np.random.Generator, share: float = 1.0) -> Array:
    """Within the ranges of the joints; free joints where they are."""
    positions = model.qpos0.copy()
    for joint in range(model.njnt):
        at = model.jnt_qposadr[joint]
        kind = model.jnt_type[joint]
        if kind == 1:
            turn = chance.normal(size=4) * share + (2.0, 0.0, 0.0, 0.0)
            positions[at : at + 4] = turn / np.linalg.norm(turn)
        elif kind in (2, 3):
            low, high = model.jnt_range[joint] if model.jnt_limited[joint] else (-1.0, 1.0)
            middle, half = 0.5 * (low + high), 0.5 * (high - low)
            positions[at] = middle + share * chance.uniform(-half, half)
    return positions


def tree_root(model: Any, body: int) -> int:
    """The body with a free joint above a body, or the world."""
    while body and not (model.body_jntnum[body] and model.jnt_type[model.body_jntadr[body]] == 0):
        body = int(model.body_parentid[body])
    return body


def relative_poses(model: Any, data: Any) -> dict[int, Array]:
    """Each body as its root sees it, 4 x 4."""
    whole = {}
    for body in range(model.nbody):
        matrix = np.eye(4)
        matrix[:3, :3] = data.xmat[body].reshape(3, 3)
        matrix[:3, 3] = data.xpos[body]
        whole[body] = matrix
    return {b: np.linalg.inv(whole[tree_root(model, b)]) @ whole[b] for b in whole}


def file_poses(asset: gb.Asset, nodes: dict[int, int], model: Any, positions: Array) -> list[Array]:
    """World matrices of all nodes of a file whose joints stand at generalised positions."""
    tree = asset.document.tree
    locals_ = [np.array(matrix) for matrix in tree.local_matrices()]
    parents = [int(p) for p in tree.parents]
    for joint, node in nodes.items():
        entry = asset.physics.joints[node]
        link_from_end = np.eye(4)
        link = entry.connected_node
        while parents[link] != node:
            link_from_end = locals_[link] @ link_from_end
            link = parents[link]
        moved = np.eye(4)
        at = int(model.jnt_qposadr[joint])
        if model.jnt_type[joint] == 1:
            moved[:3, :3] = tensor_turn(positions[at : at + 4])
        else:
            locked = {
                (limit.kind, axis)
                for limit in entry.description.limits
                if limit.minimum == limit.maximum == 0.0
                for axis in limit.axes
            }
            kind = DofKind.LINEAR if model.jnt_type[joint] == 2 else DofKind.ANGULAR
            (axis,) = {0, 1, 2} - {a for k, a in locked if k is kind}
            if kind is DofKind.LINEAR:
                moved[axis, 3] = positions[at]
            else:
                half = 0.5 * positions[at]
                turn = np.zeros(4)
                turn[0], turn[axis + 1] = np.cos(half), np.sin(half)
                moved[:3, :3] = tensor_turn(turn)
        locals_[link] = moved @ np.linalg.inv(link_from_end)
    whole: list[Array] = [np.eye(4)] * len(parents)
    for number in (int(n) for level in tree.levels for n in level):
        above = parents[number]
        whole[number] = whole[above] @ locals_[number] if above >= 0 else locals_[number]
    return whole


def tensor_turn(quaternion_wxyz: npt.ArrayLike) -> Array:
    """A rotation matrix."""
    w, x, y, z = np.asarray(quaternion_wxyz, dtype=float)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def simplified(model: MjcfModel, positions: Array, *, tendons: bool = False) -> MjcfModel:
    """A model without contacts, limits, armature, friction and loops, at generalised positions.

    Actuators and springs of tendons stay if asked: their drives are exact at the start.
    """
    arrays = {name: values.copy() for name, values in model.arrays.items()}
    for name in (
        "jnt_limited", "geom_contype", "geom_conaffinity", "dof_armature", "dof_frictionloss",
        "eq_active0",
    ):  # fmt: skip
        arrays[name][:] = 0
    free = arrays["jnt_dofadr"][arrays["jnt_type"] == 0]
    arrays["dof_damping"][(free[:, None] + np.arange(6)).ravel()] = 0
    late = np.isin(arrays["actuator_dyntype"], (2, 3))
    late |= (arrays["actuator_trntype"] == _TENDON) & (not tendons)
    arrays["actuator_gainprm"][late] = arrays["actuator_biasprm"][late] = 0
    if not tendons:
        arrays["tendon_stiffness"][:] = arrays["tendon_damping"][:] = 0
    arrays["pair_geom1"] = arrays["pair_geom2"] = np.zeros(0, dtype=int)
    arrays["key_qpos"] = positions[None, :]
    for name, width in (
        ("key_ctrl", model.facts["counts"]["nu"]),
        ("key_mpos", 3),
        ("key_mquat", 4),
    ):
        arrays[name] = np.zeros((1, width))
    moved = np.flatnonzero(arrays["body_mocapid"] >= 0)
    arrays["key_mpos"] = arrays["body_pos"][moved].reshape(1, -1)
    arrays["key_mquat"] = arrays["body_quat"][moved].reshape(1, -1)
    facts = {**model.facts, "names": {**model.facts["names"], "key": ["start"]}}
    return MjcfModel(arrays, facts)


def _is_fixed(model: Any, tendon: int) -> bool:
    first, count = model.tendon_adr[tendon], model.tendon_num[tendon]
    return bool((model.wrap_type[first : first + count] == _OF_JOINT).all())


def simplify(model: Any, *, tendons: bool = False) -> None:
    """The same of MuJoCo's own model, and without what glTF cannot say: tendons, media."""
    import mujoco

    flags = mujoco.mjtDisableBit
    model.opt.disableflags |= int(
        flags.mjDSBL_CONTACT | flags.mjDSBL_LIMIT | flags.mjDSBL_EQUALITY
        | flags.mjDSBL_FRICTIONLOSS
    )  # fmt: skip
    model.dof_armature[:] = 0.0
    free = model.jnt_dofadr[model.jnt_type == 0]
    model.dof_damping[(free[:, None] + np.arange(6)).ravel()] = 0.0
    model.opt.density = model.opt.viscosity = 0.0
    model.opt.wind[:] = 0.0
    for tendon in range(model.ntendon):
        if not (tendons and _is_fixed(model, tendon)):
            model.tendon_stiffness[tendon] = model.tendon_damping[tendon] = 0.0
    for name in ("tendon_armature", "actuator_armature", "actuator_damping", "dof_dampingpoly"):
        if hasattr(model, name):
            getattr(model, name)[:] = 0.0
    known = np.isin(model.actuator_trntype, (0, 1))
    if tendons:
        fixed = [
            kind == _TENDON and _is_fixed(model, target)
            for kind, (target, _) in zip(model.actuator_trntype, model.actuator_trnid, strict=True)
        ]
        known |= np.array(fixed, dtype=bool)
    lost = ~known | (model.actuator_dyntype != 0)
    model.actuator_gainprm[lost] = 0.0
    model.actuator_biasprm[lost] = 0.0
    mujoco.mj_setConst(model, mujoco.MjData(model))  # what is known of simple bodies beforehand
