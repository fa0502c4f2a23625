"""Reading documents from dictionaries and builders."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.gltf import Document, read_document
from tools.gltf_builder import GltfBuilder

ReadRoot = Callable[[dict[str, Any]], Document]
ReadBuilder = Callable[[GltfBuilder], Document]


@pytest.fixture
def read_root(diagnostics: Diagnostics) -> ReadRoot:
    """Read a root object, ``asset`` added; findings go to ``diagnostics``."""

    def read(root: dict[str, Any]) -> Document:
        text = json.dumps({"asset": {"version": "2.0"}, **root})
        return read_document(text.encode(), diagnostics)

    return read


@pytest.fixture
def read_builder(diagnostics: Diagnostics) -> ReadBuilder:
    """Read what a builder would write."""
    return lambda builder: read_document(builder.glb(), diagnostics)
