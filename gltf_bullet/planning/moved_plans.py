"""What was planned for one place, for another one: nothing is decided anew.

Masses, shapes, rows and contacts know no place; poses in the world do. What joints hold on to in
the world moves with :attr:`ArticulationPlans.world_anchor`, their bodies by ``offset``.
"""

from __future__ import annotations

from dataclasses import replace

from gltf_bullet.planning.bodies import BodyPlans
from gltf_bullet.planning.changed_values import changed
from gltf_bullet.planning.joints.articulation_plan import ArticulationPlans
from gltf_bullet.planning.moved_bodies import MovedBodies
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.scene import NodeFrames
from gltf_bullet.transforms import Vec3

__all__ = ["moved_plan"]


def moved_plan(plan: ScenePlan, frames: NodeFrames) -> ScenePlan:
    """The plan with all nodes at ``frames``, which were moved from those of ``plan``."""
    offset = frames.offset
    return changed(
        plan,
        frames=frames,
        bodies=_moved_bodies(plan.bodies, offset),
        articulations=_moved_articulations(plan.articulations, offset),
    )


def _moved_bodies(plans: BodyPlans, offset: Vec3) -> BodyPlans:
    moved = changed(plans, bodies=MovedBodies(plans.bodies, offset))
    if not plans.statics:
        return moved
    statics = (
        replace(plan, world_from_collider=plan.world_from_collider.moved(offset))
        for plan in plans.statics
    )
    return changed(moved, statics=tuple(statics))


def _moved_articulations(plans: ArticulationPlans, offset: Vec3) -> ArticulationPlans:
    if not plans.articulations:
        return plans
    return changed(plans, offset=offset, world_anchor=plans.world_anchor.moved(offset))
