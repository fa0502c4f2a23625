"""All passes of planning, in order: the translation's table of contents. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gltf_bullet.bullet.articulation_plan import ArticulationPlans
from gltf_bullet.bullet.articulations_planning import plan_articulations
from gltf_bullet.bullet.bodies import BodyPlans, plan_bodies
from gltf_bullet.bullet.contact_plan import ContactPlan, plan_contacts
from gltf_bullet.bullet.shapes import MeshOf, ShapePlanner
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.model import PhysicsScene
from gltf_bullet.options import LoadOptions
from gltf_bullet.scene import NodeFrames, NodeTree

__all__ = ["WorldPlan", "plan_world", "within"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WorldPlan:
    """Everything that will be created, decided."""

    bodies: BodyPlans
    motion_node_of: npt.NDArray[np.intp]
    """Nearest motion node per node, -1 without one, shape [node_count]."""
    articulations: ArticulationPlans
    contacts: ContactPlan


def plan_world(
    physics: PhysicsScene,
    tree: NodeTree,
    frames: NodeFrames,
    mesh_of: MeshOf,
    options: LoadOptions,
    diagnostics: Diagnostics,
) -> WorldPlan:
    """Plan a scene; findings about what the engine cannot express go to ``diagnostics``."""
    motion_node_of = physics.motion_node_of(tree)
    shapes = ShapePlanner(mesh_of, options, diagnostics)
    bodies = plan_bodies(
        physics,
        motion_node_of=motion_node_of,
        frames=frames,
        shapes=shapes,
        density=options.density,
        diagnostics=diagnostics,
    )
    bodies, contacts = plan_contacts(bodies, diagnostics)
    articulations = plan_articulations(
        physics.joints,
        body_plans=bodies.bodies,
        motion_node_of=motion_node_of,
        world_from_node=frames.world_from_node,
        world_rotations_xyzw=frames.rotations_xyzw,
        diagnostics=diagnostics,
    )
    return WorldPlan(
        bodies=bodies, motion_node_of=motion_node_of, articulations=articulations, contacts=contacts
    )


def within(physics: PhysicsScene, inside: npt.NDArray[np.bool_]) -> PhysicsScene:
    """The part of ``physics`` whose nodes are marked, for files with several scenes."""
    if bool(inside.all()):
        return physics
    return replace(
        physics,
        motions={k: v for k, v in physics.motions.items() if inside[k]},
        colliders={k: v for k, v in physics.colliders.items() if inside[k]},
        triggers={k: v for k, v in physics.triggers.items() if inside[k]},
        joints={k: v for k, v in physics.joints.items() if inside[k]},
        gravity_volumes={k: v for k, v in physics.gravity_volumes.items() if inside[k]},
    )
