"""What an environment shows of a scene: joints, bodies, places, triggers, contacts, pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gltf_bullet.bullet.joints.dof_reader import DofReader
from gltf_bullet.bullet.state.link_states import link_state
from gltf_bullet.bullet.world.engine_world import EngineWorld
from gltf_bullet.envs.config import EnvConfig, NodeKey
from gltf_bullet.model import MotionKind
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.runtime.trigger_reports import TriggerEvent
from gltf_bullet.transforms import FloatArray, Vec3, quat_conjugate, quat_multiply, quat_rotate

__all__ = ["BoundObservations", "Observation", "Observations"]

Observation: TypeAlias = "npt.NDArray[np.float32] | dict[str, npt.NDArray[Any]]"

_LARGEST = float(np.finfo(np.float32).max)
"""What float32 can hold: quantities without a bound of their own."""
_FEW = 32
"""Numbers that are looked at one by one."""
_BODY_LOW = np.array([-_LARGEST] * 3 + [-1.0] * 4 + [-_LARGEST] * 6)
_CONTACT_LOW = np.array([0.0] + [-_LARGEST] * 3)
_CONTACT_HIGH = np.array([1.0] + [_LARGEST] * 3)


class Observations:
    """Which numbers are observed, in which order; engine-free once made, picklable."""

    def __init__(self, scene: Scene, config: EnvConfig) -> None:
        """Resolve names.

        Raises:
            KeyError: The asset has no such joint, body, trigger or node.
            ValueError: A node to observe contacts of has no collider.
        """
        joints = config.joints if config.joints is not None else tuple(scene.joints)
        self.joint_nodes = tuple(scene.joints[key].node for key in joints)
        """Joint nodes, in order."""
        bodies = config.bodies
        if bodies is None:
            bodies = tuple(
                node
                for node, body in scene.bodies.items()
                if body.kind is MotionKind.DYNAMIC and body.link_index < 0
            )
        self.body_nodes = tuple(scene.bodies[key].node for key in bodies)
        """Motion nodes, in order."""
        triggers = config.triggers if config.triggers is not None else tuple(scene.triggers)
        self.trigger_nodes = tuple(scene.triggers[key].node for key in triggers)
        """Trigger nodes, in order."""
        self.place_nodes = tuple(scene.node(key).index for key in config.nodes)
        """Nodes whose place is observed, in order."""
        self.contact_nodes = tuple(_solid_node(scene, key) for key in config.contacts)
        """Motion nodes, or static collider nodes, in order."""
        self._camera = config.camera
        self._is_flat = config.flat
        self._dof_count = len(self.bind(scene).joints()[0])
        self.space: spaces.Space[Any] = self._space()
        """A Box of shape [n], or a Dict of ``joint_positions``, ``joint_velocities``, ``bodies``
        (rows of position [m], rotation xyzw, velocity [m/s] and spin [rad/s] of the node's body,
        world axes), ``nodes`` (rows of position [m]), ``triggers`` (1: something is or was inside
        in the step), ``contacts`` (rows of 1 for touching and the sum of all contact forces [N],
        world axes, of the last engine step; zeros at a reset) and ``camera``, as far as there are
        any; in this order where they are one vector.
        """
        self.names = self._names(scene)
        """What each number of a flat observation is, in order; without the camera."""

    def _names(self, scene: Scene) -> tuple[str, ...]:
        tree, controls = scene.core.asset.tree, scene.core.world.articulations.controls

        def title(node: int) -> str:
            return tree.names[node] or f"node {node}"

        def of(nodes: Sequence[int], whats: Sequence[str]) -> list[str]:
            return [f"{title(node)} {what}" for node in nodes for what in whats]

        found: list[str] = []
        for what in ("position", "velocity"):
            for node in self.joint_nodes:
                count = len(DofReader(scene.client_id, controls, (node,)).read()[0])
                numbers = [what] if count == 1 else [f"{what} {k}" for k in range(count)]
                found += of((node,), numbers)
        found += of(self.body_nodes, _BODY_NAMES)
        found += of(self.place_nodes, _PLACE_NAMES)
        found += of(self.trigger_nodes, ("inside",))
        found += of(self.contact_nodes, ("touches", "force x", "force y", "force z"))
        return tuple(found)

    def _space(self) -> spaces.Space[Any]:
        count = self._dof_count
        parts: dict[str, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]] = {}
        if count:
            everything = np.full(count, _LARGEST)
            parts["joint_positions"] = parts["joint_velocities"] = (-everything, everything)
        if self.body_nodes:
            low = np.tile(_BODY_LOW, (len(self.body_nodes), 1))
            parts["bodies"] = (low, -low)
        if self.place_nodes:
            anywhere = np.full((len(self.place_nodes), 3), _LARGEST)
            parts["nodes"] = (-anywhere, anywhere)
        if self.trigger_nodes:
            parts["triggers"] = (
                np.zeros(len(self.trigger_nodes)),
                np.ones(len(self.trigger_nodes)),
            )
        if self.contact_nodes:
            shape = (len(self.contact_nodes), 1)
            parts["contacts"] = (np.tile(_CONTACT_LOW, shape), np.tile(_CONTACT_HIGH, shape))
        if self._is_flat:
            nothing = np.zeros(0)
            low = np.concatenate([nothing, *(low.ravel() for low, _ in parts.values())])
            high = np.concatenate([nothing, *(high.ravel() for _, high in parts.values())])
            return _box(low, high)
        found: dict[str, spaces.Space[Any]] = {key: _box(*ends) for key, ends in parts.items()}
        if self._camera is not None:
            picture = (self._camera.height, self._camera.width, 3)
            found["camera"] = spaces.Box(0, 255, picture, np.uint8)
        return spaces.Dict(found)

    def bind(self, scene: Scene, origin: Vec3 = (0.0, 0.0, 0.0)) -> BoundObservations:
        """Ready to look at a scene of the same asset, which was placed at ``origin`` [m]."""
        return BoundObservations(scene, origin, self.joint_nodes, self.body_nodes)

    def read(
        self,
        scenes: Sequence[BoundObservations],
        events: Sequence[Sequence[TriggerEvent]],
        *,
        has_stepped: bool = True,
    ) -> list[Observation]:
        """The scenes as they are now, each in :attr:`space`; rows of one array where it is flat.

        Args:
            scenes: From :meth:`bind`.
            events: Of each for the whole step: what came and went within it counts.
            has_stepped: Whether the engine's contacts belong to this episode.
        """
        count = len(scenes)
        if not count:
            return []
        parts: dict[str, npt.NDArray[Any]] = {}
        if self._dof_count:
            numbers = _narrow_rows(
                [positions + velocities for positions, velocities in
                 (scene.joints() for scene in scenes)]
            )  # fmt: skip
            if self._is_flat:
                parts["joints"] = numbers
            else:
                parts["joint_positions"] = numbers[:, : self._dof_count]
                parts["joint_velocities"] = numbers[:, self._dof_count :]
        if self.body_nodes:
            parts["bodies"] = _narrow(_body_rows(scenes))
        if self.place_nodes:
            places = list(self.place_nodes)
            parts["nodes"] = _narrow(
                [one.scene.node_matrices[places, :3, 3] - one.origin for one in scenes]
            )
        if self.trigger_nodes:
            parts["triggers"] = np.array(
                [
                    _inside(one.scene, self.trigger_nodes, seen)
                    for one, seen in zip(scenes, events, strict=True)
                ],
                dtype=np.float32,
            )
        if self.contact_nodes:
            parts["contacts"] = _narrow(
                [_contact_rows(one.scene, self.contact_nodes, has_stepped) for one in scenes]
            )
        if self._is_flat:
            flat = [part.reshape(count, -1) for part in parts.values()]
            if len(flat) == 1:
                return list(flat[0])
            nothing = np.zeros((count, 0), np.float32)
            return list(np.concatenate([nothing, *flat], axis=1))
        if self._camera is not None:
            size = (self._camera.width, self._camera.height)
            parts["camera"] = np.array([one.scene.pictures.rgb(size=size) for one in scenes])
        return [{key: part[k] for key, part in parts.items()} for k in range(count)]


class BoundObservations:
    """What is read of one scene, without a look-up of names or handles."""

    def __init__(
        self, scene: Scene, origin: Vec3, joint_nodes: Sequence[int], body_nodes: Sequence[int]
    ) -> None:
        self.scene = scene
        self.origin: FloatArray = np.array(origin)
        """Where the asset was placed [m], shape [3]."""
        self._joint_nodes, self._body_nodes = joint_nodes, body_nodes
        self._world: EngineWorld | None = None
        self._find()

    def _find(self) -> None:
        world = self.scene.core.world
        if world is self._world:
            return
        # Bodies that were made anew have other ids.
        self._world = world
        self._reader = DofReader(world.client_id, world.articulations.controls, self._joint_nodes)
        self._links = [world.link_of(node) for node in self._body_nodes]
        inertial = [world.plan.bodies.bodies[node].body_from_inertial for node in self._body_nodes]
        self.inertial: FloatArray = np.array(
            [(*pose.translation, *pose.rotation_xyzw) for pose in inertial]
        )
        """Inertial frames in the bodies: positions [m] and rotations xyzw, shape [k, 7]."""

    def joints(self) -> tuple[list[float], list[float]]:
        """Positions and velocities of the degrees of freedom."""
        self._find()
        return self._reader.read()

    def bodies(self) -> list[tuple[float, ...]]:
        """Centre of mass, rotation of the inertial frame, velocity and spin of each body."""
        self._find()
        client = self.scene.client_id
        return [
            (*com, *rotation, *linear, *angular)
            for com, rotation, linear, angular in (
                link_state(client, body, link) for body, link in self._links
            )
        ]


_PLACE_NAMES = ("x", "y", "z")
_BODY_NAMES = (
    *_PLACE_NAMES, "qx", "qy", "qz", "qw", "vx", "vy", "vz", "wx", "wy", "wz",
)  # fmt: skip


def _box(low: npt.NDArray[np.float64], high: npt.NDArray[np.float64]) -> spaces.Box:
    return spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)


def _narrow(values: Any) -> npt.NDArray[np.float32]:
    """As float32 within its finite range: a body that was flung away still has a position."""
    wide = np.array(values, dtype=np.float64)
    # Also where something is no number.
    if not np.abs(wide).max(initial=0.0) <= _LARGEST:
        wide = np.nan_to_num(wide, posinf=_LARGEST, neginf=-_LARGEST)
        wide = np.clip(wide, -_LARGEST, _LARGEST)
    return wide.astype(np.float32)


def _narrow_rows(rows: list[list[float]]) -> npt.NDArray[np.float32]:
    """As :func:`_narrow`; a small table costs a third without numpy's functions (measured)."""
    if len(rows) * len(rows[0]) <= _FEW and all(
        -_LARGEST <= value <= _LARGEST for row in rows for value in row
    ):
        return np.array(rows, dtype=np.float32)
    return _narrow(rows)


