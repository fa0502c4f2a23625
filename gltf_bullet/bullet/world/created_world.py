"""The bodies and constraints of a :class:`ScenePlan`: created whole or not at all, removed whole.

The order of creation is that of ``_create``, and stands nowhere else. The file is long because
creation and removal both include every body: one that either misses would stay in the user's world.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import combinations

import numpy as np

from gltf_bullet.bullet.bodies.deforming_bodies import (
    create_deforming,
    create_statics,
    none_deforming,
)
from gltf_bullet.bullet.bodies.free_bodies import create_free_bodies, no_free_bodies
from gltf_bullet.bullet.bodies.unchanged_bodies import (
    NONE_UNCHANGED,
    UnchangedBodies,
    unchanged_bodies,
)
from gltf_bullet.bullet.body_ownership import BodyOwnership
from gltf_bullet.bullet.contacts.contact_softness import ContactSoftness
from gltf_bullet.bullet.contacts.fast_bodies import FastBodies
from gltf_bullet.bullet.contacts.link_contacts import LinkContacts
from gltf_bullet.bullet.contacts.load_overlaps import LoadOverlap, find_overlaps, overlap_issues
from gltf_bullet.bullet.contacts.pair_rules import PairRules
from gltf_bullet.bullet.contacts.squeezed_bodies import SqueezedBodies
from gltf_bullet.bullet.exchange.native_calls import engine_row
from gltf_bullet.bullet.gravity import gravity_forces
from gltf_bullet.bullet.joints.articulation_creation import create_articulations
from gltf_bullet.bullet.joints.mimic_gears import MimicGears, are_any_coupled
from gltf_bullet.bullet.joints.moving_anchors import MovingAnchors
from gltf_bullet.bullet.joints.solving.contact_reader import owners
from gltf_bullet.bullet.rendering.visuals import BodyVisuals
from gltf_bullet.bullet.session import EngineLink, EngineSession, SolidLink
from gltf_bullet.bullet.shapes.collider_index import ColliderIndex
from gltf_bullet.bullet.triggers.triggers import Triggers
from gltf_bullet.bullet.world.body_motion import BodyMotion
from gltf_bullet.bullet.world.compiled_steps import CompiledSteps
from gltf_bullet.bullet.world.kinematic_targets import KinematicTargets
from gltf_bullet.bullet.world.link_index import LinkIndex
from gltf_bullet.cached_properties import cached_property
from gltf_bullet.diagnostics import ROOT, Diagnostics, Issue, note
from gltf_bullet.model import MotionKind
from gltf_bullet.numba_aot.library import can_compile, package_library
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.plan_memo import MemoKey
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.rendering.visual_plans import VisualPlans
from gltf_bullet.scene import NodeTree
from gltf_bullet.transforms import FloatArray, IntArray

_ARE_ANY_COUPLED: MemoKey[bool] = MemoKey("some joint follows another one")
_NEEDS_RULES: MemoKey[bool] = MemoKey("some links that must not meet are not kept apart yet")
_MOVING_LINKS: MemoKey[list[int]] = MemoKey("numbers of the links that move")
_LOAD_OVERLAPS: MemoKey[list[LoadOverlap]] = MemoKey("links that overlap at load")
_ARE_ALL_APART: MemoKey[bool] = MemoKey("rules and filters keep all links apart")

SOLVER_NOT_COMPILED = note(
    "SOLVER_NOT_COMPILED",
    "no machine code of the joint solver fits this machine, and Numba, which would make it, is not "
    "installed: plain Python does the same, and a step with joints takes 300 to 900 times as "
    "long (pip install 'gltf_bullet[jit]')",
)

_FEW_LINKS = 16
"""Largest number of links whose pairs are all tested."""


class CreatedWorld:
    """Everything that one scene has in one PyBullet world, and its parts."""

    def __init__(
        self,
        session: EngineSession,
        plan: ScenePlan,
        tree: Callable[[], NodeTree],
        options: LoadOptions,
        visuals: VisualPlans,
        world_from_asset_xyzw: FloatArray,
        kept: UnchangedBodies = NONE_UNCHANGED,
    ) -> None:
        """Create everything in ``plan``, for an asset of nodes ``tree()`` with this rotation.

        On failure nothing stays in the world. ``kept``: bodies that :meth:`remove_changed_bodies`
        has left there.

        Raises:
            EngineError: PyBullet refused something.
        """
        client_id = self.client_id = session.client_id
        self.session, self.plan, self._options = session, plan, options
        self.pair_rules = PairRules(session)
        self._created: list[int] = []
        self._kept: frozenset[int] = frozenset()
        """Ids of bodies that :meth:`remove` leaves in the world."""
        self._undo: list[Callable[[], None]] = []
        self._lost: set[int] = set()
        self._lost_issues: tuple[Issue, ...] = ()
        self._steps_named = 1
        """The most engine steps in a step that an issue has named."""
        self._division_issues: tuple[Issue, ...] = ()
        painter = BodyVisuals(session, options, visuals)
        self.softness = session.shared(ContactSoftness)
        """Contact softness of the world."""
        try:
            self._create(painter, tree, options, kept)
            self.triggers = Triggers(
                client_id, plan, tree, session.shapes, self.free, self.articulations,
                lambda node: self.motion.velocities_of(node),
            )  # fmt: skip
            self.gravity = gravity_forces(
                client_id, plan, self.free, self.articulations, world_from_asset_xyzw
            )
            self.ownership = BodyOwnership(
                session, self._created, self.free.batched, self._table.name_of_body(tree)
            )
            """Ownership of the bodies; raises an error once one of them is gone."""
        except BaseException:
            # Only tagged bodies are removed.
            session.tag(self._created, self._created, self._created)
            self.remove()
            raise
        finally:
            painter.close()
        self.is_jointed = bool(self.articulations.articulations)
        self.articulations.connect(
            session, self._created, plan.memo, lambda: self._is_apart, self.free.motion.values
        )

    def _solver_issues(self) -> tuple[Issue, ...]:
        """Return the issue of a machine that solves joints in plain Python; empty elsewhere."""
        is_machine_code = package_library() is not None or can_compile()
        if is_machine_code or not self.articulations.articulations:
            return ()
        found = Diagnostics()
        found.report(SOLVER_NOT_COMPILED, ROOT)
        return found.issues

    def _create(
        self,
        visuals: BodyVisuals,
        tree: Callable[[], NodeTree],
        options: LoadOptions,
        kept: UnchangedBodies,
    ) -> None:
        shapes, bodies = self.session.shapes, self.plan.bodies.bodies
        kinds, statics = self.plan.bodies.anywhere, self.plan.bodies.statics
        jointed = self.plan.articulations.jointed_bodies
        self.static_ids = {}
        if statics:
            rigid = [plan for plan in statics if not plan.deforms]
            self.static_ids = create_statics(
                self.client_id, rigid, shapes, visuals, self._created, self.plan.animated.moved,
                kept.statics,
            )  # fmt: skip
        if len(jointed) == len(bodies):
            self.free = self.session.shared(no_free_bodies)
        else:
            self.free = create_free_bodies(
                self.client_id,
                {node: bodies[node] for node in bodies if node not in jointed},
                shapes,
                visuals,
                options.batch_size,
                self._created,
                self.session.knows,
                self.plan.memo,
                kept,
            )
        if self.free.motion.rows:
            self.free.motion.find_row = partial(engine_row, self.session)
        self.articulations = create_articulations(
            self.client_id,
            self.plan.articulations,
            bodies,
            shapes.shape_id,
            visuals,
            self._created,
            tree if options.link_names else None,
            self.plan.memo,
        )
        gear_issues: tuple[Issue, ...] = ()
        self.gear_ids: Sequence[int] = ()
        """Constraints of joints that follow others."""
        if self.plan.memo.get(_ARE_ANY_COUPLED, partial(are_any_coupled, self.plan.articulations)):
            gears = MimicGears(self.client_id, self.articulations.articulations)
            self._undo.append(gears.remove)
            gear_issues, self.gear_ids = gears.issues, gears.constraint_ids
        free = self.free.id_of_node
        self._table = LinkIndex(self.plan, self.static_ids, free, self.articulations)
        factors = {free[node]: kinds[node].gravity_factor for node in free}
        self.articulations.contacts.register(self.session.shared(owners), factors)
        self._undo.append(self.articulations.contacts.unregister)
        for link, shared in self.articulations.shared:
            shapes.settle_margin(shapes.shape_id(shared), shared, *link)
        visuals.create_scenery(self._created)
        self.deforming = self.session.shared(none_deforming)
        if statics and any(plan.deforms for plan in statics):
            self.deforming, deforming_ids = create_deforming(
                self.session, statics, visuals, lambda link: self._links.settle(link)
            )
            self.static_ids |= deforming_ids
            self._created += deforming_ids.values()  # the last bodies of the scene
        self.shown_links = visuals.finish(kinds, self._table.link_of, self.links_of)
        if self.shown_links.are_any:
            self._undo.append(visuals.show(self.shown_links, self._created))
        self.pair_rules.trust(self.articulations.kept_apart, self.free.kept_apart)
        if self.plan.memo.get(_NEEDS_RULES, partial(self._needs_rules, tree)):
            self.pair_rules.forbid(self._pairs_apart(tree))
        solid, slips = self._table.solid_links(), options.slip_friction
        self._links = LinkContacts(
            self.session, self.plan.contacts, solid, self._created, self.articulations.own_shapes,
            self.pair_rules, self.plan.memo, slip_friction=slips,
        )  # fmt: skip
        if not self._links.has_default_bits:
            self._undo.append(self._links.release)
        numbers = self.plan.memo.get(_MOVING_LINKS, partial(_moving, solid))
        moving = {solid[number][0] for number in numbers}
        if moving:
            self.softness.add_links(moving)
            self._undo.append(
                lambda: self.softness.remove_links(
                    [link for link in moving if link[0] not in self._kept]
                )
            )
        look = partial(find_overlaps, self.client_id, solid, self.pair_rules.forbids)
        overlaps = self.plan.memo.get(_LOAD_OVERLAPS, look)
        self.issues = gear_issues + self._solver_issues()
        """Issues that only the engine shows."""
        if overlaps:
            found = [overlap.of(solid) for overlap in overlaps]
            self.issues += overlap_issues(found, self._table.owners)

    def _pairs_apart(self, tree: Callable[[], NodeTree]) -> Iterator[tuple[EngineLink, EngineLink]]:
        yield from self.articulations.pairs_within_bodies()
        yield from self._table.jointed_pairs(tree)

    def _needs_rules(self, tree: Callable[[], NodeTree]) -> bool:
        """Return True if the engine alone does not keep all links apart that must not collide."""
        return not all(self.pair_rules.forbids(*pair) for pair in self._pairs_apart(tree))

    @cached_property
    def _is_apart(self) -> bool:
        """True if rules and filters keep every link of the scene from all others."""
        return self.plan.memo.get(_ARE_ALL_APART, self._are_all_apart)

    def _are_all_apart(self) -> bool:
        links = [link for link, _ in self._table.solid_links()]
        if len(links) > _FEW_LINKS:
            return False
        return not any(self._links.may_meet(*pair) for pair in combinations(links, 2))

    # --- parts that are made on first use -----------------------------------------------------
    #
    # Most copies are only stepped: for 300 cart-poles in one world these parts were a twelfth of
    # the time to load them (measured).

    def solid_links(self) -> Sequence[SolidLink]:
        """Return every link with colliders, with materials and filters."""
        return self._table.solid_links()

    @property
    def link_contacts(self) -> LinkContacts:
        """Contact properties of the links."""
        return self._links

    @property
    def own_constraints(self) -> list[int]:
        """Ids of all constraints that the scene has created."""
        return [*self.articulations.loop_constraints.constraint_ids, *self.gear_ids]

    def link_of(self, node: int) -> EngineLink:
        """Return the engine link of a motion node's body."""
        return self._table.link_of(node)

    def links_of(self, node: int) -> list[EngineLink]:
        """Return the engine links of a body's collider groups, in the plan's order."""
        return self._table.links_of(node)

    @cached_property
    def body_nodes(self) -> IntArray:
        """Motion nodes in the order of :meth:`world_from_bodies`."""
        nodes: IntArray = np.concatenate([self.free.nodes, self.articulations.nodes])
        return nodes

    @cached_property
    def anchors(self) -> MovingAnchors:
        """Moving attachments of the joints."""
        return MovingAnchors(self.client_id, self.plan, self.articulations, self.link_of)

    @cached_property
    def fast(self) -> FastBodies:
        """Continuous collision detection of small and fast bodies."""
        return FastBodies(
            self.client_id,
            self.free,
            self._links.mask_of,
            self._links.may_meet,
            self._links.set_pair_restitution,
        )

    @cached_property
    def squeezed(self) -> SqueezedBodies | None:
        """Keeps kinematic bodies from pressing others through walls; ``None`` without any."""
        if not self._kinematic_nodes and not self.plan.animated.moved:
            return None
        if not self.free.table.is_dynamic.any():
            return None
        movers = [self.free.id_of_node[node] for node in self._kinematic_nodes]
        free = self.free
        return SqueezedBodies(self.client_id, free.table, free.ids, movers, self.pair_rules)

    @cached_property
    def _kinematic_nodes(self) -> list[int]:
        """Free kinematic bodies with colliders."""
        bodies = self.plan.bodies.bodies
        return [
            node
            for node in self.free.nodes.tolist()
            if bodies[node].kind is MotionKind.KINEMATIC and bodies[node].groups
        ]

    @property
    def _movers(self) -> dict[int, int]:
        """Nodes of all bodies and colliders with prescribed motion now, by body id."""
        statics, bodies = self.kinematic_targets.nodes
        free = self.free.id_of_node
        return {
            **{free[node]: node for node in (*self._kinematic_nodes, *bodies)},
            **{self.static_ids[node]: node for node in statics},
        }

    @cached_property
    def kinematic_targets(self) -> KinematicTargets:
        """Poses that animations prescribe."""
        return KinematicTargets(
            self.client_id,
            self.plan.bodies,
            self.static_ids,
            self.free,
            lambda node: self._links.rewrite(self.links_of(node)),
        )

    @cached_property
    def motion(self) -> BodyMotion:
        """Poses, velocities and impulses of single bodies."""
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
        """Steps that kernels make in one call, if nothing in them needs Python."""
        return CompiledSteps(
            self.articulations, self.kinematic_targets, self.triggers, self.fast,
            self._links.slip_table, self.anchors, self.squeezed,
            needs_python=self.gravity is not None or self.free.are_cruising,
        )  # fmt: skip

    @cached_property
    def colliders(self) -> ColliderIndex:
        """Lookup of the collider at a point of a link."""
        links = dict(self._table.link_colliders())
        return ColliderIndex(self.client_id, self.session.shapes, links)

    # --- removal ------------------------------------------------------------------------------

    def remove_changed_bodies(self, plan: ScenePlan, edited: Collection[int]) -> UnchangedBodies:
        """Remove all bodies but those that another plan leaves unchanged; return these.

        Args:
            plan: The next plan.
            edited: Motion nodes whose motion has changed.
        """
        if self.deforming.built or not self.session.is_alive():
            self.remove()
            return NONE_UNCHANGED
        statics, bodies = unchanged_bodies(self.plan, plan)
        driven_statics, driven_bodies = map(set, self.kinematic_targets.nodes)
        free = self.free.id_of_node
        kept = UnchangedBodies(
            statics={node: self.static_ids[node] for node in statics - driven_statics},
            free={node: free[node] for node in bodies - driven_bodies - set(edited)},
            batched=frozenset(body for body in free.values() if body in self.free.batched),
        )
        self._kept = kept.ids
        self.remove()
        return kept

    def remove(self) -> None:
        """Remove everything from the world; no effect if the world is gone or was reset."""
        session, created, undo = self.session, self._created, self._undo
        owner = self.ownership.owner if hasattr(self, "ownership") else created
        is_first_held = session.has_first(created, owner)
        if not (is_first_held or session.is_alive()):
            undo.clear()
            created.clear()  # after resetSimulation our ids name other people's bodies
            return
        while undo:
            undo.pop()()
        gone = [body for body in created if body not in self._kept]
        session.remove_bodies(gone, owner, int(is_first_held and gone[:1] == created[:1]))
        self.pair_rules.release(created)
        created.clear()


def _moving(links: Sequence[SolidLink]) -> list[int]:
    """Return the numbers of the links that move."""
    return [k for k, (_, part) in enumerate(links) if part.surface.key.is_dynamic]
