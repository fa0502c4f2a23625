"""Lookup of the engine links of bodies, colliders and joint partners of one scene."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import overload

import pybullet

from gltf_bullet.bullet.contacts.link_contacts import solid_links
from gltf_bullet.bullet.joints.articulation_set import ArticulationSet
from gltf_bullet.bullet.session import EngineLink, SolidLink
from gltf_bullet.bullet.shapes.collider_index import LinkColliders
from gltf_bullet.model import MotionKind
from gltf_bullet.planning.bodies import BodyPlans
from gltf_bullet.planning.body_plans import ColliderGroup, StaticPlan
from gltf_bullet.planning.plan_memo import MemoKey
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.planning.shapes.shape_plans import InfinitePlanePlan, PlacedShape
from gltf_bullet.scene import NodeTree
from gltf_bullet.transforms import IDENTITY_POSE

_NEAR = 0.01
"""Largest distance [m] between boxes that count as touching."""


class _LinksOfCopy(Sequence[SolidLink]):
    """Lazy list of the links of a copy: most copies never need them."""

    def __init__(
        self, places: list[tuple[int, int, ColliderGroup | StaticPlan]], ids: Sequence[int]
    ) -> None:
        """Store ``places`` with numbers of multibodies, and the ids of these."""
        self._places, self._ids = places, ids

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> SolidLink: ...
    @overload
    def __getitem__(self, place: slice) -> list[SolidLink]: ...
    def __getitem__(self, place: int | slice) -> SolidLink | list[SolidLink]:
        if isinstance(place, slice):
            return list(self)[place]
        number, link, part = self._places[place]
        return (self._ids[number], link), part

    def __iter__(self) -> Iterator[SolidLink]:
        return (((self._ids[number], link), part) for number, link, part in self._places)


_FIXED_BASES: MemoKey[list[tuple[int, int, list[int]]]] = MemoKey(
    "static colliders that fixed bases do not meet"
)
_SOLID_PLACES: MemoKey[list[tuple[int, int, ColliderGroup | StaticPlan]]] = MemoKey(
    "links with colliders, by number of the multibody"
)


class LinkIndex:
    """Links by node; ``bodies``, the plans of the bodies, is replaced when materials change."""

    def __init__(
        self,
        plan: ScenePlan,
        static_ids: Mapping[int, int],
        id_of_free: Mapping[int, int],
        articulations: ArticulationSet,
    ) -> None:
        """Store what was created.

        Args:
            plan: Plan of the scene.
            static_ids: Body of each static collider's node.
            id_of_free: Body of each motion node without joints.
            articulations: All other bodies.
        """
        self.bodies: BodyPlans = plan.bodies
        self._plan = plan
        self._static_ids = static_ids
        self._id_of_free = id_of_free
        self._articulations = articulations
        self._apart: dict[int, list[EngineLink]] = {}
        for static in plan.bodies.statics:
            if static.owner >= 0:
                self._apart.setdefault(static.owner, []).append((static_ids[static.node], -1))

    def link_of(self, node: int) -> EngineLink:
        """Return the engine link of a motion node's body."""
        if node in self._id_of_free:
            return self._id_of_free[node], -1
        return self._articulations.link_at(node)

    def links_of(self, node: int) -> list[EngineLink]:
        """Return the engine links of a body's collider groups, in the plan's order."""
        body_id = self._id_of_free.get(node)
        if body_id is not None:
            count = len(self.bodies.anywhere[node].groups)
            return [(body_id, -1), *((body_id, link) for link in range(count - 1))]
        return self._articulations.links_of(node)

    def solid_links_of(self, node: int) -> list[EngineLink]:
        """Return :meth:`links_of`, and bodies of colliders that are animated within the body."""
        return [*self.links_of(node), *self._apart.get(node, ())]

    def _colliding_links(self, node: int) -> list[EngineLink]:
        """Return :meth:`solid_links_of` without the link of a body without colliders."""
        if self.bodies.anywhere[node].groups:
            return self.solid_links_of(node)
        return self._apart.get(node, [])

    def links_around(self, node: int) -> list[EngineLink]:
        """Return the engine links of a node's body, or of its static collider."""
        owner = int(self._plan.motion_node_of[node])
        if owner >= 0:
            return self.solid_links_of(owner)
        return [(self._static_ids[node], -1)] if node in self._static_ids else []

    def owners(self) -> dict[EngineLink, int]:
        """Return the motion node of each link, or its static collider's node."""
        owners = {(body_id, -1): node for node, body_id in self._static_ids.items()}
        for node in self.bodies.anywhere:
            owners |= dict.fromkeys(self.solid_links_of(node), node)
        return owners

    def name_of_body(self, tree: Callable[[], NodeTree]) -> Callable[[int], str]:
        """Return a function that names a body for messages, by the nodes that it carries."""

        def name_of(body_id: int) -> str:
            nodes = sorted({node for link, node in self.owners().items() if link[0] == body_id})
            names = [f"node {node} {tree().names[node]!r}" for node in nodes]
            return ", ".join(names) or "a helper of the scene"

        return name_of

    def jointed_pairs(
        self, tree: Callable[[], NodeTree]
    ) -> Iterator[tuple[EngineLink, EngineLink]]:
        """Yield pairs of links of bodies that are jointed without ``enableCollision``."""
        plans = self._plan.articulations
        for first, second in sorted(plans.excluded_pairs):
            others = self._colliding_links(second)
            for a in self._colliding_links(first):
                yield from ((a, b) for b in others)
        if not plans.excluded_static_pairs:
            return
        bases = self._plan.memo.get(_FIXED_BASES, lambda: self._fixed_bases(tree()))
        for node, owner, statics in bases:
            around = [(self._static_ids[static], -1) for static in statics]
            if owner >= 0:
                around = self._colliding_links(owner)
            for a in self._colliding_links(node):
                yield from ((a, b) for b in around)

    def statics_of_bases(self, tree: NodeTree) -> set[int]:
        """Return static colliders that pass through a jointed body, as the bases of robots do."""
        if not self._plan.articulations.excluded_static_pairs:
            return set()
        bases = self._plan.memo.get(_FIXED_BASES, lambda: self._fixed_bases(tree))
        return {static for _, _, statics in bases for static in statics}

    def _fixed_bases(self, tree: NodeTree) -> list[tuple[int, int, list[int]]]:
        """Return jointed bodies with their partners: a body, or else static colliders' nodes."""
        above = {node: {node, *tree.ancestors(node)} for node in self._static_ids}
        found = []
        for node, attachment in sorted(self._plan.articulations.excluded_static_pairs):
            owner = int(self._plan.motion_node_of[attachment])
            statics = [] if owner >= 0 else self._statics_around(node, attachment, tree, above)
            found.append((node, owner, statics))
        return found

    def _statics_around(
        self, jointed: int, attachment: int, tree: NodeTree, above: Mapping[int, set[int]]
    ) -> list[int]:
        """Return the colliders that are "the other body" of a joint to the fixed world.

        They are the static subtree that contains the attachment: a robot's base may have its
        colliders in nodes beside or above the joint's. Without any there, they are those around the
        next node above. For a static motion node its colliders are known without this search. A
        node may be no more than an exporter's root: of its colliders, those that are not near the
        joint at load belong to no base (a slider 3 m above the floor let its body fall through it).
        """
        for node in (attachment, *tree.ancestors(attachment)):
            if self._is_world(node, above, tree):
                around = [node] if node in self._static_ids else []
            else:
                around = [static for static, path in above.items() if node in path]
            own = [node] if node in around else []
            around = [*own, *self._near(jointed, attachment, [k for k in around if k != node])]
            if around:
                return around
        return []

    def _near(self, jointed: int, attachment: int, statics: Iterable[int]) -> list[int]:
        """Return static colliders whose boxes touch a jointed body's, or contain its joint."""
        client = self._articulations.client_id
        x, y, z = self._plan.frames.world_from_node[attachment, :3, 3].tolist()
        boxes = [pybullet.getAABB(*link, physicsClientId=client) for link in self.links_of(jointed)]
        boxes.append(((x, y, z), (x, y, z)))
        found = []
        for static in statics:
            low, high = pybullet.getAABB(self._static_ids[static], physicsClientId=client)
            if any(
                all(
                    a - _NEAR <= d and c <= b + _NEAR
                    for a, b, c, d in zip(low, high, *box, strict=True)
                )
                for box in boxes
            ):
                found.append(static)
        return found

    def _is_world(self, node: int, above: Mapping[int, set[int]], tree: NodeTree) -> bool:
        """Return True if a node contains a whole world, whose ground is no robot's base.

        That is: an infinite plane, or dynamic bodies without joints.
        """
        planes = (
            static.node
            for static in self.bodies.statics
            if isinstance(static.shape.shape, InfinitePlanePlan)
        )
        if any(node in above[plane] for plane in planes):
            return True
        return any(
            node in tree.ancestors(free)
            for free, plan in self.bodies.anywhere.items()
            if plan.kind is MotionKind.DYNAMIC
            and free not in self._plan.articulations.jointed_bodies
        )

    def link_colliders(self) -> Iterator[tuple[EngineLink, LinkColliders]]:
        """Yield the glTF colliders of every link, with their shapes in the body's frame."""
        for static in self.bodies.statics:
            # The body has the pose; the shape is at its origin.
            shape = (PlacedShape(static.shape.shape),)
            yield (self._static_ids[static.node], -1), LinkColliders((static.node,), shape)
        for node, plan in self.bodies.anywhere.items():
            # Links of further groups have no mass, and their frames are the body's.
            inertial = plan.body_from_inertial
            for group, link in zip(plan.groups, self.links_of(node), strict=False):
                yield link, LinkColliders(group.collider_nodes, group.shapes, inertial)
                inertial = IDENTITY_POSE

    def solid_links(self) -> Sequence[SolidLink]:
        """Return every link that others can touch, with its material and filter."""
        plan = self._plan
        if self.bodies is not plan.bodies or self._static_ids or self._id_of_free:
            return list(self._solid_links())
        # Jointed bodies only: copies differ in body ids alone.
        places = plan.memo.get(_SOLID_PLACES, self._solid_places)
        return _LinksOfCopy(places, self._articulations.body_ids)

    def _solid_places(self) -> list[tuple[int, int, ColliderGroup | StaticPlan]]:
        """Return the links with colliders by number of the multibody."""
        numbers = {body: number for number, body in enumerate(self._articulations.body_ids)}
        return [(numbers[body], link, part) for (body, link), part in self._solid_links()]

    def _solid_links(self) -> Iterator[SolidLink]:
        return solid_links(
            ((self._static_ids[static.node], static) for static in self.bodies.statics),
            ((plan, self.links_of(node)) for node, plan in self.bodies.anywhere.items()),
        )
