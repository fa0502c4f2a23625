"""Random trees of links as articulation plans, and the same trees for Pinocchio."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio
from scipy.spatial.transform import Rotation

from gltf_bullet.bullet.joints.articulation_builder import build_arrays
from gltf_bullet.bullet.joints.scene_arrays import SceneArrays
from gltf_bullet.model import DofKind
from gltf_bullet.planning.joints.articulation_plan import (
    WORLD,
    ArticulationPlan,
    DofPlan,
    MultibodyPlan,
)
from gltf_bullet.planning.joints.axes import BALL, Dof
from gltf_bullet.planning.joints.multibody_spec import LinkJoint, LinkSpec, MultibodySpec
from gltf_bullet.transforms import Pose


@dataclass
class Tree:
    arena: SceneArrays
    pin_model: pinocchio.Model
    links: list[LinkSpec]
    floats: bool
    base: MultibodySpec


def random_pose(rng: np.random.Generator) -> Pose:
    return Pose(tuple(Rotation.random(random_state=rng).as_quat()), tuple(rng.normal(size=3)))


def random_inertia(rng: np.random.Generator) -> tuple[float, tuple[float, ...], Pose]:
    a, b, c = rng.uniform(0.01, 0.3, size=3)
    return rng.uniform(0.1, 5.0), (a + b, b + c, c + a), random_pose(rng)


def random_tree(seed: int, count: int, *, floats: bool, balls: bool = True) -> Tree:
    """``count`` moving links; masses, frames and axes are random, some links are massless."""
    rng = np.random.default_rng(seed)
    links: list[LinkSpec] = []
    kinds = [LinkJoint.REVOLUTE, LinkJoint.PRISMATIC] + [LinkJoint.SPHERICAL] * balls
    stack = [-1]
    for k in range(count):
        # Depth first: the parent is on the way down from the base to the last link.
        while len(stack) > 1 and rng.random() < 0.3:
            stack.pop()
        joint = kinds[int(rng.integers(len(kinds)))]
        axis = rng.normal(size=3)
        mass, inertia, inertial = random_inertia(rng)
        links.append(
            LinkSpec(
                parent=stack[-1],
                joint=joint,
                parent_from_link=random_pose(rng),
                axis=tuple(axis / np.linalg.norm(axis)),
                mass=mass,
                inertia_diagonal=inertia,
                link_from_inertial=inertial,
            )
        )
        stack.append(k)
    mass, inertia, inertial = random_inertia(rng)
    base = MultibodySpec(
        mass=mass if floats else 0.0,
        inertia_diagonal=inertia if floats else (0.0, 0.0, 0.0),
        base_from_inertial=inertial if floats else Pose((0, 0, 0, 1), (0, 0, 0)),
        links=tuple(links),
    )
    dofs = tuple(
        DofPlan(
            joint_node=k,
            dof=Dof(
                kind=DofKind.LINEAR if link.joint is LinkJoint.PRISMATIC else DofKind.ANGULAR,
                axis=BALL if link.joint is LinkJoint.SPHERICAL else 0,
            ),
            multibody=0,
            link=k,
            is_reversed=False,
        )
        for k, link in enumerate(links)
    )
    plan = ArticulationPlan(
        multibodies=(
            MultibodyPlan(
                anchor=-2 if floats else WORLD,
                root_node=0 if floats else -1,
                spec=base,
                owners=((-1, -1),) * count,
                bodies=(),
            ),
        ),
        dofs=dofs,
        joints=(),
        rows=(),
        loop_constraints=(),
    )
    return Tree(build_arrays([plan], [], {}), _pin_model(base, floats), links, floats, base)


def _se3(pose: Pose) -> pinocchio.SE3:
    matrix = pose.matrix()
    return pinocchio.SE3(matrix[:3, :3], matrix[:3, 3])


def _inertia(source: LinkSpec | MultibodySpec, inertial: Pose) -> pinocchio.Inertia:
    turn = inertial.matrix()[:3, :3]
    moments = turn @ np.diag(source.inertia_diagonal) @ turn.T
    return pinocchio.Inertia(source.mass, np.array(inertial.translation), moments)


def _pin_model(base: MultibodySpec, floats: bool) -> pinocchio.Model:
    model = pinocchio.Model()
    model.gravity.linear = np.zeros(3)
    joint_of = {-1: 0}
    # A ball's coordinates are about the axes of its link's inertia.
    turns = [
        Pose(link.link_from_inertial.rotation_xyzw, (0.0, 0.0, 0.0))
        if link.joint is LinkJoint.SPHERICAL
        else Pose.identity()
        for link in base.links
    ] + [Pose.identity()]
    if floats:
        root = model.addJoint(0, pinocchio.JointModelFreeFlyer(), pinocchio.SE3.Identity(), "base")
        model.appendBodyToJoint(
            root, _inertia(base, base.base_from_inertial), pinocchio.SE3.Identity()
        )
        joint_of[-1] = root
    for k, link in enumerate(base.links):
        axis = np.array(link.axis)
        joint = {
            LinkJoint.REVOLUTE: lambda a=axis: pinocchio.JointModelRevoluteUnaligned(a),
            LinkJoint.PRISMATIC: lambda a=axis: pinocchio.JointModelPrismaticUnaligned(a),
            LinkJoint.SPHERICAL: pinocchio.JointModelSpherical,
        }[link.joint]()
        placement = _se3(turns[link.parent].inverse() @ link.parent_from_link @ turns[k])
        joint_of[k] = model.addJoint(joint_of[link.parent], joint, placement, f"joint{k}")
        model.appendBodyToJoint(
            joint_of[k],
            _inertia(link, turns[k].inverse() @ link.link_from_inertial),
            pinocchio.SE3.Identity(),
        )
    return model


def set_random_state(tree: Tree, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random state in the arena; Pinocchio's q, our v in Pinocchio's order, and T.

    Pinocchio's velocities are T times ours; only those of a floating base differ.
    """
    rng = np.random.default_rng(seed)
    state, q, v = [], [], []
    size = 6 * tree.floats
    turn_pin = np.eye(size + sum(3 if k.joint is LinkJoint.SPHERICAL else 1 for k in tree.links))
    if tree.floats:
        world_from_base, twist = random_pose(rng), rng.normal(size=6)
        inertial = world_from_base @ tree.base.base_from_inertial
        state += [*inertial.translation, *inertial.rotation_xyzw, *twist]
        q += [*world_from_base.translation, *world_from_base.rotation_xyzw]
        v += twist.tolist()
        r = world_from_base.matrix()[:3, :3]
        com = np.array(tree.base.base_from_inertial.translation)
        # v_origin = R^T v_com - (R^T w) x c
        x, y, z = com
        turn_pin[:3, :3], turn_pin[3:6, 3:6] = r.T, r.T
        turn_pin[:3, 3:6] = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) @ r.T
    for link in tree.links:
        if link.joint is LinkJoint.SPHERICAL:
            quat, spin = Rotation.random(random_state=rng).as_quat(), rng.normal(size=3)
            state += [*quat, *spin]
            q += quat.tolist()
            v += spin.tolist()
        else:
            place, speed = rng.normal(), rng.normal()
            state += [place, speed]
            q.append(place)
            v.append(speed)
    tree.arena.floats[: len(state)] = state
    return np.array(q), np.array(v), turn_pin


def order(tree: Tree) -> np.ndarray:
    """Our velocity numbers in Pinocchio's order."""
    record = tree.arena.records[0]
    result: list[int] = []
    if tree.floats:
        result += range(record.base_index[0], record.base_index[0] + 6)
    for link, first in zip(tree.links, record.dof_index, strict=True):
        result += range(first, first + (3 if link.joint is LinkJoint.SPHERICAL else 1))
    return np.array(result)


def table(tree: Tree, name: str) -> np.ndarray:
    return tree.arena.view(tree.arena.records[0], name)


__all__ = ["Tree", "order", "random_tree", "set_random_state", "table"]
