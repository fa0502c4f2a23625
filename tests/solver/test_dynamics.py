"""Mass matrix and bias forces of a tree against finite differences of energy and momentum."""

from __future__ import annotations

import numpy as np

from gltf_bullet.solver.dynamics import (
    TreeModel,
    bias_forces,
    evaluate_tree,
    generalized_forces,
    mass_matrix,
)
from gltf_bullet.transforms import matrices_from_quats, quat_from_rotation_vector, quat_multiply

RNG = np.random.default_rng(11)
AXES = np.array([[0.0, 0.6, 0.8], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
OFFSETS = RNG.normal(size=(3, 3))
COMS = RNG.normal(size=(3, 3)) * 0.3


def chain() -> TreeModel:
    """Revolute, prismatic, revolute; every link has mass and an offset centre of mass."""
    return TreeModel(
        masses=np.array([1.0, 2.0, 0.5]),
        inertias=np.array([[0.1, 0.2, 0.25], [0.3, 0.2, 0.4], [0.05, 0.06, 0.07]]),
        frame_from_inertial_rotation=np.tile(np.eye(3), (3, 1, 1)),
        com_in_frame=COMS,
        dof_frame=np.arange(3),
        dof_axis=AXES,
        is_linear=np.array([False, True, False]),
        is_base=np.zeros(3, dtype=bool),
        moves=np.tril(np.ones((3, 3))),
    )


def poses(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centres of mass and rotations of the chain at joint positions ``q``."""
    rotation, origin = np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(3)
    com, quats = np.zeros((3, 3)), np.zeros((3, 4))
    for k in range(3):
        matrix = matrices_from_quats(rotation)
        origin = origin + matrix @ OFFSETS[k]
        if k == 1:
            origin = origin + matrix @ (AXES[k] * q[k])
        else:
            rotation = quat_multiply(rotation, quat_from_rotation_vector(AXES[k] * q[k]))
        com[k] = origin + matrices_from_quats(rotation) @ COMS[k]
        quats[k] = rotation
    return com, quats


def lagrangian_gradient(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """d/dt (M v) - dT/dq at zero acceleration, by central differences."""

    def mass(at: np.ndarray) -> np.ndarray:
        return mass_matrix(chain(), evaluate_tree(chain(), *poses(at), v))

    h = 1e-6
    rate = (mass(q + h * v) - mass(q - h * v)) / (2 * h)
    gradient = np.zeros(3)
    for k in range(3):
        step = np.zeros(3)
        step[k] = h
        gradient[k] = 0.5 * v @ (mass(q + step) - mass(q - step)) @ v / (2 * h)
    return rate @ v - gradient


def test_bias_forces_are_those_of_lagrange() -> None:
    q, v = RNG.normal(size=3), RNG.normal(size=3) * 2.0
    state = evaluate_tree(chain(), *poses(q), v)
    np.testing.assert_allclose(
        bias_forces(chain(), state), lagrangian_gradient(q, v), rtol=1e-6, atol=1e-6
    )


def test_mass_matrix_gives_the_kinetic_energy_of_the_links() -> None:
    q, v = RNG.normal(size=3), RNG.normal(size=3)
    model = chain()
    state = evaluate_tree(model, *poses(q), v)
    h = 1e-6
    ahead, behind = poses(q + h * v)[0], poses(q - h * v)[0]
    np.testing.assert_allclose(state.linear_velocity, (ahead - behind) / (2 * h), atol=1e-8)
    spin = np.einsum("fij,fj->fi", state.inertia_in_world, state.angular_velocity)
    energy = 0.5 * (
        model.masses @ (state.linear_velocity**2).sum(1) + (spin * state.angular_velocity).sum()
    )
    assert np.isclose(0.5 * v @ mass_matrix(model, state) @ v, energy)


def test_power_of_forces_equals_power_of_generalized_forces() -> None:
    q, v = RNG.normal(size=3), RNG.normal(size=3)
    state = evaluate_tree(chain(), *poses(q), v)
    force, torque = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3))
    power = (force * state.linear_velocity).sum() + (torque * state.angular_velocity).sum()
    assert np.isclose(generalized_forces(state, force, torque) @ v, power)
