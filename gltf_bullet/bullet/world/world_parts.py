"""What of a scene in the engine is made when it is asked for: most copies are made to be stepped.

Of 300 cart-poles in one world this was a twelfth of what it took to load them (measured).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from gltf_bullet.bullet.bodies.free_bodies import FreeBodies
from gltf_bullet.bullet.contacts.contact_softness import ContactSoftness
from gltf_bullet.bullet.contacts.fast_bodies import FastBodies
from gltf_bullet.bullet.contacts.link_contacts import LinkContacts
from gltf_bullet.bullet.contacts.pair_rules import PairRules
from gltf_bullet.bullet.contacts.squeezed_bodies import SqueezedBodies
from gltf_bullet.bullet.joints.articulation_set import ArticulationSet
from gltf_bullet.bullet.joints.free_space import FreeSpace
from gltf_bullet.bullet.joints.moving_anchors import MovingAnchors
from gltf_bullet.bullet.session import EngineLink, EngineSession, SolidLink
from gltf_bullet.bullet.shapes.collider_index import ColliderIndex
from gltf_bullet.bullet.triggers.triggers import Triggers
from gltf_bullet.bullet.world.body_motion import BodyMotion
from gltf_bullet.bullet.world.compiled_steps import CompiledSteps
from gltf_bullet.bullet.world.kinematic_targets import KinematicTargets
from gltf_bullet.bullet.world.link_index import LinkIndex
from gltf_bullet.model import MotionKind
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.transforms import IntArray

__all__ = ["WorldParts"]


class WorldParts:
    """Made of what :class:`~gltf_bullet.bullet.world.engine_world.EngineWorld` has created."""

    client_id: int
    session: EngineSession
    plan: ScenePlan
    static_ids: dict[int, int]
    """Body of each static collider's node."""
    free: FreeBodies
    articulations: ArticulationSet
    triggers: Triggers
    softness: ContactSoftness
    pair_rules: PairRules
    _links: LinkContacts
    _table: LinkIndex
    _is_unforced: bool
    gear_ids: Sequence[int] = ()
    """Constraints of joints that follow others."""

    def solid_links(self) -> Sequence[SolidLink]:
        """Every link with colliders, with their materials and filters."""
        return self._table.solid_links()

    @property
    def link_contacts(self) -> LinkContacts:
        """How they meet."""
        return self._links

    @property
    def own_constraints(self) -> list[int]:
        """All constraints that the scene has made."""
        return [*self.articulations.loop_constraints.constraint_ids, *self.gear_ids]

    def link_of(self, node: int) -> EngineLink:
        """The engine link of a motion node's body."""
        return self._table.link_of(node)

    def links_of(self, node: int) -> list[EngineLink]:
        """The engine links of a body's collider groups, in the order of the plan's groups."""
        return self._table.links_of(node)

    @cached_property
    def body_nodes(self) -> IntArray:
        """Motion nodes in the order of :meth:`world_from_bodies`."""
        nodes: IntArray = np.concatenate([self.free.nodes, self.articulations.nodes])
        return nodes

    @cached_property
    def anchors(self) -> MovingAnchors:
        """What joints hang on, where that moves."""
        return MovingAnchors(self.client_id, self.plan, self.articulations, self.link_of)

    @cached_property
    def fast(self) -> FastBodies:
        """Keeps small and fast bodies from passing through others."""
        return FastBodies(
            self.client_id,
            self.free.table,
            self.free.ids,
            self._links.mask_of,
            self._links.may_meet,
            self._links.aim,
        )

    @cached_property
    def squeezed(self) -> SqueezedBodies | None:
        """Keeps kinematic bodies from pressing others through walls; without either nobody does."""
        if not self._kinematic_nodes and not self.plan.animated.moved:
            return None
        if not self.free.table.is_dynamic.any():
            return None
        return SqueezedBodies(self.client_id, self.free.table, self.free.ids, self.pair_rules)

    @cached_property
    def _kinematic_nodes(self) -> list[int]:
        """Free bodies with colliders that go their way whatever they meet."""
        bodies = self.plan.bodies.bodies
        return [
            node
            for node in self.free.nodes.tolist()
            if bodies[node].kind is MotionKind.KINEMATIC and bodies[node].groups
        ]

    @property
    def _movers(self) -> dict[int, int]:
        """Nodes of all bodies and colliders that follow given poses or velocities now, by id."""
        statics, bodies = self.kinematic_targets.nodes
        free = self.free.id_of_node
        return {
            **{free[node]: node for node in (*self._kinematic_nodes, *bodies)},
            **{self.static_ids[node]: node for node in statics},
        }

    @cached_property
    def free_space(self) -> FreeSpace:
        """Around what hangs on joints."""
        return FreeSpace(
            self.client_id,
            self.articulations.articulations,
            [link for link, _ in self._table.solid_links()],
            self._links.may_meet,
        )

    def _may_be_fast(self) -> bool:
        return self.fast.is_any

    @cached_property
    def kinematic_targets(self) -> KinematicTargets:
        """Where animations want bodies to be."""
        return KinematicTargets(
            self.client_id,
            self.plan.bodies,
            self.static_ids,
            self.free,
            lambda node: self._links.rewrite(self.links_of(node)),
        )

    @cached_property
    def motion(self) -> BodyMotion:
        """Single bodies: poses, velocities, impulses."""
        return BodyMotion(
            self.client_id,
            self.plan.bodies.bodies,
            self.link_of,
            self.articulations,
            self.free,
            self.kinematic_targets,
        )

    @cached_property
    def compiled_steps(self) -> CompiledSteps:
        """Steps that kernels make in one call, because nothing in them needs Python."""
        return CompiledSteps(
            self.articulations, self.kinematic_targets, self.anchors, self.triggers, self.free,
            self.softness, is_unforced=self._is_unforced and not self._links.slips,
            looks=self.fast.is_any, is_watched=self.squeezed is not None,
        )  # fmt: skip

    @cached_property
    def colliders(self) -> ColliderIndex:
        """Which collider a point on a link belongs to."""
        links = dict(self._table.link_colliders())
        return ColliderIndex(self.client_id, self.session.shapes, links)
