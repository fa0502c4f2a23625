"""Creation of articulations' multibodies in the engine: with names, or with shared shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple, TypeAlias

from gltf_bullet.bullet.bodies.multibody import create_multibody
from gltf_bullet.bullet.bodies.multibody_text import JointFacts, MultibodyNames, has_urdf_shapes
from gltf_bullet.bullet.bodies.named_multibody import (
    NamedDescription,
    create_named_multibody,
    describe_multibody,
)
from gltf_bullet.bullet.rendering.visuals import BodyVisuals, LinkLook
from gltf_bullet.bullet.session import EngineLink
from gltf_bullet.disk_cache import cache_folder
from gltf_bullet.model import DofKind
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.joints.articulation_plan import (
    ArticulationPlan,
    ArticulationPlans,
    DofPlan,
    MultibodyPlan,
)
from gltf_bullet.planning.joints.axes import BALL
from gltf_bullet.planning.joints.multibody_spec import MultibodySpec
from gltf_bullet.planning.plan_memo import MemoKey, PlanMemo
from gltf_bullet.planning.shapes.shape_plans import PlacedShape, placed_at
from gltf_bullet.records import replace
from gltf_bullet.scene import NodeTree
from gltf_bullet.transforms import IDENTITY_POSE, Pose

ShapeIdOf: TypeAlias = Callable[[tuple[PlacedShape, ...]], int]
_RECIPE: MemoKey[_Recipe] = MemoKey("how a multibody is created, by articulation and number")

# --- Names of links and joints, for PyBullet code that looks for them by name ---------------------

_LONGEST = 200
"""Largest number of characters, of up to 4 bytes each, without a number that makes a name unique.
"""

_AXES = {DofKind.LINEAR: "slide", DofKind.ANGULAR: "turn"}


def names_of_multibody(
    plan: ArticulationPlan, index: int, tree: NodeTree, motion_nodes: Collection[int]
) -> MultibodyNames:
    """Name links after their nodes and joints after the joint nodes.

    A joint of several axes has a name per axis. The body has the name of the node that contains
    nothing but this robot, else that of its base.
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
    return _readable_name(tree.names[node] or f"node {node}")


def _readable_name(name: str) -> str:
    """Return a name that PyBullet reads: it refuses NUL and more than 1023 bytes (measured)."""
    return name[:_LONGEST].replace("\0", "\N{REPLACEMENT CHARACTER}")


def _unique(names: list[str]) -> list[str]:
    """Add numbers to repeated names, because URDF needs unique ones."""
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
    """Return joint nodes of joints without degrees of freedom, by the child's link."""
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
    """Return the name of the node above the base, if all bodies below it are this robot's."""
    if root < 0 or tree.names[root] is None or not tree.ancestors(root):
        return ""
    above = tree.ancestors(root)[0]
    if above in motion_nodes:
        return ""
    own = {node for multibody in plan.multibodies for node, _ in multibody.bodies}
    others = (n for n in motion_nodes if n not in own and above in tree.ancestors(n))
    return "" if any(True for _ in others) else _readable_name(tree.names[above] or "")


HEAVY = 1e9
"""Mass [kg] from which on multibodies are not created with names."""


class CreatedMultibodies(NamedTuple):
    """Result of :func:`create_multibodies`."""

    ids: list[list[int]]
    """Body ids per articulation and multibody."""
    own_shapes: frozenset[int]
    """Ids of bodies with shapes of their own."""
    apart: list[tuple[int, list[tuple[int, int]]]]
    """Bodies, each with the pairs of its links that the engine keeps from colliding."""
    shared: list[tuple[EngineLink, tuple[PlacedShape, ...]]]
    """Links of bodies that share shapes with others, and these shapes in the links' frames."""


def create_multibodies(
    client_id: int,
    plans: ArticulationPlans,
    body_plans: Mapping[int, BodyPlan],
    shape_id_of: ShapeIdOf,
    visuals: BodyVisuals | None,
    tree: Callable[[], NodeTree] | None,
    created: list[int],
    memo: PlanMemo,
) -> CreatedMultibodies:
    """Create all multibodies of a scene.

    Args:
        client_id: The world.
        plans: Plans of all joints of a scene.
        body_plans: Plans of bodies by motion node.
        shape_id_of: Returns the engine shape of some placed shapes.
        visuals: Visual shapes of the links; ``None``: their collision shapes.
        tree: Source of names; ``None``: links have none, and share their shapes.
        created: Receives every body id at once.
        memo: Values that are the same for all copies of the plan.

    Raises:
        EngineError: The engine refused a body.
    """
    ids_of: list[list[int]] = []
    named: set[int] = set()
    apart: list[tuple[int, list[tuple[int, int]]]] = []
    shared: list[tuple[EngineLink, tuple[PlacedShape, ...]]] = []
    for number, plan in enumerate(plans.articulations):
        ids_of.append([])
        for index in range(len(plan.multibodies)):
            recipe = memo.get(
                _RECIPE,
                partial(_recipe, plans, plan, index, body_plans, visuals, tree),
                number,
                index,
            )
            place = recipe.spec.world_from_base.moved(plans.offset)
            if recipe.description is not None:
                body = create_named_multibody(
                    client_id, recipe.spec, recipe.description, place, memo
                )
                named.add(body)
            else:
                shapes = _shapes(recipe.multibody, body_plans)
                shaped = _with_shapes(
                    recipe.multibody, body_plans, map(shape_id_of, shapes), visuals
                )
                body = create_multibody(client_id, replace(shaped, world_from_base=place))
                shared += [((body, link), own) for link, own in enumerate(shapes, -1) if own]
            created.append(body)
            ids_of[-1].append(body)
            apart.append((body, recipe.apart))
    return CreatedMultibodies(ids_of, frozenset(named), apart, shared)


