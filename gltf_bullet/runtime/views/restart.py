"""Back to a start with some values changed, as every episode of an environment begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gltf_bullet.model import PhysicsScene
from gltf_bullet.model.pointers import find_target
from gltf_bullet.planning.changed_masses import differ_in_masses, with_masses_of
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.scene_state import SceneState
from gltf_bullet.runtime.views.pointers import edited_at, is_set_in_place, set_value

__all__ = ["restart"]


def restart(core: SceneCore, state: SceneState, values: Mapping[str, Any]) -> None:
    """See :meth:`Scene.restart`."""
    wanted, now = state.physics, core.model.now
    later: dict[str, Any] = {}
    for pointer, value in values.items():
        target = find_target(wanted, pointer)
        if target is None:
            later[pointer] = value  # a node's place, or nothing at all: set() knows
            continue
        wanted = edited_at(wanted, target, pointer, value)
        if is_set_in_place(target):
            later[pointer] = value
            now = _with_value(now, pointer, value)
    # What differs now is what bodies are made of: they are made once for all values together, or
    # weighed anew where it is no more than their masses.
    if differ_in_masses(now, wanted):
        wanted = with_masses_of(core.model.now, wanted)
    core.return_to(state, wanted)
    for pointer, value in later.items():
        set_value(core, pointer, value)


def _with_value(physics: PhysicsScene, pointer: str, value: Any) -> PhysicsScene:
    target = find_target(physics, pointer)
    return physics if target is None else edited_at(physics, target, pointer, value)
