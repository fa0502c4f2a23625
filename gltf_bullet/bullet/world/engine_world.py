"""A :class:`ScenePlan` in the engine: created whole or not at all, stepped, removed whole.

The file is long because creation, steps, state and removal all include every body of the scene: a
body that one of them misses would stay in the user's world.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TypeAlias

import numpy as np
import pybullet

from gltf_bullet.bullet.bodies.deforming_bodies import (
    BuiltSurface,
    create_deforming,
    create_statics,
    none_deforming,
)
from gltf_bullet.bullet.bodies.free_bodies import create_free_bodies, no_free_bodies
from gltf_bullet.bullet.bodies.free_table import FreeTable
from gltf_bullet.bullet.bodies.kept_bodies import NONE_KEPT, KeptBodies, unchanged_bodies
from gltf_bullet.bullet.body_ownership import BodyOwnership
from gltf_bullet.bullet.contacts.contact_points import Contacts, read_contacts
from gltf_bullet.bullet.contacts.contact_softness import ContactSoftness, SoftState
from gltf_bullet.bullet.contacts.fast_bodies import FastBodies, FastState
from gltf_bullet.bullet.contacts.link_contacts import LinkContacts
from gltf_bullet.bullet.contacts.load_overlaps import LoadOverlap, find_overlaps, overlap_issues
from gltf_bullet.bullet.contacts.pair_rules import PairRules
from gltf_bullet.bullet.contacts.slip_friction import SlipState
from gltf_bullet.bullet.contacts.squeezed_bodies import PassingPairs, SqueezedBodies
from gltf_bullet.bullet.exchange.native_calls import engine_row
from gltf_bullet.bullet.gravity import gravity_forces
from gltf_bullet.bullet.joints.articulation_creation import create_articulations
from gltf_bullet.bullet.joints.mimic_gears import MimicGears, are_any_coupled
from gltf_bullet.bullet.joints.moving_anchors import MovingAnchors
from gltf_bullet.bullet.joints.scene_arrays import ArticulationMoment, ArticulationState
from gltf_bullet.bullet.joints.solving.contact_reader import ContactMemory, owners
from gltf_bullet.bullet.rendering.visuals import BodyVisuals, ShownLink
from gltf_bullet.bullet.session import EngineLink, EngineSession, EngineSettings, SolidLink
from gltf_bullet.bullet.shapes.collider_index import ColliderIndex
from gltf_bullet.bullet.state import BodyStates, EngineSnapshot, set_base_pose
from gltf_bullet.bullet.triggers.triggers import Triggers
from gltf_bullet.bullet.world.body_motion import BodyMotion
from gltf_bullet.bullet.world.compiled_steps import CompiledSteps
from gltf_bullet.bullet.world.kinematic_targets import KinematicNodes, KinematicTargets
from gltf_bullet.bullet.world.link_index import LinkIndex
from gltf_bullet.cached_properties import cached_property
from gltf_bullet.diagnostics import ROOT, Diagnostics, Issue, IssueKind, Severity
from gltf_bullet.model import MotionKind, PhysicsScene
from gltf_bullet.numba_aot.library import can_compile, package_library
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.body_layouts import BodyLayout, layout_of
from gltf_bullet.planning.changed_masses import with_masses
from gltf_bullet.planning.contacts.surfaces import with_materials
from gltf_bullet.planning.plan_memo import MemoKey, PlanMemo
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.planning.step_division import engine_steps, report_division, step_bounds
from gltf_bullet.rendering.visual_plans import VisualPlans
from gltf_bullet.scene import NodeTree
from gltf_bullet.transforms import BoolArray, FloatArray, IntArray, Pose

# --- State of a scene besides the engine's own snapshot -------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EngineWorldState:
    """State of one scene that the engine's snapshot leaves out; treat as opaque."""

    origins: tuple[str, ...]
    """Permanent names of the bodies."""
    articulations: ArticulationState
    slip: SlipState
    fast: FastState
    softness: SoftState
    kinematic_nodes: KinematicNodes
    squeezed: PassingPairs
    contacts: ContactMemory
    deforming: tuple[BuiltSurface, ...]
    layout: BodyLayout
    """Layout of the bodies; a scene of another layout cannot restore the rest."""


