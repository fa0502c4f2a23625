"""Models by others: what our glTF of them is, against MuJoCo itself.

They come out of installed packages (``pip install gltf_bullet[mjcf-models]``); files of which
nothing is left without others, and those that MuJoCo refuses as well, are no models.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet
import pybullet_data
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.convert.mjcf.world import describe_mjcf
from gltf_bullet.diagnostics import Diagnostics, Severity
from gltf_bullet.errors import ContainerError
from gltf_bullet.model import MotionKind
from gltf_bullet.records import replace
from gltf_bullet.runtime.world_export import checked_file
from tests.convert.mjcf_models import (
    WITHOUT_DRAWING,
    asset_of,
    body_nodes,
    compiled,
    file_poses,
    installed_models,
    joint_nodes,
    random_positions,
    relative_poses,
    root_of,
    rotors,
    set_joints,
    simplified,
    simplify,
    tensor,
    tree_root,
    truth,
)
from tests.figures import Figure

mujoco = pytest.importorskip("mujoco")

MODELS = installed_models()
QUICK = [m for m in MODELS if m[0].parent.parts[-3:] == ("envs", "mujoco", "assets")]
"""Those of gymnasium, which the extra ``gym`` brings along."""
HAS_ALL = all(root_of(name) for name in ("gymnasium", "gymnasium_robotics", "dm_control"))
OPEN = {"fruitfly_v2/fruitfly.xml": "102 hinges between parts of 1e-9 kg: the swing explodes"}
"""Models that do not move as they should, and why."""
MJCF_OF_PYBULLET = Path(pybullet_data.getDataPath()) / "mjcf"
STIFFEST = 1e6
"""[N s/m] or [N m s/rad] Dampers above brake the engine's rounding with forces that show."""

every_model = pytest.mark.parametrize(
    "model",
    [
        pytest.param(m, marks=() if m in QUICK else pytest.mark.slow, id="/".join(m[0].parts[-2:]))
        for m in MODELS
    ],
)


@pytest.mark.slow
@pytest.mark.skipif(not HAS_ALL, reason="needs gltf_bullet[mjcf-models]")
def test_there_are_forty_models_that_are_read() -> None:
    read = 0
    for path, root in MODELS:
        try:
            model, _ = compiled(path, root)
        except ContainerError:
            with pytest.raises(ValueError, match=r"."):  # MuJoCo does not take it either
                truth(path)
            continue
        read += model.count("body") > 1
    assert read >= 40


@pytest.fixture
def pair(model: tuple[Path, Path]) -> tuple[object, object]:
    """Ours and MuJoCo's."""
    try:
        return compiled(*model)[0], truth(model[0])
    except ContainerError:
        pytest.skip("MuJoCo refuses it, too")


swinging_model = pytest.mark.parametrize(
    "model",
    [
        pytest.param(
            *mark.values,
            id=mark.id,
            marks=[*mark.marks, pytest.mark.xfail(reason=OPEN[mark.id])]
            if mark.id in OPEN
            else mark.marks,
        )
        for mark in every_model.mark.args[1]
    ],
)


