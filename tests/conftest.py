"""Fixtures for all rooms."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Small matrices gain nothing from threads, and test processes share few cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings

from gltf_bullet.diagnostics import Diagnostics

if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt"):
    # The 28 MB of a world are kept for the next one. Given back, the system clears them anew for
    # each of thousands of tests, which takes up to 18 ms.
    for option, most in ((-1, 1 << 30), (-3, 1 << 25)):  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD
        ctypes.CDLL(None).mallopt(option, most)

pytest_plugins = ["tests.figures", "tests.issue_code_census"]

# Timings are no assertions: the machine may be busy.
settings.register_profile("gltf_bullet", deadline=None)
settings.load_profile("gltf_bullet")


def pytest_collection_finish() -> None:
    """Modules and test items stay: no garbage collection looks through them again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_recent_assets() -> None:
    """Tests that replace parts of the program must not meet what others have loaded."""
    recent = sys.modules.get("gltf_bullet.runtime.recent")
    if recent is not None:
        recent._known.clear()


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Iterator[int]:
    """A world without a window, with the earth's gravity along -z.

    The mark ``world(gravity=..., time_step=..., deterministic=True)`` asks for another one.
    """
    mark = request.node.get_closest_marker("world")
    with _world(**(mark.kwargs if mark else {})) as number:
        yield number


@pytest.fixture(scope="module")
def shared_client() -> Iterator[int]:
    """One such world for all tests of a module."""
    with _world() as number:
        yield number


@contextmanager
def _world(*, deterministic: bool = False, **settings: Any) -> Iterator[int]:
    import pybullet  # other tests do without PyBullet

    from gltf_bullet.bullet.session import headless_world

    with headless_world(**settings) as number:
        pybullet.setPhysicsEngineParameter(
            deterministicOverlappingPairs=int(deterministic), physicsClientId=number
        )
        yield number


@pytest.fixture
def diagnostics() -> Iterator[Diagnostics]:
    """A sink whose findings must all be taken by the test; leftovers fail it."""
    sink = Diagnostics()
    yield sink
    assert not sink.issues, "unexpected issues:\n" + "\n".join(map(str, sink.issues))
