"""Skins: joints, bind matrices, and linear blend skinning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gltf_bullet.diagnostics import Diagnostics, IssueKind
from gltf_bullet.gltf import joints_exist, read_mesh, read_skin, skinned_positions
from gltf_bullet.gltf.dispensable import PASSED_OVER
from gltf_bullet.gltf.fields import INDEX_OUT_OF_RANGE
from gltf_bullet.gltf.skins import (
    INVERSE_BIND_WRONG,
    SKIN_JOINT_OUT_OF_RANGE,
    SKIN_WITHOUT_JOINTS,
)
from tests.gltf.conftest import ReadBuilder, ReadRoot
from tools.gltf_builder import GltfBuilder


def random_matrices(count: int, seed: int) -> np.ndarray:
    matrices = np.random.default_rng(seed).random((count, 4, 4))
    matrices[:, 3] = (0, 0, 0, 1)
    return matrices


def test_a_skin_gives_joints_and_matrices(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    matrices = random_matrices(2, 0).astype(np.float32)
    builder = GltfBuilder()
    for name in "abc":
        builder.node(name)
    builder.skin([2, 0], matrices, skeleton=0, name="arm")
    skin = read_skin(read_builder(builder), 0, diagnostics)
    assert skin is not None
    assert (skin.joints, skin.skeleton, skin.name) == ((2, 0), 0, "arm")
    assert_array_equal(skin.inverse_bind_matrices, matrices)
    world_from_node = random_matrices(3, 1)
    expected = [world_from_node[2] @ matrices[0], world_from_node[0] @ matrices[1]]
    assert_allclose(skin.joint_matrices(world_from_node), expected)


def test_without_bind_matrices_they_are_identities(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    builder.node()
    builder.skin([0])
    skin = read_skin(read_builder(builder), 0, diagnostics)
    assert skin is not None
    assert_array_equal(skin.inverse_bind_matrices, [np.eye(4)])
    assert skin.skeleton is None


@pytest.mark.parametrize(
    ("skin", "kind", "place"),
    [
        ({}, PASSED_OVER, "/joints"),
        ({"joints": []}, SKIN_WITHOUT_JOINTS, "/joints"),
        ({"joints": {}}, PASSED_OVER, "/joints"),
        ({"joints": [0, 1]}, PASSED_OVER, "/joints/1"),
        ({"joints": ["0"]}, PASSED_OVER, "/joints/0"),
    ],
)
def test_a_skin_without_usable_joints_is_none(
    skin: dict[str, Any],
    kind: IssueKind,
    place: str,
    read_root: ReadRoot,
    diagnostics: Diagnostics,
) -> None:
    assert read_skin(read_root({"nodes": [{}], "skins": [skin]}), 0, diagnostics) is None
    assert diagnostics.take(kind).pointer == "/skins/0" + place


@pytest.mark.parametrize("key", ["skeleton", "inverseBindMatrices"])
def test_wrong_references_leave_the_joints(
    key: str, read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    root = {"nodes": [{}], "skins": [{"joints": [0], key: 5}]}
    skin = read_skin(read_root(root), 0, diagnostics)
    assert skin is not None
    assert_array_equal(skin.inverse_bind_matrices, [np.eye(4)])
    assert diagnostics.take(PASSED_OVER).pointer == f"/skins/0/{key}"


@pytest.mark.parametrize(
    ("matrices", "kind"),
    [
        (np.eye(4, dtype=np.float32)[None], INVERSE_BIND_WRONG),
        (np.zeros((2, 3, 3), dtype=np.float32), INVERSE_BIND_WRONG),
        (np.zeros((2, 4, 4), dtype=np.int16), INVERSE_BIND_WRONG),
        (np.full((2, 4, 4), np.nan, dtype=np.float32), PASSED_OVER),
    ],
)
def test_wrong_bind_matrices_become_identities(
    matrices: np.ndarray, kind: IssueKind, read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    builder.node()
    builder.node()
    builder.skin([0, 1])
    builder._lists["skins"][0]["inverseBindMatrices"] = builder.accessor(matrices)
    skin = read_skin(read_builder(builder), 0, diagnostics)
    assert skin is not None
    assert_array_equal(skin.inverse_bind_matrices, [np.eye(4)] * 2)
    assert diagnostics.take(kind).pointer == "/skins/0/inverseBindMatrices"


def test_an_index_beyond_the_skins_is_reported(
    read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    assert read_skin(read_root({}), 0, diagnostics) is None
    diagnostics.take(INDEX_OUT_OF_RANGE)


def test_skinning_is_the_weighted_mean_of_the_moved_points() -> None:
    rng = np.random.default_rng(2)
    points, matrices = rng.random((7, 3)), random_matrices(5, 3)
    joints, weights = rng.integers(0, 5, (7, 8)), rng.random((7, 8))
    weights /= weights.sum(axis=1, keepdims=True)
    expected = [
        sum(w * (matrices[j] @ [*p, 1])[:3] for j, w in zip(js, ws, strict=True))
        for p, js, ws in zip(points, joints, weights, strict=True)
    ]
    assert_allclose(skinned_positions(points, joints, weights, matrices), expected)


def test_weights_are_scaled_to_the_sum_one() -> None:
    rng = np.random.default_rng(4)
    points, matrices = rng.random((3, 3)), random_matrices(4, 5)
    joints, weights = rng.integers(0, 4, (3, 4)), rng.random((3, 4))
    once = skinned_positions(points, joints, weights, matrices)
    assert_allclose(skinned_positions(points, joints, 255 * weights, matrices), once)


def test_a_vertex_without_weights_follows_its_first_joint() -> None:
    matrices = random_matrices(2, 6)
    found = skinned_positions(
        np.zeros((1, 3)), np.array([[1, 0, 0, 0]]), np.zeros((1, 4)), matrices
    )
    assert_allclose(found, [matrices[1, :3, 3]])


def test_joints_that_are_not_in_the_skin_do_not_count() -> None:
    matrices = random_matrices(1, 7)
    joints, weights = np.array([[0, 9, 0, 0]]), np.array([[0.5, 0.5, 0, 0]])
    found = skinned_positions(np.zeros((1, 3)), joints, weights, matrices)
    assert_allclose(found, [matrices[0, :3, 3]])


def test_joints_that_are_not_in_the_skin_are_reported(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    """A joint of weight 0 may be anything; exporters leave rubbish there."""
    builder = GltfBuilder()
    builder.node()
    builder.skin([0])
    for joint, weight in ((0, 1.0), (5, 0.0), (5, 0.5)):
        attributes = {
            "JOINTS_0": np.array([[0, joint, 0, 0]] * 3),
            "WEIGHTS_0": np.array([[1.0 - weight, weight, 0, 0]] * 3),
        }
        builder.mesh(np.eye(3), [0, 1, 2], attributes=attributes)
    builder.mesh(np.eye(3), [0, 1, 2])
    document = read_builder(builder)
    skin = read_skin(document, 0, diagnostics)
    assert skin is not None
    found = []
    for index in range(4):
        mesh = read_mesh(document, index, diagnostics)
        assert mesh is not None
        found.append(joints_exist(mesh.primitives[0], skin, diagnostics))
    assert found == [True, True, False, True]
    assert diagnostics.take(SKIN_JOINT_OUT_OF_RANGE).values == {"got": 5, "count": 1}
