"""Reading physics from small dicts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.dialects import read_physics
from gltf_bullet.gltf import Document, read_document
from gltf_bullet.model import PhysicsScene

Json = dict[str, Any]


def build_document(
    nodes: list[Json], root_extensions: Json, diagnostics: Diagnostics, **members: Any
) -> Document:
    """A document of ``nodes``; three triangle meshes without data stand ready as 0, 1 and 2."""
    children = {child for node in nodes for child in node.get("children", ())}
    root = {
        "asset": {"version": "2.0"},
        "nodes": nodes,
        "scenes": [{"nodes": [i for i in range(len(nodes)) if i not in children]}],
        "accessors": [{"componentType": 5126, "type": "VEC3", "count": 3}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]} for _ in range(3)],
        "extensions": root_extensions,
        **members,
    }
    return read_document(json.dumps(root).encode(), diagnostics)


@pytest.fixture
def document_of(diagnostics: Diagnostics) -> Callable[..., Document]:
    """``document_of(nodes, root_extensions, **root_members)``."""
    return lambda nodes, root_extensions=None, **members: build_document(
        nodes, root_extensions or {}, diagnostics, **members
    )


@pytest.fixture
def read(
    diagnostics: Diagnostics, document_of: Callable[..., Document]
) -> Callable[..., PhysicsScene]:
    """``read(nodes, root_extensions, **root_members)`` gives the scene."""
    return lambda *args, **members: read_physics(document_of(*args, **members), diagnostics)
