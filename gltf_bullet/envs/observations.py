"""Observations of a scene: joints, bodies, positions, triggers, contacts, pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gltf_bullet.bullet.joints.dof_reader import DofReader
from gltf_bullet.envs.config import CameraObservation, EnvConfig, NodeKey, Term
from gltf_bullet.envs.copy_table import Happened, Look
from gltf_bullet.envs.formulas import Number, choose, larger, less, smaller, turned
from gltf_bullet.envs.sight import Sight, SightTerm
from gltf_bullet.model import MotionKind
from gltf_bullet.rendering.camera import Camera
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.runtime.trigger_reports import TriggerEvent
from gltf_bullet.transforms import FloatArray

Observation: TypeAlias = "npt.NDArray[np.float32] | dict[str, npt.NDArray[Any]]"

_BODY_LOW = np.array([-np.inf] * 3 + [-1.0] * 4 + [-np.inf] * 6)
_CONTACT_LOW = np.array([0.0] + [-np.inf] * 3)
_CONTACT_HIGH = np.array([1.0] + [np.inf] * 3)


class Observations:
    """The observed numbers and their order; independent of the engine once made, picklable."""

    def __init__(self, scene: Scene, config: EnvConfig, action_count: int) -> None:
        """Resolve names; an action has ``action_count`` numbers.

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
        """Nodes whose position is observed, in order."""
        self.contact_nodes = tuple(_solid_node(scene, key) for key in config.contacts)
        """Motion nodes, or static collider nodes, in order."""
        self._terms = config.observed
        self._components = [_components(term, action_count) for term in config.observed]
        self._camera = config.camera
        self._view = None if config.camera is None else _view(scene, config.camera)
        self._is_flat = config.flat
        self._dof_count = len(self.sight_of(scene).coordinates()[0])
        self._parts: dict[str, tuple[slice, tuple[int, ...]]] = {}
        """Range of numbers and shape of each entry of a dictionary."""
        self.space: spaces.Space[Any] = self._space()
        """A Box of shape [n], or a Dict of ``joint_positions``, ``joint_velocities``, ``bodies``
        (rows of position [m], rotation xyzw, velocity [m/s] and spin [rad/s] of the node's body,
        world axes), ``nodes`` (rows of position [m]), ``triggers`` (1: something is or was inside
        in the step), ``contacts`` (rows of 1 for touching and the sum of all contact forces [N],
        world axes, of the last engine step; zeros at a reset), ``terms`` and ``camera``, as far as
        they exist; one vector has them in this order."""
        self.names = self._names(scene)
        """Name of each number of a flat observation, in order; without the camera."""

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
        for term, components in zip(self._terms, self._components, strict=True):
            found += [f"{_title(term, title)} {part}".rstrip() for part in components]
        return tuple(found)

    def _space(self) -> spaces.Space[Any]:
        count = self._dof_count
        parts: dict[str, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]] = {}
        if count:
            everything = np.full(count, np.inf)
            parts["joint_positions"] = parts["joint_velocities"] = (-everything, everything)
        if self.body_nodes:
            low = np.tile(_BODY_LOW, (len(self.body_nodes), 1))
            parts["bodies"] = (low, -low)
        if self.place_nodes:
            anywhere = np.full((len(self.place_nodes), 3), np.inf)
            parts["nodes"] = (-anywhere, anywhere)
        if self.trigger_nodes:
            parts["triggers"] = (
                np.zeros(len(self.trigger_nodes)),
                np.ones(len(self.trigger_nodes)),
            )
        if self.contact_nodes:
            shape = (len(self.contact_nodes), 1)
            parts["contacts"] = (np.tile(_CONTACT_LOW, shape), np.tile(_CONTACT_HIGH, shape))
        if self._terms:
            bounds = [
                term.bounds if isinstance(term, SightTerm) else (-np.inf, np.inf)
                for term, components in zip(self._terms, self._components, strict=True)
                for _ in components
            ]
            lowest, highest = np.array(bounds).reshape(-1, 2).T
            parts["terms"] = (lowest, highest)
        if self._is_flat:
            nothing = np.zeros(0)
            low = np.concatenate([nothing, *(low.ravel() for low, _ in parts.values())])
            high = np.concatenate([nothing, *(high.ravel() for _, high in parts.values())])
            return _box(low, high)
        found: dict[str, spaces.Space[Any]] = {key: _box(*ends) for key, ends in parts.items()}
        start = 0
        for key, (low, _) in parts.items():
            self._parts[key] = slice(start, start + low.size), low.shape
            start += low.size
        if self._camera is not None:
            picture = (self._camera.height, self._camera.width, 3)
            found["camera"] = spaces.Box(0, 255, picture, np.uint8)
        return spaces.Dict(found)

    def sight_of(self, scene: Scene) -> Sight:
        """A reader of a scene of the same asset."""
        return Sight(scene, self.joint_nodes)

    def write(self, look: Look) -> list[Number]:
        """Write down all numbers, in the order of :attr:`names`."""
        controls, scene = look.scene.core.joint_controls, look.scene
        handles = [handle for node in self.joint_nodes for handle in controls.dofs(node)]
        numbers: list[Number] = []
        for which in (0, 1):
            for handle in handles:
                numbers += look.coordinates(handle)[which]
        for node in self.body_nodes:
            numbers += _body_numbers(look, node)
        for node in self.place_nodes:
            numbers += look.place(node)
        if self.trigger_nodes:
            nodes = self.trigger_nodes
            numbers += look.given(len(nodes), lambda step: _inside(scene, nodes, step.events))
        if self.contact_nodes:
            numbers += look.given(
                4 * len(self.contact_nodes),
                lambda step: _contact_rows(scene, self.contact_nodes, step.has_stepped).ravel(),
            )
        for term, components in zip(self._terms, self._components, strict=True):
            if isinstance(term, SightTerm):
                value = term.formula(look)
                numbers += value if isinstance(value, tuple) else (value,)
            else:
                numbers += look.given(len(components), partial(_own_number, term))
        return numbers

    def shown(self, numbers: FloatArray, scenes: Sequence[Scene]) -> Observation:
        """Shape the numbers of environments like :attr:`space`.

        Args:
            numbers: In the range of 32 bits, shape [n], or [environments, n].
            scenes: The scenes of the numbers, for the camera.
        """
        narrow = numbers.astype(np.float32)
        return narrow if self._is_flat else self._dictionary(narrow, scenes)

    def _dictionary(
        self, numbers: npt.NDArray[np.float32], scenes: Sequence[Scene]
    ) -> dict[str, npt.NDArray[Any]]:
        many = numbers.shape[:-1]
        found: dict[str, npt.NDArray[Any]] = {
            key: numbers[..., which].reshape(*many, *shape)
            for key, (which, shape) in self._parts.items()
        }
        if self._camera is not None:
            size = (self._camera.width, self._camera.height)
            pictures = np.array([scene.pictures.rgb(self._view, size) for scene in scenes])
            found["camera"] = pictures.reshape(*many, *pictures.shape[1:])
        return found


