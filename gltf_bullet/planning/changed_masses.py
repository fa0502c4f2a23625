"""New masses and moments for bodies that stay, where a plan made anew differs in nothing else.

A plan holds masses of bodies and of links. Besides, masses decide which body of a floating
articulation is its base, and how strong the constraints are that close loops.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.model import Motion, MotionKind, PhysicsScene
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.bodies import BodyPlans
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.joints.articulation_plan import (
    ArticulationPlan,
    ArticulationPlans,
    MultibodyPlan,
)
from gltf_bullet.planning.mass_planner import MassPlanner, largest_mass
from gltf_bullet.planning.plan_memo import PlanMemo
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.records import replace


def with_masses_of(physics: PhysicsScene, other: PhysicsScene) -> PhysicsScene:
    """The model with the masses and moments of another model of the same bodies."""
    return replace(
        physics,
        motions={
            node: _weighed_as(motion, other.motions[node])
            for node, motion in physics.motions.items()
        },
    )


def _weighed_as(motion: Motion, other: Motion) -> Motion:
    stated = (other.mass, other.inertia_diagonal)
    if (motion.mass, motion.inertia_diagonal) == stated:
        return motion
    return replace(motion, mass=other.mass, inertia_diagonal=other.inertia_diagonal)


def differ_in_masses(physics: PhysicsScene, other: PhysicsScene) -> bool:
    """Return True if two models are equal but for masses and moments."""
    return (
        physics.motions.keys() == other.motions.keys() and with_masses_of(physics, other) == other
    )


def with_masses(
    plan: ScenePlan, before: PhysicsScene, physics: PhysicsScene, options: LoadOptions
) -> ScenePlan | None:
    """A plan for the bodies of ``plan`` with other masses; ``None`` where that takes other bodies.

    Args:
        plan: The plan of the bodies in the world.
        before: The model that ``plan`` was made from.
        physics: The model with other masses.
        options: Choices that the file cannot make.
    """
    if options.strict or not differ_in_masses(before, physics):
        return None  # the findings of a translation of other masses may be refused
    planner = MassPlanner(options.density, largest_mass(physics), Diagnostics())
    changed: dict[int, BodyPlan] = {}
    for node, motion in physics.motions.items():
        old = plan.bodies.bodies[node]
        # What stands for an infinite mass depends on the largest finite one.
        is_touched = motion != before.motions[node] or motion.mass == math.inf
        if old.kind is not MotionKind.DYNAMIC or not is_touched:
            continue
        new = planner.weighed_anew(old, motion)
        if new is None or not math.isfinite(math.fsum((new.mass, *new.inertia_diagonal))):
            return None
        changed[node] = new
    bodies = {**plan.bodies.bodies, **changed}
    articulations = _with_masses(plan.articulations, plan.bodies.bodies, bodies, changed)
    if articulations is None:
        return None
    return replace(
        plan,
        bodies=BodyPlans(bodies=bodies, statics=plan.bodies.statics),
        articulations=articulations,
        memo=PlanMemo(),
    )


def _with_masses(
    plans: ArticulationPlans,
    before: Mapping[int, BodyPlan],
    after: Mapping[int, BodyPlan],
    changed: Mapping[int, BodyPlan],
) -> ArticulationPlans | None:
    if plans.jointed_bodies.isdisjoint(changed):
        return plans
    if plans.cut_constraints:
        return None
    articulations: list[ArticulationPlan] = []
    for plan in plans.articulations:
        nodes = {node for multibody in plan.multibodies for node, _ in multibody.bodies}
        if nodes.isdisjoint(changed):
            articulations.append(plan)
            continue
        if plan.loop_constraints or not all(
            _keeps_root(multibody, before, after) for multibody in plan.multibodies
        ):
            return None
        multibodies = tuple(_weighed_multibody(multibody, after) for multibody in plan.multibodies)
        articulations.append(replace(plan, multibodies=multibodies))
    return replace(plans, articulations=tuple(articulations))


def _keeps_root(
    multibody: MultibodyPlan, before: Mapping[int, BodyPlan], after: Mapping[int, BodyPlan]
) -> bool:
    """Return True if the base and each body of the multibody compare in mass as they did before."""
    root = multibody.root_node
    return root < 0 or all(
        _order(before[root].mass, before[node].mass) == _order(after[root].mass, after[node].mass)
        for node, _ in multibody.bodies
    )


def _order(a: float, b: float) -> int:
    return (a > b) - (a < b)


def _weighed_multibody(multibody: MultibodyPlan, bodies: Mapping[int, BodyPlan]) -> MultibodyPlan:
    spec = multibody.spec
    links = list(spec.links)
    for node, link in multibody.bodies:
        mass, inertia = bodies[node].mass, bodies[node].inertia_diagonal
        if link < 0:
            spec = replace(spec, mass=mass, inertia_diagonal=inertia)
        else:
            links[link] = replace(links[link], mass=mass, inertia_diagonal=inertia)
    return replace(multibody, spec=replace(spec, links=tuple(links)))
