"""Sampling keyframes: against scipy, at the ends, and stacked against one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.interpolate import CubicHermiteSpline, interp1d
from scipy.spatial.transform import Rotation, Slerp

from gltf_bullet.scene import AnimationSampler, AnimationTrack, Interpolation, sample_track
from gltf_bullet.scene.animation import FEW_TIMELINES, TargetPath

LINEAR, STEP, CUBIC = Interpolation.LINEAR, Interpolation.STEP, Interpolation.CUBICSPLINE
WIDTHS: dict[TargetPath, int] = {
    "translation": 3, "rotation": 4, "scale": 3, "weights": 2, "pointer": 1,
}  # fmt: skip
seeds = st.integers(0, 2**32 - 1)


def random_track(
    rng: np.random.Generator,
    path: TargetPath = "translation",
    interpolation: Interpolation = LINEAR,
    node: int = 0,
    keys: int = 6,
) -> AnimationTrack:
    """Keyframes from about 0.5 s to 5 s; rotations are unit quaternions."""
    shape = (keys, 3, WIDTHS[path]) if interpolation is CUBIC else (keys, WIDTHS[path])
    values = rng.normal(size=shape)
    if path == "rotation":
        points = values[:, 1] if interpolation is CUBIC else values
        points /= np.linalg.norm(points, axis=-1, keepdims=True)
    return AnimationTrack(
        target_path=path,
        node=None if path == "pointer" else node,
        pointer=f"/x/{node}" if path == "pointer" else None,
        times=np.cumsum(rng.uniform(0.1, 1.0, keys)),
        values=values,
        interpolation=interpolation,
    )


def inner_times(rng: np.random.Generator, track: AnimationTrack, count: int = 20) -> np.ndarray:
    return rng.uniform(track.times[0], track.times[-1], count)


def assert_same_rotations(found: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Quaternions up to sign."""
    sign = np.sign((found * expected).sum(axis=-1, keepdims=True))
    assert_allclose(found * sign, expected, atol=tolerance)


@given(seeds)
def test_linear_values_lie_on_straight_lines(seed: int) -> None:
    rng = np.random.default_rng(seed)
    track = random_track(rng)
    expected = interp1d(track.times, track.values, axis=0)
    for time in inner_times(rng, track):
        assert_allclose(sample_track(track, time), expected(time), atol=1e-12)


@given(seeds)
def test_linear_rotations_turn_like_slerp(seed: int) -> None:
    rng = np.random.default_rng(seed)
    track = random_track(rng, "rotation")
    expected = Slerp(track.times, Rotation.from_quat(track.values))
    for time in inner_times(rng, track):
        assert_same_rotations(sample_track(track, time), expected(time).as_quat(), 1e-9)


@given(seeds)
def test_cubic_values_follow_hermite_splines(seed: int) -> None:
    """scipy's spline has one tangent a key, so each stretch gets its own two-key spline."""
    rng = np.random.default_rng(seed)
    track = random_track(rng, interpolation=CUBIC)
    for time in inner_times(rng, track):
        key = int(np.searchsorted(track.times, time, side="right")) - 1
        a, b = track.values[key], track.values[key + 1]
        spline = CubicHermiteSpline(
            track.times[key : key + 2], np.stack([a[1], b[1]]), np.stack([a[2], b[0]])
        )
        assert_allclose(sample_track(track, time), spline(time), atol=1e-9)


@given(seeds)
def test_cubic_rotations_are_normalized_splines(seed: int) -> None:
    rng = np.random.default_rng(seed)
    track = random_track(rng, "rotation", CUBIC)
    plain = AnimationTrack(
        target_path="pointer",
        node=None,
        pointer="/x",
        times=track.times,
        values=track.values,
        interpolation=CUBIC,
    )
    for time in inner_times(rng, track):
        value = sample_track(plain, time)
        assert_allclose(sample_track(track, time), value / np.linalg.norm(value), atol=1e-12)