def _components(term: Term, action_count: int) -> tuple[str, ...]:
    return term.components(action_count) if isinstance(term, SightTerm) else ("",)


def _own_number(term: Term, step: Happened) -> list[float]:
    return [float(step.ask(term))]


def _title(term: Term, title: Callable[[int], str]) -> str:
    """Return the name of a term: its kind, and what it is about."""
    if not isinstance(term, SightTerm):
        return str(getattr(term, "__name__", type(term).__name__))
    about = [getattr(term, field) for field in _ABOUT if getattr(term, field, None) is not None]
    names = [title(one) if isinstance(one, int) else str(one) for one in about]
    return " ".join([type(term).__name__, *names])


_ABOUT = ("node", "body", "joint", "trigger", "target")
"""Fields of terms with the nodes that they are about."""
_PLACE_NAMES = ("x", "y", "z")
_BODY_NAMES = (
    *_PLACE_NAMES, "qx", "qy", "qz", "qw", "vx", "vy", "vz", "wx", "wy", "wz",
)  # fmt: skip


def _view(scene: Scene, camera: CameraObservation) -> NodeKey | Camera | None:
    """Return what a picture is taken with; ``None``: framed anew each time."""
    if camera.camera is not None:
        scene.pictures.require_camera(camera.camera)
        return camera.camera
    return None if camera.follows else scene.pictures.still_camera((camera.width, camera.height))


def _box(low: npt.NDArray[np.float64], high: npt.NDArray[np.float64]) -> spaces.Box:
    return spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)


def _solid_node(scene: Scene, key: NodeKey) -> int:
    """The motion node of the body that a node belongs to, or the node of a static collider."""
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
            # Points that are only close to each other exert no force and do not count.
            rows[row, 0] = max(rows[row, 0], float((found.normal_forces[mine] > 0.0).any()))
            rows[row, 1:] += sign * forces[mine].sum(axis=0)
    return rows


def _inside(scene: Scene, nodes: Sequence[int], events: Sequence[TriggerEvent]) -> list[float]:
    """1 if something is or was inside each trigger in the step, else 0."""
    reports = scene.core.reports
    if not (events or reports.triggers.overlap):
        return [0.0] * len(nodes)
    crossed = {event.trigger_node for event in events}  # also those that have left
    return [float(node in crossed or bool(reports.overlapping(node))) for node in nodes]


def _body_numbers(look: Look, node: int) -> tuple[Number, ...]:
    """Position, rotation, velocity and spin of a node's body."""

    def inertial() -> tuple[float, ...]:
        pose = look.world.plan.bodies.bodies[node].body_from_inertial
        return *pose.rotation_xyzw, *pose.translation

    x, y, z, i, j, k, w, *velocities = look.state(node)
    p, q, r, s, *offset = look.known(7, inertial)
    # The inertial frame may be turned in the body: body = inertial * (inertial in body)^-1.
    i, j, k, w = (
        s * i - w * p - j * r + k * q,
        s * j - w * q - k * p + i * r,
        s * k - w * r - i * q + j * p,
        s * w + i * p + j * q + k * r,
    )
    a, b, c = turned((i, j, k, w), offset)
    # Of the two quaternions of a rotation, the one with w >= 0.
    sign = choose(less(w, 0.0), -1.0, 1.0)
    # Rounding may leave a component just above 1.
    turn = [smaller(larger(sign * part, -1.0), 1.0) for part in (i, j, k, w)]
    return (x - a, y - b, z - c, *turn, *velocities)
