"""Setting poses by hand: joints by their coordinates, bodies by those of their nodes."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Sequence

import numpy as np

from gltf_bullet.bullet.joints.inverse_kinematics import joint_positions_for
from gltf_bullet.bullet.joints.joint_controls import DofHandle
from gltf_bullet.bullet.state import link_state
from gltf_bullet.number_ranges import PLACE, WORLD, finite_vector
from gltf_bullet.runtime.followers import Jump
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.transforms import FloatArray, Pose, decompose_trs, float_array

REACHED = 1e-3
"""[m] and [rad] up to which inverse kinematics count as reaching what was asked for."""


def set_joint_position(
    core: SceneCore,
    node: int,
    position: float | Sequence[float] | FloatArray,
    velocity: float | Sequence[float] | FloatArray | None = None,
) -> None:
    """Set the coordinates of a joint; see ``JointView.set_position``."""
    controls = core.joint_controls
    handles = controls.dofs(node)
    count = sum(handle.size for handle in handles)
    places = _numbers("position", position, count, handles)
    speeds = np.zeros(count) if velocity is None else _numbers("velocity", velocity, count, handles)
    core.followers.notify(Jump.BEGINS)
    first = 0
    for handle in handles:
        last = first + handle.size
        controls.set_dof(handle, places[first:last].tolist(), speeds[first:last].tolist())
        first = last
    controls.recover(node)
    _end(core)


def _numbers(
    what: str,
    values: float | Sequence[float] | FloatArray,
    count: int,
    handles: Sequence[DofHandle],
) -> FloatArray:
    numbers: FloatArray = np.atleast_1d(float_array(what, values))
    is_carried = bool((np.abs(numbers) <= PLACE).all())  # false for NaN
    if numbers.shape != (count,) or not is_carried:
        axes = ", ".join(f"{h.kind.value} {h.axis if h.size == 1 else 'ball'}" for h in handles)
        raise ValueError(
            f"{what} is {reprlib.repr(values)}; must be {count} finite numbers, one for each "
            f"degree of freedom ({axes or 'none'}), three for a ball"
        )
    return numbers


def node_pose(core: SceneCore, node: int) -> tuple[FloatArray, FloatArray]:
    """Return position [m] and orientation (xyzw) of a node in the world."""
    position, rotation, _ = decompose_trs(core.followers.matrix_of(node))
    return position, rotation


def set_node_pose(
    core: SceneCore,
    node: int,
    position: Sequence[float] | FloatArray | None = None,
    orientation: Sequence[float] | FloatArray | None = None,
) -> None:
    """Put a body elsewhere in the world, its velocity kept; ``None`` keeps that part.

    Raises:
        ValueError: A value is no position or rotation, or joints decide where the body is.
    """
    now, turn = node_pose(core, node)
    if position is not None:
        now = np.array(finite_vector("position", position, WORLD))
    if orientation is not None:
        turn = _rotation(orientation)
    pose = Pose(tuple(turn.tolist()), tuple(now.tolist()))
    if core.world.motion.is_free(node):
        _put_free(core, node, pose)
        return
    if not core.world.articulations.is_floating(node):
        raise ValueError(
            f"body {core.asset.tree.names[node] or node!r} is where its joints put it; set those: "
            "scene.joints[...].set_position"
        )
    old_position, old_turn = node_pose(core, node)
    old = Pose(tuple(old_turn.tolist()), tuple(old_position.tolist()))
    core.followers.notify(Jump.BEGINS)
    core.world.articulations.move(node, pose @ old.inverse())
    _end(core)


def inverse_kinematics(
    core: SceneCore,
    node: int,
    position: Sequence[float] | FloatArray,
    orientation: Sequence[float] | FloatArray | None,
) -> dict[int, float | tuple[float, ...]]:
    """See ``Scene.inverse_kinematics``."""
    x, y, z = finite_vector("position", position, WORLD)
    turn = None if orientation is None else tuple(_rotation(orientation).tolist())
    owner = int(core.world.plan.motion_node_of[node])
    if owner < 0 or core.world.motion.is_free(owner):
        raise ValueError(f"node {core.asset.tree.names[node] or node!r}: no joint moves it")
    link = core.world.link_of(owner)
    place, rotation, _, _ = link_state(core.client_id, *link)
    at, turned = node_pose(core, node)
    link_from_node = Pose(rotation, place).inverse() @ Pose(
        tuple(turned.tolist()), tuple(at.tolist())
    )
    controls = core.joint_controls
    handles = [
        handle
        for joint in controls.joint_nodes
        for handle in controls.dofs(joint)
        if handle.body_id == link[0] and handle.size == 1
    ]
    states = {handle.link_index: controls.dof_state(handle) for handle in handles}
    limits = {index: (state.lower, state.upper) for index, state in states.items()}
    found, away, twist = joint_positions_for(
        core.client_id, link, link_from_node, (x, y, z), turn, limits
    )
    if away > REACHED or twist > REACHED:
        name = core.asset.tree.names[node] or node
        # One digit, so that loops that ask often say it a few times.
        warnings.warn(
            f"the joints cannot bring {name!r} there: the nearest is about {away:.1g} m and "
            f"{twist:.1g} rad off; where the orientation does not matter, leave it out",
            RuntimeWarning,
            stacklevel=4,
        )
    places: dict[int, tuple[float, ...]] = {}
    moved = {handle.joint_node for handle in handles if handle.link_index in found}
    for handle in handles:
        if handle.joint_node in moved:
            value = found.get(handle.link_index, states[handle.link_index].position[0])
            places[handle.joint_node] = (*places.get(handle.joint_node, ()), value)
    return {joint: values[0] if len(values) == 1 else values for joint, values in places.items()}


def _put_free(core: SceneCore, node: int, pose: Pose) -> None:
    """Put a free body's node at a pose; its size and shear in the world stay."""
    before = core.followers.matrix_of(node)
    position, rotation, _ = decompose_trs(before)
    old = Pose(tuple(rotation.tolist()), tuple(position.tolist()))
    world_from_node = pose.matrix() @ old.inverse().matrix() @ before
    parent = int(core.asset.tree.parents[node])
    above = core.placement.matrix if parent < 0 else core.followers.matrix_of(parent)
    parent_from_node: FloatArray = np.linalg.inv(above) @ world_from_node
    core.followers.notify(Jump.BEGINS)
    core.place_node(node, parent_from_node)
    core.followers.notify(Jump.ENDS)


def _rotation(orientation: Sequence[float] | FloatArray) -> FloatArray:
    turn: FloatArray = float_array("orientation", orientation)
    length = float(np.linalg.norm(turn)) if turn.shape == (4,) else 0.0
    if not 1e-6 < length < np.inf:
        raise ValueError(f"orientation is {orientation!r}; must be a quaternion x, y, z, w")
    return turn / length


def _end(core: SceneCore) -> None:
    """Let nodes, colliders and contacts follow what was put elsewhere."""
    core.world.softness.expect_overlaps()
    core.followers.has_moved = True
    core.refresh()
    core.followers.settle()
    core.followers.notify(Jump.ENDS)
