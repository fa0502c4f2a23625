"""Bodies that an edit leaves unchanged: they stay in the engine when their scene is rebuilt."""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct
from msgspec import field as msgspec_field

from gltf_bullet.planning.body_plans import BodyPlan, StaticPlan
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.transforms import Pose

_SAME = 1e-9
"""Tolerance [m], of quaternion components, and relative: values planned from current poses differ
in the last bits.
"""


class UnchangedBodies(Struct, frozen=True, kw_only=True):
    """The bodies that a rebuilt scene takes over from the one before."""

    statics: Mapping[int, int] = msgspec_field(default_factory=dict)
    """Body of each static collider's node."""
    free: Mapping[int, int] = msgspec_field(default_factory=dict)
    """Body of each motion node."""
    batched: frozenset[int] = frozenset()
    """Ids of the kept bodies that were made in batches."""

    @property
    def ids(self) -> frozenset[int]:
        """Ids of all kept bodies."""
        return frozenset((*self.statics.values(), *self.free.values()))


NONE_UNCHANGED = UnchangedBodies()


def unchanged_bodies(before: ScenePlan, now: ScenePlan) -> tuple[set[int], set[int]]:
    """Find the bodies that an edit leaves unchanged, apart from the poses of those that move.

    Scenes with joints are rebuilt as a whole.

    Returns:
        Nodes of static colliders, and of bodies.
    """
    if before.articulations.jointed_bodies or now.articulations.jointed_bodies:
        return set(), set()
    old_statics = {plan.node: plan for plan in before.bodies.statics}
    statics = {
        plan.node
        for plan in now.bodies.statics
        if plan.node in old_statics and _is_same_static(old_statics[plan.node], plan)
    }
    old_bodies, bodies = before.bodies.bodies, now.bodies.bodies
    return statics, {
        node
        for node, plan in bodies.items()
        if node in old_bodies and _is_same_body(old_bodies[node], plan)
    }


def _is_same_static(old: StaticPlan, new: StaticPlan) -> bool:
    return (
        not (old.deforms or new.deforms)
        and (old.owner, old.shape, old.material, old.filter, old.surface)
        == (new.owner, new.shape, new.material, new.filter, new.surface)
        and _is_near(old.world_from_collider, new.world_from_collider)
    )


def _is_same_body(old: BodyPlan, new: BodyPlan) -> bool:
    return (
        (old.kind, old.gravity_factor, old.groups) == (new.kind, new.gravity_factor, new.groups)
        and _is_close(old.mass, new.mass)
        and all(map(_is_close, old.inertia_diagonal, new.inertia_diagonal))
        and _is_near(old.body_from_inertial, new.body_from_inertial)
    )


def _is_close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_SAME)


def _is_near(one: Pose, other: Pose) -> bool:
    return (
        math.dist(one.translation, other.translation) <= _SAME
        and math.dist(one.rotation_xyzw, other.rotation_xyzw) <= _SAME
    )