@every_model
def test_names_masses_inertias_ranges_and_poses(pair: tuple, figure: Figure) -> None:
    own, native = pair
    asset = asset_of(own)
    bodies, joints = body_nodes(asset, own), joint_nodes(asset, own)
    assert len(bodies) == native.nbody - 1
    assert len(joints) == int((native.jnt_type != 0).sum())
    mass, inertia = [0.0], [0.0]
    for body, node in bodies.items():
        motion = asset.physics.motions.get(node)
        if motion is None or motion.kind is MotionKind.KINEMATIC:
            assert own.is_static(body) or native.body_mocapid[body] >= 0
            continue
        if native.body_mass[body] < 1e-9 or native.body_inertia[body].min() < 1e-15:
            continue  # below what the engine carries, named
        assert motion.mass is not None
        assert motion.inertia_diagonal is not None
        mass.append(abs(motion.mass / native.body_mass[body] - 1.0))
        x, y, z, w = motion.inertia_orientation_xyzw
        wanted = tensor(native.body_inertia[body], native.body_iquat[body])
        wanted += rotors(native, body)
        found = tensor(motion.inertia_diagonal, (w, x, y, z))
        inertia.append(np.abs(found - wanted).max() / np.abs(wanted).max())
    figure("masses", max(mass), most=1e-6)
    figure("inertias", max(inertia), most=1e-6)
    for joint, node in joints.items():
        ranges = [
            (limit.minimum, limit.maximum)
            for limit in asset.physics.joints[node].description.limits
            if not limit.minimum == limit.maximum == 0.0
        ]
        wanted_range = tuple(native.jnt_range[joint].tolist())
        if own["jnt_limited"][joint] and any(wanted_range):
            assert len(ranges) == 1
            low = -np.inf if native.jnt_type[joint] == 1 else wanted_range[0]
            assert ranges[0] == pytest.approx((low, wanted_range[1]), abs=1e-12)
        else:
            assert not ranges
    data, chance, off = mujoco.MjData(native), np.random.default_rng(42), [0.0]
    for _ in range(20):
        data.qpos[:] = random_positions(native, chance)
        mujoco.mj_kinematics(native, data)
        poses, relative = file_poses(asset, joints, native, data.qpos), relative_poses(native, data)
        for body, node in bodies.items():
            root = tree_root(native, body)
            # The node of the world turns Z up to Y up.
            above = poses[bodies[root]] if root else poses[0]
            off.append(np.abs(np.linalg.inv(above) @ poses[node] - relative[body]).max())
    figure("poses", max(off), most=1e-6, unit="m")


@every_model
def test_poses_in_the_engine(pair: tuple, figure: Figure) -> None:
    own, native = pair
    free = replace(own, arrays={**own.arrays, "eq_active0": own["eq_active0"] * 0})
    asset = asset_of(free)  # a loop would hold bodies where other joints do not have them
    bodies, joints = body_nodes(asset, own), joint_nodes(asset, own)
    data, chance, off = mujoco.MjData(native), np.random.default_rng(42), [0.0]
    with headless_world() as client:
        scene = asset.instantiate(client, options=WITHOUT_DRAWING)
        _skip_what_is_cut(scene)
        for _ in range(20):
            data.qpos[:] = random_positions(native, chance)
            mujoco.mj_kinematics(native, data)
            set_joints(client, scene, joints, native, data.qpos)
            relative = relative_poses(native, data)
            for body, node in bodies.items():
                root = tree_root(native, body)
                above = scene.world_from_node(bodies[root]) if root else np.eye(4)
                found = np.linalg.inv(above) @ scene.world_from_node(node)
                off.append(np.abs(found - relative[body]).max())
    figure("poses", max(off), most=1e-6, unit="m")


@swinging_model
def test_force_of_actuators_springs_and_dampers(pair: tuple, figure: Figure) -> None:
    """What acts on each joint in a step too short to move anything, without gravity."""
    own, native = pair
    simplify(native, tendons=True)
    native.opt.gravity[:] = 0.0
    chance, data = np.random.default_rng(7), mujoco.MjData(native)
    data.qpos[:] = random_positions(native, chance, 0.5)
    mujoco.mj_forward(native, data)
    wanted = data.qfrc_actuator + data.qfrc_passive
    asset = _start(own, data.qpos, tendons=True)
    off = [0.0]
    with headless_world() as client:
        pybullet.setTimeStep(1e-11, physicsClientId=client)
        pybullet.setGravity(0, 0, 0, physicsClientId=client)
        scene = asset.instantiate(client, options=WITHOUT_DRAWING)
        _skip_what_is_cut(scene)
        scene.step()
        for joint, node in joint_nodes(asset, own).items():
            (dof,) = scene.joints[node].degrees_of_freedom
            first = int(native.jnt_dofadr[joint])
            if native.jnt_type[joint] == 1 or native.dof_damping[first] > STIFFEST:
                continue
            force = float(wanted[first])
            # Dampers already act on what the step brings; that shows beside forces near 0.
            scale = max(abs(force), 0.01 * float(np.abs(wanted).max()), 1e-3)
            off.append(abs(float(dof.applied_force) - force) / scale)  # type: ignore[arg-type]
    figure("forces", max(off), most=0.01)


