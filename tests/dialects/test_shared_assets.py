"""The third-party files beside the repository are read without any ERROR."""

from __future__ import annotations

from pathlib import Path

import pytest

from gltf_bullet.diagnostics import Diagnostics, Severity
from gltf_bullet.dialects import check_extensions, read_physics
from gltf_bullet.gltf import read_document

REPOSITORY = Path(__file__).resolve().parents[2]
ASSETS = REPOSITORY.parent / "shared" / "assets"
FILES = sorted(ASSETS.glob("**/*.gl*"))

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not FILES, reason="the asset collection is not there"),
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ASSETS)))
def test_a_published_file_is_read_without_errors(path: Path) -> None:
    sink = Diagnostics()
    document = read_document(path, sink)
    check_extensions(document, sink)
    scene = read_physics(document, sink)
    assert scene.colliders or scene.triggers
    assert not [str(issue) for issue in sink if issue.severity is Severity.ERROR]
