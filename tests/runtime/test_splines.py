"""Splines of samples: read back by glTF's own formula, they are where the samples were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gltf_bullet.runtime.recording.keyframes import angles_between, continuous_rotations
from gltf_bullet.runtime.recording.link_tracks import Spline, spline_of_rotations, spline_of_vectors
from gltf_bullet.scene.animation import hermite
from gltf_bullet.transforms import FloatArray

DT = 1.0 / 240.0
GRAVITY = 9.81


def played(spline: Spline, times: FloatArray) -> FloatArray:
    """At all times of the samples."""
    tangent_in, value, tangent_out = spline.values.reshape(len(spline.keys), 3, -1).swapaxes(0, 1)
    at = times[spline.keys]
    k = np.clip(np.searchsorted(at, times, side="right") - 1, 0, len(at) - 2)
    span = (at[k + 1] - at[k])[:, None]
    u = (times - at[k])[:, None] / span
    return hermite(value[k], tangent_out[k], value[k + 1], tangent_in[k + 1], u, span)


def test_a_flight_is_one_span_and_a_bounce_a_key() -> None:
    """Two flights of 0.5 s: up with 2.4 m/s, and after the bounce with 2 m/s."""
    half = 120
    times = np.arange(2 * half + 1) * DT
    t = times[: half + 1]
    first = 1.0 + 2.4 * t - 0.5 * GRAVITY * t**2
    second = first[-1] + 2.0 * t - 0.5 * GRAVITY * t**2
    heights = np.concatenate([first, second[1:]])
    values = np.stack([times, 0.0 * times, heights], axis=1)
    spline = spline_of_vectors(times, values, 1e-4)
    assert spline.keys.tolist() == [0, half, 2 * half]
    rows = spline.values.reshape(-1, 3, 3)[:, :, 2]
    fall = GRAVITY * half * DT
    assert rows[0, 2] == pytest.approx(2.4, rel=1e-6)
    assert rows[1] == pytest.approx([2.4 - fall, heights[half], 2.0], rel=1e-6)
    assert rows[2, 0] == pytest.approx(2.0 - fall, rel=1e-6)


@given(st.integers(0, 2**32 - 1), st.integers(2, 400), st.sampled_from([1e-4, 1e-2]))
def test_samples_are_within_the_tolerance(seed: int, count: int, tolerance: float) -> None:
    """What flies, is thrown and stands still for a while."""
    chance = np.random.default_rng(seed)
    pushes = chance.normal(size=(count, 3)) * (chance.uniform(size=(count, 1)) < 0.05)
    speeds = np.cumsum(pushes - np.array([0, 0, GRAVITY * DT]), axis=0)
    speeds[chance.integers(count) :] = 0.0
    values, times = np.cumsum(speeds * DT, axis=0), np.arange(count) * DT
    spline = spline_of_vectors(times, values, tolerance)
    assert spline.keys[0] == 0
    assert spline.keys[-1] == count - 1
    apart = np.linalg.norm(played(spline, times) - values, axis=1)
    assert apart.max() <= tolerance


@given(st.integers(0, 2**32 - 1), st.integers(2, 300))
def test_turns_are_within_the_tolerance(seed: int, count: int) -> None:
    chance = np.random.default_rng(seed)
    steps = np.cumsum(chance.normal(size=(count, 4)) * DT, axis=0) + chance.normal(size=4)
    rotations = continuous_rotations(steps / np.linalg.norm(steps, axis=1, keepdims=True))
    times = np.arange(count) * DT
    spline = spline_of_rotations(times, rotations, 1e-3)
    found = played(spline, times)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    assert angles_between(found, rotations).max() <= 1e-3


def test_a_jump_stays_between_its_two_samples() -> None:
    values = np.zeros((100, 3))
    values[50:, 0] = 1.0
    times = np.arange(100) * DT
    spline = spline_of_vectors(times, values, 1e-3)
    assert {49, 50} <= set(spline.keys.tolist())
    assert np.abs(played(spline, times) - values).max() <= 1e-3
