"""Several dialects in one file: precedence, shadowing, and what is not declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.dialects import check_extensions
from gltf_bullet.dialects.precedence import DIALECT_SHADOWED
from gltf_bullet.dialects.registry import (
    EXTENSION_IGNORED,
    EXTENSION_UNDECLARED,
    EXTENSION_UNSUPPORTED,
    IMPLEMENTED_EXTENSIONS,
    PHYSICS_EXTENSIONS,
)
from gltf_bullet.gltf import Document
from gltf_bullet.model import PhysicsScene, Sphere

Read = Callable[..., PhysicsScene]
DocumentOf = Callable[..., Document]
Json = dict[str, Any]

# One sphere per dialect; the radius tells them apart.
ROOTS: Json = {
    "KHR_implicit_shapes": {"shapes": [{"type": "sphere", "sphere": {"radius": 1}}]},
    "KHR_collision_shapes": {"shapes": [{"type": "sphere", "sphere": {"radius": 2}}]},
    "OMI_physics_shape": {"shapes": [{"type": "sphere", "sphere": {"radius": 3}}]},
    "OMI_collider": {"colliders": [{"type": "sphere", "radius": 4}]},
    "MSFT_collision_primitives": {"colliders": [{"type": "sphere", "sphere": {"radius": 5}}]},
    "MSFT_CollisionPrimitives": {"colliders": [{"sphere": {"radius": 6}}]},
    "MSFT_RigidBodies": {"physicsMaterials": [{}]},
}
NEWEST_FIRST: list[tuple[float, Json]] = [
    (1.0, {"KHR_physics_rigid_bodies": {"collider": {"geometry": {"shape": 0}}}}),
    (2.0, {"KHR_physics_rigid_bodies": {"collider": {"shape": 0}}}),
    (3.0, {"OMI_physics_body": {"collider": {"shape": 0}}}),
    (4.0, {"OMI_collider": {"collider": 0}}),
    (5.0, {"MSFT_rigid_bodies": {"collider": {"collider": 0}}}),
    (6.0, {"MSFT_RigidBodies": {"collider": 0, "physicsMaterial": 0}}),
]


def test_different_nodes_may_use_different_dialects(read: Read) -> None:
    scene = read([{"extensions": extensions} for _, extensions in NEWEST_FIRST], ROOTS)
    assert sorted(scene.colliders) == list(range(6))
    assert {node: c.shape for node, c in scene.colliders.items()} == {
        node: Sphere(radius=radius) for node, (radius, _) in enumerate(NEWEST_FIRST)
    }


# Both revisions of KHR_physics_rigid_bodies share a name, so (0, 1) cannot stand on one node.
PAIRS = [(newer, older) for older in range(6) for newer in range(older) if older != 1]


@pytest.mark.parametrize(("newer", "older"), PAIRS)
def test_on_one_node_the_newest_dialect_wins(
    read: Read, diagnostics: Diagnostics, newer: int, older: int
) -> None:
    radius, extensions = NEWEST_FIRST[newer]
    scene = read([{"extensions": NEWEST_FIRST[older][1] | extensions}], ROOTS)
    assert scene.colliders[0].shape == Sphere(radius=radius)
    shadowed = next(iter(NEWEST_FIRST[older][1]))
    assert diagnostics.take(DIALECT_SHADOWED).pointer == f"/nodes/0/extensions/{shadowed}"


def test_shadowed_content_is_not_checked(read: Read, diagnostics: Diagnostics) -> None:
    wrong = {"OMI_physics_body": {"collider": {"shape": 99}}}
    read([{"extensions": wrong | NEWEST_FIRST[0][1]}], ROOTS)
    assert diagnostics.take(DIALECT_SHADOWED)


def test_omi_collider_gives_a_shape_to_a_body_that_has_none(read: Read) -> None:
    both = {"OMI_physics_body": {"motion": {"type": "dynamic"}}, "OMI_collider": {"collider": 0}}
    scene = read([{"extensions": both}], ROOTS)
    assert set(scene.motions) == set(scene.colliders) == {0}


def test_a_file_may_declare_the_extension_without_a_root_block(
    read: Read, document_of: DocumentOf, diagnostics: Diagnostics
) -> None:
    nodes = [{"extensions": {"KHR_physics_rigid_bodies": {"motion": {}}}}]
    members = {"extensionsUsed": ["KHR_physics_rigid_bodies"]}
    assert read(nodes, **members).motions
    check_extensions(document_of(nodes, **members), diagnostics)


def test_a_required_extension_that_is_not_implemented_is_an_error(
    document_of: DocumentOf, diagnostics: Diagnostics
) -> None:
    names = ["KHR_materials_unlit", "EXT_mesh_gpu_instancing"]
    document = document_of([{}], extensionsUsed=names, extensionsRequired=names)
    check_extensions(document, diagnostics)
    issue = diagnostics.take(EXTENSION_UNSUPPORTED)
    assert issue.pointer == "/extensionsRequired/1"
    assert issue.is_error


def test_a_used_extension_that_is_not_implemented_is_told(
    document_of: DocumentOf, diagnostics: Diagnostics
) -> None:
    document = document_of([{}], extensionsUsed=["ACME_smell"])
    check_extensions(document, diagnostics)
    assert diagnostics.take(EXTENSION_IGNORED).pointer == "/extensionsUsed/0"


def test_physics_that_is_not_declared_is_read_with_a_warning(
    read: Read, document_of: DocumentOf, diagnostics: Diagnostics
) -> None:
    nodes = [{"extensions": {"KHR_physics_rigid_bodies": {"motion": {}}}}]
    check_extensions(document_of(nodes), diagnostics)
    assert diagnostics.take(EXTENSION_UNDECLARED)
    assert read(nodes).motions


def test_the_lists_of_extensions_hold_each_name_once() -> None:
    assert len(set(IMPLEMENTED_EXTENSIONS)) == len(IMPLEMENTED_EXTENSIONS)
    assert set(PHYSICS_EXTENSIONS) < set(IMPLEMENTED_EXTENSIONS)
    assert "EXT_mesh_gpu_instancing" not in IMPLEMENTED_EXTENSIONS
