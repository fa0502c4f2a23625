"""A :class:`ScenePlan` in the engine: asked, edited and stepped.

Creation and removal are in :mod:`.created_world`, states in :mod:`.restorable_world`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

import numpy as np
import pybullet

from gltf_bullet.bullet.bodies.free_table import FreeTable
from gltf_bullet.bullet.contacts.contact_points import Contacts, read_contacts
from gltf_bullet.bullet.rendering.visuals import ShownLink
from gltf_bullet.bullet.session import EngineLink, EngineSettings
from gltf_bullet.bullet.state import set_base_pose
from gltf_bullet.bullet.world.restorable_world import RestorableWorld
from gltf_bullet.diagnostics import ROOT, Diagnostics, Issue, warning
from gltf_bullet.model import MotionKind, PhysicsScene
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.changed_masses import with_masses
from gltf_bullet.planning.contacts.surfaces import with_materials
from gltf_bullet.planning.plan_memo import PlanMemo
from gltf_bullet.planning.step_division import engine_steps, report_division, step_bounds
from gltf_bullet.records import replace
from gltf_bullet.scene import NodeTree
from gltf_bullet.transforms import BoolArray, FloatArray, Pose

BODY_NOT_FINITE = warning(
    "BODY_NOT_FINITE",
    "the body stands nowhere: its place or rotation is not finite; the engine may find no contacts "
    "in this world any more, also after reset()",
)


class EngineWorld(RestorableWorld):
    """All bodies and constraints of one scene in one PyBullet world."""

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
        settings = self.compiled_steps.settings or self.session.settings()
        self._links.change(contacts, self._table.solid_links(), settings)
        self.compiled_steps.use_slip(self._links.slip_table)
        free = [found[0].bodies[node] for node in self.free.nodes.tolist()]
        self._use_free(free, self.free.table_with(free))
        return True

    def _use_free(self, plans: Sequence[BodyPlan], table: FreeTable) -> None:
        """Use other plans of the free bodies, and their table."""
        if table is self.free.table:
            return
        self.free.use(plans, table)
        if self.squeezed is not None:
            self.squeezed.use_table(table)

    def change_masses(self, before: PhysicsScene, physics: PhysicsScene) -> bool:
        """Set other masses, all or none; return False if other bodies are needed for them."""
        plan = with_masses(self.plan, before, physics, self._options)
        if plan is None:
            return False
        bodies, now = plan.bodies.bodies, self.plan.bodies.bodies
        if any(bodies[node] is not now[node] for node in self.kinematic_targets.nodes[1]):
            return False
        free = [bodies[node] for node in self.free.nodes.tolist()]
        table, weigh_jointed = self.free.table_with(free), self.articulations.weigh
        if not (self.free.can_weigh(table) and weigh_jointed(plan.articulations, bodies)):
            return False
        self.free.weigh(free)
        self._use_free(free, table)
        if self.gravity is not None:
            self.gravity.weigh()
        self.plan, self._table.bodies, self.motion.plans = plan, plan.bodies, bodies
        if self._last_restored is not None:
            self.articulations.note_masses(self._last_restored[3])
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

    # --- the step -----------------------------------------------------------------------------

    def engine_steps(self, settings: EngineSettings) -> int:
        """Return the number of engine steps that a step needs, by the file and the time step."""
        steps = engine_steps(bounds := step_bounds(self.plan), settings.time_step)
        if steps > self._steps_named:
            self._steps_named, found = steps, Diagnostics()
            report_division(bounds, settings.time_step, found)
            self._division_issues += found.issues
        return steps

    def adapt_to_settings(self, settings: EngineSettings) -> None:
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

    def accept_settings(self) -> None:
        """Accept the present world as the known one for compiled steps."""
        self.articulations.solver.io.accept_settings()

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
