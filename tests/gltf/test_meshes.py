"""Meshes: topology, attributes, morph targets, quantization; wrong parts are left out by name."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gltf_bullet.diagnostics import Diagnostics, IssueKind
from gltf_bullet.gltf import ReadLimits, morphed_positions, primitives, read_document, read_mesh
from gltf_bullet.gltf.accessors import VALUE_NOT_FINITE
from gltf_bullet.gltf.fields import (
    INDEX_MENDED,
    INDEX_OUT_OF_RANGE,
    REQUIRED_MISSING,
    VALUE_OUT_OF_RANGE,
    WRONG_TYPE,
)
from gltf_bullet.gltf.meshes import Primitive
from gltf_bullet.gltf.primitives import (
    ATTRIBUTE_NOT_FINITE,
    ATTRIBUTE_UNPAIRED,
    ATTRIBUTE_WRONG_COUNT,
    ATTRIBUTE_WRONG_SHAPE,
    INDEX_BEYOND_VERTICES,
    INDICES_WRONG_TYPE,
    POSITION_MISSING,
    POSITION_WRONG_SHAPE,
    PRIMITIVE_WITHOUT_TRIANGLES,
    TARGETS_TOO_LARGE,
    VERTICES_LEFT_OVER,
)
from tests.gltf.conftest import ReadBuilder
from tools.gltf_builder import GltfBuilder

POINTS = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 2, 0]], dtype=float)
Json = dict[str, Any]


def only_primitive(
    read_builder: ReadBuilder, builder: GltfBuilder, diagnostics: Diagnostics
) -> Primitive:
    mesh = read_mesh(read_builder(builder), 0, diagnostics)
    assert mesh is not None
    (primitive,) = mesh.primitives
    return primitive


def test_an_indexed_list_gives_its_triangles(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    builder.material("red")
    builder.mesh(POINTS, [[0, 1, 2], [0, 2, 3]], material=0)
    primitive = only_primitive(read_builder, builder, diagnostics)
    assert_array_equal(primitive.positions, POINTS)
    assert_array_equal(primitive.triangles, [[0, 1, 2], [0, 2, 3]])
    assert (primitive.positions.dtype, primitive.triangles.dtype) == (np.float64, np.int64)
    assert not primitive.positions.flags.writeable
    assert not primitive.triangles.flags.writeable
    assert (primitive.material, primitive.pointer) == (0, "/meshes/0/primitives/0")
    absent = (primitive.normals, primitive.colors, primitive.joints, primitive.joint_weights)
    assert absent == (None,) * 4
    assert primitive.morph_positions is None
    assert primitive.texcoords == {}


def test_without_indices_the_vertices_count_themselves(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    builder.mesh(POINTS[:3])
    assert_array_equal(only_primitive(read_builder, builder, diagnostics).triangles, [[0, 1, 2]])


def test_a_strip_keeps_the_winding(read_builder: ReadBuilder, diagnostics: Diagnostics) -> None:
    """glTF 2.0: p_i = {v_i, v_(i + 1 + i % 2), v_(i + 2 - i % 2)}."""
    builder = GltfBuilder()
    builder.mesh(POINTS, [0, 1, 2, 3, 4], mode=5)
    triangles = only_primitive(read_builder, builder, diagnostics).triangles
    assert_array_equal(triangles, [[i, i + 1 + i % 2, i + 2 - i % 2] for i in range(3)])


def test_the_joints_of_a_strip_make_no_triangles(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    builder.mesh(POINTS, [0, 1, 2, 2, 2, 3, 4], mode=5)
    triangles = only_primitive(read_builder, builder, diagnostics).triangles
    assert_array_equal(triangles, [[0, 1, 2], [2, 3, 4]])


def test_a_fan_turns_around_its_first_vertex(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    builder.mesh(POINTS, mode=6)
    triangles = only_primitive(read_builder, builder, diagnostics).triangles
    assert_array_equal(triangles, [[1, 2, 0], [2, 3, 0], [3, 4, 0]])


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_points_and_lines_have_no_triangles(
    mode: int, read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    builder.mesh(POINTS, mode=mode)
    primitive = only_primitive(read_builder, builder, diagnostics)
    assert primitive.triangles.shape == (0, 3)
    assert len(primitive.positions) == 5
    assert diagnostics.take(PRIMITIVE_WITHOUT_TRIANGLES).values["got"] == mode


@pytest.mark.parametrize("mode", [5, 6])
def test_two_vertices_make_no_triangle(
    mode: int, read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    builder.mesh(POINTS[:2], mode=mode)
    assert only_primitive(read_builder, builder, diagnostics).triangles.shape == (0, 3)


def test_vertices_that_complete_no_triangle_are_left_out(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    builder.mesh(POINTS, [0, 1, 2, 3])
    triangles = only_primitive(read_builder, builder, diagnostics).triangles
    assert_array_equal(triangles, [[0, 1, 2]])
    assert diagnostics.take(VERTICES_LEFT_OVER).values["got"] == 4


def test_triangles_with_vertices_that_do_not_exist_are_left_out(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    builder.mesh(POINTS, [[0, 1, 2], [0, 1, 9], [5, 5, 5]])
    triangles = only_primitive(read_builder, builder, diagnostics).triangles
    assert_array_equal(triangles, [[0, 1, 2]])
    assert diagnostics.take(INDEX_BEYOND_VERTICES).values == {"got": 9, "count": 5, "dropped": 2}


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_indices_must_be_unsigned(
    dtype: str, read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    builder.mesh(POINTS, [0, 1, 2])
    builder._lists["meshes"][0]["primitives"][0]["indices"] = builder.accessor(
        np.array([0, 1, 2], dtype=dtype)
    )
    assert only_primitive(read_builder, builder, diagnostics).triangles.shape == (0, 3)
    diagnostics.take(INDICES_WRONG_TYPE)


def test_all_attributes_are_read(read_builder: ReadBuilder, diagnostics: Diagnostics) -> None:
    rng = np.random.default_rng(0)
    normals, uv0, uv2 = rng.random((5, 3)), rng.random((5, 2)), rng.random((5, 2))
    joints, weights = rng.integers(0, 9, (2, 5, 4)), rng.random((2, 5, 4))
    builder = GltfBuilder()
    builder.mesh(
        POINTS,
        attributes={
            "NORMAL": normals,
            "TEXCOORD_2": uv2,
            "TEXCOORD_0": uv0,
            "COLOR_0": np.full((5, 3), 0.5),
            "JOINTS_0": joints[0],
            "WEIGHTS_0": weights[0],
            "JOINTS_1": joints[1],
            "WEIGHTS_1": weights[1],
            "_CUSTOM": np.arange(3),
        },
        mode=0,
    )
    primitive = only_primitive(read_builder, builder, diagnostics)
    diagnostics.take(PRIMITIVE_WITHOUT_TRIANGLES)
    assert_allclose(primitive.normals, normals, rtol=1e-6)
    assert sorted(primitive.texcoords) == [0, 2]
    assert_allclose(primitive.texcoords[2], uv2, rtol=1e-6)
    assert_allclose(primitive.colors, np.tile([0.5, 0.5, 0.5, 1.0], (5, 1)))
    assert_array_equal(primitive.joints, np.concatenate([joints[0], joints[1]], axis=1))
    expected = np.concatenate([weights[0], weights[1]], axis=1)
    assert_allclose(primitive.joint_weights, expected, rtol=1e-6)


def test_quantized_attributes_are_converted(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    """KHR_mesh_quantization: any narrow integer, as it is or normalized."""
    builder = GltfBuilder()
    whole = POINTS.astype(np.int16) * 100
    fractions = np.array([[-127, 0, 127]] * 5, dtype=np.int8)
    colors = np.array([[255, 0, 51, 255]] * 5, dtype=np.uint8)
    builder.mesh(POINTS, [0, 1, 2])
    builder._lists["meshes"][0]["primitives"][0]["attributes"] = {
        "POSITION": builder.accessor(whole),
        "NORMAL": builder.accessor(fractions, normalized=True),
        "COLOR_0": builder.accessor(colors, normalized=True),
    }
    primitive = only_primitive(read_builder, builder, diagnostics)
    assert_array_equal(primitive.positions, whole)
    assert_array_equal(primitive.normals, [[-1, 0, 1]] * 5)
    assert_allclose(primitive.colors, [[1, 0, 0.2, 1]] * 5)


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("NORMAL", np.zeros((4, 3)), ATTRIBUTE_WRONG_COUNT),
        ("NORMAL", np.zeros((5, 2)), ATTRIBUTE_WRONG_SHAPE),
        ("NORMAL", np.full((5, 3), np.nan), ATTRIBUTE_NOT_FINITE),
        ("TEXCOORD_0", np.zeros(5), ATTRIBUTE_WRONG_SHAPE),
        ("COLOR_0", np.zeros((5, 2)), ATTRIBUTE_WRONG_SHAPE),
        ("JOINTS_0", np.zeros((5, 4), dtype=np.uint16), ATTRIBUTE_UNPAIRED),
        ("WEIGHTS_3", np.zeros((5, 4)), ATTRIBUTE_UNPAIRED),
    ],
)
def test_a_wrong_attribute_is_left_out(
    name: str,
    values: np.ndarray,
    kind: IssueKind,
    read_builder: ReadBuilder,
    diagnostics: Diagnostics,
) -> None:
    builder = GltfBuilder()
    builder.mesh(POINTS, [0, 1, 2], attributes={name: values})
    primitive = only_primitive(read_builder, builder, diagnostics)
    issue = diagnostics.take(kind)
    assert issue.pointer == f"/meshes/0/primitives/0/attributes/{name}"
    assert (primitive.normals, primitive.colors, primitive.joints) == (None,) * 3
    assert primitive.texcoords == {}


def test_joints_must_be_unsigned(read_builder: ReadBuilder, diagnostics: Diagnostics) -> None:
    builder = GltfBuilder()
    attributes = {"JOINTS_0": np.zeros((5, 4)), "WEIGHTS_0": np.ones((5, 4))}
    builder.mesh(POINTS, [0, 1, 2], attributes=attributes)
    assert only_primitive(read_builder, builder, diagnostics).joints is None
    assert diagnostics.take(ATTRIBUTE_WRONG_SHAPE).values["got"] == "float32"


@pytest.mark.parametrize(
    ("points", "kind"),
    [
        (np.array([[0, np.nan, 0]]), VALUE_NOT_FINITE),
        (np.array([[0, 0, np.inf]]), VALUE_NOT_FINITE),
        (np.zeros((3, 2)), POSITION_WRONG_SHAPE),
        (np.zeros(3), POSITION_WRONG_SHAPE),
    ],
)
def test_a_primitive_without_usable_positions_is_left_out(
    points: np.ndarray, kind: IssueKind, read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    builder.mesh(POINTS, [0, 1, 2])
    primitive = builder._lists["meshes"][0]["primitives"][0]
    primitive["attributes"]["POSITION"] = builder.accessor(points.astype(np.float32))
    mesh = read_mesh(read_builder(builder), 0, diagnostics)
    assert mesh is not None
    assert mesh.primitives == ()
    assert diagnostics.take(kind).pointer == "/meshes/0/primitives/0/attributes/POSITION"


@pytest.mark.parametrize(
    ("primitive", "kind", "place"),
    [
        ({"attributes": {}}, POSITION_MISSING, "/attributes"),
        ({"attributes": {"POSITION": 99}}, INDEX_OUT_OF_RANGE, "/attributes/POSITION"),
        ({"attributes": {"POSITION": "0"}}, WRONG_TYPE, "/attributes/POSITION"),
        ({"attributes": {"POSITION": 0}, "mode": 7}, VALUE_OUT_OF_RANGE, "/mode"),
        ({"attributes": {"POSITION": 0}, "mode": "4"}, WRONG_TYPE, "/mode"),
    ],
)
def test_what_is_wrong_in_a_primitive_is_reported(
    primitive: Json,
    kind: IssueKind,
    place: str,
    read_builder: ReadBuilder,
    diagnostics: Diagnostics,
) -> None:
    builder = GltfBuilder()
    builder.mesh(POINTS, [0, 1, 2])
    builder._lists["meshes"][0]["primitives"].append(primitive)
    mesh = read_mesh(read_builder(builder), 0, diagnostics)
    assert mesh is not None
    assert [p.pointer for p in mesh.primitives] == ["/meshes/0/primitives/0"]
    assert diagnostics.take(kind).pointer == "/meshes/0/primitives/1" + place


@pytest.mark.parametrize("attributes", [None, [], 5])
def test_attributes_of_a_wrong_type_are_reported(
    attributes: object, read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    builder._lists["meshes"].append({"primitives": [{"attributes": attributes}, {}]})
    mesh = read_mesh(read_builder(builder), 0, diagnostics)
    assert mesh is not None
    assert mesh.primitives == ()
    assert diagnostics.take(WRONG_TYPE).pointer == "/meshes/0/primitives/0/attributes"
    assert diagnostics.take(REQUIRED_MISSING).pointer == "/meshes/0/primitives/1/attributes"
    assert {diagnostics.take(POSITION_MISSING).pointer.tokens[3] for _ in range(2)} == {"0", "1"}


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [("indices", 99, INDEX_OUT_OF_RANGE), ("material", 0, INDEX_MENDED),
     ("indices", None, WRONG_TYPE), ("targets", 5, WRONG_TYPE)],
)  # fmt: skip
def test_wrong_references_leave_the_rest_of_the_primitive(
    key: str, value: object, kind: IssueKind, read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    builder.mesh(POINTS)
    builder._lists["meshes"][0]["primitives"][0] |= {key: value, "mode": 6}
    primitive = only_primitive(read_builder, builder, diagnostics)
    assert diagnostics.take(kind).pointer == f"/meshes/0/primitives/0/{key}"
    assert len(primitive.positions) == 5
    assert len(primitive.triangles) == (0 if key == "indices" else 3)


@pytest.mark.parametrize("mesh", [{}, {"primitives": {}}])
def test_a_mesh_without_primitives_is_empty(
    mesh: Json, read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    builder._lists["meshes"].append(mesh)
    found = read_mesh(read_builder(builder), 0, diagnostics)
    assert found is not None
    assert found.primitives == ()
    assert diagnostics.take().kind in (REQUIRED_MISSING, WRONG_TYPE)


@pytest.mark.parametrize("index", [1, -1])
def test_an_index_beyond_the_meshes_is_reported(
    index: int, read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    builder.mesh(POINTS)
    assert read_mesh(read_builder(builder), index, diagnostics) is None
    diagnostics.take(INDEX_OUT_OF_RANGE)


def test_morph_targets_add_their_displacements(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    rng = np.random.default_rng(1)
    targets = rng.integers(-4, 5, (2, 5, 3)).astype(float)
    builder = GltfBuilder()
    builder.mesh(POINTS, mode=6, targets=targets, weights=[0.25], name="face")
    document = read_builder(builder)
    mesh = read_mesh(document, 0, diagnostics)
    assert mesh is not None
    assert (mesh.name, mesh.weights) == ("face", (0.25, 0.0))
    (primitive,) = mesh.primitives
    assert_array_equal(primitive.morph_positions, targets)
    expected = POINTS + 0.5 * targets[0] - 2.0 * targets[1]
    assert_allclose(morphed_positions(primitive, (0.5, -2.0)), expected)
    assert_allclose(morphed_positions(primitive, (0.5,)), POINTS + 0.5 * targets[0])
    assert_allclose(morphed_positions(primitive, (0.5, -2.0, 9.0)), expected)
    assert_allclose(morphed_positions(primitive, ()), POINTS)


def test_positions_without_targets_stay(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    builder.mesh(POINTS, mode=6)
    primitive = only_primitive(read_builder, builder, diagnostics)
    assert morphed_positions(primitive, (1.0,)) is primitive.positions


def test_a_target_without_positions_moves_nothing(
    read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    builder.mesh(POINTS, mode=6, targets=[np.ones((5, 3)), np.ones((4, 3))])
    builder._lists["meshes"][0]["primitives"][0]["targets"].append({"NORMAL": 77})
    primitive = only_primitive(read_builder, builder, diagnostics)
    assert primitive.morph_positions is not None
    assert_array_equal(primitive.morph_positions[:, 0, 0], [1, 0, 0])
    issue = diagnostics.take(ATTRIBUTE_WRONG_COUNT)
    assert issue.pointer == "/meshes/0/primitives/0/targets/1/POSITION"


def test_many_targets_are_not_made_beyond_the_limit(diagnostics: Diagnostics) -> None:
    builder = GltfBuilder()
    builder.mesh(POINTS, mode=6)
    builder._lists["meshes"][0]["primitives"][0]["targets"] = [{}] * 10
    limits = ReadLimits(max_accessor_values=149)
    document = read_document(builder.glb(), diagnostics, limits=limits)
    mesh = read_mesh(document, 0, diagnostics)
    assert mesh is not None
    assert mesh.primitives[0].morph_positions is None
    assert diagnostics.take(TARGETS_TOO_LARGE).values["got"] == 150


def test_targets_that_repeat_each_other_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three targets of one accessor hold two more copies of its values than the file does."""
    monkeypatch.setattr(primitives, "REPEATED_TARGET_VALUES", 2 * POINTS.size - 1)
    builder = GltfBuilder()
    builder.mesh(POINTS, [[0, 1, 2]], targets=[POINTS])
    content = json.loads(builder.gltf())
    content["meshes"][0]["primitives"][0]["targets"] *= 3
    diagnostics = Diagnostics()
    document = read_document(json.dumps(content).encode(), diagnostics)
    read_mesh(document, 0, diagnostics)
    assert [issue.kind for issue in diagnostics] == [primitives.TARGETS_REPEATED]