@given(seeds)
def test_step_values_hold_until_the_next_key(seed: int) -> None:
    rng = np.random.default_rng(seed)
    track = random_track(rng, interpolation=STEP)
    for time in inner_times(rng, track):
        key = max(index for index, at in enumerate(track.times) if at <= time)
        assert_array_equal(sample_track(track, time), track.values[key])


@pytest.mark.parametrize("interpolation", Interpolation)
@pytest.mark.parametrize("path", WIDTHS)
def test_keys_are_met_exactly_and_ends_are_held(
    path: TargetPath, interpolation: Interpolation
) -> None:
    track = random_track(np.random.default_rng(0), path, interpolation)
    points = track.values[:, 1] if interpolation is CUBIC else track.values
    for time, point in zip(track.times, points, strict=True):
        assert_allclose(sample_track(track, time), point, atol=1e-12)
    for time in (-1e9, 0.0, track.times[0] - 1e-9):
        assert_allclose(sample_track(track, time), points[0], atol=1e-12)
    for time in (track.times[-1] + 1e-9, 1e9):
        assert_allclose(sample_track(track, time), points[-1], atol=1e-12)


@pytest.mark.parametrize("interpolation", Interpolation)
@pytest.mark.parametrize("path", WIDTHS)
def test_a_single_key_holds_at_all_times(path: TargetPath, interpolation: Interpolation) -> None:
    track = random_track(np.random.default_rng(1), path, interpolation, keys=1)
    point = track.values[0, 1] if interpolation is CUBIC else track.values[0]
    for time in (-1.0, track.times[0], 100.0):
        assert_allclose(sample_track(track, time), point, atol=1e-12)


def turn(times: list[float], *quaternions: list[float]) -> AnimationTrack:
    return AnimationTrack(
        target_path="rotation",
        node=0,
        pointer=None,
        times=np.array(times),
        values=np.array(quaternions, dtype=float),
        interpolation=LINEAR,
    )


def test_rotations_take_the_shorter_way() -> None:
    """q and -q are one rotation; from 0 to 20 degrees given with the other sign is 10 half way."""
    ten, twenty = (Rotation.from_euler("z", angle, degrees=True).as_quat() for angle in (10, 20))
    track = turn([0, 1], [0, 0, 0, 1], (-twenty).tolist())
    assert_same_rotations(sample_track(track, 0.5), ten, 1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-9, 1e-6, 1e-3, np.pi - 1e-9, np.pi])
def test_tiny_and_half_turns_are_exact(angle: float) -> None:
    whole, part = (Rotation.from_rotvec([angle * u, 0, 0]).as_quat() for u in (1.0, 0.25))
    found = sample_track(turn([0, 1], [0, 0, 0, 1], whole.tolist()), 0.25)
    if angle < np.pi - 1e-6:
        assert_same_rotations(found, part, 1e-15)
    else:  # both ways round are equally short
        assert Rotation.from_quat(found).magnitude() == pytest.approx(angle / 4, abs=1e-9)


def mixed_tracks(seed: int, nodes: int) -> list[AnimationTrack]:
    """Every path in every interpolation, with keyframes of their own or shared ones."""
    rng = np.random.default_rng(seed)
    tracks = []
    for node in range(nodes):
        for path in WIDTHS:
            mode = list(Interpolation)[rng.integers(3)]
            tracks.append(random_track(rng, path, mode, node, keys=int(rng.integers(1, 40))))
    return tracks


