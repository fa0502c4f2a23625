"""Animations: channels, samplers, pointers; a wrong channel is left out by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gltf_bullet.diagnostics import Diagnostics, IssueKind
from gltf_bullet.gltf import read_animations
from gltf_bullet.gltf.animations import (
    CHANNEL_REPEATED,
    CHANNEL_WITHOUT_NODE,
    ROTATION_ZERO,
    SAMPLER_INPUT_WRONG,
    SAMPLER_OUTPUT_WRONG,
    TIMES_NOT_INCREASING,
    TIMES_REPEATED,
)
from gltf_bullet.gltf.dispensable import PASSED_OVER
from gltf_bullet.scene import AnimationTrack, Interpolation, sample_track
from tests.gltf.conftest import ReadBuilder
from tools.gltf_builder import GltfBuilder

MOVE = [[0, 0, 0], [1, 2, 3]]
POINTER = "/extensions/KHR_physics_rigid_bodies/physicsJoints/0/drives/0/positionTarget"


def with_channels(*channels: Any) -> GltfBuilder:
    builder = GltfBuilder()
    builder.node("a")
    builder.node("b")
    builder.animation("move", channels)
    return builder


def only_track(
    read_builder: ReadBuilder, builder: GltfBuilder, diagnostics: Diagnostics
) -> AnimationTrack:
    (animation,) = read_animations(read_builder(builder), diagnostics)
    (track,) = animation.tracks
    return track


def edited(builder: GltfBuilder, part: str, index: int, **members: Any) -> GltfBuilder:
    builder._lists["animations"][0][part][index] |= members
    return builder


def test_channels_become_tracks(read_builder: ReadBuilder, diagnostics: Diagnostics) -> None:
    builder = with_channels(
        (1, "translation", [0.5, 2.0], MOVE, "STEP"), (0, "scale", [0, 3], MOVE)
    )
    (animation,) = read_animations(read_builder(builder), diagnostics)
    assert (animation.name, animation.duration) == ("move", 3.0)
    first, second = animation.tracks
    assert (first.target_path, first.node, first.pointer) == ("translation", 1, None)
    assert first.interpolation is Interpolation.STEP
    assert_array_equal(first.times, [0.5, 2.0])
    assert_array_equal(first.values, MOVE)
    assert (second.target_path, second.node) == ("scale", 0)
    assert second.interpolation is Interpolation.LINEAR
    assert not first.values.flags.writeable


def test_spline_values_come_with_their_tangents(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    values = np.arange(18).reshape(6, 3)
    builder = with_channels((0, "translation", [0, 1], values, "CUBICSPLINE"))
    track = only_track(read_builder, builder, diagnostics)
    assert_array_equal(track.values, values.reshape(2, 3, 3))
    assert_array_equal(sample_track(track, 0.0), values[1])


def test_weights_have_one_number_per_target(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = with_channels((0, "weights", [0, 1], [1, 2, 3, 4, 5, 6]))
    track = only_track(read_builder, builder, diagnostics)
    assert_array_equal(track.values, [[1, 2, 3], [4, 5, 6]])


def test_integer_rotations_are_read_as_fractions(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = with_channels((0, "rotation", [0, 1], np.zeros((2, 4))))
    output = builder.accessor(
        np.array([[0, 0, 0, 127], [127, 0, 0, 0]], dtype=np.int8), normalized=True
    )
    edited(builder, "samplers", 0, output=output)
    track = only_track(read_builder, builder, diagnostics)
    assert_array_equal(track.values, [[0, 0, 0, 1], [1, 0, 0, 0]])


def test_rotations_are_normalized(read_builder: ReadBuilder, diagnostics: Diagnostics) -> None:
    builder = with_channels((0, "rotation", [0], [[0, 0, 3, 4]]))
    track = only_track(read_builder, builder, diagnostics)
    assert_allclose(track.values, [[0, 0, 0.6, 0.8]])


def test_a_pointer_is_kept_as_it_is_written(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = with_channels((POINTER, "pointer", [0, 1], [0.0, 1.5]))
    track = only_track(read_builder, builder, diagnostics)
    assert (track.target_path, track.node, track.pointer) == ("pointer", None, POINTER)
    assert_array_equal(track.values, [[0.0], [1.5]])


def test_a_pointer_to_a_node_is_a_track_of_that_node(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = with_channels(("/nodes/1/translation", "pointer", [0, 1], MOVE))
    track = only_track(read_builder, builder, diagnostics)
    assert (track.target_path, track.node) == ("translation", 1)
    assert track.pointer == "/nodes/1/translation"


def test_matrices_behind_a_pointer_are_flat_as_stored(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = with_channels(("/x/matrix", "pointer", [0], [[[1, 2], [3, 4]]]))
    track = only_track(read_builder, builder, diagnostics)
    assert_array_equal(track.values, [[1, 3, 2, 4]])


def test_animations_are_read_once(read_builder: ReadBuilder, diagnostics: Diagnostics) -> None:
    document = read_builder(with_channels((0, "scale", [0, 3], MOVE)))
    assert read_animations(document, diagnostics) is read_animations(document, diagnostics)


def test_an_animation_without_tracks_has_no_duration(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    (animation,) = read_animations(read_builder(with_channels()), diagnostics)
    assert (animation.tracks, animation.duration) == ((), 0.0)


@pytest.mark.parametrize(
    ("channel", "kind", "place"),
    [
        ((0, "translation", [0, 1], MOVE[:1]), SAMPLER_OUTPUT_WRONG, "output"),
        ((0, "translation", [0, 1], [[0, 0], [1, 1]]), SAMPLER_OUTPUT_WRONG, "output"),
        ((0, "translation", [0, 1], MOVE, "CUBICSPLINE"), SAMPLER_OUTPUT_WRONG, "output"),
        ((0, "rotation", [0, 1], MOVE), SAMPLER_OUTPUT_WRONG, "output"),
        ((0, "weights", [0, 1], [1, 2, 3]), SAMPLER_OUTPUT_WRONG, "output"),
        ((0, "weights", [0, 1], []), SAMPLER_OUTPUT_WRONG, "output"),
        ((0, "translation", [1, 0], MOVE), TIMES_NOT_INCREASING, "input"),
        ((0, "translation", [-1, 0], MOVE), TIMES_NOT_INCREASING, "input"),
        ((0, "translation", [[0], [1]], MOVE), None, "input"),
        ((0, "translation", [], []), SAMPLER_INPUT_WRONG, "input"),
        ((0, "translation", [0, np.inf], MOVE), PASSED_OVER, "input"),
        ((0, "translation", [0, 1], np.full((2, 3), np.nan)), PASSED_OVER, "output"),
        ((0, "rotation", [0, 1], [[0, 0, 0, 1], [0, 0, 0, 0]]), ROTATION_ZERO, "output"),
    ],
)
def test_wrong_keyframes_leave_the_channel_out(
    channel: Any,
    kind: IssueKind | None,
    place: str,
    read_builder: ReadBuilder,
    diagnostics: Diagnostics,
) -> None:
    if kind is None:  # a VEC2 as times
        builder = with_channels((0, "translation", [0, 1], MOVE))
        edited(builder, "samplers", 0, input=builder.accessor(np.zeros((2, 2), np.float32)))
        kind = SAMPLER_INPUT_WRONG
    else:
        builder = with_channels(channel)
    (animation,) = read_animations(read_builder(builder), diagnostics)
    assert animation.tracks == ()
    assert diagnostics.take(kind).pointer == f"/animations/0/samplers/0/{place}"


def test_times_of_integers_are_refused(read_builder: ReadBuilder, diagnostics: Diagnostics) -> None:
    builder = with_channels((0, "translation", [0, 1], MOVE))
    edited(builder, "samplers", 0, input=builder.accessor(np.array([0, 1], dtype=np.uint16)))
    (animation,) = read_animations(read_builder(builder), diagnostics)
    assert animation.tracks == ()
    diagnostics.take(SAMPLER_INPUT_WRONG)


def test_a_repeated_time_jumps(read_builder: ReadBuilder, diagnostics: Diagnostics) -> None:
    values = [[0, 0, 0], [1, 0, 0], [5, 0, 0], [6, 0, 0]]
    builder = with_channels((0, "translation", [0, 1, 1, 2], values))
    track = only_track(read_builder, builder, diagnostics)
    assert diagnostics.take(TIMES_REPEATED).values["key"] == 2
    found = [float(sample_track(track, time)[0]) for time in (0.5, 1.0, 1.5)]
    assert found == [0.5, 5.0, 5.5]


@pytest.mark.parametrize(
    ("part", "members", "kind", "place"),
    [
        ("channels", {"sampler": 2}, PASSED_OVER, "/sampler"),
        ("channels", {"sampler": "0"}, PASSED_OVER, "/sampler"),
        ("channels", {"target": 5}, PASSED_OVER, "/target"),
        ("channels", {"target": {"node": 0}}, PASSED_OVER, "/target/path"),
        ("channels", {"target": {"node": 0, "path": "colour"}}, PASSED_OVER, "/target/path"),
        ("channels", {"target": {"node": 2, "path": "scale"}}, PASSED_OVER, "/target/node"),
        ("channels", {"target": {"path": "scale"}}, CHANNEL_WITHOUT_NODE, "/target"),
        (
            "channels",
            {"target": {"path": "pointer"}},
            PASSED_OVER,
            "/target/extensions/KHR_animation_pointer",
        ),
        (
            "channels",
            {"target": {"path": "pointer", "extensions": {"KHR_animation_pointer": {}}}},
            PASSED_OVER,
            "/target/extensions/KHR_animation_pointer/pointer",
        ),
        (
            "channels",
            {
                "target": {
                    "path": "pointer",
                    "extensions": {"KHR_animation_pointer": {"pointer": "/nodes/2/scale"}},
                }
            },
            PASSED_OVER,
            "/target/extensions/KHR_animation_pointer/pointer",
        ),
        ("samplers", {"interpolation": "SMOOTH"}, PASSED_OVER, "/interpolation"),
        ("samplers", {"input": 99}, PASSED_OVER, "/input"),
        ("samplers", {"output": None}, PASSED_OVER, "/output"),
    ],
)
def test_what_is_wrong_in_an_animation_is_reported(
    part: str,
    members: dict[str, Any],
    kind: IssueKind,
    place: str,
    read_builder: ReadBuilder,
    diagnostics: Diagnostics,
) -> None:
    builder = with_channels((0, "translation", [0, 1], MOVE), (1, "scale", [0, 1], MOVE))
    edited(builder, part, 0, **members)
    (animation,) = read_animations(read_builder(builder), diagnostics)
    assert [track.target_path for track in animation.tracks] == ["scale"]
    assert diagnostics.take(kind).pointer == f"/animations/0/{part}/0{place}"


@pytest.mark.parametrize(
    ("part", "key"),
    [
        ("channels", "sampler"),
        ("channels", "target"),
        ("samplers", "input"),
        ("samplers", "output"),
    ],
)
def test_animation_members_are_required(
    part: str, key: str, read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = with_channels((0, "translation", [0, 1], MOVE))
    del builder._lists["animations"][0][part][0][key]
    (animation,) = read_animations(read_builder(builder), diagnostics)
    assert animation.tracks == ()
    assert diagnostics.take(PASSED_OVER).pointer == f"/animations/0/{part}/0/{key}"


def test_a_target_animated_twice_keeps_its_first_channel(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = with_channels(
        (0, "translation", [0, 1], MOVE),
        (0, "translation", [0, 2], MOVE),
        ("/nodes/0/translation", "pointer", [0, 3], MOVE),
        (POINTER, "pointer", [0, 1], [0, 1]),
        (POINTER, "pointer", [0, 2], [0, 1]),
    )
    (animation,) = read_animations(read_builder(builder), diagnostics)
    assert [track.times[-1] for track in animation.tracks] == [1, 1]
    found = [diagnostics.take(CHANNEL_REPEATED).pointer for _ in range(3)]
    assert found == [f"/animations/0/channels/{index}/target" for index in (1, 2, 4)]


@pytest.mark.parametrize("key", ["channels", "samplers"])
def test_lists_of_a_wrong_type_are_reported(
    key: str, read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = with_channels()
    builder._lists["animations"][0][key] = 5
    (animation,) = read_animations(read_builder(builder), diagnostics)
    assert animation.tracks == ()
    assert diagnostics.take(PASSED_OVER).pointer == f"/animations/0/{key}"


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_the_least_normalized_integer_of_a_rotation_is_minus_one(
    dtype: str, read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    """``max(c / 127, -1)``: a quaternion of -1.008 would be no unit quaternion."""
    least = np.iinfo(dtype).min
    builder = with_channels((0, "rotation", [0, 1], [[0, 0, 0, 1], [0, 0, 0, -1]]))
    keys = np.array([[0, 0, 0, -(least + 1)], [0, 0, 0, least]], dtype=dtype)
    output = builder.accessor(keys, normalized=True)
    edited(builder, "samplers", 0, output=output)
    track = only_track(read_builder, builder, diagnostics)
    assert_array_equal(track.values, [[0, 0, 0, 1], [0, 0, 0, -1]])
