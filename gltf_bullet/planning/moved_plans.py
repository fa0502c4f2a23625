"""Plans moved to another place without planning anew.

Masses, shapes, rows and contacts do not depend on the place; poses in the world do. Fixed frames
of joints move with :attr:`ArticulationPlans.world_anchor`, their bodies by ``offset``.
"""

from __future__ import annotations

from gltf_bullet.planning.bodies import MovedBodies
from gltf_bullet.planning.body_plans import StaticPlan, changed
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.records import replace
from gltf_bullet.scene import NodeFrames
from gltf_bullet.transforms import Vec3


def moved_plan(plan: ScenePlan, frames: NodeFrames) -> ScenePlan:
    """The plan with all nodes at ``frames``, which are those of ``plan`` moved by an offset."""
    offset, bodies, joints = frames.offset, plan.bodies, plan.articulations
    # Calls are expensive here: they run once per copy, with cold processor caches.
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
