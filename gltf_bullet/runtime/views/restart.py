"""Return to a start state with some values changed, as at the start of each episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gltf_bullet.model import Collider, PhysicsMaterial, PhysicsScene
from gltf_bullet.model.pointers import find_target
from gltf_bullet.planning.body_layouts import fits, fixed_root_nodes, layout_of
from gltf_bullet.planning.changed_masses import differ_in_masses, with_masses_of
from gltf_bullet.records import replace
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.scene_state import SceneState
from gltf_bullet.runtime.views.pointers import (
    edited_at,
    is_set_in_place,
    set_materials,
    set_value,
)


def restart(core: SceneCore, state: SceneState, values: Mapping[str, Any]) -> None:
    """See :meth:`Scene.restart`."""
    wanted, now = state.physics, core.model.now
    later: dict[str, Any] = {}
    for pointer, value in values.items():
        target = find_target(wanted, pointer)
        if target is None:
            later[pointer] = value  # a node's transform, or unknown: set() handles both
            continue
        wanted = edited_at(wanted, target, pointer, value)
        if isinstance(target.item, PhysicsMaterial):
            core.model.acted.discard(pointer)
        elif is_set_in_place(target):
            later[pointer] = value
            now = _with_value(now, pointer, value)
    # Materials are set for all values together. The remaining differences need other bodies: these
    # are made once for all values together, or get other masses if that is all.
    now = _with_materials_of(now, wanted)
    if now is not wanted and differ_in_masses(now, wanted):
        kept = with_masses_of(core.model.now, wanted)
        is_kept = kept == core.model.now or core.change_masses(kept)
        is_kept = is_kept and fits(layout_of(core.world.plan), state.world.layout)
    else:
        kept = _with_materials_of(wanted, state.physics)
        is_kept = kept is state.physics or not _may_stand_otherwise(core, state.physics, kept)
    if is_kept:
        core.return_to(state, kept)
    else:
        core.return_to(state, state.physics)
        core.rebuild(wanted)
    # Who slides belongs to the materials: of others it is found anew, whatever they were before.
    surfaces, are_saved = (
        _with_materials_of(core.model.now, wanted),
        _has_materials_of(state, wanted),
    )
    if surfaces is not core.model.now or not are_saved:
        set_materials(core, surfaces)
        if are_saved:
            core.world.restore_slip(state.world)
    for pointer, value in later.items():
        set_value(core, pointer, value)


def _has_materials_of(state: SceneState, wanted: PhysicsScene) -> bool:
    """Return True if a model has the materials of a state, of which the state knows who slides."""
    return _with_materials_of(state.physics, wanted) is state.physics


def _with_materials_of(physics: PhysicsScene, other: PhysicsScene) -> PhysicsScene:
    """Return the model with the materials of another model of the same colliders."""
    if physics is other:
        return physics
    colliders = {
        node: _with_material(collider, other.colliders[node].material)
        for node, collider in physics.colliders.items()
    }
    tables = tuple(
        theirs if isinstance(ours, PhysicsMaterial) else ours
        for ours, theirs in zip(physics.tables, other.tables, strict=True)
    )
    if colliders == physics.colliders and tables == physics.tables:
        return physics
    return replace(physics, colliders=colliders, tables=tables)


def _with_material(collider: Collider, material: PhysicsMaterial | None) -> Collider:
    return collider if collider.material == material else replace(collider, material=material)


def _may_stand_otherwise(core: SceneCore, before: PhysicsScene, after: PhysicsScene) -> bool:
    """Return True if the differences may change inertial frames, or rows of joints."""
    anchored = fixed_root_nodes(core.world.plan)
    for node, motion in before.motions.items():
        other = after.motions[node]
        if node in anchored and motion.kind is other.kind:
            continue
        if motion is not other and motion != replace(
            other,
            linear_velocity=motion.linear_velocity,
            angular_velocity=motion.angular_velocity,
            gravity_factor=motion.gravity_factor,
        ):
            return True
    if any(
        joint.description.limits != after.joints[node].description.limits
        for node, joint in before.joints.items()
    ):
        return True
    owner_of = core.world.plan.motion_node_of
    for node, collider in before.colliders.items():
        owner = before.motions.get(int(owner_of[node]))
        is_same = collider.shape == after.colliders[node].shape
        if owner is None or is_same or int(owner_of[node]) in anchored:
            continue
        if owner.center_of_mass is None or owner.inertia_diagonal is None:
            return True
    return False


def _with_value(physics: PhysicsScene, pointer: str, value: Any) -> PhysicsScene:
    target = find_target(physics, pointer)
    return physics if target is None else edited_at(physics, target, pointer, value)
