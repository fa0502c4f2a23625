"""What links and joints are called for PyBullet code that looks for them by name."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

from gltf_bullet.bullet.bodies.multibody_text import JointFacts, MultibodyNames
from gltf_bullet.model import DofKind
from gltf_bullet.planning.joints.articulation_plan import ArticulationPlan, DofPlan, MultibodyPlan
from gltf_bullet.planning.joints.axes import BALL
from gltf_bullet.scene import NodeTree

__all__ = ["names_of_multibody"]

_LONGEST = 200
"""Letters of up to 4 bytes each; what tells links apart comes behind them."""

_AXES = {DofKind.LINEAR: "slide", DofKind.ANGULAR: "turn"}


def names_of_multibody(
    plan: ArticulationPlan, index: int, tree: NodeTree, motion_nodes: Collection[int]
) -> MultibodyNames:
    """Links have the names of their nodes, joints those of the joint nodes.

    A joint of several axes has a name per axis. The body is called like the node that holds
    nothing but this robot, else like its base.
    """
    multibody = plan.multibodies[index]
    joint_of_link = _fixed_joints(plan, index, multibody)
    dof_of_link = {dof.link: dof for dof in plan.dofs if dof.multibody == index}
    dof_counts: dict[int, int] = {}
    for one in plan.dofs:
        dof_counts[one.joint_node] = dof_counts.get(one.joint_node, 0) + 1
    root = multibody.root_node if multibody.root_node >= 0 else multibody.anchor
    base = _name(tree, root) if root >= 0 else "world"
    links: list[str] = []
    joints: list[JointFacts] = []
    for link, (node, group) in enumerate(multibody.owners):
        dof = dof_of_link.get(link)
        joint = dof.joint_node if dof is not None else joint_of_link.get(link, -1)
        name = _name(tree, joint) if joint >= 0 else ""
        if dof is not None and dof_counts[joint] > 1:
            axis = (
                "ball" if dof.dof.axis == BALL else f"{_AXES[dof.dof.kind]} {'XYZ'[dof.dof.axis]}"
            )
            name = f"{name} {axis}"
        if node < 0:
            own = f"{name or base} link"
        else:
            own = _name(tree, node) if group == 0 else f"{_name(tree, node)} group {group}"
        links.append(own)
        facts = _facts(plan, joint, dof, name or f"{own} fixed")
        if dof is not None and dof_counts[joint] > 1:
            # The engine's limits of a ragdoll's axes broke replays to the bit (measured).
            facts = replace(facts, lower=-math.inf, upper=math.inf)
        joints.append(facts)
    unique = _unique([base, *links])
    joint_names = _unique([joint.name for joint in joints])
    return MultibodyNames(
        body=_body_name(plan, root, tree, motion_nodes) or base,
        base=unique[0],
        links=tuple(unique[1:]),
        joints=tuple(
            replace(joint, name=name) for name, joint in zip(joint_names, joints, strict=True)
        ),
    )


def _name(tree: NodeTree, node: int) -> str:
    return _sayable(tree.names[node] or f"node {node}")


def _sayable(name: str) -> str:
    """What PyBullet can read: it refuses NUL, and names of more than 1023 bytes (measured)."""
    return name[:_LONGEST].replace("\0", "\N{REPLACEMENT CHARACTER}")


def _unique(names: list[str]) -> list[str]:
    """URDF takes no name twice."""
    found: list[str] = []
    used: set[str] = set()
    for name in names:
        free, number = name, 2
        while free in used:
            free, number = f"{name} {number}", number + 1
        used.add(free)
        found.append(free)
    return found


def _fixed_joints(plan: ArticulationPlan, index: int, multibody: MultibodyPlan) -> dict[int, int]:
    """Joint nodes of joints without any freedom, by the child's link."""
    found: dict[int, int] = {}
    parents = {k: link.parent for k, link in enumerate(multibody.spec.links)}
    for planned in plan.joints:
        if planned.dofs:
            continue
        ends = [f.link if f.multibody == index else -1 for f in (planned.frame_a, planned.frame_b)]
        for child, parent in (ends, ends[::-1]):
            if child >= 0 and parents[child] == parent:
                found.setdefault(child, planned.joint.node)
    return found


def _facts(plan: ArticulationPlan, node: int, dof: DofPlan | None, name: str) -> JointFacts:
    if node < 0 or (dof is not None and dof.dof.axis == BALL):
        return JointFacts(name=name)
    joint = next(j.joint for j in plan.joints if j.joint.node == node)
    if dof is None:
        return JointFacts(name=name, max_force=joint.max_force, max_velocity=joint.max_velocity)
    drives = [
        d for d in joint.description.drives if d.kind is dof.dof.kind and d.axis == dof.dof.axis
    ]
    effort = max((d.max_force for d in drives if d.max_force < math.inf), default=0.0)
    damping = sum(d.damping for d in drives if not d.stiffness and not d.velocity_target)
    hard = [
        limit
        for limit in joint.description.limits
        if limit.kind is dof.dof.kind
        and limit.axes == (dof.dof.axis,)
        and limit.stiffness == math.inf
    ]
    return JointFacts(
        name=name,
        lower=max((limit.minimum for limit in hard), default=-math.inf),
        upper=min((limit.maximum for limit in hard), default=math.inf),
        max_force=effort,
        damping=damping,
        max_velocity=joint.max_velocity,
        friction=joint.friction,
    )


def _body_name(
    plan: ArticulationPlan, root: int, tree: NodeTree, motion_nodes: Collection[int]
) -> str:
    """The name of the node above the base, where all bodies below it are this robot's."""
    if root < 0 or tree.names[root] is None or not tree.ancestors(root):
        return ""
    above = tree.ancestors(root)[0]
    if above in motion_nodes:
        return ""
    own = {node for multibody in plan.multibodies for node, _ in multibody.bodies}
    others = (n for n in motion_nodes if n not in own and above in tree.ancestors(n))
    return "" if any(True for _ in others) else _sayable(tree.names[above] or "")
