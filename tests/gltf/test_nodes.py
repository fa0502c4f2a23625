"""Nodes and scenes: transforms, hierarchy, references; what is wrong is named with its place."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gltf_bullet.diagnostics import Diagnostics, IssueKind
from gltf_bullet.errors import InvalidAssetError
from gltf_bullet.gltf import Document, read_document
from gltf_bullet.gltf.fields import (
    INDEX_MEANS_NONE,
    INDEX_MENDED,
    INDEX_OUT_OF_RANGE,
    NOT_UNIT_LENGTH,
    RANGE_MENDED,
    TYPE_MENDED,
    VALUE_OUT_OF_RANGE,
    WRONG_TYPE,
)
from gltf_bullet.gltf.nodes import (
    MATRIX_NOT_AFFINE,
    MATRIX_SHEARED,
    NODE_CYCLE,
    NODE_MATRIX_AND_TRS,
    NODE_TWO_PARENTS,
    SCENE_NODE_NOT_ROOT,
)
from tests.gltf.conftest import ReadRoot

numbers = st.floats(-100.0, 100.0)
vectors = st.lists(numbers, min_size=3, max_size=3)
IDENTITY = np.eye(4)


def broken(*nodes: Any) -> tuple[list[IssueKind], list[str]]:
    """The kinds and places of the errors that make the hierarchy impossible."""
    text = json.dumps({"asset": {"version": "2.0"}, "nodes": list(nodes)}).encode()
    with pytest.raises(InvalidAssetError) as caught:
        read_document(text, Diagnostics())
    issues = caught.value.issues
    return [issue.kind for issue in issues], [str(issue.pointer) for issue in issues]


def columns_first(matrix: np.ndarray) -> list[float]:
    return matrix.T.ravel().tolist()


def test_a_node_without_members_stands_at_the_origin(read_root: ReadRoot) -> None:
    tree = read_root({"nodes": [{}]}).tree
    assert_allclose(tree.local_matrices(), [IDENTITY])
    assert tree.names == ("",)
    assert (tree.mesh_of, tree.skin_of, tree.camera_of, tree.weights_of) == ((None,),) * 4


def test_a_file_without_nodes_is_empty(read_root: ReadRoot) -> None:
    assert len(read_root({}).tree) == 0


@given(vectors, vectors, st.lists(numbers, min_size=4, max_size=4).filter(any))
def test_trs_is_read_as_it_is_written(t: list[float], s: list[float], q: list[float]) -> None:
    length = math.hypot(*q)
    if length < 1e-3:
        return
    unit = [component / length for component in q]
    node = {"translation": t, "rotation": unit, "scale": s}
    text = json.dumps({"asset": {"version": "2.0"}, "nodes": [{}, node]}).encode()
    diagnostics = Diagnostics()
    tree = read_document(text, diagnostics).tree
    assert not diagnostics.issues
    assert_allclose(tree.translations[1], t)
    assert_allclose(tree.rotations_xyzw[1], unit, atol=1e-12)
    assert_allclose(tree.scales[1], s)


def test_a_matrix_is_split_into_trs(read_root: ReadRoot) -> None:
    """90 degrees about Y takes X to -Z; the columns have the lengths 2, 3 and 4."""
    matrix = np.array([[0, 0, 4, 7], [0, 3, 0, 8], [-2, 0, 0, 9], [0, 0, 0, 1]], dtype=float)
    tree = read_root({"nodes": [{}, {"matrix": columns_first(matrix)}]}).tree
    assert_allclose(tree.translations[1], [7, 8, 9])
    assert_allclose(tree.scales[1], [2, 3, 4])
    half = math.sqrt(0.5)
    assert_allclose(tree.rotations_xyzw[1], [0, half, 0, half])
    assert_allclose(tree.local_matrices()[1], matrix, atol=1e-12)


def test_a_mirrored_matrix_keeps_its_shape(read_root: ReadRoot) -> None:
    matrix = np.diag([1.0, -2.0, 3.0, 1.0])
    tree = read_root({"nodes": [{"matrix": columns_first(matrix)}]}).tree
    assert_allclose(tree.local_matrices()[0], matrix, atol=1e-12)


def test_a_flattened_matrix_keeps_its_zero_scale(read_root: ReadRoot) -> None:
    matrix = np.diag([1.0, 0.0, 3.0, 1.0])
    tree = read_root({"nodes": [{"matrix": columns_first(matrix)}]}).tree
    assert_allclose(tree.local_matrices()[0], matrix, atol=1e-12)


def test_shear_in_a_matrix_is_dropped_and_measured(
    read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    matrix = np.eye(4)
    matrix[0, 1] = 1.0  # Y leans by 45 degrees towards X
    read_root({"nodes": [{"matrix": columns_first(matrix)}]})
    issue = diagnostics.take(MATRIX_SHEARED)
    assert issue.values["got"] == pytest.approx(math.sqrt(0.5), abs=1e-6)
    assert issue.pointer == "/nodes/0/matrix"


def test_a_matrix_that_is_not_affine_is_an_error(
    read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    matrix = np.eye(4)
    matrix[3, 0] = 0.5
    read_root({"nodes": [{"matrix": columns_first(matrix)}]})
    assert diagnostics.take(MATRIX_NOT_AFFINE).values["got"] == (0.5, 0.0, 0.0, 1.0)


def test_a_matrix_that_would_overflow_becomes_the_identity(
    read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    matrix = np.diag([1e300, 1.0, 1.0, 1.0])
    tree = read_root({"nodes": [{"matrix": columns_first(matrix)}]}).tree
    assert diagnostics.take(VALUE_OUT_OF_RANGE).pointer == "/nodes/0/matrix/0"
    assert_allclose(tree.local_matrices()[0], IDENTITY)


def test_matrix_and_trs_on_one_node_is_an_error(
    read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    matrix = columns_first(np.diag([2.0, 2.0, 2.0, 1.0]))
    tree = read_root({"nodes": [{}, {"matrix": matrix, "scale": [1, 1, 1]}]}).tree
    issue = diagnostics.take(NODE_MATRIX_AND_TRS)
    assert (issue.pointer, issue.values["got"]) == ("/nodes/1", "scale")
    assert_allclose(tree.scales[1], [2, 2, 2])


@pytest.mark.parametrize("key", ["translation", "scale", "rotation", "matrix"])
@pytest.mark.parametrize(
    "value",
    ["1", 5, None, True, {}, [], [1, 2], ["1", "2", "3"], [True] * 3, [None] * 4, [[1]] * 16],
)
def test_a_transform_of_a_wrong_type_is_reported_and_left_out(
    key: str, value: object, read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    tree = read_root({"nodes": [{}, {"translation": [1, 2, 3]}, {key: value}]}).tree
    issue = diagnostics.take(WRONG_TYPE)
    assert issue.pointer == f"/nodes/2/{key}"
    assert_allclose(tree.local_matrices()[2], IDENTITY)
    assert_allclose(tree.translations[1], [1, 2, 3])


@pytest.mark.parametrize(
    ("key", "width"), [("translation", 3), ("scale", 3), ("rotation", 4), ("matrix", 16)]
)
def test_a_number_beyond_every_float_is_reported(
    key: str, width: int, read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    tree = read_root({"nodes": [{key: [10**400] + [1] * (width - 1)}]}).tree
    assert diagnostics.take(VALUE_OUT_OF_RANGE).pointer == f"/nodes/0/{key}/0"
    assert_allclose(tree.local_matrices()[0], IDENTITY)


def test_a_rotation_of_another_length_is_normalized(
    read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    tree = read_root(
        {"nodes": [{}, {"rotation": [0, 0, 3, 4]}, {"rotation": [0, 0, 0, 1e30]}]}
    ).tree
    assert diagnostics.take(NOT_UNIT_LENGTH).values["got"] == 5.0
    assert diagnostics.take(NOT_UNIT_LENGTH).pointer == "/nodes/2/rotation"
    assert_allclose(tree.rotations_xyzw, [[0, 0, 0, 1], [0, 0, 0.6, 0.8], [0, 0, 0, 1]])


def test_a_rotation_of_length_zero_is_none(read_root: ReadRoot, diagnostics: Diagnostics) -> None:
    tree = read_root({"nodes": [{"rotation": [0, 0, 0, 0]}]}).tree
    assert diagnostics.take(RANGE_MENDED).pointer == "/nodes/0/rotation"
    assert_allclose(tree.rotations_xyzw, [[0, 0, 0, 1]])


def test_children_and_scenes_make_the_tree(read_root: ReadRoot) -> None:
    root = {
        "nodes": [{"children": [2]}, {"name": "alone"}, {"children": [3]}, {}],
        "scenes": [{"nodes": [0, 0]}, {}],
        "scene": 1,
    }
    tree = read_root(root).tree
    assert tree.parents.tolist() == [-1, -1, 0, 2]
    assert tree.scenes == ((0,), ())
    assert tree.default_scene == 1
    assert tree.names[1] == "alone"  # outside every scene, kept all the same


def test_whole_numbers_may_be_written_with_a_point(read_root: ReadRoot) -> None:
    tree = read_root({"nodes": [{"children": [1.0]}, {}], "scenes": [{"nodes": [0.0]}]}).tree
    assert tree.parents.tolist() == [-1, 0]


@pytest.mark.parametrize("child", [2, -1, 10**30])
def test_a_child_that_does_not_exist_breaks_the_hierarchy(child: int) -> None:
    assert broken({"children": [1, child]}, {}) == ([INDEX_OUT_OF_RANGE], ["/nodes/0/children/1"])


@pytest.mark.parametrize("child", ["1", None, True, 0.5, [1], {}])
def test_a_child_of_a_wrong_type_breaks_the_hierarchy(child: object) -> None:
    assert broken({"children": [child]}, {}) == ([WRONG_TYPE], ["/nodes/0/children/0"])


def test_children_that_are_no_list_break_the_hierarchy() -> None:
    assert broken({"children": {"0": 1}}, {}) == ([WRONG_TYPE], ["/nodes/0/children"])


def test_two_parents_break_the_hierarchy() -> None:
    assert broken({"children": [2]}, {"children": [2]}, {}) == (
        [NODE_TWO_PARENTS],
        ["/nodes/1/children/0"],
    )
    assert broken({"children": [1, 1]}, {}) == ([NODE_TWO_PARENTS], ["/nodes/0/children/1"])


def test_circles_break_the_hierarchy_and_are_all_named() -> None:
    kinds, places = broken(
        {"children": [0]}, {"children": [2]}, {"children": [1, 3]}, {"children": [4]}, {}
    )
    assert kinds == [NODE_CYCLE, NODE_CYCLE]
    assert places == ["/nodes/0", "/nodes/1"]


def test_a_very_long_chain_is_read_without_recursion(read_root: ReadRoot) -> None:
    count = 20_000
    nodes: list[dict[str, Any]] = [{"children": [index + 1]} for index in range(count - 1)]
    assert len(read_root({"nodes": [*nodes, {}]}).tree.levels) == count


def test_a_very_long_circle_is_reported_in_a_short_line() -> None:
    count = 5_000
    nodes = [{"children": [(index + 1) % count]} for index in range(count)]
    text = json.dumps({"asset": {"version": "2.0"}, "nodes": nodes}).encode()
    with pytest.raises(InvalidAssetError) as caught:
        read_document(text, Diagnostics())
    assert len(str(caught.value)) < 200


def test_a_scene_may_list_only_roots(read_root: ReadRoot, diagnostics: Diagnostics) -> None:
    tree = read_root({"nodes": [{"children": [1]}, {}], "scenes": [{"nodes": [1]}]}).tree
    assert diagnostics.take(SCENE_NODE_NOT_ROOT).pointer == "/scenes/0/nodes/0"
    assert tree.parents.tolist() == [-1, 0]


@pytest.mark.parametrize(
    ("members", "kind", "place"),
    [
        ({"scene": 1}, INDEX_MENDED, "/scene"),
        ({"scene": -1}, INDEX_MEANS_NONE, "/scene"),
        ({"scenes": [{"nodes": [9, 0]}]}, INDEX_MENDED, "/scenes/0/nodes/0"),
    ],
)
def test_scene_references_are_checked(
    members: dict[str, Any],
    kind: IssueKind,
    place: str,
    read_root: ReadRoot,
    diagnostics: Diagnostics,
) -> None:
    tree = read_root({"nodes": [{}], "scenes": [{"nodes": [0]}]} | members).tree
    assert (tree.scenes, tree.default_scene) == (((0,),), None)
    assert diagnostics.take(kind).pointer == place


@pytest.mark.parametrize("key", ["mesh", "skin", "camera"])
def test_references_of_nodes_are_checked(
    key: str, read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    collection = {"mesh": "meshes"}.get(key, key + "s")
    tree = read_root({"nodes": [{key: 0}, {key: 1}, {key: "0"}, {key: 0.0}], collection: [{}]}).tree
    assert getattr(tree, key + "_of") == (0, None, None, 0)
    assert diagnostics.take(INDEX_MENDED).pointer == f"/nodes/1/{key}"
    assert diagnostics.take(TYPE_MENDED).pointer == f"/nodes/2/{key}"


def test_weights_and_names_are_checked(read_root: ReadRoot, diagnostics: Diagnostics) -> None:
    nodes = [{"weights": [0.5, 1]}, {"weights": ["a"], "name": 7}]
    tree = read_root({"nodes": nodes}).tree
    assert tree.weights_of == ((0.5, 1.0), None)
    assert tree.names == ("", "")
    places = {str(diagnostics.take(TYPE_MENDED).pointer) for _ in range(2)}
    assert places == {"/nodes/1/weights", "/nodes/1/name"}


def extension_document(read_root: ReadRoot) -> Document:
    return read_root(
        {
            "nodes": [
                {"extensions": {"A": {"x": 1}}},
                {},
                {"extensions": {"A": {}, "B": 5}},
                {"extensions": []},
            ],
            "extensions": {"A": {"shapes": []}, "B": "no"},
        }
    )


def test_extensions_are_found_by_name(read_root: ReadRoot, diagnostics: Diagnostics) -> None:
    document = extension_document(read_root)
    assert document.nodes_with_extension("A") == (0, 2)
    assert document.nodes_with_extension("B") == ()
    assert document.node_extension(0, "A") == {"x": 1}
    assert document.node_extension(1, "A") is None
    assert document.node_extension(2, "B") is None
    assert document.node_extension(3, "A") is None
    assert document.root_extension("A") == {"shapes": []}
    assert document.root_extension("B") == {}
    places = {str(diagnostics.take(TYPE_MENDED).pointer) for _ in range(3)}
    assert places == {"/nodes/2/extensions/B", "/nodes/3/extensions", "/extensions/B"}
