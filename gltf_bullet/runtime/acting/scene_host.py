"""Access of a behavior graph to a running scene; lengths in the asset's frame, +Y up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gltf_bullet.behavior.host import Property, RayHit
from gltf_bullet.behavior.object_model import ObjectModel
from gltf_bullet.behavior.values import Reference, Value
from gltf_bullet.bullet.state import link_state
from gltf_bullet.diagnostics import Diagnostics, JsonPointer, note, warning
from gltf_bullet.dialects.registry import IMPLEMENTED_EXTENSIONS
from gltf_bullet.errors import AssetError, EngineError, TranslationError
from gltf_bullet.model.pointers import find_target
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.views.pointers import get_value
from gltf_bullet.runtime.views.ray_casts import cast_filtered_rays
from gltf_bullet.transforms import FloatArray, Pose, quats_from_matrices

# --- Local poses of single bodies, read alone and without arrays ----------------------------------
#
# A graph asks for one node in each step; updating all nodes and decomposing matrices would take
# twenty times as long (measured: 200 us of a cart-pole, whose step takes 10).


class _Way(NamedTuple):
    """Transforms from the engine's frame of a body to its node in its parent."""

    parent_from_world: Pose
    """Inverse pose of the parent in the world, without its scale."""
    scale: float
    """Scale of the parent in the world."""
    inertial_from_body: Pose | None
    """Inverse of body_from_inertial; ``None`` for jointed bodies, whose body frame the engine world
    reads.
    """


class BodyPoses:
    """Local poses of bodies of one scene whose parents never move, shear or mirror."""

    def __init__(self, core: SceneCore) -> None:
        self._core = core
        self._ways: dict[int, _Way | None] = {}
        self._world: object = None

    def local(self, node: int) -> Pose | None:
        """Return translation and rotation of a body's node in its parent; ``None`` for others."""
        core, world = self._core, self._core.world
        if self._world is not world:
            self._ways, self._world = {}, world
        if node not in self._ways:
            self._ways[node] = self._way(node)
        way = self._ways[node]
        if way is None:
            return None
        if way.inertial_from_body is None:
            body = world.world_from_body(node)
            if body is None:
                return None
        else:
            position, rotation, _, _ = link_state(core.client_id, *world.link_of(node))
            body = Pose(rotation, position) @ way.inertial_from_body
        found = way.parent_from_world @ body
        x, y, z = found.translation
        turn = found.rotation_xyzw
        if turn[3] < 0.0:
            turn = (-turn[0], -turn[1], -turn[2], -turn[3])
        return Pose(turn, (x / way.scale, y / way.scale, z / way.scale))

    def _way(self, node: int) -> _Way | None:
        core, world = self._core, self._core.world
        tree, owner_of = core.asset.tree, world.plan.motion_node_of
        parent = int(tree.parents[node])
        if owner_of[node] != node or (tree.scales[node] <= 0.0).any():
            return None
        matrix = core.placement.matrix
        if parent >= 0:
            if owner_of[parent] >= 0 or core.followers.animator.moved[parent]:
                return None
            matrix = core.followers.place()[parent]
        linear = matrix[:3, :3]
        scale = float(np.cbrt(np.linalg.det(linear)))
        if scale <= 0.0 or not np.allclose(linear @ linear.T, scale**2 * np.eye(3), atol=1e-12):
            return None
        x, y, z, w = quats_from_matrices(linear / scale).tolist()
        tx, ty, tz = matrix[:3, 3].tolist()
        inertial = None
        if node not in world.articulations.link_of:
            inertial = world.plan.bodies.bodies[node].body_from_inertial.inverse()
        return _Way(Pose((x, y, z, w), (tx, ty, tz)).inverse(), scale, inertial)


BEHAVIOR_VALUE_REFUSED = warning(
    "BEHAVIOR_VALUE_REFUSED",
    "the graph sets this to {got}, which cannot be ({why}); such values are passed over",
)

BEHAVIOR_UNSEEN = note(
    "BEHAVIOR_UNSEEN",
    "the graph sets this; it is kept and read back, but neither simulation nor pictures follow it",
)

_REFUSALS = (KeyError, TypeError, ValueError, AssetError, TranslationError, EngineError)
"""Exceptions for values that a graph has computed and that cannot be set."""
_PLACES = ("translation", "rotation", "scale")