@swinging_model
def test_half_a_second_of_swing(pair: tuple, figure: Figure) -> None:
    """1000 Hz, from rest, without contacts, limits, loops and what glTF cannot say."""
    own, native = pair
    simplify(native)
    native.opt.timestep = 1e-3
    data = mujoco.MjData(native)
    data.qpos[:] = random_positions(native, np.random.default_rng(3), 0.3)
    asset = _start(own, data.qpos)
    mujoco.mj_forward(native, data)
    start, bodies = data.xpos.copy(), body_nodes(asset, own)
    with headless_world() as client:
        pybullet.setTimeStep(1e-3, physicsClientId=client)
        pybullet.setGravity(*native.opt.gravity, physicsClientId=client)
        scene = asset.instantiate(client, options=WITHOUT_DRAWING)
        _skip_what_is_cut(scene)
        scene.step(500)
        for _ in range(500):
            mujoco.mj_step(native, data)
        mujoco.mj_kinematics(native, data)
        off = [
            float(np.linalg.norm(scene.world_from_node(node)[:3, 3] - data.xpos[body]))
            for body, node in bodies.items()
        ]
    travel = float(np.linalg.norm(data.xpos - start, axis=1).max())
    figure("off, of the way", max(off, default=0.0) / max(travel, 1e-3), most=0.03)


def _skip_what_is_cut(scene: gb.Scene) -> None:
    """More links than one multibody takes: what is cut is held by welds, and named."""
    if any(issue.code == "JOINT_TREE_SPLIT" for issue in scene.issues):
        pytest.skip("cut into several multibodies, which is named")


def _start(own: object, positions: np.ndarray, *, tendons: bool = False) -> gb.Asset:
    found, simple = Diagnostics(), simplified(own, positions, tendons=tendons)
    return checked_file(describe_mjcf(simple, found, key=0), found)[1]


@every_model
def test_losses_are_named_and_no_errors(pair: tuple) -> None:
    own, _ = pair
    diagnostics = Diagnostics()
    asset_of(own, diagnostics)
    said = " ".join(issue.message for issue in diagnostics)
    for kind in ("sensor", "light", "skin"):
        assert own.count(kind) == 0 or kind in said
    # One that carries an actuator or is held may be a gear.
    is_used = 3 in own["actuator_trntype"] or 3 in own["eq_type"]
    assert own.count("tendon") == 0 or is_used or "tendon of" in said or "x tendon" in said
    assert (own["dof_armature"] > 0.0).any() == ("armature" in said)
    assert not any(issue.severity is Severity.ERROR for issue in diagnostics)


OF_PYBULLET = [(path, path.parent) for path in sorted(MJCF_OF_PYBULLET.glob("*.xml"))]


@pytest.mark.parametrize(
    "model",
    [
        *every_model.mark.args[1],
        *(pytest.param(m, id=f"pybullet_data/{m[0].name}") for m in OF_PYBULLET),
    ],
)
def test_bodies_and_joints_are_asked_by_mujocos_names(model: tuple[Path, Path]) -> None:
    """A body, its joint and its geoms often have one name: it names the body."""
    path, root = model
    try:
        theirs = truth(path)
    except ValueError as error:
        pytest.skip(f"MuJoCo does not take it: {error}")
    asset = asset_of(compiled(path, root)[0])
    bodies = [theirs.body(k).name for k in range(1, theirs.nbody)]
    hinges = [theirs.jnt(k).name for k in range(theirs.njnt) if theirs.jnt_type[k] != 0]
    with headless_world() as client:
        scene = asset.instantiate(client)
        for name in filter(None, bodies):
            node = scene.node(name).index
            if any(scene.asset.tree.names[body] == name for body in scene.bodies):
                assert scene.bodies[name].node == node
        for name in filter(None, hinges):
            assert scene.joints[name].name == name


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        pytest.param(m, id=m[0].name)
        for m in MODELS
        if m[0].parts[-2:] == ("suite", "quadruped.xml")
    ],
)
def test_legs_of_tendons_carry_their_torso(pair: tuple, figure: Figure) -> None:
    """Three joints of a leg by two servos of tendons: a drive of each, where none lets it lie."""
    own, native = pair
    data, asset = mujoco.MjData(native), asset_of(own)
    mujoco.mj_step(native, data, round(3.0 / native.opt.timestep))
    wanted = float(data.body("torso").xpos[2])
    with headless_world() as client:
        scene = asset.instantiate(client, options=WITHOUT_DRAWING)
        scene.step(720)
        height = float(scene.world_from_node(asset.document.tree.names.index("torso"))[2, 3])
    figure("height of the torso", abs(height - wanted), most=0.06, unit="m")
