"""State of a scene's bodies besides the engine's own snapshot: taken, and returned to."""

from __future__ import annotations

from functools import partial
from typing import TypeAlias

from msgspec import Struct

from gltf_bullet.bullet.bodies.deforming_bodies import (
    BuiltSurface,
)
from gltf_bullet.bullet.contacts.contact_softness import SoftState
from gltf_bullet.bullet.contacts.fast_bodies import FastState
from gltf_bullet.bullet.contacts.slip_friction import SlipState
from gltf_bullet.bullet.contacts.squeezed_bodies import PassingPairs
from gltf_bullet.bullet.joints.scene_arrays import ArticulationMoment, ArticulationState
from gltf_bullet.bullet.joints.solving.contact_reader import ContactMemory
from gltf_bullet.bullet.state import BodyStates, EngineSnapshot
from gltf_bullet.bullet.world.created_world import CreatedWorld
from gltf_bullet.bullet.world.kinematic_targets import KinematicNodes
from gltf_bullet.planning.body_layouts import BodyLayout, layout_of
from gltf_bullet.planning.plan_memo import MemoKey


class EngineWorldState(Struct, frozen=True, eq=False, kw_only=True):
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


_LAYOUT: MemoKey[BodyLayout] = MemoKey("the bodies that states fit")

_RestoredState: TypeAlias = (
    "tuple[EngineWorldState, EngineSnapshot | BodyStates, tuple[int, int], ArticulationMoment]"
)
"""The last restored state; number of bodies then and the last one; and the joints' arrays."""


class RestorableWorld(CreatedWorld):
    """All bodies of one scene in the world, with states to go back to."""

    _last_restored: _RestoredState | None = None

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
        self.anchors.forget_rest()
        if self.squeezed is not None:
            self.squeezed.restore(state.squeezed, self._created)
        if not self._restore_changes(state, engine):
            self._restore(state, engine)
        self.fast.restore(state.fast)
        self.softness.restore(state.softness, self._created)
        self.articulations.contacts.recall(state.contacts, self._created)

    def restore_slip(self, state: EngineWorldState) -> None:
        """Restore which surfaces slide, where the materials are those of the state again."""
        self._links.restore(state.slip)

    def _restore_changes(
        self, state: EngineWorldState, engine: EngineSnapshot | BodyStates
    ) -> bool:
        """Restore only what steps have changed, if this is the state that was restored last.

        Every episode of an environment begins so; a full restore costs three times as much.
        """
        last = self._last_restored
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
        self._last_restored = (state, engine, bodies, moment) if is_whole else None