class _Recipe(NamedTuple):
    """Specification of a multibody, independent of its pose."""

    spec: MultibodySpec
    multibody: MultibodyPlan
    """Its plan, with the nodes of its links: for bodies without names."""
    apart: list[tuple[int, int]]
    """Pairs of links that the engine keeps from colliding."""
    description: NamedDescription | None
    """URDF description; ``None``: created without names."""


def _recipe(
    plans: ArticulationPlans,
    plan: ArticulationPlan,
    index: int,
    body_plans: Mapping[int, BodyPlan],
    visuals: BodyVisuals | None,
    tree: Callable[[], NodeTree] | None,
) -> _Recipe:
    multibody = plan.multibodies[index]
    shapes = _shapes(multibody, body_plans)
    apart, spec = _kept_apart(multibody, plans.excluded_pairs, shapes)
    multibody = replace(multibody, spec=spec)
    description = None
    if tree is not None and has_urdf_shapes(shapes) and is_ordinary(multibody.spec):
        description = _described(plan, index, multibody, body_plans, shapes, visuals, tree())
    return _Recipe(spec, multibody, apart, description)


def _kept_apart(
    multibody: MultibodyPlan,
    excluded_pairs: Collection[tuple[int, int]],
    shapes: Sequence[Sequence[PlacedShape]],
) -> tuple[list[tuple[int, int]], MultibodySpec]:
    """Return pairs of links that flags of the multibody keep apart, and its spec with these flags.

    They are all pairs of links with colliders, if none may collide; or those of links and their
    parents, if none of these may.
    """
    owners = [multibody.root_node, *(node for node, _ in multibody.owners)]

    def are_apart(pair: tuple[int, int]) -> bool:
        one, other = (owners[link + 1] for link in pair)
        return one == other or (one, other) in excluded_pairs or (other, one) in excluded_pairs

    solid = [link for link in range(-1, len(multibody.spec.links)) if shapes[link + 1]]
    pairs = [(link, other) for other, link in combinations(solid, 2)]
    if pairs and all(map(are_apart, pairs)):
        return pairs, replace(multibody.spec, self_collision=False)
    links = multibody.spec.links
    parents = [pair for pair in pairs if pair[0] >= 0 and links[pair[0]].parent == pair[1]]
    if parents and all(map(are_apart, parents)):
        return parents, replace(multibody.spec, parents_meet=False)
    return [], multibody.spec


def is_ordinary(spec: MultibodySpec) -> bool:
    """Return True if masses are realistic, so that ``loadURDF`` can create the multibody.

    At 1e12 kg it gives NaN in the first steps, where ``createMultiBody`` stays finite (measured).
    """
    return max([spec.mass, *(link.mass for link in spec.links)]) < HEAVY


def _described(
    plan: ArticulationPlan,
    index: int,
    multibody: MultibodyPlan,
    body_plans: Mapping[int, BodyPlan],
    shapes: Sequence[Sequence[PlacedShape]],
    visuals: BodyVisuals | None,
    tree: NodeTree,
) -> NamedDescription:
    looks: dict[int, LinkLook] = {}
    frictions: dict[int, float] = {}
    for link, (node, group) in enumerate([(multibody.root_node, 0), *multibody.owners], -1):
        if node < 0:
            continue
        body = body_plans[node]
        as_colliders = LinkLook(as_colliders=True)
        looks[link] = as_colliders if visuals is None else visuals.look_of(body, group)
        if group < len(body.groups):
            frictions[link] = body.groups[group].surface.friction
    names = names_of_multibody(plan, index, tree, body_plans.keys())
    folder = cache_folder(None) if visuals is None else visuals.kept
    return describe_multibody(multibody.spec, names, shapes, looks, frictions, folder)


def _shapes(
    multibody: MultibodyPlan, body_plans: Mapping[int, BodyPlan]
) -> list[tuple[PlacedShape, ...]]:
    """Return the shapes of each link in its frame, the base first."""
    owners = [(multibody.root_node, 0), *multibody.owners]
    frames = [IDENTITY_POSE, *(link.link_from_body for link in multibody.spec.links)]
    found: list[tuple[PlacedShape, ...]] = []
    for (node, group), link_from_body in zip(owners, frames, strict=True):
        groups = body_plans[node].groups if node >= 0 else ()
        shapes = groups[group].shapes if 0 <= group < len(groups) else ()
        found.append(placed_at(link_from_body, shapes))
    return found


def _with_shapes(
    multibody: MultibodyPlan,
    body_plans: Mapping[int, BodyPlan],
    shape_ids: Iterable[int],
    visuals: BodyVisuals | None,
) -> MultibodySpec:
    """Return the spec with the shapes of the base and all links, and with visuals."""

    def visual_of(node: int, group: int, link_from_body: Pose = IDENTITY_POSE) -> int:
        if visuals is None or node < 0:
            return -1
        plan = body_plans[node]
        if group == 0:
            return visuals.of_body(plan, link_from_body)
        return visuals.of_group(plan, plan.groups[group])

    base_shape, *shapes = shape_ids
    links = []
    for link, (node, group), shape in zip(
        multibody.spec.links, multibody.owners, shapes, strict=True
    ):
        visual = visual_of(node, group, link.link_from_body)
        links.append(replace(link, shape_id=shape, visual_id=visual))
    return replace(
        multibody.spec,
        links=tuple(links),
        shape_id=base_shape,
        visual_id=visual_of(multibody.root_node, 0),
    )