class SceneHost:
    """The host of the graph of one scene."""

    def __init__(self, core: SceneCore) -> None:
        self._core = core
        self.model = ObjectModel(core.asset.document.json, supported=IMPLEMENTED_EXTENSIONS)
        self.kept: dict[str, Value] = {}
        """Values of properties that the simulation does not use: materials, lights, visibility."""
        self.found = Diagnostics()
        self._poses = BodyPoses(core)
        self.is_gliding = False
        """True while a node is set by interpolation, and does not jump."""
        self._asset_from_world = np.asarray(np.linalg.inv(core.placement.matrix), np.float64)
        turn = core.placement.matrix[:3, :3] / core.placement.scale
        self._world_from_asset_turn = np.asarray(turn, dtype=np.float64)
        self._spans = [
            (min(track.times[0] for track in a.tracks), a.duration) if a.tracks else None
            for a in core.asset.animations
        ]

    # --- the object model -------------------------------------------------------------------

    def find(self, pointer: str) -> Property | None:
        """See ``Host``."""
        target = find_target(self._core.model.now, pointer)
        if target is not None:
            return self._of_physics(pointer)
        tokens = pointer.split("/")
        if len(tokens) == 4 and tokens[1] == "nodes" and tokens[2].isdigit():
            if tokens[3] in ("matrix", "globalMatrix"):
                return self._matrix(int(tokens[2]), tokens[3])
            if tokens[3] in _PLACES and self.model.find(pointer) is not None:
                return self._place(int(tokens[2]), _PLACES.index(tokens[3]), pointer)
        if len(tokens) == 5 and tokens[1] == "nodes" and tokens[3] == "weights":
            return self._weight(pointer, tokens)
        found = self.model.find(pointer)
        if found is None:
            return self._length_of_physics(pointer)
        if not found.is_mutable:
            return Property(found.kind, lambda: found.value)
        kept, value = self.kept, found.value

        def write(new: Value) -> None:
            if pointer not in kept:
                self.found.report(BEHAVIOR_UNSEEN, JsonPointer(pointer))
            kept[pointer] = new

        return Property(found.kind, lambda: kept.get(pointer, value), write)

    def _length_of_physics(self, pointer: str) -> Property | None:
        if not pointer.endswith(".length") or "_physics_" not in pointer:
            return None
        try:
            size = get_value(self._core, pointer)
        except KeyError:
            return None
        return Property("int", lambda: size)

    def _of_physics(self, pointer: str) -> Property | None:
        core = self._core

        def read() -> Value:
            return _plain(get_value(core, pointer))

        value = read()
        if isinstance(value, tuple):
            kind = f"float{len(value)}"
        else:
            kind = "bool" if isinstance(value, bool) else "float"
        is_rotation = pointer.endswith("/inertiaOrientation")
        return Property(kind, read, self._writer(pointer), is_rotation=is_rotation)

    def _writer(self, pointer: str) -> Callable[[Value], None]:
        core = self._core

        def write(value: Value) -> None:
            try:
                core.act(pointer, list(value) if isinstance(value, tuple) else value)
            except _REFUSALS as error:
                why = str(error.args[0] if error.args else error)[:120]
                # Once for each property: graphs try again and again.
                if not any(issue.pointer == pointer for issue in self.found):
                    self.found.report(
                        BEHAVIOR_VALUE_REFUSED, JsonPointer(pointer), got=str(value)[:60], why=why
                    )

        return write

    def _place(self, node: int, part: int, pointer: str) -> Property:
        core = self._core

        def read() -> Value:
            animator = core.followers.animator
            if node in animator.acted:  # bodies come there in the coming step
                parts = animator.translations, animator.rotations_xyzw, animator.scales
                return tuple(parts[part][node].tolist())
            pose = self._poses.local(node) if part < 2 else None
            if pose is not None:
                return pose.rotation_xyzw if part else pose.translation
            return tuple(core.followers.local_parts(node)[part].tolist())

        write = self._writer(pointer)

        def glide(value: Value) -> None:
            self.is_gliding = True
            try:
                write(value)
            finally:
                self.is_gliding = False

        kind = "float4" if part == 1 else "float3"
        return Property(kind, read, write, glide, is_rotation=part == 1)

    def _weight(self, pointer: str, tokens: list[str]) -> Property | None:
        if self.model.find(pointer) is None:
            return None
        whole, number, core = "/".join(tokens[:4]), int(tokens[4]), self._core
        writer = self._writer(whole)

        def read() -> Value:
            weights = get_value(core, whole)
            return float(weights[number]) if number < len(weights) else 0.0

        def write(value: Value) -> None:
            weights = [float(w) for w in get_value(core, whole)]
            weights += [0.0] * (number + 1 - len(weights))
            weights[number] = value if isinstance(value, float) else 0.0
            writer(tuple(weights))

        return Property("float", read, write)

    def _matrix(self, node: int, name: str) -> Property | None:
        core = self._core
        if node >= len(core.asset.tree):
            return None

        def read() -> Value:
            if name == "globalMatrix":
                matrix = self._asset_from_world @ core.followers.matrix_of(node)
            else:
                core.followers.look(node)
                matrix = core.nodes.local_matrix(node)
            return tuple(matrix.T.ravel().tolist())

        return Property("float4x4", read)

    # --- animations, nodes ------------------------------------------------------------------

    def animation_span(self, animation: int) -> tuple[float, float] | None:
        """See ``Host``."""
        return self._spans[animation] if 0 <= animation < len(self._spans) else None

    def animate(self, animation: int, time: float) -> None:
        """See ``Host``; the last step has moved it here already."""

    def end_animation(self, animation: int) -> None:
        """See ``Host``."""
        self._core.followers.animations[animation].stop()

    def parent_of(self, node: int) -> int:
        """See ``Host``."""
        return int(self._core.asset.tree.parents[node])

    # --- physics ----------------------------------------------------------------------------

    def apply_impulse(
        self, node: int, linear: tuple[float, ...], angular: tuple[float, ...]
    ) -> None:
        """See ``Host``."""
        turn, world = self._world_from_asset_turn, self._core.world
        owner = int(world.plan.motion_node_of[node])
        if owner >= 0:
            along, about = turn @ np.array(linear), turn @ np.array(angular)
            world.motion.apply_impulse(owner, along.tolist(), about.tolist())

    def apply_point_impulse(
        self, node: int, impulse: tuple[float, ...], position: tuple[float, ...]
    ) -> None:
        """See ``Host``."""
        world = self._core.world
        owner = int(world.plan.motion_node_of[node])
        if owner >= 0:
            strength = self._world_from_asset_turn @ np.array(impulse)
            arm = self.to_world(position) - world.motion.center_of(owner)
            world.motion.apply_impulse(owner, strength.tolist(), np.cross(arm, strength).tolist())

    def ray_cast(
        self, start: tuple[float, ...], end: tuple[float, ...], collision_filter: int
    ) -> RayHit | None:
        """See ``Host``; an index without a filter means none."""
        core = self._core
        if not 0 <= collision_filter < len(core.model.now.collision_filters):
            collision_filter = -1
        ends = [self.to_world(start)], [self.to_world(end)]
        (hit,) = cast_filtered_rays(core, *ends, collision_filter)  # type: ignore[arg-type]
        if hit is None:
            return None
        normal = self._world_from_asset_turn.T @ hit.normal
        x, y, z = normal.tolist()
        return RayHit(hit.node, float(hit.fraction), (x, y, z))

    def to_world(self, point: tuple[float, ...]) -> FloatArray:
        """Return a point of the asset in the Bullet world [m]."""
        matrix = self._core.placement.matrix
        found: FloatArray = matrix[:3, :3] @ np.array(point) + matrix[:3, 3]
        return found

    def to_asset(self, point: Any) -> tuple[float, ...]:
        """Return a point of the Bullet world in the asset [m]."""
        matrix = self._asset_from_world
        found = matrix[:3, :3] @ np.asarray(point, dtype=np.float64) + matrix[:3, 3]
        return tuple(found.tolist())


def _plain(value: Any) -> Value:
    if isinstance(value, np.ndarray):
        return tuple(map(float, value.tolist()))
    if isinstance(value, bool):
        return value
    return None if value is None else float(value)


def found_value(core: SceneCore, pointer: str) -> Any:
    """Return the object model's value at a pointer in the types of users; ``None``: nothing."""
    found = None
    if core.acting is not None:
        found = core.acting.find(pointer)
    elif isinstance(pointer, str):
        found = SceneHost(core).find(pointer)
    value = None if found is None else found.get()
    if not isinstance(value, tuple) or isinstance(value, Reference):
        return value
    numbers = np.array(value)
    return numbers.reshape(4, 4).T if len(numbers) == 16 else numbers
