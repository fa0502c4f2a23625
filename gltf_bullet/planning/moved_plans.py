"""What was planned for one place, for another one: nothing is decided anew.

Masses, shapes, rows and contacts know no place; poses in the world do. What joints hold on to in
the world moves with :attr:`ArticulationPlans.world_anchor`, their bodies by ``offset``.
"""

from __future__ import annotations

from dataclasses import replace

from gltf_bullet.planning.bodies import MovedBodies
from gltf_bullet.planning.body_plans import StaticPlan, changed
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.scene import NodeFrames
from gltf_bullet.transforms import Vec3

__all__ = ["moved_plan"]


def moved_plan(plan: ScenePlan, frames: NodeFrames) -> ScenePlan:
    """The plan with all nodes at ``frames``, which were moved from those of ``plan``."""
    offset, bodies, joints = frames.offset, plan.bodies, plan.articulations
    # Calls are dear here: they are made once per copy, when nothing of them is near the processor.
    statics = bodies.statics and _moved_statics(bodies.statics, offset)
    bodies = changed(bodies, bodies=MovedBodies(bodies.bodies, offset), statics=statics)
    if joints.articulations:
        anchor = joints.world_anchor.moved(offset)
        joints = changed(joints, offset=offset, world_anchor=anchor)
    return changed(plan, frames=frames, bodies=bodies, articulations=joints)


def _moved_statics(statics: tuple[StaticPlan, ...], offset: Vec3) -> tuple[StaticPlan, ...]:
    return tuple(
        replace(plan, world_from_collider=plan.world_from_collider.moved(offset))
        for plan in statics
    )
