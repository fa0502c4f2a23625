"""Joint-space dynamics of link trees from link poses: Jacobians, mass matrix, bias forces.

Pure numpy. PyBullet's own ``calculateMassMatrix`` is wrong with spherical links and does not see
masses changed later (measured), and it knows nothing of trees joined by constraints. All vectors
are in world axes. *Frames* are the links that matter (bases included), *dofs* are scalar
velocities; a ball counts three, a floating or moving base six.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gltf_bullet.transforms import FloatArray, matrices_from_quats

__all__ = [
    "TreeModel",
    "TreeState",
    "at_velocity",
    "bias_forces",
    "cross",
    "evaluate_tree",
    "generalized_forces",
    "mass_matrix",
]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TreeModel:
    """What does not change while an articulation moves; f frames, n dofs."""

    masses: FloatArray
    """[f], kg; 0 for links that only pass motion on."""
    inertias: FloatArray
    """[f, 3], principal moments, kg m^2."""
    frame_from_inertial_rotation: FloatArray
    """[f, 3, 3]"""
    com_in_frame: FloatArray
    """[f, 3], m"""
    dof_frame: IntArray
    """[n], the frame whose joint (or base) the dof belongs to."""
    dof_axis: FloatArray
    """[n, 3], in that frame; in the world for a base."""
    is_linear: BoolArray
    """[n]"""
    is_base: BoolArray
    """[n]: axes fixed in the world, velocities of the centre of mass of the base."""
    moves: FloatArray
    """[f, n], 1 where the dof moves the frame, else 0."""


@dataclass(slots=True, eq=False, kw_only=True)
class TreeState:
    """Everything about one instant."""

    com: FloatArray
    """[f, 3]"""
    rotation: FloatArray
    """[f, 3, 3], world from link frame."""
    linear_jacobian: FloatArray
    """[f, 3, n], of the centres of mass."""
    angular_jacobian: FloatArray
    """[f, 3, n]"""
    inertia_in_world: FloatArray
    """[f, 3, 3]"""
    linear_velocity: FloatArray
    """[f, 3], of the centres of mass."""
    angular_velocity: FloatArray
    """[f, 3]"""
    linear_bias: FloatArray
    """[f, 3], acceleration of the centres of mass when no dof accelerates."""
    angular_bias: FloatArray
    """[f, 3]"""
    axis: FloatArray
    """[n, 3], of each dof."""
    pivot: FloatArray
    """[n, 3], a point on the axis of each dof."""


_NEXT = np.array([1, 2, 0])
_LAST = np.array([2, 0, 1])


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Cross products along the last axis.

    ``numpy.cross`` takes 15 us for a few vectors, this 2 us; a step makes a dozen of them.
    """
    result: FloatArray = a.take(_NEXT, -1) * b.take(_LAST, -1)
    result -= a.take(_LAST, -1) * b.take(_NEXT, -1)
    return result


def evaluate_tree(
    model: TreeModel, com: FloatArray, inertial_xyzw: FloatArray, velocity: FloatArray
) -> TreeState:
    """Jacobians, velocities and velocity-product accelerations.

    Args:
        model: The tree.
        com: Centres of mass [f, 3].
        inertial_xyzw: Rotations of the inertial frames [f, 4].
        velocity: Dof velocities [n].
    """
    principal = matrices_from_quats(inertial_xyzw)
    rotation = principal @ np.swapaxes(model.frame_from_inertial_rotation, -1, -2)
    origin = com - np.einsum("fij,fj->fi", rotation, model.com_in_frame)
    owner = model.dof_frame
    axis = np.einsum("nij,nj->ni", rotation[owner], model.dof_axis)
    pivot = origin[owner]
    if model.is_base.any():
        axis = np.where(model.is_base[:, None], model.dof_axis, axis)
        pivot = np.where(model.is_base[:, None], com[owner], pivot)
    linear = model.is_linear[None, :, None]
    moves = model.moves[:, :, None]
    arm = com[:, None, :] - pivot[None]
    linear_columns = np.where(linear, axis[None], cross(axis[None], arm)) * moves
    angular_columns = np.where(linear, 0.0, axis[None]) * moves
    state = TreeState(
        com=com,
        rotation=rotation,
        linear_jacobian=np.swapaxes(linear_columns, 1, 2),
        angular_jacobian=np.swapaxes(angular_columns, 1, 2),
        inertia_in_world=np.einsum("fij,fj,fkj->fik", principal, model.inertias, principal),
        linear_velocity=com,
        angular_velocity=com,
        linear_bias=com,
        angular_bias=com,
        axis=axis,
        pivot=pivot,
    )
    return at_velocity(model, state, velocity)


