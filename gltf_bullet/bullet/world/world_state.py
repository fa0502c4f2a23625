"""What a scene must take back besides the engine's own snapshot."""

from __future__ import annotations

from dataclasses import dataclass

from gltf_bullet.bullet.bodies.deforming_bodies import BuiltSurface
from gltf_bullet.bullet.contacts.contact_softness import SoftState
from gltf_bullet.bullet.contacts.fast_bodies import FastState
from gltf_bullet.bullet.contacts.slip_friction import SlipState
from gltf_bullet.bullet.contacts.squeezed_bodies import LetGo
from gltf_bullet.bullet.joints.scene_arrays import ArticulationState
from gltf_bullet.bullet.joints.solving.contact_reader import ContactMemory
from gltf_bullet.bullet.world.kinematic_targets import KinematicNodes
from gltf_bullet.planning.body_layouts import BodyLayout

__all__ = ["EngineWorldState"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EngineWorldState:
    """Treat as opaque."""

    origins: tuple[str, ...]
    """Names of the bodies."""
    articulations: ArticulationState
    slip: SlipState
    fast: FastState
    softness: SoftState
    kinematic_nodes: KinematicNodes
    squeezed: LetGo
    contacts: ContactMemory
    deforming: tuple[BuiltSurface, ...]
    layout: BodyLayout
    """Of the bodies: those with another one cannot take the rest over."""