_ARE_ANY_COUPLED: MemoKey[bool] = MemoKey("some joint follows another one")
_NEEDS_RULES: MemoKey[bool] = MemoKey("some links that must not meet are not kept apart yet")
_MOVING_LINKS: MemoKey[list[int]] = MemoKey("numbers of the links that move")
_LOAD_OVERLAPS: MemoKey[list[LoadOverlap]] = MemoKey("links that overlap at load")
_ARE_ALL_APART: MemoKey[bool] = MemoKey("rules and filters keep all links apart")
_LAYOUT: MemoKey[BodyLayout] = MemoKey("the bodies that states fit")

BODY_NOT_FINITE = IssueKind(
    "BODY_NOT_FINITE",
    Severity.WARNING,
    "the body stands nowhere: its place or rotation is not finite; the engine may find no contacts "
    "in this world any more, also after reset()",
)

SOLVER_NOT_COMPILED = IssueKind(
    "SOLVER_NOT_COMPILED",
    Severity.INFO,
    "no machine code of the joint solver fits this machine, and Numba, which would make it, is not "
    "installed: plain Python does the same, and a step with joints takes 300 to 900 times as "
    "long (pip install 'gltf_bullet[jit]')",
)

_FEW_LINKS = 16
"""Largest number of links whose pairs are all tested."""

_Return: TypeAlias = (
    "tuple[EngineWorldState, EngineSnapshot | BodyStates, tuple[int, int], ArticulationMoment]"
)
"""The last restored state; number of bodies then and the last one; and the joints' arrays."""