@pytest.mark.parametrize("nodes", [1, 3, FEW_TIMELINES])
def test_stacked_tracks_give_what_single_ones_give(nodes: int) -> None:
    """Few timelines are searched one by one, many at once."""
    tracks = mixed_tracks(2, nodes)
    sampler = AnimationSampler(tracks)
    single = {(track.target_path, track.node, track.pointer): track for track in tracks}
    edges = np.concatenate([track.times for track in tracks])[:: 10 * nodes]
    for time in [-1.0, 0.0, 100.0, *edges, *np.random.default_rng(3).uniform(0, 20, 5)]:
        sampled = np.zeros((nodes, 3)), np.zeros((nodes, 4)), np.zeros((nodes, 3))
        sampler.sample_into(time, *sampled)
        for path, at, values in (
            ("translation", sampler.translation_nodes, sampled[0]),
            ("rotation", sampler.rotation_nodes, sampled[1]),
            ("scale", sampler.scale_nodes, sampled[2]),
        ):
            assert sorted(at.tolist()) == list(range(nodes))
            expected = [sample_track(single[path, node, None], time) for node in range(nodes)]
            assert_allclose(values, expected, atol=1e-12)
        for node, weights in sampler.sample_weights(time).items():
            assert_allclose(weights, sample_track(single["weights", node, None], time))
        for pointer, value in sampler.sample_pointers(time).items():
            assert_allclose(value, sample_track(single["pointer", None, pointer], time))
    assert len(sampler.sample_weights(0.0)) == len(sampler.sample_pointers(0.0)) == nodes


def test_sampling_into_arrays_leaves_other_nodes_alone() -> None:
    rng = np.random.default_rng(4)
    move, grow = random_track(rng, node=2), random_track(rng, "scale", node=1)
    sampler = AnimationSampler([move, grow])
    translations, rotations, scales = np.zeros((4, 3)), np.zeros((4, 4)), np.zeros((4, 3))
    sampler.sample_into(2.0, translations, rotations, scales)
    assert_allclose(translations[2], sample_track(move, 2.0))
    assert_allclose(scales[1], sample_track(grow, 2.0))
    assert not translations[[0, 1, 3]].any()
    assert not rotations.any()
    assert not scales[[0, 2, 3]].any()
    assert sampler.animated_nodes.tolist() == [1, 2]


def test_a_sampler_without_tracks_samples_nothing() -> None:
    sampler = AnimationSampler([])
    assert sampler.sample_weights(0.0) == sampler.sample_pointers(0.0) == {}
    assert sampler.animated_nodes.tolist() == []
    sampler.sample_into(0.0, np.zeros((1, 3)), np.zeros((1, 4)), np.ones((1, 3)))


@pytest.mark.parametrize(
    ("times", "shape", "interpolation"),
    [([], (0, 3), LINEAR), ([0.0], (2, 3), LINEAR), ([0.0], (1, 3), CUBIC),
     ([0.0], (1, 2, 3), CUBIC)],
)  # fmt: skip
def test_values_must_fit_the_times(
    times: list[float], shape: tuple[int, ...], interpolation: Interpolation
) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        AnimationTrack(
            target_path="translation",
            node=0,
            pointer=None,
            times=np.array(times),
            values=np.zeros(shape),
            interpolation=interpolation,
        )


@pytest.mark.parametrize("interpolation", [LINEAR, CUBIC])
def test_tracks_that_end_as_they_begin_are_known(interpolation: Interpolation) -> None:
    keys: dict[int, tuple[TargetPath, list[list[float]]]] = {
        1: ("translation", [[100, 0, 0], [200, 0, 0], [100 + 1e-4, 0, 0]]),
        2: ("translation", [[100, 0, 0], [200, 0, 0], [100.1, 0, 0]]),
        3: ("rotation", [[0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, -1]]),
        4: ("scale", [[1, 1, 1], [2, 2, 2], [-1, -1, -1]]),
        5: ("weights", [[0], [1], [1]]),
    }
    tracks = [
        AnimationTrack(
            target_path=path,
            node=node,
            pointer=None,
            times=np.arange(3.0),
            values=np.array(
                [[[7.0] * len(key), key, [9.0] * len(key)] for key in values]
                if interpolation is CUBIC
                else values
            ),
            interpolation=interpolation,
        )
        for node, (path, values) in keys.items()
    ]
    assert [track.closes for track in tracks] == [True, False, True, False, False]
    assert AnimationSampler(tracks).open_nodes.tolist() == [2, 4]
    assert not AnimationSampler(tracks[4:]).closes
    assert AnimationSampler(tracks[2:3]).closes
