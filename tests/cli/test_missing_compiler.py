"""Where neither the package nor the machine has kernels, and nothing that compiles them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gltf_bullet.numba_aot import object_cache
from gltf_bullet.numba_aot.declarations import IS_COMPILED
from gltf_bullet.solver import entries
from tests.cli.conftest import Run

pytestmark = pytest.mark.skipif(not IS_COMPILED, reason="kernels are plain Python")


@pytest.fixture(params=["numba", "llvmlite"])
def without(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One of both is not installed."""
    monkeypatch.setattr(object_cache, "package_library", lambda: None)
    monkeypatch.setitem(sys.modules, request.param, None)
    entries._load_once.cache_clear()
    yield
    entries._load_once.cache_clear()


def test_a_file_with_joints_ends_with_one_line(without: None, run: Run, assets: Path) -> None:
    outcome = run("simulate", assets / "ragdoll.gltf")
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")
    assert "pip install 'gltf_bullet[jit]'" in outcome.err


def test_a_file_without_joints_does_not_miss_it(without: None, run: Run, assets: Path) -> None:
    assert run("simulate", assets / "falling_box.gltf", "--seconds", "0.1").code == 0
