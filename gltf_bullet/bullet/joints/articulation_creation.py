"""Creation of a scene's jointed bodies in the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.bullet.joints.articulation_builder import build_arrays
from gltf_bullet.bullet.joints.articulation_set import ArticulationSet
from gltf_bullet.bullet.joints.multibody_creation import ShapeIdOf, create_multibodies
from gltf_bullet.bullet.joints.scene_arrays import AnchorMotion, SceneArrays
from gltf_bullet.bullet.rendering.visuals import BodyVisuals
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.joints.articulation_plan import WORLD, ArticulationPlans, LinkPlaces
from gltf_bullet.planning.plan_memo import MemoKey, PlanMemo
from gltf_bullet.scene import NodeTree
from gltf_bullet.solver.entries import load_entries
from gltf_bullet.transforms import Pose

_LINK_PLACES: MemoKey[LinkPlaces] = MemoKey("where links are in the multibodies")
_ARENA: MemoKey[SceneArrays] = MemoKey("the arrays of the solve as they begin")
_STARTS_IN_MOTION: MemoKey[bool] = MemoKey("some jointed body starts with a velocity")


def create_articulations(
    client_id: int,
    plans: ArticulationPlans,
    body_plans: Mapping[int, BodyPlan],
    shape_id_of: ShapeIdOf,
    visuals: BodyVisuals | None = None,
    created: list[int] | None = None,
    tree: Callable[[], NodeTree] | None = None,
    memo: PlanMemo | None = None,
) -> ArticulationSet:
    """Create every articulation of ``plans``.

    Args:
        client_id: The PyBullet world.
        plans: From ``plan_articulations``.
        body_plans: Plans of bodies by motion node.
        shape_id_of: Returns the engine shape of some placed shapes, -1 without any.
        visuals: Visual shapes of the links; without it the engine tessellates collision shapes.
        created: Receives every body id at once, so that a failure half-way can be undone.
        tree: Source of the names of links and joints; without it they have none, and equal
            bodies share their shapes.
        memo: Values that are the same for all copies of the plan.

    Raises:
        EngineError: The engine refused a body.
    """
    created = [] if created is None else created
    memo = memo or PlanMemo()
    places = memo.get(_LINK_PLACES, partial(LinkPlaces.of, plans, body_plans))
    if not (plans.articulations or plans.moving_anchors):
        nothing = memo.get(_ARENA, lambda: build_arrays((), (), body_plans, ()))
        return ArticulationSet(client_id, plans, body_plans, nothing, (), {}, created, places)
    load_entries()
    made = create_multibodies(
        client_id, plans, body_plans, shape_id_of, visuals, tree, created, memo
    )
    template = memo.get(
        _ARENA,
        lambda: build_arrays(
            plans.articulations, plans.cut_constraints, body_plans, plans.moving_anchors
        ),
    )
    poses = {node: _anchor_pose(node, plans, body_plans) for node in plans.moving_anchors}
    arena = template.copied({WORLD: plans.world_anchor, **poses})
    anchors = {node: AnchorMotion(arena, node) for node in plans.moving_anchors}
    articulations = [
        Articulation(client_id, plan, arena, number, ids)
        for number, (plan, ids) in enumerate(zip(plans.articulations, made.ids, strict=True))
    ]
    for articulation in articulations:
        articulation.place(memo)
    result = ArticulationSet(
        client_id, plans, body_plans, arena, articulations, anchors, created, places
    )
    result.own_shapes, result.apart, result.shared = made.own_shapes, made.apart, made.shared
    if memo.get(_STARTS_IN_MOTION, partial(_starts_in_motion, plans, body_plans)):
        result.start_velocities()
    return result


def _starts_in_motion(plans: ArticulationPlans, body_plans: Mapping[int, BodyPlan]) -> bool:
    jointed = (body_plans[node] for node in plans.jointed_bodies)
    return any(any(plan.linear_velocity) or any(plan.angular_velocity) for plan in jointed)


def _anchor_pose(node: int, plans: ArticulationPlans, body_plans: Mapping[int, BodyPlan]) -> Pose:
    plan = body_plans.get(node)
    if plan is not None:
        return plan.world_from_body
    return plans.anchor_poses[node].moved(plans.offset)
