"""A scene as its users see it: nodes, bodies, joints, triggers, queries, pointers, pictures."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gltf_bullet.bullet.client import (
    PhysicsClient,
    require_client,
)
from gltf_bullet.bullet.contacts.contact_points import Contacts
from gltf_bullet.bullet.joints.joint_controls import JointControls
from gltf_bullet.bullet.world.ray_casts import RayHit, cast_rays
from gltf_bullet.model import PhysicsScene, may_collide
from gltf_bullet.options import LoadOptions
from gltf_bullet.runtime.asset import Asset
from gltf_bullet.runtime.placement import Placement
from gltf_bullet.runtime.planning import ScenePlan, first_plan
from gltf_bullet.runtime.scene_core import SceneState
from gltf_bullet.runtime.views.export import write_pose
from gltf_bullet.runtime.views.handles import Body, ByNode, Nodes, NodeView
from gltf_bullet.runtime.views.joints import Joint
from gltf_bullet.runtime.views.picture_scene import PictureScene
from gltf_bullet.runtime.views.pointers import get_value, set_value
from gltf_bullet.runtime.views.restart import restart
from gltf_bullet.runtime.views.triggers import TriggerEvent, TriggerView
from gltf_bullet.transforms import FloatArray, Vec3

__all__ = ["Scene", "SceneState"]


class Scene(PictureScene):
    """A loaded asset. Make one with :func:`gltf_bullet.load_gltf` or ``Asset.instantiate``.

    All public poses, points and velocities are in the Bullet world, in metres and seconds.
    """

    def __init__(
        self,
        asset: Asset,
        client_id: int,
        *,
        physics: PhysicsScene,
        plan: ScenePlan,
        placement: Placement,
        scene_index: int | None,
        options: LoadOptions,
    ) -> None:
        """Create everything in ``plan``; on failure nothing stays in the world."""
        super().__init__(
            asset,
            client_id,
            physics=physics,
            plan=plan,
            placement=placement,
            scene_index=scene_index,
            options=options,
        )
        self.nodes = Nodes(self)
        """All nodes of the file, in file order."""
        names, world = asset.tree.names, plan.world
        self.bodies: ByNode[Body] = ByNode({n: Body(self, n) for n in world.bodies.bodies}, names)
        """Bodies by node index or name."""
        self.joints: ByNode[Joint] = ByNode(
            {n: Joint(self, n) for n in self.joint_controls.joint_nodes}, names
        )
        """Simulated joints by node index or name."""
        self.triggers: ByNode[TriggerView] = ByNode(
            {n: TriggerView(self, self._reports, n) for n in world.triggers.nodes}, names
        )
        """Triggers by node index or name; the parts of a compound are in the compound."""

    @staticmethod
    def create(
        asset: Asset,
        physics_client: PhysicsClient,
        *,
        placement: Placement,
        scene_index: int | None,
        options: LoadOptions,
    ) -> Scene:
        """Plan and create; see :func:`gltf_bullet.load_gltf` for the arguments and errors."""
        client_id = require_client(physics_client)
        tree = asset.tree
        if scene_index is not None and not 0 <= scene_index < len(tree.scenes):
            raise ValueError(
                f"scene_index is {scene_index}; the file has {len(tree.scenes)} scenes"
            )
        physics, plan = first_plan(asset, placement, scene_index, options)
        return Scene(
            asset,
            client_id,
            physics=physics,
            plan=plan,
            placement=placement,
            scene_index=scene_index,
            options=options,
        )

    def _follow_animations(self) -> None:
        for pointer, value in self._animator.changed_pointers():
            self.set(pointer, value)
        super()._follow_animations()

    # --- triggers -----------------------------------------------------------------------------

    @property
    def events(self) -> tuple[TriggerEvent, ...]:
        """What triggers noticed, in order: in all engine steps of the last :meth:`step` call.

        Where you step the world yourself: in the step before the last :meth:`after_step`. A body
        that stands in a trigger at load enters it in the first step.
        """
        return self._events

    def on_trigger(self, callback: Callable[[TriggerEvent], object]) -> Callable[[], None]:
        """Call ``callback`` with every event, at the end of the step that noticed it.

        Nodes and :attr:`triggers` are up to date by then. Returns a function that ends it.
        """
        return self._reports.subscribe(callback)

    # --- nodes --------------------------------------------------------------------------------

    @property
    def node_matrices(self) -> FloatArray:
        """world_from_node of all nodes, read-only view, shape [node_count, 4, 4]."""
        view = self._stage.world_from_node.view()
        view.setflags(write=False)
        return view

    def node(self, key: int | str) -> NodeView:
        """A node by index or by name.

        Raises:
            KeyError: No node, or more than one, has that name.
            IndexError: The file has no such node.
        """
        if isinstance(key, int):
            return self.nodes[key]
        names = self.asset.tree.names
        found = [index for index, name in enumerate(names) if name == key]
        if len(found) != 1:
            raise KeyError(f"{key!r} names {len(found)} nodes; use an index: {found}")
        return NodeView(self, found[0])

    def world_from_node(self, node: int | str) -> FloatArray:
        """A node's global transform in the Bullet world, scale included; a copy, shape [4, 4]."""
        matrix: FloatArray = self._stage.world_from_node[self.node(node).index].copy()
        return matrix

    @property
    def moving_nodes(self) -> npt.NDArray[np.intp]:
        """Nodes that physics or an animation sets, ascending; others only follow."""
        return self._stage.moving_nodes

    def local_matrices(self, nodes: npt.NDArray[np.intp]) -> FloatArray:
        """parent_from_node of some nodes now, shape [k, 4, 4]."""
        return self._stage.local_matrices(nodes)

    def export_glb(self, path: str | os.PathLike[str]) -> None:
        """Write the file with the present pose and velocities; all else stays as it was.

        Args:
            path: Ends in ``.glb`` or ``.gltf``; buffers and images go into the file.

        Raises:
            ContainerError: A buffer of the file cannot be read.
            ValueError: Another suffix.
            OSError: The file cannot be written.
        """
        self.require_alive()
        write_pose(self, path)

    def local_matrix(self, node: int) -> FloatArray:
        """parent_from_node now, shape [4, 4]."""
        return self._stage.local_matrices(np.array([node])).reshape(4, 4)

    # --- bodies -------------------------------------------------------------------------------

    def body_of(self, node: int | str) -> Body | None:
        """The body that carries a node: nearest motion at or above it; ``None`` without one."""
        owner = int(self._stage.world.plan.motion_node_of[self.node(node).index])
        return self.bodies.get(owner)

    @property
    def joint_controls(self) -> JointControls:
        """States, targets and limits of all joints, as arrays."""
        return self._stage.world.articulations.controls

    def set_drive_targets(
        self,
        positions: Sequence[float] | FloatArray | None = None,
        velocities: Sequence[float] | FloatArray | None = None,
    ) -> None:
        """Set the targets of all drives at once, in the order of ``joint_controls.drives``.

        Args:
            positions: [m] or [rad]; ``None`` keeps them.
            velocities: [m/s] or [rad/s]; ``None`` keeps them.

        Raises:
            ValueError: A wrong number of targets, or one that is not finite.
        """
        self.require_alive()
        self.joint_controls.set_drive_targets(positions, velocities)

    def velocities_of(self, node: int) -> tuple[FloatArray, FloatArray]:
        """Velocity of the centre of mass [m/s] and spin [rad/s] of a motion node, world axes."""
        self.require_alive()
        return self._stage.world.velocities_of(node)

    def apply_impulse(
        self,
        node: int | str,
        linear: Sequence[float] = (0.0, 0.0, 0.0),
        angular: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        """rigid_body/applyImpulse: change the velocity of the node's body at once.

        Does nothing for a node without a dynamic body at or above it, as the text says.

        Args:
            node: Index or name.
            linear: [N s] at the centre of mass, world axes.
            angular: [N m s], world axes.
        """
        self.require_alive()
        body = self.body_of(node)
        if body is not None:
            self._stage.world.apply_impulse(body.node, linear, angular)

    def apply_point_impulse(
        self, node: int | str, impulse: Sequence[float], position: Sequence[float]
    ) -> None:
        """rigid_body/applyPointImpulse: an impulse [N s] at a point of the world [m]."""
        body = self.body_of(node)
        if body is None:
            return
        arm = np.asarray(position, dtype=np.float64) - body.center_of_mass
        force = np.asarray(impulse, dtype=np.float64)
        self.apply_impulse(node, force.tolist(), np.cross(arm, force).tolist())

    # --- queries ------------------------------------------------------------------------------

    def ray_cast(
        self, start: Sequence[float], end: Sequence[float], collision_filter: int = -1
    ) -> RayHit | None:
        """rigid_body/rayCast: the nearest collider of this scene on a segment, or ``None``.

        Triggers are not hit, nor are bodies that do not belong to the scene.

        Args:
            start: World [m].
            end: World [m].
            collision_filter: Index into the file's ``collisionFilters`` that the ray obeys; -1:
                none.

        Raises:
            IndexError: The file has no such filter.
        """
        return self.ray_cast_batch([start], [end], collision_filter)[0]

    def ray_cast_batch(
        self,
        starts: Sequence[Sequence[float]],
        ends: Sequence[Sequence[float]],
        collision_filter: int = -1,
    ) -> list[RayHit | None]:
        """Many :meth:`ray_cast` at once; starts and ends of shape [ray_count, 3]."""
        self.require_alive()
        ray_filter = None
        if collision_filter >= 0:
            ray_filter = self.physics.collision_filters[collision_filter]
        colliders = self.physics.colliders
        return cast_rays(
            self.client_id,
            self._stage.world.colliders,
            np.array(starts, dtype=np.float64).reshape(-1, 3),
            np.array(ends, dtype=np.float64).reshape(-1, 3),
            lambda node: may_collide(ray_filter, colliders[node].filter),
        )

    # --- state --------------------------------------------------------------------------------

    def save_own_state(self) -> SceneState:
        """A state of this scene alone; :meth:`restore_state` leaves the rest of the world as it is.

        For many scenes in one world that start over on their own. Contacts are no part of it: they
        are found anew in the next step.
        """
        self.require_alive()
        stage = self._stage.state(own_bodies_only=True)
        return SceneState(stage=stage, time=self.time, physics=self.physics)

    def restart(self, state: SceneState, values: Mapping[str, Any]) -> None:
        """:meth:`restore_state`, then :meth:`set` for every pointer: an episode's start.

        Bodies are made anew at most once, and not at all where the same values can be set in place.

        Args:
            state: Of this scene or another one of the asset.
            values: Pointer to value.

        Raises:
            KeyError: As of :meth:`set`; then values may be set in part.
            TypeError: A value is of another type.
            ValueError: A value is out of range.
        """
        self.require_alive()
        restart(self, state, values)

    # --- pointers -----------------------------------------------------------------------------

    def get(self, pointer: str) -> Any:
        """The present value of an object-model pointer; vectors as arrays.

        Pointers are those of the specs' "Object Model" sections, for every dialect, and
        ``/nodes/{}/translation``, ``rotation``, ``scale`` and ``weights``.

        Raises:
            KeyError: Nothing of the asset model is there.
        """
        self.require_alive()
        return get_value(self, pointer)

    def set(self, pointer: str, value: Any) -> None:
        """Change a mutable pointer; the engine follows at once.

        Velocities, materials, drives, limits and the pose of a free body are changed in place.
        Anything else makes the scene's PyBullet bodies anew from where they stand and move:
        :attr:`bodies` knows their new ids.

        Raises:
            KeyError: Nothing of the asset model is there, or it is read-only.
            TypeError: The value is of another type.
            ValueError: The value is out of range.
        """
        self.require_alive()
        set_value(self, pointer, value)

    def place_node(self, node: int, parent_from_node: FloatArray) -> None:
        """Give a node another local transform at once, shape [4, 4]; bodies keep their velocity."""
        self.require_alive()
        self._animator.place(node, parent_from_node)
        frames = self._stage.frames_with(node, parent_from_node)
        if self._stage.teleports(node, frames):
            self._stage.refresh()
        else:
            self.rebuild(self.physics, frames)

    def weights_of(self, node: int) -> FloatArray:
        """Morph weights of a node now."""
        animated = self._animator.weights.get(node)
        authored = self.asset.tree.weights_of[node]
        if animated is not None:
            return animated.copy()
        return np.array(authored if authored is not None else (), dtype=np.float64)

    def set_weights(self, node: int, weights: FloatArray) -> None:
        """Morph a node's mesh; colliders made of it follow."""
        self._animator.weights[node] = np.array(weights, dtype=np.float64)
        self.rebuild(self.physics)

    def velocities_in_node(self, node: int) -> tuple[Vec3, Vec3]:
        """Velocity [m/s] and spin [rad/s] of a body in its node's axes, as files hold them."""
        self.require_alive()
        return self._stage.velocities_in_node(node)

    def contacts(self, node: int | str | None = None) -> Contacts:
        """Contact points of the last step with glTF nodes on both sides, as arrays.

        Costs about as much as a tenth of the step of a resting scene: ask when you need them.

        Args:
            node: Only contacts of the body that carries this node (or of this static collider),
                which is side a of all of them then; ``None``: all contacts of this scene.
        """
        self.require_alive()
        return self.world.contacts(None if node is None else self.node(node).index)
