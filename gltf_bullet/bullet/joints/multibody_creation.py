"""The multibodies of articulations in the engine: with names, or sharing shapes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import NamedTuple

from gltf_bullet.bullet.bodies.multibody import create_multibody
from gltf_bullet.bullet.bodies.multibody_names import names_of_multibody
from gltf_bullet.bullet.bodies.multibody_text import can_be_named
from gltf_bullet.bullet.bodies.named_multibody import (
    NamedDescription,
    create_named_multibody,
    describe_multibody,
)
from gltf_bullet.bullet.rendering.link_looks import LinkLook
from gltf_bullet.bullet.rendering.visuals import BodyVisuals
from gltf_bullet.disk_cache import cache_folder
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.joints.articulation_plan import (
    ArticulationPlan,
    ArticulationPlans,
    MultibodyPlan,
)
from gltf_bullet.planning.joints.multibody_spec import MultibodySpec
from gltf_bullet.planning.scene_plan import Derive
from gltf_bullet.planning.shapes.shape_plans import PlacedShape
from gltf_bullet.scene import NodeTree

__all__ = ["HEAVY", "create_multibodies", "is_ordinary"]

HEAVY = 1e9
"""[kg] Heavier than anything that is called by a name."""


class CreatedMultibodies(NamedTuple):
    """What :func:`create_multibodies` has put into the world."""

    ids: list[list[int]]
    """Per articulation and multibody."""
    own_shapes: frozenset[int]
    """Bodies that share their shapes with none."""
    apart: list[tuple[int, list[tuple[int, int]]]]
    """Bodies, and pairs of links within them that the engine keeps from colliding by itself."""


def create_multibodies(
    client_id: int,
    plans: ArticulationPlans,
    body_plans: Mapping[int, BodyPlan],
    shape_ids_of: Callable[[int], Sequence[int]],
    visuals: BodyVisuals | None,
    tree: Callable[[], NodeTree] | None,
    created: list[int],
    derive: Derive = lambda _, make: make(),
) -> CreatedMultibodies:
    """Put all multibodies of a scene into the world.

    Args:
        client_id: The world.
        plans: Of all joints of a scene.
        body_plans: By motion node.
        shape_ids_of: Engine shapes of a motion node's body, one per collider group.
        visuals: Chooses what links show; ``None``: their shapes.
        tree: Where names come from; ``None``: links have none, and share their shapes.
        created: Receives every body id at once.
        derive: Keeps what is the same for all copies of the plan; see ``ScenePlan.derive``.

    Raises:
        EngineError: The engine refused a body.
    """
    ids_of: list[list[int]] = []
    named: set[int] = set()
    apart: list[tuple[int, list[tuple[int, int]]]] = []
    for number, plan in enumerate(plans.articulations):
        ids_of.append([])
        for index in range(len(plan.multibodies)):
            recipe = derive(
                f"recipe {number} {index}",
                partial(_recipe, plans, plan, index, body_plans, visuals, tree),
            )
            place = recipe.spec.world_from_base.moved(plans.offset)
            if recipe.description is not None:
                body = create_named_multibody(
                    client_id, recipe.spec, recipe.description, place, derive
                )
                named.add(body)
            else:
                shaped = _with_shapes(recipe.multibody, body_plans, shape_ids_of, visuals)
                body = create_multibody(client_id, replace(shaped, world_from_base=place))
            created.append(body)
            ids_of[-1].append(body)
            apart.append((body, recipe.apart))
    return CreatedMultibodies(ids_of, frozenset(named), apart)


class _Recipe(NamedTuple):
    """How a multibody is made, wherever it stands."""

    spec: MultibodySpec
    multibody: MultibodyPlan
    """The same with whose its links are: for bodies without names."""
    apart: list[tuple[int, int]]
    """Links that the engine keeps from colliding by itself."""
    description: NamedDescription | None
    """In words; ``None``: without names."""


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
    if tree is not None and can_be_named(shapes) and is_ordinary(multibody.spec):
        description = _described(plan, index, multibody, body_plans, shapes, visuals, tree())
    return _Recipe(spec, multibody, apart, description)


def _kept_apart(
    multibody: MultibodyPlan,
    excluded_pairs: Collection[tuple[int, int]],
    shapes: Sequence[Sequence[PlacedShape]],
) -> tuple[list[tuple[int, int]], MultibodySpec]:
    """Links that the engine can keep apart by itself, and the multibody as it is made for that.

    All links with colliders, if no two of them may meet; or those and their parents, if none may.
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
    """Whether masses are of this world: at 1e12 kg the other way to make bodies holds longer.

    (Measured: NaN in the first steps, where ``createMultiBody`` stays finite.)
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
    """Per link, the base first."""
    owners = [(multibody.root_node, 0), *multibody.owners]
    found: list[tuple[PlacedShape, ...]] = []
    for node, group in owners:
        groups = body_plans[node].groups if node >= 0 else ()
        found.append(groups[group].shapes if 0 <= group < len(groups) else ())
    return found


def _with_shapes(
    multibody: MultibodyPlan,
    body_plans: Mapping[int, BodyPlan],
    shape_ids_of: Callable[[int], Sequence[int]],
    visuals: BodyVisuals | None,
) -> MultibodySpec:
    shapes: dict[int, Sequence[int]] = {
        node: tuple(shape_ids_of(node)) or (-1,) for node, _ in multibody.bodies
    }

    def visual_of(node: int, group: int) -> int:
        if visuals is None or node < 0:
            return -1
        plan = body_plans[node]
        return visuals.of_body(plan) if group == 0 else visuals.of_group(plan, plan.groups[group])

    links = []
    for link, (node, group) in zip(multibody.spec.links, multibody.owners, strict=True):
        shape = shapes[node][group] if node >= 0 and group < len(shapes[node]) else -1
        links.append(replace(link, shape_id=shape, visual_id=visual_of(node, group)))
    base_shape = shapes[multibody.root_node][0] if multibody.root_node >= 0 else -1
    return replace(
        multibody.spec,
        links=tuple(links),
        shape_id=base_shape,
        visual_id=visual_of(multibody.root_node, 0),
    )