def at_velocity(model: TreeModel, state: TreeState, velocity: FloatArray) -> TreeState:
    """The same instant and poses at other velocities [n]; Jacobians are shared."""
    owner, axis, pivot, com = model.dof_frame, state.axis, state.pivot, state.com
    # Sums over the dofs that move a frame are products with ``moves``; a turn about an axis
    # through p moves c by  w x (c - p), so the sums of w and of w x p are all that is needed.
    rate = axis * velocity[:, None]
    slides = np.where(model.is_linear[:, None], rate, 0.0)
    turns = rate - slides
    angular_velocity = model.moves @ turns
    linear_velocity = model.moves @ (slides - cross(turns, pivot)) + cross(angular_velocity, com)
    # Axes turn with the frame that carries them; those of a base stay.
    carrier_spin = np.where(model.is_base[:, None], 0.0, angular_velocity[owner])
    axis_rate = cross(carrier_spin, rate)
    pivot_velocity = linear_velocity[owner] + cross(angular_velocity[owner], pivot - com[owner])
    slide_rate = np.where(model.is_linear[:, None], axis_rate, 0.0)
    turn_rate = axis_rate - slide_rate
    angular_bias = model.moves @ turn_rate
    fixed = slide_rate - cross(turn_rate, pivot) - cross(turns, pivot_velocity)
    linear_bias = (
        model.moves @ fixed + cross(angular_bias, com) + cross(angular_velocity, linear_velocity)
    )
    return replace(
        state,
        linear_velocity=linear_velocity,
        angular_velocity=angular_velocity,
        linear_bias=linear_bias,
        angular_bias=angular_bias,
    )


def mass_matrix(model: TreeModel, state: TreeState) -> FloatArray:
    """M of the kinetic energy 1/2 v M v; shape [n, n]."""
    n = len(model.dof_frame)
    rows = 3 * len(model.masses)  # A welded articulation has no dof for -1 to divide by.
    jv = state.linear_jacobian.reshape(rows, n)
    jw = state.angular_jacobian
    weighted = np.repeat(model.masses, 3)[:, None] * jv
    spun = (state.inertia_in_world @ jw).reshape(rows, n)
    result: FloatArray = jv.T @ weighted + jw.reshape(rows, n).T @ spun
    return result


def generalized_forces(state: TreeState, force: FloatArray, torque: FloatArray) -> FloatArray:
    """What forces at the centres of mass and torques [f, 3] do on the dofs [n]."""
    result: FloatArray = np.einsum("fkn,fk->n", state.linear_jacobian, force) + np.einsum(
        "fkn,fk->n", state.angular_jacobian, torque
    )
    return result


def bias_forces(model: TreeModel, state: TreeState) -> FloatArray:
    """Coriolis, centrifugal and gyroscopic forces on the dofs, without gravity; [n].

    The equation of motion is ``M dv/dt + bias = generalized forces``.
    """
    spin_momentum = np.einsum("fij,fj->fi", state.inertia_in_world, state.angular_velocity)
    torque = np.einsum("fij,fj->fi", state.inertia_in_world, state.angular_bias) + cross(
        state.angular_velocity, spin_momentum
    )
    # A massless link has no inertia, so its gyroscopic term vanishes as well.
    return generalized_forces(state, model.masses[:, None] * state.linear_bias, torque)