class EngineWorld:
    """All bodies and constraints of one scene in one PyBullet world."""

    def __init__(
        self,
        session: EngineSession,
        plan: ScenePlan,
        tree: Callable[[], NodeTree],
        options: LoadOptions,
        visuals: VisualPlans,
        world_from_asset_xyzw: FloatArray,
        kept: KeptBodies = NONE_KEPT,
    ) -> None:
        """Create everything in ``plan``, for an asset of nodes ``tree()`` with this rotation.

        On failure nothing stays in the world. ``kept``: bodies left there by :meth:`hand_over`.

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
        self._last_return: _Return | None = None
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
        kept: KeptBodies,
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
            lambda node: [shapes.shape_id(group.shapes) for group in kinds[node].groups],
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
        for node in self.articulations.sharers():
            for group, link in zip(kinds[node].groups, self.links_of(node), strict=False):
                shapes.settle_margin(shapes.shape_id(group.shapes), group.shapes, *link)
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
        return SqueezedBodies(self.client_id, self.free.table, self.free.ids, self.pair_rules)

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
            self.articulations, self.kinematic_targets, self.triggers, self.fast, self.softness,
            self._links.slip_table,
            needs_python=self.gravity is not None or self.free.are_cruising,
            is_watched=self.squeezed is not None,
        )  # fmt: skip

    @cached_property
    def colliders(self) -> ColliderIndex:
        """Lookup of the collider at a point of a link."""
        links = dict(self._table.link_colliders())
        return ColliderIndex(self.client_id, self.session.shapes, links)

    # --- queries and edits --------------------------------------------------------------------

    def contacts(
        self,
        node: int | None,
        names: Sequence[str] = (),
        name_of: Callable[[int, int, Sequence[float]], str] = lambda *_: "",
    ) -> Contacts:
        """Return contacts of the scene, or of a node's body or static collider."""
        links = None if node is None else self._table.links_around(node)
        scale = self.session.force_scale
        return read_contacts(self.client_id, self.colliders, links, names, scale, name_of)

    def change_materials(self, physics: PhysicsScene) -> bool:
        """Set the colliders' materials anew; return False if other links are needed for them."""
        found = with_materials(
            self.plan.bodies, self.plan.contacts, physics.colliders, Diagnostics()
        )
        if found is None:
            return False
        self._table.bodies, contacts = found
        self.plan = replace(
            self.plan, bodies=self._table.bodies, contacts=contacts, memo=PlanMemo()
        )
        self._links.change(contacts, self._table.solid_links())
        self.compiled_steps.use_slip(self._links.slip_table)
        self.free.table = FreeTable.of([found[0].bodies[k] for k in self.free.nodes.tolist()])
        self._set_table(self.free.table)
        self.compiled_steps.settings = None
        return True

    def _set_table(self, table: FreeTable) -> None:
        self.free.motion.set_table(table)
        if self.squeezed is not None:
            self.squeezed.table = table

    def change_masses(self, before: PhysicsScene, physics: PhysicsScene) -> bool:
        """Set other masses, all or none; return False if other bodies are needed for them."""
        plan = with_masses(self.plan, before, physics, self._options)
        if plan is None:
            return False
        bodies, now = plan.bodies.bodies, self.plan.bodies.bodies
        if any(bodies[node] is not now[node] for node in self.kinematic_targets.nodes[1]):
            return False
        free = [bodies[node] for node in self.free.nodes.tolist()]
        table, weigh_jointed = FreeTable.of(free), self.articulations.weigh
        if not (self.free.can_weigh(table) and weigh_jointed(plan.articulations, bodies)):
            return False
        self.free.weigh(free, table)
        self._set_table(table)
        if self.gravity is not None:
            self.gravity.weigh()
        self.plan, self._table.bodies, self.motion.plans = plan, plan.bodies, bodies
        if self._last_return is not None:
            self.articulations.note_masses(self._last_return[3])
        return True

    @property
    def issues_of_steps(self) -> tuple[Issue, ...]:
        """Issues of the steps so far."""
        squeezed = () if self.squeezed is None else self.squeezed.issues
        return self.articulations.issues + self._division_issues + self._lost_issues + squeezed

    @property
    def shown(self) -> tuple[ShownLink, ...]:
        """Links with meshes of the file."""
        return self.shown_links.all

    @property
    def moving_links(self) -> set[EngineLink]:
        """Links with the colliders of motion nodes, but not of static ones that joints are at."""
        links_of = self._table.solid_links_of
        return {
            link
            for node, body in self.plan.bodies.anywhere.items()
            if body.kind is not MotionKind.STATIC
            for link in links_of(node)
        }

    @property
    def collider_node_of_link(self) -> dict[EngineLink, int]:
        """First collider node of each link."""
        return {link: c.nodes[0] for link, c in self._table.link_colliders() if c.nodes}

    @property
    def body_ids(self) -> tuple[int, ...]:
        """Ids of all created bodies, statics and scenery included."""
        return tuple(self._created)

    # --- the step -----------------------------------------------------------------------------

    def engine_steps(self, settings: EngineSettings) -> int:
        """Return the number of engine steps that a step needs, by the file and the time step."""
        steps = engine_steps(bounds := step_bounds(self.plan), settings.time_step)
        if steps > self._steps_named:
            self._steps_named, found = steps, Diagnostics()
            report_division(bounds, settings.time_step, found)
            self._division_issues += found.issues
        return steps

    def learn_settings(self, settings: EngineSettings) -> None:
        """Adapt surfaces to the present settings of the world."""
        if settings is not self.compiled_steps.settings:
            # The session returns the same object as long as no setting changes.
            self._links.before_step(settings)
            self.free.motion.use_time_step(settings.time_step)
            self.compiled_steps.settings = settings

    def before_step(
        self,
        settings: EngineSettings,
        world_from_node: Callable[[], FloatArray],
        part: int = 0,
        parts: int = 1,
    ) -> None:
        """Apply what the engine lacks for the coming engine step, except joint forces.

        Args:
            settings: Settings of that step.
            world_from_node: Returns the frames of all nodes, shape [node_count, 4, 4].
            part: Number of the engine step in a divided step, from 0 on.
            parts: Number of engine steps in it.
        """
        if self.is_jointed:
            self.articulations.begin_part(settings.substeps, part)
        if part:
            self.free.reapply_forces()
        if self.gravity is not None:
            self.gravity.before_step(settings.gravity, world_from_node())
        self.free.before_step(settings.time_step, settings.gravity, part, parts)
        if self.kinematic_targets.has_targets:
            self.kinematic_targets.before_step(settings.time_step, parts - part)
        if self.is_jointed:
            self.anchors.before_step(settings.time_step, part)

    def end_step(self) -> None:
        """Finish a step with all its engine steps."""
        self.free.forces.clear()
        if self.is_jointed:
            self.articulations.solver.end_step()

    def learn(self) -> None:
        """Accept the present world as the known one for compiled steps."""
        self.articulations.solver.io.learn()

    def after_step(self, settings: EngineSettings, *, is_seen: bool = False) -> None:
        """Update joints, sliding surfaces, squeezed and fast bodies after an engine step.

        ``is_seen``: kernels have looked at the free bodies.
        """
        with self.ownership:
            if not is_seen:
                self.free.motion.after_step(settings.gravity)
            if self.is_jointed:
                self.articulations.after_step()
            if self._links.slips:
                self._links.after_step(settings, is_seen=is_seen)
            if self.squeezed is not None:
                self.squeezed.after_step(self._movers, settings.time_step)
            self.fast.after_step(settings.time_step, settings.gravity, is_sought=not is_seen)
            if not is_seen:
                self.articulations.solver.pairs_seen = None

    @property
    def pairs_seen(self) -> int | None:
        """Number of overlaps that kernels have counted in the last step; ``None``: they did not."""
        return None if self.articulations.is_unread else self.articulations.solver.pairs_seen

    def read_sensed(self) -> FloatArray:
        """Read what triggers need; return poses of the free bodies, shape [free_bodies * 7]."""
        with self.ownership:
            if self.triggers.needs_joints:
                self.articulations.solver.read()
            if self.triggers.needs_free:
                return self.free.read()
        return self.free.poses

    def world_from_bodies(self) -> tuple[FloatArray, FloatArray]:
        """Read all body frames: positions [m] (k, 3) and rotations xyzw (k, 4)."""
        with self.ownership:
            positions, rotations = self.free.world_from_bodies()
            if not math.isfinite(positions.sum() + rotations.sum()):
                self._note_lost(np.isfinite(np.hstack([positions, rotations])).min(axis=1))
            if not len(self.articulations.nodes):
                return positions, rotations
            _, jointed_positions, jointed_rotations = self.articulations.world_from_bodies()
        return (
            np.concatenate([positions, jointed_positions]),
            np.concatenate([rotations, jointed_rotations]),
        )

    def _note_lost(self, is_there: BoolArray) -> None:
        """Report free bodies with poses that are not finite; for jointed ones the step raises."""
        found = Diagnostics()
        for node in self.free.nodes[~is_there].tolist():
            if node not in self._lost:
                self._lost.add(node)
                found.report(BODY_NOT_FINITE, ROOT / "nodes" / node)
        self._lost_issues += found.issues

    def world_from_body(self, node: int) -> Pose | None:
        """Read the body frame of one jointed motion node; ``None`` for other nodes."""
        if node not in self.articulations.link_of:
            return None
        with self.ownership:
            return self.articulations.world_from_body(node)

    # --- state --------------------------------------------------------------------------------

    def may_slide(self, nodes: AbstractSet[int], tree: NodeTree) -> bool:
        """Return True if static colliders at these nodes can be put elsewhere with their bodies."""
        statics = nodes & self.static_ids.keys()
        if any(plan.deforms for plan in self.plan.bodies.statics if plan.node in statics):
            return False
        return not (statics & self._table.statics_of_bases(tree))

    def slide(self, nodes: AbstractSet[int], motion: Pose, world_from_node: FloatArray) -> None:
        """Put the static colliders at some nodes elsewhere.

        Args:
            nodes: See :meth:`may_slide`.
            motion: From their present places to the new ones, world axes.
            world_from_node: Present matrices of all nodes, shape [node_count, 4, 4].
        """
        for node in nodes & self.static_ids.keys():
            body = self.static_ids[node]
            at, turn = pybullet.getBasePositionAndOrientation(body, self.client_id)
            pose = motion @ Pose(turn, at)
            set_base_pose(self.client_id, body, pose.translation, pose.rotation_xyzw)
        self.triggers.place_again(world_from_node)

    def renew_contacts(self) -> None:
        """Make all collision pairs of the scene anew, in one fixed order."""
        self.articulations.contacts.save_contacts()
        self._links.renew_in_order()

    def state(self) -> EngineWorldState:
        """Return the state that the engine's own snapshot leaves out."""
        return EngineWorldState(
            origins=self.session.origins_of(self._created),
            articulations=self.articulations.state(self.session.settings().time_step),
            slip=self._links.state(),
            fast=self.fast.state_now(),
            softness=self.softness.state(self._created),
            kinematic_nodes=self.kinematic_targets.nodes,
            squeezed=() if self.squeezed is None else self.squeezed.state(self._created),
            contacts=self.articulations.contacts.memory(self._created),
            deforming=self.deforming.built,
            layout=self.plan.memo.get(_LAYOUT, partial(layout_of, self.plan)),
        )

    def restore(self, state: EngineWorldState, engine: EngineSnapshot | BodyStates) -> None:
        """Restore a state: the whole world by the engine's snapshot, or our own bodies only."""
        if self.squeezed is not None:
            self.squeezed.restore(state.squeezed, self._created)
        if not self._return_again(state, engine):
            self._restore(state, engine)
        self.fast.restore(state.fast)
        self.softness.restore(state.softness, self._created)
        self.articulations.contacts.recall(state.contacts, self._created)

    def _return_again(self, state: EngineWorldState, engine: EngineSnapshot | BodyStates) -> bool:
        """Restore only what steps have changed, if this is the state that was restored last.

        Every episode of an environment begins so; a full restore costs three times as much.
        """
        last = self._last_return
        if last is None or last[0] is not state or last[1] is not engine:
            return False
        bodies = self.session.last_body()
        if bodies != last[2] or any(self.kinematic_targets.nodes) or state.deforming:
            return False
        if isinstance(engine, EngineSnapshot) and bodies[0] != len(self._created):
            return False  # others may have bodies that the engine cannot restore
        if not self.articulations.return_to(last[3]):
            return False
        self._links.restore(state.slip)
        touches = self._may_touch(bodies[0])
        if isinstance(engine, BodyStates):
            engine.restore(self.client_id, self._created)
        else:
            engine.restore_again(self.session)
        if touches:
            self._links.renew_in_order()
        if touches and not isinstance(engine, BodyStates):
            engine.restore_again(self.session)
        return True

    def _may_touch(self, bodies: int) -> bool:
        """Return True if the scene may have contacts, in a world of so many bodies."""
        if not self._is_apart:
            return True
        # Other people's bodies may touch it, and other scenes' if rules allow it.
        return bodies > len(self._created) and len(self.articulations.contacts.fetch()) > 0

    def _restore(self, state: EngineWorldState, engine: EngineSnapshot | BodyStates) -> None:
        self.kinematic_targets.choose(*state.kinematic_nodes)
        self.deforming.restore(state.deforming)
        self._links.restore(state.slip)
        is_whole = True
        if isinstance(engine, BodyStates):
            engine.restore(self.client_id, self._created)
            self.renew_contacts()
        else:
            self.session.rename(self._created, state.origins)
            is_whole = engine.restore(self.session)
            self.renew_contacts()
            (engine.restore_again if is_whole else engine.restore)(self.session)
        self.articulations.restore(state.articulations)
        bodies, moment = self.session.last_body(), self.articulations.moment()
        self._last_return = (state, engine, bodies, moment) if is_whole else None

    def hand_over(self, plan: ScenePlan, edited: Collection[int]) -> KeptBodies:
        """Remove all bodies but those that another plan leaves unchanged; return these.

        Args:
            plan: The next plan.
            edited: Motion nodes whose motion has changed.
        """
        if self.deforming.built or not self.session.is_alive():
            self.remove()
            return NONE_KEPT
        statics, bodies = unchanged_bodies(self.plan, plan)
        driven_statics, driven_bodies = map(set, self.kinematic_targets.nodes)
        free = self.free.id_of_node
        kept = KeptBodies(
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