def _solid_node(scene: Scene, key: NodeKey) -> int:
    """The motion node whose body a node belongs to, or the node itself as a static collider."""
    node = scene.node(key).index
    owner = int(scene.core.world.plan.motion_node_of[node])
    if owner < 0 and node not in scene.core.world.static_ids:
        raise ValueError(f"{key!r} is neither part of a body nor a static collider")
    return node if owner < 0 else owner


def _contact_rows(scene: Scene, nodes: Sequence[int], has_stepped: bool) -> npt.NDArray[np.float64]:
    """Touching (1 or 0) and the sum of contact forces [N], world axes, shape [k, 4]."""
    rows = np.zeros((len(nodes), 4))
    if not has_stepped:
        return rows
    found = scene.contacts()
    forces = found.normal_forces[:, None] * found.normals + found.friction_forces
    motion_of = scene.core.world.plan.motion_node_of
    for colliders, sign in ((found.node_a, 1.0), (found.node_b, -1.0)):
        owners = np.where(motion_of[colliders] < 0, colliders, motion_of[colliders])
        # -1: a body that is not of this scene.
        owners = np.where(colliders < 0, -1, owners)
        for row, node in enumerate(nodes):
            mine = owners == node
            # Points that are only near each other push nothing; they are no touch.
            rows[row, 0] = max(rows[row, 0], float((found.normal_forces[mine] > 0.0).any()))
            rows[row, 1:] += sign * forces[mine].sum(axis=0)
    return rows


def _inside(scene: Scene, nodes: Sequence[int], events: Sequence[TriggerEvent]) -> list[bool]:
    """Whether something is or was inside each trigger."""
    crossed = {event.trigger_node for event in events}  # who left was inside when it began
    return [node in crossed or bool(scene.triggers[node].overlapping) for node in nodes]


def _body_rows(scenes: Sequence[BoundObservations]) -> npt.NDArray[np.float64]:
    """Position, rotation, velocity and spin of all bodies of all scenes, shape [n, k, 13]."""
    rows = np.array([one.bodies() for one in scenes])
    inertial = np.array([one.inertial for one in scenes])
    rotations = quat_multiply(rows[..., 3:7], quat_conjugate(inertial[..., 3:]))
    origins = np.array([one.origin for one in scenes])[:, None]
    rows[..., :3] -= quat_rotate(rotations, inertial[..., :3]) + origins
    # One of the two signs of a quaternion; rounding may leave a component just above 1.
    signs = np.where(rotations[..., 3:] >= 0.0, 1.0, -1.0)
    rows[..., 3:7] = np.clip(signs * rotations, -1.0, 1.0)
    return rows
